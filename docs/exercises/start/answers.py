"""Answers to the exercises of docs/lesson.md: fill them in, then run python -m docs.exercises.check."""


def updated(q: int, reward: int, maximum: int, terminated: bool, alpha: int, kappa: int) -> int:
    """Exercise 1: return the new entry of the table.

    `q`, `reward` and `maximum` are Q8.8 values: integers equal to 256 times the number, -32768..32767.
    `alpha` (0..32768) and `kappa`, which is alpha times gamma (0..alpha), are 32768 times the number.
    The sum is exact. It is rounded once, to the nearest integer with halves rounded up, and then
    saturated.
    """
    return q


def cases() -> list[tuple[int, int, int, bool, int, int]]:
    """Exercise 3: return at most 8 cases that distinguish each wrong `updated` from the right one."""
    return []


def clocks(loop_depth: int, transitions: list[tuple[int, int, int]]) -> list[int]:
    """Exercise 4: return the clock in which the lane accepts each (state, action, next_state).

    The lane accepts transitions in order, at most one per clock, starting in clock 0. It accepts each
    one as early as possible, but at least `loop_depth` clocks after every earlier transition that writes
    an entry it needs: the entry that it updates (same state and action), or any entry in the row of its
    next state.
    """
    return list(range(len(transitions)))
