"""cocotb tests of ``qs_planes`` against ``qstep.golden.planes``: random requests, stalls and resets."""

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

_REQUESTS = 1500


@dataclass
class _Learner:
    """The definition, request by request."""

    groups: int
    planes: int
    rows: int
    actions: int
    width: int
    bits: int
    shared: bool
    floor: bool
    start: int
    alpha: int = 0
    kappa: int = 0
    table: list[dict[tuple[int, int], int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.table = [{} for _ in range(self.groups * self.planes)]

    def _entry(self, plane: int, row: int, action: int) -> int:
        return self.table[plane].get((row, action), self.start)

    def _saturated(self, value: int) -> int:
        most = 1 << (self.width - 1)
        return max(-most, min(most - 1, value))

    def choose(self, rows: list[int], explore: int | None) -> tuple[int, int, int]:
        values = []
        for action in range(self.actions):
            entries = [self._entry(t, row, action) for t, row in enumerate(rows)]
            groups = range(0, len(rows), self.planes)
            values.append(max(sum(entries[g : g + self.planes]) for g in groups))
        action = values.index(max(values))
        if self.floor and values[action] <= 0:
            action = 0
        if explore is not None:
            action = explore
        return action, values[action], int(explore is not None)

    def learn(
        self,
        rows: list[int],
        action: int,
        reward: int,
        next_rows: list[int],
        next_action: int,
        terminated: bool,
    ) -> None:
        entries = [self._entry(t, row, action) for t, row in enumerate(rows)]
        nexts = [self._entry(t, row, next_action) for t, row in enumerate(next_rows)]
        kappa = 0 if terminated else self.kappa
        one, half = 1 << self.bits, 1 << (self.bits - 1)
        if self.shared:
            total = self.alpha * (reward - sum(entries)) + kappa * sum(nexts)
            values = [entry + ((total + half) >> self.bits) for entry in entries]
        else:
            values = [
                ((one - self.alpha) * entry + self.alpha * reward + kappa * after + half)
                >> self.bits
                for entry, after in zip(entries, nexts, strict=True)
            ]
        for t, (row, value) in enumerate(zip(rows, values, strict=True)):
            self.table[t][row, action] = self._saturated(value)


class _Port:
    """The pins, and the learner that the requests are to be carried out by."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut

        def number(name: str) -> int:
            return int(getattr(dut, name).value)

        start = number("Start")
        self.model = _Learner(
            number("Groups"),
            number("Planes"),
            number("Rows"),
            number("Actions"),
            number("Width"),
            number("CoeffFraction"),
            bool(number("SharedError")),
            bool(number("Floor")),
            start - (1 << 32) * (start >> 31),
        )
        self.tables = self.model.groups * self.model.planes
        self.row_bits = (self.model.rows - 1).bit_length()
        self.sum_bits = self.model.width + (self.model.planes - 1).bit_length()
        self.answers: deque[tuple[int, int, int]] = deque()
        self.taken = 0
        self.recent: deque[list[int]] = deque([[0] * self.tables], maxlen=3)

    async def reset(self) -> None:
        """Reset, and wait until all entries are cleared."""
        dut, model = self.dut, self.model
        for name in ("choose_valid_i", "learn_valid_i", "answer_ready_i"):
            getattr(dut, name).value = 0
        dut.rst_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        model.clear()
        self.answers.clear()
        clocks = 0
        while True:
            await FallingEdge(dut.clk_i)
            assert not dut.answer_valid_o.value
            if dut.learn_ready_o.value:
                break
            clocks += 1
        assert clocks == model.rows * model.actions - 1

    def set(self, alpha: int, kappa: int) -> None:
        self.model.alpha, self.model.kappa = alpha, kappa
        self.dut.alpha_i.value, self.dut.kappa_i.value = alpha, kappa

    def packed(self, rows: list[int]) -> int:
        return sum(row << self.row_bits * t for t, row in enumerate(rows))

    def rows(self, repeats: float) -> list[int]:
        """Return random rows, each with a probability that of one of the last requests."""
        rows = [
            random.choice(self.recent)[t]
            if random.random() < repeats
            else random.randrange(self.model.rows)
            for t in range(self.tables)
        ]
        self.recent.append(rows)
        return rows

    def _action(self, repeats: float) -> int:
        return random.randrange(2 if random.random() < repeats else self.model.actions)

    async def run(self, requests: int, rates: tuple[float, float, float], repeats: float) -> None:
        """Offer requests, and check every answer; each stream is ready or valid at a rate of its own."""
        dut, model = self.dut, self.model
        limit = 1 << (model.width - 1)
        choose: Any = None
        learn: Any = None
        while requests > 0 or choose or learn or self.answers:
            if choose is None and requests > 0 and random.random() < rates[0]:
                explore = self._action(0) if random.random() < 0.2 else None
                choose = (self.rows(repeats), explore)
                requests -= 1
                dut.choose_rows_i.value = self.packed(choose[0])
                dut.choose_explore_i.value = explore is not None
                dut.choose_action_i.value = explore or 0
            if learn is None and requests > 0 and random.random() < rates[1]:
                reward = random.choice(
                    [-limit, limit - 1, random.randrange(-limit, limit), random.randint(-9, 9)]
                )
                learn = (
                    self.rows(repeats),
                    self._action(repeats),
                    reward,
                    self.rows(repeats),
                    self._action(repeats),
                    random.random() < 0.1,
                )
                requests -= 1
                dut.learn_rows_i.value = self.packed(learn[0])
                dut.learn_action_i.value = learn[1]
                dut.learn_reward_i.value = learn[2] % (2 * limit)
                dut.learn_next_rows_i.value = self.packed(learn[3])
                dut.learn_next_action_i.value = learn[4]
                dut.learn_terminated_i.value = learn[5]
            dut.choose_valid_i.value = choose is not None
            dut.learn_valid_i.value = learn is not None
            dut.answer_ready_i.value = random.random() < rates[2]
            await self._sampled()
            if dut.choose_valid_i.value and dut.choose_ready_o.value:
                self.answers.append(model.choose(*choose))
                choose = None
            if dut.learn_valid_i.value and dut.learn_ready_o.value:
                assert choose is None, "a learn request overtakes a choose request"
                model.learn(*learn)
                learn = None
            if dut.answer_valid_o.value and dut.answer_ready_i.value:
                self._check()
            await FallingEdge(dut.clk_i)
        dut.choose_valid_i.value = dut.learn_valid_i.value = 0

    async def _sampled(self) -> None:
        """Let combinational outputs settle."""
        await cocotb.triggers.Timer(1, "ns")

    def _check(self) -> None:
        dut = self.dut
        seen = (
            int(dut.answer_action_o.value),
            dut.answer_value_o.value.to_signed(),
            int(dut.answer_explored_o.value),
        )
        right = self.answers.popleft()
        assert seen == right, f"answer {self.taken}: action, value, explored {seen}, not {right}"
        self.taken += 1


async def _started(dut: Any) -> _Port:
    port = _Port(dut)
    Clock(dut.clk_i, 10, unit="ns").start()
    port.set(0, 0)
    await port.reset()
    return port


def _coefficients(bits: int) -> Iterator[tuple[int, int]]:
    most = min(1 << bits, 65535)
    yield most, most
    yield most, most // 2
    alpha = random.randint(most // 8, most)
    yield alpha, random.randint(0, alpha)


@cocotb.test()
async def answers_are_those_of_the_requests_one_by_one(dut: Any) -> None:
    port = await _started(dut)
    for alpha, kappa in _coefficients(port.model.bits):
        for rates in ((1, 1, 1), (1, 0.5, 1), (0.6, 1, 0.7), (1, 1, 0.3)):
            port.set(alpha, kappa)
            await port.run(_REQUESTS // 12, rates, repeats=random.choice([0.3, 0.7, 1.0]))


@cocotb.test()
async def a_reset_drops_requests_and_answers_and_clears_the_tables(dut: Any) -> None:
    port = await _started(dut)
    for _ in range(2):
        port.set(*next(_coefficients(port.model.bits)))
        run = cocotb.start_soon(port.run(1000, (1, 1, 0.5), repeats=0.5))
        for _ in range(random.randint(20, 60)):
            await FallingEdge(dut.clk_i)
        run.cancel()
        await port.reset()
        await port.run(150, (1, 1, 1), repeats=0.9)


@cocotb.test()
async def requests_that_share_nothing_are_never_held(dut: Any) -> None:
    port = await _started(dut)
    port.set(1, 1)
    dut.choose_rows_i.value = dut.learn_rows_i.value = 0
    dut.learn_next_rows_i.value = port.packed([1] * port.tables)
    dut.choose_rows_i.value = port.packed([1] * port.tables)
    dut.learn_action_i.value, dut.learn_next_action_i.value = 0, 1
    dut.answer_ready_i.value = 1
    dut.choose_valid_i.value = 1
    await FallingEdge(dut.clk_i)
    for clock in range(60):
        dut.learn_valid_i.value = clock % 20 == 0
        dut.choose_explore_i.value = 0
        await cocotb.triggers.Timer(1, "ns")
        assert dut.choose_ready_o.value
        assert dut.learn_ready_o.value
        await FallingEdge(dut.clk_i)
    assert int(dut.holds_o.value) == 0
