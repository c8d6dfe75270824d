"""The chip's description, for software and hardware: formats, settings, random numbers, protocol."""
