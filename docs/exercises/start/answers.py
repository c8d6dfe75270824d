"""Answers to the exercises of docs/lesson.md: fill them in, then python -m docs.exercises.check."""


def updated(q: int, reward: int, maximum: int, terminated: bool, alpha: int, kappa: int) -> int:
    """Exercise 1: return the new entry of the table.

    `q`, `reward` and `maximum` are values in Q8.8: integers, 256 times the number, -32768..32767.
    `alpha` (0..32768) and `kappa`, which is alpha times gamma (0..alpha), are 32768 times the number.
    The sum is exact; it is rounded once, to the nearest integer with a half upwards, and saturates.
    """
    return q


def cases() -> list[tuple[int, int, int, bool, int, int]]:
    """Exercise 3: return at most 8 calls of `updated` that tell each wrong one from the right one."""
    return []


def clocks(loop_depth: int, transitions: list[tuple[int, int, int]]) -> list[int]:
    """Exercise 4: return the clock in which the lane takes each transition (state, action, next_state).

    The lane takes transitions in order, at most one per clock, and the first one in clock 0. It takes
    each one as early as it can, but at least `loop_depth` clocks after every earlier transition that
    writes an entry it needs: its own (same state and action), or any in the row of its next state.
    """
    return list(range(len(transitions)))
