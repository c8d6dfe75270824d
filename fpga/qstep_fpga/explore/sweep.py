"""Evaluates points: synthesises all points, discards points that do not fit, and places the others."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from qstep._io.workers import Threads, Workers, in_parallel
from qstep.errors import BuildError
from qstep_fpga import fit
from qstep_fpga.explore.grid import Point, Refused
from qstep_fpga.explore.result import Exploration, Result
from qstep_fpga.netlist import synthesise, synthesise_lane
from qstep_fpga.placement import Design, Placement, place, placed

__all__ = ["Candidate", "explore"]

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

_LANE_TARGET_HZ = 150_000_000
"""Target clock for the lane alone; whether it is reached or exceeded hardly matters."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A point that may fit on its chip.

    Attributes
    ----------
    point : Point
    design : Design
    around : dict
        Amount of each resource in the wrapper, which is needed only for the estimate and not counted.
    """

    point: Point
    design: Design
    around: dict[str, int]


def explore(
    points: Sequence[Point | Refused],
    what: str,
    seeds: Sequence[int],
    jobs: int,
    workers: Workers,
    tell: Callable[[str], None],
    progress: Callable[[str, int, int], None],
) -> Exploration:
    """Synthesise every point, place each point that may fit with every seed, and return the figures.

    Parameters
    ----------
    points : sequence of Point or Refused
        From :func:`qstep_fpga.explore.grid.grid`.
    what : str
        ``lane`` for the lane alone, ``device`` for the whole bitstream.
    seeds : sequence of int
        Placement seeds, at least one.
    jobs : int
        Number of syntheses to run locally at a time.
    workers : Workers
        Workers for the placements.
    tell : callable
        Called with one line per point without figures. Points that are illegal or do not fit are
        reported before any placement.
    progress : callable
        Called with the current activity, the number of its completed steps, and their total.

    Raises
    ------
    BuildError
        No point has figures.
    ToolMissingError
        The FPGA tools are not installed.

    Notes
    -----
    Netlists and placements come from the cache if possible, so an interrupted sweep can be resumed.
    """
    refused = [point for point in points if isinstance(point, Refused)]
    legal = [point for point in points if isinstance(point, Point)]
    examined = _each(
        lambda point: _examine(point, what), legal, Threads(jobs), "synthesis", progress
    )
    refused += [entry for entry in examined if isinstance(entry, Refused)]
    for entry in refused:
        tell(f"{entry.point}: {entry.reason}")
    candidates = [entry for entry in examined if isinstance(entry, Candidate)]
    if not candidates:
        raise BuildError(f"nothing to place: none of {len(points)} points can be built")
    tell(f"to be placed: {len(candidates)} of {len(points)} points; seeds: {len(seeds)}")

    # All points with the first seed, then the next seed: points that cannot be placed fail early.
    tasks = list(itertools.product(seeds, candidates))
    outcomes = _each(_attempt, tasks, workers, "place and route", progress, _attempted)
    failed = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    for entry in failed:
        tell(f"{entry.point}: {entry.reason}")
    placements: dict[Candidate, list[Placement]] = defaultdict(list)
    for (_, candidate), outcome in zip(tasks, outcomes, strict=True):
        if isinstance(outcome, Placement):
            placements[candidate].append(outcome)
    if not placements:
        raise BuildError(f"none of {len(candidates)} points could be placed")
    results = [
        Result.of(candidate.point, placements[candidate], candidate.around)
        for candidate in candidates
        if candidate in placements
    ]
    return Exploration(what, results, refused + failed)


def _each(
    function: Callable[[Item], Outcome],
    items: Sequence[Item],
    workers: Workers,
    doing: str,
    progress: Callable[[str, int, int], None],
    known: Callable[[Item], Outcome | None] = lambda item: None,
) -> list[Outcome]:
    done = itertools.count(1)
    progress(doing, 0, len(items))

    def count(_: Outcome) -> None:
        progress(doing, next(done), len(items))

    return in_parallel(function, items, workers, count, known)


def _examine(point: Point, what: str) -> Candidate | Refused:
    hopeless = fit.hopeless(point.board, point.config)
    if hopeless:
        return Refused(str(point), f"does not fit: at least {_in_words(hopeless)}")
    try:
        candidate = _candidate(point, what)
    except BuildError as cause:
        return Refused(str(point), _brief(cause))
    lacking = fit.shortages(point.board, fit.needs(point.board, candidate.design.netlist))
    if lacking:
        return Refused(str(point), f"does not fit: {'; '.join(map(_in_words, lacking))}")
    return candidate


def _in_words(short: fit.Shortage) -> str:
    return f"{short.resource} {short.needed:,} of {short.there:,}, {short.over:,} over"


def _attempt(task: tuple[int, Candidate]) -> Placement | Refused:
    seed, candidate = task
    try:
        return place(candidate.design, seed)
    except BuildError as cause:
        return Refused(str(candidate.point), _brief(cause))


def _attempted(task: tuple[int, Candidate]) -> Placement | Refused | None:
    """Return the cached placement, if any."""
    seed, candidate = task
    return placed(candidate.design, seed)


def _candidate(point: Point, what: str) -> Candidate:
    board, config = point.board, point.config
    if what == "device":
        design = Design.of_device(board, config, synthesise(board, config))
        return Candidate(point, design, {})
    design = Design(board, synthesise_lane(board, config), _LANE_TARGET_HZ)
    return Candidate(point, design, fit.needs_around_lane(board, design.netlist))


def _brief(error: BuildError) -> str:
    """Return a tool's error in one line: the tool, and its last output line."""
    first, *rest = str(error).splitlines()
    return " ".join([first, *rest[-1:]])
