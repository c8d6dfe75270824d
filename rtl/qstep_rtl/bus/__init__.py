"""The lane on a bus: registers from one description, and the tops around them."""
