"""The chip's specification for software and hardware: formats, settings, random numbers, protocol."""
