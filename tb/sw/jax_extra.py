"""Reason for skipping the tests of JAX implementations."""

__all__ = ["NO_JAX"]

NO_JAX = "the extra jax is not installed; make setup leaves it out, as it takes half a gigabyte"
