"""A run to watch and steer while it learns, for `qstep live`."""
