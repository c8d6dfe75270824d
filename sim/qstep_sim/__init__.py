"""The simulated device."""
