"""The hardware generated from a Config, and the place of the hand-written SystemVerilog."""
