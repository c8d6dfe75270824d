"""Workers for placements: threads here, or the workers of a Dask scheduler."""

from __future__ import annotations

from collections.abc import Sequence

from qstep._io.workers import Cluster, Threads, Workers
from qstep_fpga.board import Board
from qstep_fpga.families import FAMILIES

__all__ = ["workers"]


def workers(boards: Sequence[Board], jobs: int, scheduler: str | None) -> Workers:
    """Return threads, or the workers of a scheduler that have the tools of given boards.

    A worker with another version of the tools would give other placements, and is refused.
    """
    if scheduler is None:
        return Threads(jobs)
    families = sorted({board.family for board in boards})
    tools = [package for family in families for package in FAMILIES[family].packages]
    return Cluster(scheduler, ("qstep", *tools))
