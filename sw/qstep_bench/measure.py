"""Times implementations in rounds: each runs every one once, so disturbances affect all equally.

A **system** is a task (fill a table, learn CartPole, compute the Q-loss); an **implementation**
(:class:`Form`) is one way to do it. Every module of :mod:`qstep_bench.systems` describes a system as a
:class:`Benchmark`; `compare` times it. An implementation is called with an amount of work and returns
the amount done, because some implementations can stop only at the end of an episode.

Creating a benchmark is cheap: an implementation is initialised in its first run, which is not timed, and
may keep data between calls. An implementation whose first run raises a QStepError is listed as absent,
with the error as the reason. Ratios are computed within a round.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

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
    "number",
    "short",
    "spread",
]


def number(value: float) -> str:
    """Format a positive value to three significant digits, without an exponent."""
    exponent = int(f"{value:.2e}".partition("e")[2])  # after rounding: 9.999 is 10.0
    return f"{value:,.{max(0, 2 - exponent)}f}"


def short(value: float) -> str:
    """Format a positive value to three significant digits: thousands as k, millions as M."""
    for power, letter in ((1e6, " M"), (1e3, " k")):
        if float(f"{value:.2e}") >= power:
            return number(value / power) + letter
    return number(value)


def spread(values: Spread, write: Callable[[float], str] = number) -> Text:
    """Return the median, with the lowest and the highest value on the next line."""
    text = Text(f"{write(values.median)}\n")
    return text.append(f"{write(values.minimum)}..{write(values.maximum)}", style="dim")


KERNEL = "kernel"
"""Name of the phase with a separate rate: the work without preparation and read-out."""


@dataclass(frozen=True)
class Absent:
    """An implementation that this machine cannot run, and the reason."""

    name: str
    what: str
    reason: str


@dataclass(frozen=True)
class Form:
    """One implementation of a system's task.

    Attributes
    ----------
    name, what : str
        Name, and a short description.
    run : callable
        ``run(amount)`` does about this many units of work and returns the number done. All work on an
        accelerator has finished when it returns.
    check : callable
        Called once after the timing: describes the verified result, or raises
        :class:`~qstep_bench.checks.WrongTableError`.
    base : str or None
        Name of an earlier implementation of the system, for comparison.
    least, most : int
        Bounds of the requested amount, 1 or more; `most` is `least` times a power of two.
    phases : callable or None
        Function that returns the seconds spent so far in each phase.
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
    """A task and its implementations.

    Attributes
    ----------
    system, task : str
        Name, and one sentence about the task.
    unit : str
        Unit of work in the plural: ``steps``, ``calls``.
    forms : tuple of Form
        Implementations in the order of their turns.
    absent : tuple of Absent
        Implementations known to be absent before any run.
    """

    system: str
    task: str
    unit: str
    forms: tuple[Form, ...]
    absent: tuple[Absent, ...] = ()


@dataclass(frozen=True)
class Turn:
    """One timed call: units done, and seconds of wall-clock time, of processor time, and per phase."""

    done: int
    seconds: float
    processor_s: float
    phases: dict[str, float]


@dataclass(frozen=True)
class Spread:
    """Median and range over all turns."""

    median: float
    minimum: float
    maximum: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Summarise at least one value."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Timed:
    """The timing of one implementation.

    Attributes
    ----------
    rate : Spread
        Units per second of wall-clock time.
    processor_rate : Spread or None
        Units per second of processor time, which other work on the machine disturbs less. Processor time
        includes all threads, but no accelerator. None if it did not advance in a turn, because some
        operating-system kernels count it in steps of 10 ms.
    kernel_rate : Spread or None
        Units per second of the phase :data:`KERNEL`; None if that phase was not timed.
    ratio, processor_ratio : Spread or None
        Speed relative to `base`, paired round by round; None without a base or rates.
    checked : str
        Description of the verified result.
    turns : tuple of Turn
        Turns in the order of the rounds.
    """

    name: str
    what: str
    base: str | None
    rate: Spread
    processor_rate: Spread | None
    kernel_rate: Spread | None
    ratio: Spread | None
    processor_ratio: Spread | None
    checked: str
    turns: tuple[Turn, ...]

    @property
    def shares(self) -> dict[str, float]:
        """Share of each phase, 0..1, of the total time of all phases; empty without phases."""
        spent = {
            name: sum(turn.phases[name] for turn in self.turns) for name in self.turns[0].phases
        }
        return {name: seconds / sum(spent.values()) for name, seconds in spent.items()}


@dataclass(frozen=True)
class Comparison:
    """The timing of a system, with its present and absent implementations."""

    system: str
    task: str
    unit: str
    forms: tuple[Timed, ...]
    absent: tuple[Absent, ...]


def calibrate(form: Form, seconds: float) -> int:
    """Return the work that takes about `seconds`: `least`, doubled as needed, but at most `most`.

    The first run is not timed, because it includes building, compiling and warming up.
    """
    amount = form.least
    form.run(amount)
    while amount < form.most and _turn(form, amount).seconds < 0.7 * seconds:
        amount *= 2
    return amount


def compare(
    benchmark: Benchmark, rounds: int, seconds: float, progress: Callable[[str, int, int], None]
) -> Comparison:
    """Time the implementations of a system, which take turns.

    Parameters
    ----------
    benchmark : Benchmark
    rounds : int
        Turns per implementation, 1 or more.
    seconds : float
        Approximate time per turn, which determines its amount of work.
    progress : callable
        ``progress(what, done, total)``, called after each calibration, turn and check. An absent
        implementation lowers the total.

    Raises
    ------
    WrongTableError
        An implementation gives a wrong result.
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
    counted = _counted(own)
    return Timed(
        form.name,
        form.what,
        form.base,
        Spread.of([_wall(turn) for turn in own]),
        Spread.of([_processor(turn) for turn in own]) if counted else None,
        Spread.of([turn.done / turn.phases[KERNEL] for turn in own]) if has_kernel else None,
        _ratio(_wall, own, base) if base else None,
        _ratio(_processor, own, base) if base and counted and _counted(base) else None,
        form.check(),
        tuple(own),
    )


def _counted(turns: Sequence[Turn]) -> bool:
    """Return whether the processor time advanced in each turn."""
    return all(turn.processor_s > 0 for turn in turns)


def _wall(turn: Turn) -> float:
    return turn.done / turn.seconds


def _processor(turn: Turn) -> float:
    return turn.done / turn.processor_s


def _ratio(rate: Callable[[Turn], float], own: Sequence[Turn], base: Sequence[Turn]) -> Spread:
    """Return the speed relative to the base's turns in the same rounds."""
    return Spread.of([rate(turn) / rate(other) for turn, other in zip(own, base, strict=True)])
