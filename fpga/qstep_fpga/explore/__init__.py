"""Explores many configurations on many boards: whether they fit, their size and their speed."""
