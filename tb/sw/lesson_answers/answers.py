"""Correct answers to the exercises of docs/lesson.md."""


def updated(q: int, reward: int, maximum: int, terminated: bool, alpha: int, kappa: int) -> int:
    future = 0 if terminated else maximum
    exact = (32768 - alpha) * q + alpha * reward + kappa * future
    return max(-32768, min(32767, (exact + 16384) >> 15))


def cases() -> list[tuple[int, int, int, bool, int, int]]:
    return [
        (1, 0, 0, False, 16384, 0),  # exactly one half: rounding down, or only halves down, gives 0
        (32767, 32767, 32767, False, 32768, 32768),  # too large: wraps
        (0, 0, 256, True, 16384, 8192),  # the end of an episode
        (0, 0, 256, False, 16384, 8192),  # the discount
        (1, 1, 0, False, 16384, 0),  # two halves: rounding each of them gives 2
    ]


def clocks(loop_depth: int, transitions: list[tuple[int, int, int]]) -> list[int]:
    taken: list[int] = []
    for state, action, next_state in transitions:
        clock = taken[-1] + 1 if taken else 0
        for earlier, (other, other_action, _) in zip(taken, transitions, strict=False):
            if (other, other_action) == (state, action) or other == next_state:
                clock = max(clock, earlier + loop_depth)
        taken.append(clock)
    return taken
