"""cocotb tests of ``qs_learner`` against the models of its parts, one access after the other."""

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

from qstep.golden.evaluation_queue import EvaluationQueue, Rewards
from qstep.golden.planes import NO_ACTION, Choice, PlanesModel
from qstep.spec.fixed import QFormat
from qstep.spec.planes import PlanesConfig
from qstep.spec.random import first_word

_ACCESSES = 250
_SETTLED = 40
"""Clocks in which all earlier requests are carried out."""


class _Learner:
    def __init__(self, dut: Any) -> None:
        def number(name: str) -> int:
            return int(getattr(dut, name).value)

        constants, width = number("Constants"), number("Width")
        self.dut = dut
        self.config = PlanesConfig(
            groups=number("Groups"),
            planes=number("Planes"),
            rows=number("Rows"),
            actions=number("Actions"),
            format=QFormat(width, 0),
            floor=bool(number("Floor")),
            alpha=0.7,
            gamma=0.8,
            epsilon=0.2,
            constants=tuple(constants >> 32 * t & 0xFFFFFFFF for t in range(number("Planes"))),
        )
        low, high = self.config.format.minimum, self.config.format.maximum
        rewards = [Rewards(*(random.randint(low, high) for _ in range(3))) for _ in range(2)]
        self.model = PlanesModel(self.config, seed=7)
        self.queue = EvaluationQueue(number("Entries"), rewards)
        dut.rewards_i.value = sum(
            value % (1 << width) << width * (3 * chosen + kind)
            for chosen, values in enumerate(rewards)
            for kind, value in enumerate(values)
        )
        dut.alpha_i.value = self.config.coefficients.alpha
        dut.kappa_i.value = self.config.coefficients.kappa
        dut.threshold_i.value = self.config.threshold
        dut.word_i.value = first_word(7, 0)

    async def start(self) -> None:
        dut = self.dut
        Clock(dut.clk_i, 10, unit="ns").start()
        for stream in ("choose", "demand", "fill", "insert"):
            getattr(dut, f"{stream}_valid_i").value = 0
        dut.answer_ready_i.value = 0
        dut.rst_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        for _ in range(self.config.rows * self.config.actions + 2):
            await FallingEdge(dut.clk_i)

    async def send(self, stream: str, **fields: int) -> None:
        """Hold a request until it is accepted."""
        for name, value in fields.items():
            getattr(self.dut, f"{stream}_{name}_i").value = value
        valid, ready = (getattr(self.dut, f"{stream}_{name}") for name in ("valid_i", "ready_o"))
        valid.value = 1
        await Timer(1, "ns")
        while not ready.value:
            await FallingEdge(self.dut.clk_i)
        await FallingEdge(self.dut.clk_i)
        valid.value = 0

    async def choose(self, words: list[int], explore: int) -> tuple[Choice, int]:
        """Return the answer, and its rows as they come."""
        dut = self.dut
        await self.send(
            "choose",
            words=sum(word << 64 * g for g, word in enumerate(words)),
            explore=int(explore != NO_ACTION),
            action=max(explore, 0),
        )
        while not dut.answer_valid_o.value:
            await FallingEdge(dut.clk_i)
        answer = Choice(
            int(dut.answer_action_o.value),
            dut.answer_value_o.value.to_signed(),
            bool(dut.answer_explored_o.value),
        )
        rows = int(dut.answer_rows_o.value)
        dut.answer_ready_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.answer_ready_i.value = 0
        return answer, rows


@cocotb.test()
async def choices_see_the_rewards_of_earlier_accesses(dut: Any) -> None:
    learner = _Learner(dut)
    await learner.start()
    config, low, high = learner.config, learner.config.format.minimum, learner.config.format.maximum
    bits = (config.rows - 1).bit_length()
    features = [random.getrandbits(64) for _ in range(4)]
    for access in range(_ACCESSES):
        chosen = random.getrandbits(1)
        dut.set_i.value = chosen
        key = random.randrange(1 << 4)
        await learner.send("demand", key=key)
        learner.queue.demand(key, chosen)
        if random.random() < 0.7:
            key = random.randrange(1 << 4)
            await learner.send("fill", key=key)
            learner.queue.fill(key)
        words = [random.choice(features) for _ in range(config.groups)]
        explore = random.randrange(config.actions) if random.random() < 0.2 else NO_ACTION
        answer, rows = await learner.choose(words, explore)
        expected = config.rows_of(words)
        right = learner.model.choose(expected, explore)
        assert answer == right, f"access {access}: {answer}, not {right}"
        assert rows == sum(row << bits * p for p, row in enumerate(expected))
        reward = random.randint(low, high) if random.random() < 0.2 else None
        key = random.randrange(1 << 4)
        await learner.send(
            "insert",
            key=key,
            rows=rows,
            action=answer.action,
            rewarded=int(reward is not None),
            reward=(reward or 0) % (1 << config.format.width),
        )
        if learn := learner.queue.insert(key, expected, answer.action, reward, chosen):
            learner.model.learn(*learn)
        for _ in range(_SETTLED):
            await FallingEdge(dut.clk_i)
    assert int(dut.unknown_o.value) == learner.queue.unknown
