"""Finite Markov decision processes: worlds, their exact solutions, and transitions."""
