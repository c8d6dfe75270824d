"""The chip's description, which software and hardware import: formats, settings, random numbers, protocol."""
