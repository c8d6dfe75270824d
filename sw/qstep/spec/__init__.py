"""What the chip is: formats, settings, random numbers, protocol; software and hardware import it."""
