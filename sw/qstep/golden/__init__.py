"""The golden models: readable definitions of the arithmetic, and compiled versions equal to them."""
