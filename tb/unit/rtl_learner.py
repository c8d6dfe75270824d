"""cocotb tests of ``qs_learner`` against the models of its parts, with random traffic on all streams."""

import random
from collections import deque
from dataclasses import replace
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from tb.unit.learner_pins import (
    COUNTED,
    answer_of,
    answers_room,
    packed,
    packed_rewards,
    wrapped,
)

from qstep.golden.evaluation_queue import EvaluationQueue, Learn, Rewards
from qstep.golden.planes import NO_ACTION, Choice, PlanesModel
from qstep.spec.fixed import QFormat
from qstep.spec.planes import PlanesConfig
from qstep.spec.random import first_word

_STREAMS = ("choose", "demand", "fill", "insert")
_KEYS = 16
_WORDS = 40
"""Number of feature words from which requests are drawn, so that features recur."""


class _Learner:
    def __init__(self, dut: Any) -> None:
        def number(name: str) -> int:
            return int(getattr(dut, name).value)

        constants = number("Constants")
        self.dut = dut
        self.entries = number("Entries")
        self.config = PlanesConfig(
            groups=number("Groups"),
            planes=number("Planes"),
            rows=number("Rows"),
            actions=number("Actions"),
            format=QFormat(number("Width"), 0),
            floor=bool(number("Floor")),
            constants=tuple(constants >> 32 * t & 0xFFFFFFFF for t in range(number("Planes"))),
        )
        self.answered = 0

    async def reset(self) -> None:
        """Reset with random settings, and wait until all entries are cleared."""
        dut, seed = self.dut, random.getrandbits(64)
        alpha, gamma, epsilon = (
            random.choice([1.0, random.random(), random.random()]) for _ in range(3)
        )
        self.config = replace(self.config, alpha=alpha, gamma=gamma, epsilon=epsilon)
        rewards = [Rewards(*(self._reward() for _ in range(3))) for _ in range(2)]
        self.model = PlanesModel(self.config, seed)
        self.queue = EvaluationQueue(self.entries, rewards)
        self.words = [random.getrandbits(64) for _ in range(_WORDS)]
        self.waiting: dict[str, Any] = dict.fromkeys(_STREAMS)
        self.hashing: deque[tuple[list[int], int]] = deque()
        self.answers: deque[tuple[Choice, list[int]]] = deque()
        self.evicted: deque[Learn] = deque()
        self.chosen: deque[tuple[list[int], int]] = deque(maxlen=8)
        dut.rewards_i.value = packed_rewards(rewards, self.config.format.width)
        dut.alpha_i.value = self.config.coefficients.alpha
        dut.kappa_i.value = self.config.coefficients.kappa
        dut.threshold_i.value = self.config.threshold
        dut.word_i.value = first_word(seed, 0)
        for stream in _STREAMS:
            getattr(dut, f"{stream}_valid_i").value = 0
        dut.answer_ready_i.value = 0
        dut.rst_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        for _ in range(self.config.rows * self.config.actions + 2):
            await FallingEdge(dut.clk_i)
        self.holds = self.queue_holds = 0
        for counter in (dut.u_planes.holds_q, dut.u_queue.holds_q, dut.u_queue.unknown_q):
            counter.value = COUNTED

    def _reward(self) -> int:
        return random.randint(self.config.format.minimum, self.config.format.maximum)

    def _offer(self, stream: str) -> None:
        """Draw a request and drive it; an insert refers to one of the last answers."""
        config = self.config
        fields: dict[str, int]
        if stream == "choose":
            words = [random.choice(self.words) for _ in range(config.groups)]
            explore = random.randrange(config.actions) if random.random() < 0.2 else NO_ACTION
            self.waiting[stream] = config.rows_of(words), explore
            fields = {
                "words": packed(words, 64),
                "explore": explore != NO_ACTION,
                "action": max(explore, 0),
            }
        else:
            key = random.randrange(_KEYS)
            self.waiting[stream] = (key,)
            fields = {"key": key}
            if stream == "insert":
                rows, action = random.choice(self.chosen)
                reward = self._reward() if random.random() < 0.2 else None
                self.waiting[stream] = key, rows, action, reward
                fields |= {
                    "rows": self._packed(rows),
                    "action": action,
                    "rewarded": reward is not None,
                    "reward": (reward or 0) % (1 << config.format.width),
                }
        for name, value in fields.items():
            getattr(self.dut, f"{stream}_{name}_i").value = value

    def _packed(self, rows: list[int]) -> int:
        return packed(rows, (self.config.rows - 1).bit_length())

    async def run(self, clocks: int, rates: dict[str, float]) -> None:
        """Offer requests and accept answers, each stream at its own rate, and check every answer.

        The models compute all choices, evictions and updates. The hardware only determines the clock in
        which ``qs_planes`` accepts a request.
        """
        dut = self.dut
        for _ in range(clocks):
            for stream, now in self.waiting.items():
                possible = now is None and (stream != "insert" or self.chosen)
                if possible and random.random() < rates[stream]:
                    self._offer(stream)
                getattr(dut, f"{stream}_valid_i").value = self.waiting[stream] is not None
            chosen = random.getrandbits(1)
            dut.set_i.value = chosen
            dut.answer_ready_i.value = random.random() < rates["answer"]
            await Timer(1, "ns")
            self.holds += not dut.u_planes.free.value
            self.queue_holds += not dut.demand_ready_o.value
            if dut.hashed.value and dut.choose_ready.value:
                rows, explore = self.hashing.popleft()
                self.answers.append((self.model.choose(rows, explore), rows))
            if dut.learn_valid.value and dut.learn_ready.value:
                self.model.learn(*self.evicted.popleft())
            for stream, now in self.waiting.items():
                if now is None or not getattr(dut, f"{stream}_ready_o").value:
                    continue
                if stream == "choose":
                    self.hashing.append(now)
                elif stream == "demand":
                    self.queue.demand(now[0], chosen)
                elif stream == "fill":
                    self.queue.fill(now[0])
                else:
                    key, rows, action, reward = now
                    if pair := self.queue.insert(key, rows, action, reward, chosen):
                        self.evicted.append(pair)
                self.waiting[stream] = None
            if dut.answer_valid_o.value and dut.answer_ready_i.value:
                self._check()
            await FallingEdge(dut.clk_i)

    def _check(self) -> None:
        dut = self.dut
        seen = answer_of(dut)
        right, rows = self.answers.popleft()
        assert seen == right, f"answer {self.answered} is {seen}, not {right}"
        assert int(dut.answer_rows_o.value) == self._packed(rows), f"answer {self.answered}: rows"
        self.chosen.append((rows, right.action))
        self.answered += 1


