"""The golden models: readable definitions of the arithmetic, and equivalent compiled versions."""
