"""cocotb tests of ``qs_evaluation_queue`` against ``qstep.golden.evaluation_queue``."""

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from tb.unit.learner_pins import COUNTED, packed_rewards, wrapped

from qstep.golden.evaluation_queue import EvaluationQueue, Learn, Rewards


class _Port:
    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.entries, self.key_bits, self.payload_bits, self.width = (
            int(getattr(dut, name).value) for name in ("Entries", "KeyBits", "PayloadBits", "Width")
        )
        self.taken = 0

    async def reset(self) -> None:
        dut = self.dut
        for stream in ("demand", "fill", "insert"):
            getattr(dut, f"{stream}_valid_i").value = 0
        dut.learn_ready_i.value = 0
        dut.rst_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        rewards = [Rewards(*(self._reward() for _ in range(3))) for _ in range(2)]
        dut.rewards_i.value = packed_rewards(rewards, self.width)
        assert int(dut.unknown_o.value) == int(dut.holds_o.value) == 0
        dut.unknown_q.value = dut.holds_q.value = COUNTED
        self.holds = 0
        self.model = EvaluationQueue(self.entries, rewards)
        self.expected: deque[Learn] = deque()

    def _reward(self) -> int:
        limit = 1 << (self.width - 1)
        return random.choice([-limit, limit - 1, random.randrange(-limit, limit)])

    async def run(self, clocks: int, rates: tuple[float, float, float, float], keys: int) -> None:
        """Offer demands, fills and inserts of `keys` keys at given rates; check the learn requests."""
        dut, model, waiting = self.dut, self.model, dict.fromkeys(("demand", "fill", "insert"))
        for _ in range(clocks):
            for (stream, now), rate in zip(waiting.items(), rates, strict=False):
                if now is None and random.random() < rate:
                    key = random.randrange(keys)
                    payload = random.getrandbits(self.payload_bits)
                    reward = self._reward() if random.random() < 0.2 else None
                    waiting[stream] = key, payload, reward
                    getattr(dut, f"{stream}_key_i").value = key
                    if stream == "insert":
                        dut.insert_payload_i.value = payload
                        dut.insert_rewarded_i.value = reward is not None
                        dut.insert_reward_i.value = (reward or 0) % (1 << self.width)
                getattr(dut, f"{stream}_valid_i").value = waiting[stream] is not None
            chosen = random.getrandbits(1)
            dut.set_i.value = chosen
            dut.learn_ready_i.value = random.random() < rates[3]
            await Timer(1, "ns")
            self.holds += not dut.demand_ready_o.value
            for stream, now in waiting.items():
                if now is None or not getattr(dut, f"{stream}_ready_o").value:
                    continue
                key, payload, reward = now
                if stream == "demand":
                    model.demand(key, chosen)
                elif stream == "fill":
                    model.fill(key)
                elif pair := model.insert(key, payload, 0, reward, chosen):
                    self.expected.append(pair)
                waiting[stream] = None
            if dut.learn_valid_o.value and dut.learn_ready_i.value:
                self._check()
            await FallingEdge(dut.clk_i)
        for stream in waiting:
            getattr(dut, f"{stream}_valid_i").value = 0

    async def drain(self) -> None:
        """Drain the queue, and check the counters."""
        dut = self.dut
        dut.learn_ready_i.value = 1
        for _ in range(40):
            if dut.learn_valid_o.value:
                self._check()
            self.holds += not dut.demand_ready_o.value
            await FallingEdge(dut.clk_i)
        assert not self.expected, f"{len(self.expected)} learn requests are missing"
        for what, counter, count in (
            ("unknown keys", dut.unknown_o, self.model.unknown),
            ("clocks of holds", dut.holds_o, self.holds),
        ):
            seen, right = int(counter.value), wrapped(count)
            assert seen == right, f"{what} {seen}, not {right}"

    def _check(self) -> None:
        dut = self.dut
        seen = Learn(
            int(dut.learn_payload_o.value),
            0,
            dut.learn_reward_o.value.to_signed(),
            int(dut.learn_next_payload_o.value),
            0,
        )
        assert self.expected, f"learn request {self.taken} {seen} is one too many"
        right = self.expected.popleft()
        assert seen == right, f"learn request {self.taken} is {seen}, not {right}"
        self.taken += 1


async def _started(dut: Any) -> _Port:
    port = _Port(dut)
    Clock(dut.clk_i, 10, unit="ns").start()
    await port.reset()
    return port


@cocotb.test()
async def each_entry_leaves_once_with_the_reward_of_the_model(dut: Any) -> None:
    port = await _started(dut)
    most = min(2 * port.entries, 1 << port.key_bits)
    for rates in ((1, 1, 1, 1), (0.9, 0.5, 1, 0.5), (1, 0, 0.3, 1), (0.3, 0.3, 1, 0.2)):
        for keys in (1, min(3, most), most):
            await port.run(port.entries + 60, rates, keys)
    await port.drain()
    assert port.taken > 100


@cocotb.test()
async def a_reset_empties_the_queue(dut: Any) -> None:
    port = await _started(dut)
    for _ in range(12):
        await port.run(port.entries + 20, (0.5, 0.5, 1, 0.5), min(4, 1 << port.key_bits))
        await port.reset()
        assert not dut.learn_valid_o.value
    await port.run(2 * port.entries + 20, (1, 1, 1, 1), 1 << port.key_bits)
    await port.drain()


@cocotb.test()
async def demands_of_other_keys_are_never_held(dut: Any) -> None:
    port = await _started(dut)
    dut.learn_ready_i.value = 1
    for clock in range(50):
        dut.demand_valid_i.value = dut.insert_valid_i.value = 1
        dut.demand_key_i.value, dut.insert_key_i.value = 0, 1
        dut.insert_rewarded_i.value = 0
        if clock % 20:
            dut.demand_valid_i.value = 0
        await Timer(1, "ns")
        assert dut.demand_ready_o.value
        assert dut.insert_ready_o.value
        await FallingEdge(dut.clk_i)
    assert int(dut.holds_o.value) == COUNTED
    assert port.taken == 0
