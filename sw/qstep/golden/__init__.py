"""The golden models: readable definitions of the arithmetic, and compiled forms equal to them."""
