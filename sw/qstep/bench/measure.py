"""Timing in turns: every round runs each form of a system once, so that what slows one slows all.

A **system** is one thing that is done (fill a table, learn CartPole, call the Q-loss), a **form**
one way to do it. Every module of :mod:`qstep.bench.systems` describes a system as a
:class:`Benchmark`; `compare` times it. A form is asked for an amount of work and says how much it
did, so that those which stop only at the end of an episode fit as well.

Making a benchmark is cheap: a form builds what it needs when it is first run, which is not timed,
and may keep it between calls. A form whose first run ends in a typed error is absent, and the error
the reason. Ratios are taken inside a round.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from qstep.errors import QStepError

__all__ = [
    "KERNEL",
    "Absent",
    "Benchmark",
    "Comparison",
    "Form",
    "Spread",
    "Timed",
    "Turn",
    "calibrate",
    "compare",
]

KERNEL = "kernel"
"""The phase that is also given as a rate of its own: the work without what is before and after it."""


@dataclass(frozen=True)
class Absent:
    """What this machine lacks, and why."""

    name: str
    what: str
    reason: str


@dataclass(frozen=True)
class Form:
    """One way to do what a system does.

    Attributes
    ----------
    name, what : str
        What it is called, and one phrase of what it is.
    run : callable
        ``run(amount)`` does about so many units of work and returns how many it did. Work on an
        accelerator has ended when it returns.
    check : callable
        Called once, after the timing: says what the work was found to be, or raises
        :class:`~qstep.bench.checks.WrongTableError`.
    base : str or None
        The form, earlier in the system, that it is compared with.
    least, most : int
        Bounds of the amount that it is asked for, 1 or more; `most` is `least` times a power of two.
    phases : callable or None
        Returns the seconds that it has spent in each of its phases so far.
    """

    name: str
    what: str
    run: Callable[[int], int]
    check: Callable[[], str]
    base: str | None = None
    least: int = 1
    most: int = 1 << 40
    phases: Callable[[], Mapping[str, float]] | None = None


@dataclass(frozen=True)
class Benchmark:
    """One thing that is done, and the forms that do it.

    Attributes
    ----------
    system, task : str
        What it is called, and one sentence of what is done.
    unit : str
        What is counted, in the plural: ``steps``, ``calls``.
    forms : tuple of Form
        In the order in which they take turns.
    absent : tuple of Absent
        Forms that are known to be absent before any is run.
    """

    system: str
    task: str
    unit: str
    forms: tuple[Form, ...]
    absent: tuple[Absent, ...] = ()


@dataclass(frozen=True)
class Turn:
    """One timed call: units done, seconds by the clock, of all processors together, and of phases."""

    done: int
    seconds: float
    processor_s: float
    phases: dict[str, float]


@dataclass(frozen=True)
class Spread:
    """Median and range of the turns."""

    median: float
    minimum: float
    maximum: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Summarise at least one value."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Timed:
    """One form as it was timed.

    Attributes
    ----------
    rate, processor_rate : Spread
        Units a second of wall clock, and a second of processor time. Other work on the machine
        disturbs the second less; threads cost it, and it knows nothing of an accelerator.
    kernel_rate : Spread or None
        Units a second of the phase :data:`KERNEL`, None without one.
    ratio, processor_ratio : Spread or None
        How many times as fast as `base`, paired round by round.
    checked : str
        What the work was found to be.
    turns : tuple of Turn
        In the order of the rounds.
    """

    name: str
    what: str
    base: str | None
    rate: Spread
    processor_rate: Spread
    kernel_rate: Spread | None
    ratio: Spread | None
    processor_ratio: Spread | None
    checked: str
    turns: tuple[Turn, ...]

    @property
    def shares(self) -> dict[str, float]:
        """Share of each phase, 0..1, of what all phases of all turns took; empty without phases."""
        spent = {
            name: sum(turn.phases[name] for turn in self.turns) for name in self.turns[0].phases
        }
        return {name: seconds / sum(spent.values()) for name, seconds in spent.items()}


@dataclass(frozen=True)
class Comparison:
    """A system as it was timed: the forms that are present, and those that are absent."""

    system: str
    task: str
    unit: str
    forms: tuple[Timed, ...]
    absent: tuple[Absent, ...]


def calibrate(form: Form, seconds: float) -> int:
    """Return the amount that takes about `seconds`: `least`, doubled until then, at most `most`.

    The first run builds, compiles and warms up, and is not timed.
    """
    amount = form.least
    form.run(amount)
    while amount < form.most and _turn(form, amount).seconds < 0.7 * seconds:
        amount *= 2
    return amount


def compare(
    benchmark: Benchmark, rounds: int, seconds: float, progress: Callable[[str, int, int], None]
) -> Comparison:
    """Time the forms of a system in turns.

    Parameters
    ----------
    benchmark : Benchmark
    rounds : int
        Turns of each form, 1 or more.
    seconds : float
        About how long one turn may take; it decides how much work it has.
    progress : callable
        ``progress(what, done, total)``, called after each calibration, turn and check. An absent form
        lowers the total.

    Raises
    ------
    WrongTableError
        A form does its work wrong.
    """
    done, total = 0, len(benchmark.forms) * (rounds + 2)

    def tick(form: Form) -> None:
        nonlocal done
        done += 1
        progress(f"{benchmark.system}: {form.name}", done, total)

    progress(f"{benchmark.system}: first runs", 0, total)
    present: dict[str, tuple[Form, int]] = {}
    absent = list(benchmark.absent)
    for form in benchmark.forms:
        try:
            present[form.name] = form, calibrate(form, seconds)
        except QStepError as cause:
            absent.append(Absent(form.name, form.what, str(cause)))
            total -= rounds + 1
        tick(form)
    turns: dict[str, list[Turn]] = {name: [] for name in present}
    for _ in range(rounds):
        for form, amount in present.values():
            turns[form.name].append(_turn(form, amount))
            tick(form)
    timed = []
    for form, _ in present.values():
        timed.append(_timed(form, turns))
        tick(form)
    return Comparison(benchmark.system, benchmark.task, benchmark.unit, tuple(timed), tuple(absent))


def _turn(form: Form, amount: int) -> Turn:
    before = dict(form.phases()) if form.phases else {}
    begin, processor = time.perf_counter(), time.process_time()
    done = form.run(amount)
    seconds, processor_s = time.perf_counter() - begin, time.process_time() - processor
    after = form.phases() if form.phases else {}
    spent = {name: total - before.get(name, 0.0) for name, total in after.items()}
    return Turn(done, seconds, processor_s, spent)


def _timed(form: Form, turns: dict[str, list[Turn]]) -> Timed:
    own = turns[form.name]
    base = turns.get(form.base or "")
    has_kernel = KERNEL in own[0].phases
    return Timed(
        form.name,
        form.what,
        form.base,
        Spread.of([_wall(turn) for turn in own]),
        Spread.of([_processor(turn) for turn in own]),
        Spread.of([turn.done / turn.phases[KERNEL] for turn in own]) if has_kernel else None,
        _ratio(_wall, own, base) if base else None,
        _ratio(_processor, own, base) if base else None,
        form.check(),
        tuple(own),
    )


def _wall(turn: Turn) -> float:
    return turn.done / turn.seconds


def _processor(turn: Turn) -> float:
    return turn.done / turn.processor_s


def _ratio(rate: Callable[[Turn], float], own: Sequence[Turn], base: Sequence[Turn]) -> Spread:
    """Return how many times as fast turns are as those of the same rounds."""
    return Spread.of([rate(turn) / rate(other) for turn, other in zip(own, base, strict=True)])