async def _started(dut: Any) -> _Learner:
    learner = _Learner(dut)
    Clock(dut.clk_i, 10, unit="ns").start()
    return learner


@cocotb.test()
async def answers_are_those_of_the_models(dut: Any) -> None:
    learner = await _started(dut)
    rates = dict.fromkeys((*_STREAMS, "answer"), 1.0)
    for slower in 4 * [{}, {"choose": 0.1}, {"demand": 0.1, "fill": 0.5}, {"insert": 0.2}]:
        await learner.reset()
        for answer in (1.0, 0.3):
            await learner.run(80, {**rates, "demand": 0.3, "answer": answer, **slower})
        await learner.run(100, {**dict.fromkeys(rates, 0.0), "answer": 1.0})
        assert not learner.hashing
        assert not learner.answers
        assert not learner.evicted
        assert int(dut.unknown_o.value) == wrapped(learner.queue.unknown)
        assert int(dut.queue_holds_o.value) == wrapped(learner.queue_holds)
        assert int(dut.holds_o.value) == wrapped(learner.holds)
    assert learner.answered > 500


@cocotb.test()
async def answers_that_nobody_takes_hold_the_hash(dut: Any) -> None:
    learner = await _started(dut)
    await learner.reset()
    room = answers_room(learner.config)
    await learner.run(2 * room, {**dict.fromkeys(_STREAMS, 0.0), "choose": 1.0, "answer": 0.0})
    assert len(learner.answers) == room
    assert not dut.choose_ready_o.value
    await learner.run(4 * room, {**dict.fromkeys(_STREAMS, 0.0), "choose": 0.8, "answer": 0.8})
