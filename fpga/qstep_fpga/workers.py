"""Workers for placements: local threads, or the workers of a Dask scheduler."""

from __future__ import annotations

from collections.abc import Sequence

from qstep._io.workers import Cluster, Threads, Workers
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES

__all__ = ["workers"]


def workers(boards: Sequence[Board], jobs: int, scheduler: str | None) -> Workers:
    """Return threads, or the workers of a scheduler that have the tools for the given boards.

    Workers with different tool versions are refused, because their placements would differ.
    """
    if scheduler is None:
        return Threads(jobs)
    families = sorted({board.family for board in boards})
    tools = [package for family in families for package in FAMILIES[family].packages]
    return Cluster(scheduler, ("qstep", *tools))
