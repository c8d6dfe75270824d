"""Modules that each generate one Markdown reference page in docs/ from the source."""
