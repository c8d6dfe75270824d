"""Stimulus for the generated learner's testbench: memory accesses, with the model's answers.

The testbench is ``rtl/bench/qs_learner_bench.v``.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import NamedTuple

from qstep.golden.evaluation_queue import EvaluationQueue, Rewards
from qstep.golden.planes import NO_ACTION, PlanesModel
from qstep.spec.planes import KEY_BITS, QUEUE_ENTRIES, PlanesConfig

__all__ = ["ACCESSES", "bench_data"]

ACCESSES = "qstep_learner_accesses.mem"

_UPDATES = 64


class _Bits(NamedTuple):
    value: int
    bits: int

    @classmethod
    def joined(cls, fields: Iterable[tuple[int, int]]) -> _Bits:
        """Concatenate fields; the first one is in the highest bits."""
        value = total = 0
        for field, bits in fields:
            value, total = value << bits | field % (1 << bits), total + bits
        return cls(value, total)


def bench_data(
    config: PlanesConfig, entries: int = QUEUE_ENTRIES, key_bits: int = KEY_BITS, seed: int = 0
) -> dict[str, bytes]:
    """Return the contents of the testbench's files, by file name.

    The first accesses fill the queue. Of the later accesses, all but the first emit an update.

    Parameters
    ----------
    config : PlanesConfig
    entries, key_bits, seed : int
        The arguments of :func:`qstep_rtl.learner.generate_learner` that generated the learner.
    """
    drawn, width = random.Random(seed), config.format.width

    def draw_reward() -> int:  # an eighth of the range, because weights accumulate several rewards
        return drawn.randint(config.format.minimum // 8, config.format.maximum // 8)

    rewards = [Rewards(draw_reward(), draw_reward(), draw_reward()) for _ in range(2)]
    model, queue = PlanesModel(config, seed), EvaluationQueue(entries, rewards)
    keys = min(1 << key_bits, entries // 2)
    features = [drawn.getrandbits(64) for _ in range(8)]
    row_bits, action_bits = (config.rows - 1).bit_length(), (config.actions - 1).bit_length()
    accesses = []
    for _ in range(entries + _UPDATES + 1):
        chosen, fills, explores, rewarded = (drawn.random() < p for p in (0.5, 0.7, 0.1, 0.2))
        demanded, filled, inserted = (drawn.randrange(keys) for _ in range(3))
        words = [drawn.choice(features) for _ in range(config.groups)]
        action = drawn.randrange(config.actions) if explores else NO_ACTION
        reward = draw_reward()
        queue.demand(demanded, int(chosen))
        if fills:
            queue.fill(filled)
        rows = config.rows_of(words)
        answer = model.choose(rows, action)
        given = reward if rewarded else None
        learn = queue.insert(inserted, rows, answer.action, given, int(chosen))
        if learn is not None:
            model.learn(*learn)
        accesses.append(
            _Bits.joined(
                [
                    (chosen, 1),
                    (demanded, key_bits),
                    (fills, 1),
                    (filled, key_bits),
                    *((word, 64) for word in reversed(words)),
                    (explores, 1),
                    (max(action, 0), action_bits),
                    (inserted, key_bits),
                    (rewarded, 1),
                    (reward, width),
                    (answer.action, action_bits),
                    (answer.value, config.value_bits),
                    (answer.explored, 1),
                    *((row, row_bits) for row in reversed(rows)),
                ]
            )
        )
    packed = _Bits.joined((value, width) for own in reversed(rewards) for value in reversed(own))
    constants = {
        "ACCESSES": len(accesses),
        "ACCESS_BITS": accesses[0].bits,
        "WORDS_BITS": 64 * config.groups,
        "KEY_BITS": key_bits,
        "ROWS_BITS": row_bits * config.all_planes,
        "ACTION_BITS": action_bits,
        "VALUE_BITS": config.value_bits,
        "WIDTH": width,
        "REWARDS": f"{packed.bits}'h{packed.value:x}",
        "UNKNOWN": queue.unknown,
        "UPDATES": _UPDATES,
    }
    lines = (f"  localparam {name} = {value};\n" for name, value in constants.items())
    return {
        "qstep_learner_config.vh": "".join(lines).encode(),
        ACCESSES: "".join(f"{access.value:x}\n" for access in accesses).encode(),
    }
