"""Forms of one system, timed in turns in one run: as people write it, and fast.

A **system** is one thing that is done (learn CartPole, call the Q-loss), a **form** one way to do it.
Every module of :mod:`qstep.bench.systems` has a function ``system(device)`` that returns a
:class:`System`; `compare` times it. A form is asked for an amount of work and says how much it did,
so that those which stop only at the end of an episode fit as well::

    def system(device: str) -> System:
        def plain(amount: int) -> int:
            ...  # play at least `amount` steps
            return steps

        return System("cartpole", "DQN learns CartPole-v1", "steps", (
            Form("dqn-plain", "a gymnasium environment, a deque", plain, check),
            Form("dqn", "vectorised", fast, check, base="dqn-plain"),
        ))

Names of forms are unique over all systems: ``qstep profile`` takes them. Making a system is cheap: a
form builds what it needs when it is first run, which is not timed. It may keep that between calls,
so that what is timed is the steady state. Every round runs each form once, so that what slows the
machine slows them all; ratios are taken inside a round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qstep.bench.backend import Absent
from qstep.bench.measure import Spread

__all__ = ["Comparison", "Form", "System", "Timed", "Turn", "calibrate", "compare"]


@dataclass(frozen=True)
class Form:
    """One way to do what a system does.

    Attributes
    ----------
    name, what : str
        What it is called, and one phrase of what it is.
    run : callable
        ``run(amount)`` does about so many units of work, `least` or more, and returns how many it did.
        Work on an accelerator has ended when it returns.
    check : callable
        Called once, after the timing: says what the work was found to be, or raises
        :class:`~qstep.bench.checks.WrongTableError`.
    base : str or None
        The form, earlier in the system, that it is compared with.
    least : int
        The least amount that it is asked for, 1 or more.
    phases : callable or None
        Called once, after the timing: does some work once more, with a clock between its phases, and
        returns the seconds of each by name.
    """

    name: str
    what: str
    run: Callable[[int], int]
    check: Callable[[], str]
    base: str | None = None
    least: int = 1
    phases: Callable[[], dict[str, float]] | None = None


@dataclass(frozen=True)
class System:
    """One thing that is done, and the forms that do it.

    Attributes
    ----------
    name, task : str
        What it is called, and one sentence of what is done.
    unit : str
        What is counted, in the plural: ``steps``, ``calls``.
    forms : tuple of Form
        In the order in which they take turns.
    absent : tuple of Absent
        Forms that this machine lacks, and why.
    """

    name: str
    task: str
    unit: str
    forms: tuple[Form, ...]
    absent: tuple[Absent, ...] = ()


@dataclass(frozen=True)
class Turn:
    """One timed call: units done, wall-clock seconds, and seconds of all processors together."""

    done: int
    seconds: float
    processor_s: float


@dataclass(frozen=True)
class Timed:
    """One form as it was timed.

    Attributes
    ----------
    rate, processor_rate : Spread
        Units a second of wall clock, and a second of processor time. Other work on the machine
        disturbs the second less; threads cost it, and it knows nothing of an accelerator.
    ratio, processor_ratio : Spread or None
        How many times as fast as `base`, paired round by round.
    checked : str
        What the work was found to be.
    phases : dict or None
        Seconds of each phase of a run of its own.
    turns : tuple of Turn
        In the order of the rounds.
    """

    name: str
    what: str
    base: str | None
    rate: Spread
    processor_rate: Spread
    ratio: Spread | None
    processor_ratio: Spread | None
    checked: str
    phases: dict[str, float] | None
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Comparison:
    """A system as it was timed."""

    system: str
    task: str
    unit: str
    forms: tuple[Timed, ...]
    absent: tuple[Absent, ...]


def calibrate(form: Form, seconds: float) -> int:
    """Return the amount that takes about `seconds`: `least`, doubled as often as needed.

    The first run builds and warms up, and is not timed.
    """
    amount = form.least
    form.run(amount)
    while _turn(form, amount).seconds < 0.7 * seconds:
        amount *= 2
    return amount


def compare(
    system: System, rounds: int, seconds: float, progress: Callable[[str], None]
) -> Comparison:
    """Time the forms of a system in turns.

    Parameters
    ----------
    system : System
    rounds : int
        Turns of each form, 1 or more.
    seconds : float
        About how long one turn may take; it decides how much work it has.
    progress : callable
        Called with a form's name after its calibration, after each turn and after its check:
        ``rounds + 2`` times a form.

    Raises
    ------
    WrongTableError
        A form does its work wrong.
    """
    amounts = []
    for form in system.forms:
        amounts.append(calibrate(form, seconds))
        progress(form.name)
    turns: dict[str, list[Turn]] = {form.name: [] for form in system.forms}
    for _ in range(rounds):
        for form, amount in zip(system.forms, amounts, strict=True):
            turns[form.name].append(_turn(form, amount))
            progress(form.name)
    timed = []
    for form in system.forms:
        timed.append(_timed(form, turns))
        progress(form.name)
    return Comparison(system.name, system.task, system.unit, tuple(timed), system.absent)


def _turn(form: Form, amount: int) -> Turn:
    begin, processor = time.perf_counter(), time.process_time()
    done = form.run(amount)
    return Turn(done, time.perf_counter() - begin, time.process_time() - processor)


def _timed(form: Form, turns: dict[str, list[Turn]]) -> Timed:
    own = turns[form.name]
    base = turns[form.base] if form.base is not None else None
    wall, processor = [_wall(turn) for turn in own], [_processor(turn) for turn in own]
    return Timed(
        form.name,
        form.what,
        form.base,
        Spread.of(wall),
        Spread.of(processor),
        Spread.of(_ratios(wall, [_wall(turn) for turn in base])) if base else None,
        Spread.of(_ratios(processor, [_processor(turn) for turn in base])) if base else None,
        form.check(),
        form.phases() if form.phases else None,
        tuple(own),
    )


def _wall(turn: Turn) -> float:
    return turn.done / turn.seconds


def _processor(turn: Turn) -> float:
    return turn.done / turn.processor_s


def _ratios(rates: Sequence[float], base: Sequence[float]) -> list[float]:
    return [rate / other for rate, other in zip(rates, base, strict=True)]
