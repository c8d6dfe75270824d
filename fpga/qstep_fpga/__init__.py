"""Turns a configuration into a bitstream and a trustworthy report."""
