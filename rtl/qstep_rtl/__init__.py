"""The hardware generated from a Config, and the paths of the hand-written SystemVerilog."""
