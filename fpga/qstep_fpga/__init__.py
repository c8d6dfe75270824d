"""From a configuration to a bitstream and a trustworthy report."""
