"""The chip's description: formats, settings, random numbers, protocol. Software and hardware import
it."""
