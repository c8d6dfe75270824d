"""Learning with tables: the device or the host acts, in single runs and in sweeps."""
