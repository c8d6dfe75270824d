"""Many configurations on many boards: what fits, how large it is, how fast."""
