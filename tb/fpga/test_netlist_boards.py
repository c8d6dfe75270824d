"""Each placed board's netlist, simulated with its chip's cells, matches the model at its pins."""

import random
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tb.fpga.netlists import board as netlist_of
from tb.fpga.netlists import cells
from tb.random_world import random_world
from tb.unit.checked_driver import check_agents
from tb.unit.device_pair import Pair, converse
from tb.unit.requests import RequestMaker

from qstep.device.agents import LinkAgents
from qstep.device.link.frames import encode_frame
from qstep.device.link.session import PATIENCE, Session
from qstep.device.registers import Access
from qstep.golden.agents_fast import FastActingModel
from qstep.spec.epsilon import Epsilon
from qstep.spec.memory_map import Region
from qstep.spec.protocol import ALL_LANES, ARGUMENTS, LEAST_DIVISOR, Request
from qstep.spec.settings import AgentSettings
from qstep_fpga.board import Board, load, names
from qstep_fpga.netlist import copies_lanes, identity
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort

pytestmark = [pytest.mark.release, pytest.mark.synth, pytest.mark.timeout(3600)]

BOARDS = [board for board in map(load, names()) if not copies_lanes(board, board.config)]
"""All boards except farms of copied lanes."""

FARM = load("ulx3s-12f-farm")
"""The smallest farm of copied lanes; with 38 lanes, reading even a few tables takes hours."""

LANES = [board for board in BOARDS if board.config.acting is None]
AGENTS = [board for board in BOARDS if board.config.acting is not None]
BATCHES = 150
"""Number of batches of random requests to a lane."""

COUNT = 300
"""Number of steps of each agent in a farm of copied lanes."""


class FewRead(LinkAgents):
    """Clears all tables at once; if `few`, reads only the tables of each lane's first and last agent."""

    few = False

    def _put_table(self, table: NDArray[np.int32]) -> None:
        assert not table.any()
        self._store(ALL_LANES, [Access(Region.TABLE, index, 0) for index in self._entries()])

    @property
    def table(self) -> NDArray[np.int32]:
        size, entries = self.config.states * self.config.actions, self._entries()
        words = [
            self._fetch(lane, Region.TABLE, entries[slot * size : (slot + 1) * size])
            for lane, slot in self._places()
        ]
        return np.array(words, np.uint32).view(np.int32).reshape(-1, *self.config.table_shape[1:])

    def _places(self) -> list[tuple[int, int]]:
        ends = 0, self.config.lane_agents - 1
        return [place for place in super()._places() if not self.few or place[1] in ends]


def library(board: Board) -> Path:
    """Return a simulation of a board's netlist, with the cells of its chip."""
    files = [netlist_of(board), *cells(board.family)]
    return compile_library(files, "qstep_top", uart=True)


class FastPins(SimPort):
    """A board's serial lines, switched to the highest rate after each reset."""

    def __init__(self, board: Board) -> None:
        self._config = board.config
        super().__init__(board.config, uart=True, library=library(board))

    def reset(self) -> None:
        super().reset()
        self.set_baud(self._config.link.baud)
        session = Session(self, self._config, PATIENCE)
        session.open()
        rate = self._config.link.clock_hz // LEAST_DIVISOR
        session.change_baud(LEAST_DIVISOR, rate, self.set_baud)


@pytest.mark.parametrize("board", LANES, ids=lambda board: board.name)
def test_the_netlist_of_a_board_answers_as_the_reference(board: Board) -> None:
    port = SimPort(board.config, uart=True, library=library(board))
    build = bytes.fromhex(identity(board, board.config))
    pair, rng = Pair(port, board.config, build), random.Random(1)
    pair.compare(b"")  # wait for the end of the reset, which a board extends
    pair.compare(encode_frame(Request.HELLO, 0, 0, rng.randbytes(4)))
    pair.ask(Request.BAUD, ARGUMENTS[Request.BAUD].pack(LEAST_DIVISOR))
    port.set_baud(board.config.link.clock_hz // LEAST_DIVISOR)
    converse(pair, RequestMaker(board.config, rng, divisors=[LEAST_DIVISOR]), rng, BATCHES)
    assert min(pair.reference.applied, pair.reference.frame_errors, pair.reference.refused)


@pytest.mark.parametrize("board", AGENTS, ids=lambda board: board.name)
def test_the_netlist_of_a_board_makes_the_steps_of_the_model(board: Board) -> None:
    check_agents(FastPins(board), board.config)


def test_the_netlist_of_a_farm_of_copied_lanes_makes_the_steps_of_the_model() -> None:
    config = FARM.config
    assert config.acting is not None
    world = random_world(config, 0, 7)
    settings = [AgentSettings(0.5, 0.9, Epsilon(0.25), n) for n in range(config.acting.agents)]
    device = FewRead(FastPins(FARM), config, world, settings)
    model = FastActingModel(config, world, settings)
    device.run(COUNT)
    model.run(COUNT)
    assert all(own.terminations for own in model.counters)
    device.few = True
    table, states, counters = device.table, device.states, device.counters
    read = [lane * config.lane_agents + slot for lane, slot in device._places()]

    def same() -> list[bool]:
        return [
            np.array_equal(table, model.table[read]),
            states == [model.states[n] for n in read],
            counters == [model.counters[n] for n in read],
        ]

    assert same() == [True, True, True]
    model.run(1)
    assert same() == [False, False, False]
