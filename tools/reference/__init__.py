"""The reference pages of docs/, written from the source as Markdown: a module for each page."""
