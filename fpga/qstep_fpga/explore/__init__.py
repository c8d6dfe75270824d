"""Explores many configurations on many boards: which fit, how large and how fast they are."""
