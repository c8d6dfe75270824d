"""Reads the checkpoint of a given run, as `qstep train --resume` does."""

from pathlib import Path
from typing import Any

from qstep._io.checkpoint import Checkpoint, check_identity, read_checkpoint

__all__ = ["load_checkpoint"]


def load_checkpoint(path: Path, identity: dict[str, Any]) -> Checkpoint:
    """Read a checkpoint; raise CheckpointError if it belongs to another run."""
    there, checkpoint = read_checkpoint(path)
    check_identity(path, there, identity)
    return checkpoint
