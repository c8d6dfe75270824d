"""cocotb tests of ``qs_planes`` against ``qstep.golden.planes``: random requests, stalls and resets."""

import random
from collections import deque
from dataclasses import replace
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from tb.unit.learner_pins import COUNTED, answer_of, answers_room, packed, wrapped

from qstep.golden.planes import NO_ACTION, Choice, PlanesModel
from qstep.spec.fixed import QFormat
from qstep.spec.planes import ERRORS, PlanesConfig
from qstep.spec.random import first_word
from qstep_rtl.timing import answer_clocks

_FRACTION = 4
_REQUESTS = 1500


class _Port:
    """The pins, and the model that executes the same requests."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut

        def number(name: str) -> int:
            return int(getattr(dut, name).value)

        number_format = QFormat(number("Width") - _FRACTION, _FRACTION)
        start = number("Start")
        self.config = PlanesConfig(
            groups=number("Groups"),
            planes=number("Planes"),
            rows=number("Rows"),
            actions=number("Actions"),
            format=number_format,
            error=ERRORS[number("SharedError")],
            floor=bool(number("Floor")),
            coefficient_bits=number("CoeffFraction"),
            alpha=0.0,
            start=(start - (1 << 32) * (start >> 31)) / (1 << _FRACTION),
        )
        self.most_alpha = min(1.0, 65535 / (1 << self.config.coefficient_bits))
        self.tables = self.config.all_planes
        self.row_bits = (self.config.rows - 1).bit_length()
        self.answers: deque[Choice] = deque()
        self.taken = 0
        self.recent: deque[list[int]] = deque([[0] * self.tables], maxlen=3)

    async def reset(self, alpha: float, gamma: float, epsilon: float) -> None:
        """Reset with new coefficients, and wait until all entries are cleared."""
        dut, seed = self.dut, random.getrandbits(64)
        self.config = replace(self.config, alpha=alpha, gamma=gamma, epsilon=epsilon)
        self.model = PlanesModel(self.config, seed)
        dut.word_i.value = first_word(seed, 0)
        dut.threshold_i.value = self.config.threshold
        dut.alpha_i.value = self.config.coefficients.alpha
        dut.kappa_i.value = self.config.coefficients.kappa
        for name in ("choose_valid_i", "learn_valid_i", "answer_ready_i"):
            getattr(dut, name).value = 0
        dut.rst_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        self.answers.clear()
        clocks = 0
        while True:
            await FallingEdge(dut.clk_i)
            assert not dut.answer_valid_o.value
            if dut.learn_ready_o.value:
                break
            clocks += 1
        assert clocks == self.config.rows * self.config.actions - 1

    def packed(self, rows: list[int]) -> int:
        return packed(rows, self.row_bits)

    def rows(self, repeats: float) -> list[int]:
        """Return random rows, each repeated from a recent request with probability `repeats`."""
        rows = [
            random.choice(self.recent)[t]
            if random.random() < repeats
            else random.randrange(self.config.rows)
            for t in range(self.tables)
        ]
        self.recent.append(rows)
        return rows

    def _action(self, repeats: float) -> int:
        return random.randrange(2 if random.random() < repeats else self.config.actions)

    async def run(self, requests: int, rates: tuple[float, float, float], repeats: float) -> None:
        """Offer requests and check every answer; each stream is valid or ready at its own rate."""
        dut, model = self.dut, self.model
        limit = 1 << self.config.format.width - 1
        choose: Any = None
        learn: Any = None
        while requests > 0 or choose or learn or self.answers:
            if choose is None and requests > 0 and random.random() < rates[0]:
                explore = self._action(0) if random.random() < 0.2 else NO_ACTION
                choose = (self.rows(repeats), explore)
                requests -= 1
                dut.choose_rows_i.value = self.packed(choose[0])
                dut.choose_explore_i.value = explore != NO_ACTION
                dut.choose_action_i.value = max(explore, 0)
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
            await Timer(1, "ns")  # until combinational outputs have settled
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

    def _check(self) -> None:
        dut = self.dut
        seen = answer_of(dut)
        right = self.answers.popleft()
        assert seen == right, f"answer {self.taken} is {seen}, not {right}"
        self.taken += 1


async def _started(dut: Any) -> _Port:
    port = _Port(dut)
    Clock(dut.clk_i, 10, unit="ns").start()
    return port


@cocotb.test()
async def answers_are_those_of_the_requests_one_by_one(dut: Any) -> None:
    port = await _started(dut)
    most = port.most_alpha
    for alpha, gamma, epsilon in (
        (most, 1.0, 0.0),
        (most / 2, 0.5, 0.3),
        (most * random.random(), random.random(), 1.0),
        (most * random.random(), random.random(), random.random()),
    ):
        await port.reset(alpha, gamma, epsilon)
        for rates in ((1, 1, 1), (1, 0.5, 1), (0.6, 1, 0.7), (1, 1, 0.3)):
            await port.run(_REQUESTS // 16, rates, repeats=random.choice([0.3, 0.7, 1.0]))
    assert port.taken > _REQUESTS // 4


@cocotb.test()
async def a_reset_drops_requests_and_answers_and_clears_the_tables(dut: Any) -> None:
    port = await _started(dut)
    await port.reset(port.most_alpha, 0.9, 0.1)
    for _ in range(2):
        run = cocotb.start_soon(port.run(1000, (1, 1, 0.5), repeats=0.5))
        for _ in range(random.randint(20, 60)):
            await FallingEdge(dut.clk_i)
        run.cancel()
        await port.reset(port.most_alpha, 0.9, random.random())
        await port.run(150, (1, 1, 1), repeats=0.9)


@cocotb.test()
async def only_dependent_requests_are_held(dut: Any) -> None:
    port = await _started(dut)
    await port.reset(0.0, 0.0, 0.0)
    held = 0
    dut.holds_q.value = COUNTED
    dut.choose_explore_i.value = 0
    dut.answer_ready_i.value = 1
    for clock in range(80):
        # Updates of row 0 lead to row 1; every eighth choose request reads the row that is being
        # written.
        reads = clock % 8 == 0
        dut.choose_valid_i.value = 1
        dut.choose_rows_i.value = 0 if reads else port.packed([1] * port.tables)
        dut.learn_valid_i.value = clock % 8 == 0 or clock % 8 == 4
        dut.learn_rows_i.value = 0
        dut.learn_next_rows_i.value = port.packed([1] * port.tables)
        dut.learn_action_i.value, dut.learn_next_action_i.value = clock // 4 % 2, 0
        await Timer(1, "ns")
        assert dut.choose_ready_o.value
        assert dut.learn_ready_o.value
        await FallingEdge(dut.clk_i)
        if reads:
            held += 1
            dut.choose_valid_i.value = dut.learn_valid_i.value = 0
            assert not dut.choose_ready_o.value
            await FallingEdge(dut.clk_i)
    assert int(dut.holds_o.value) == wrapped(held)


@cocotb.test()
async def answers_that_nobody_takes_hold_the_choices(dut: Any) -> None:
    port = await _started(dut)
    await port.reset(port.most_alpha, 0.9, 0.3)
    room = answers_room(port.config)
    run = cocotb.start_soon(port.run(2 * room, (1, 0, 0), repeats=0.5))
    for _ in range(3 * room):
        await FallingEdge(dut.clk_i)
    assert len(port.answers) == room
    run.cancel()
    await port.run(2 * room, (1, 0.5, 1), repeats=0.5)


@cocotb.test()
async def an_answer_comes_after_the_documented_clocks(dut: Any) -> None:
    port = await _started(dut)
    await port.reset(0.0, 0.0, 0.0)
    dut.choose_rows_i.value = dut.choose_explore_i.value = 0
    dut.choose_valid_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.choose_valid_i.value = 0
    clocks = 1
    while not dut.answer_valid_o.value:
        await FallingEdge(dut.clk_i)
        clocks += 1
    assert clocks == answer_clocks(port.config)
