"""The specification shared by software and hardware: formats, settings, random numbers, protocol."""
