"""The hardware that is generated from a Config, and where the hand-written SystemVerilog lies."""
