"""Learning with tables, in single runs and in sweeps; the device or the host acts."""
