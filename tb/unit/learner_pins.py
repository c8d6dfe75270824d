"""Pin encodings that the benches of the learner and its parts share: vectors, answers and counters."""

from collections.abc import Iterable, Sequence
from typing import Any

from qstep.golden.evaluation_queue import Rewards
from qstep.golden.planes import Choice
from qstep.spec.planes import PlanesConfig
from qstep_rtl.timing import answer_clocks

__all__ = ["COUNTED", "answer_of", "answers_room", "packed", "packed_rewards", "wrapped"]

COUNTED = (1 << 32) - 3
"""The value to which benches set counters after a reset, so that the counters wrap early."""


def wrapped(count: int) -> int:
    """Return a counter's value after another `count` events."""
    return (COUNTED + count) % (1 << 32)


def packed(values: Iterable[int], bits: int) -> int:
    """Return numbers of `bits` bits as a packed vector, with the first one in the lowest bits."""
    return sum(value % (1 << bits) << bits * n for n, value in enumerate(values))


def packed_rewards(rewards: Sequence[Rewards], width: int) -> int:
    """Return ``rewards_i`` for two sets of rewards."""
    return packed((value for values in rewards for value in values), width)


def answers_room(config: PlanesConfig) -> int:
    """Return how many answers can be pending, as ``qs_planes_pkg::answers`` does."""
    return 1 << answer_clocks(config).bit_length()


def answer_of(dut: Any) -> Choice:
    """Return the answer on the output pins."""
    return Choice(
        int(dut.answer_action_o.value),
        dut.answer_value_o.value.to_signed(),
        bool(dut.answer_explored_o.value),
    )
