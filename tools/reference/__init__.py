"""Generators of the reference pages in docs/, in Markdown from the source: one module per page."""
