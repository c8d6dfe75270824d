"""A run that one watches while it learns, and steers: what `qstep live` shows."""
