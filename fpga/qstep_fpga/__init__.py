"""From a configuration to a bitstream, and a report that can be trusted."""
