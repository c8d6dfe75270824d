"""The lane on a bus: registers generated from one description, and the top modules around them."""
