"""Moves values between the bytes of REWARDS, LOAD and READ and the memories; clears the table.

Function    `check` walks over the entries of a request and says whether all exist; `move` walks
            again and moves the values. So nothing of a bad request is applied, and no multiplier is
            needed.
Latency     One clock per value for the check; CLEAR takes a clock per entry of the table.
Throughput  REWARDS and LOAD one byte per clock, READ a value in `value_bytes` or three clocks.
Reset       Idle.
Hazards     `task` and what belongs to it are steady from `check` to the end of the move.
Invariants  The table is written only while the lane is idle, which is when `check` may be given.
"""

from __future__ import annotations

from enum import IntEnum

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from qstep.config import Config
from qstep.protocol import CODE_BITS, COMMON, StatusCode, max_payload

__all__ = ["Task", "Values"]

_READ_CLOCKS = 2  # of the lane's host port, from address to data


class Task(IntEnum):
    """What is moved."""

    REWARDS = 0
    LOAD = 1
    READ = 2
    CLEAR = 3


class Values(Component):
    """Host side of the Q-table and of the reward table.

    Parameters
    ----------
    config : Config
        Geometry and number format.

    Attributes
    ----------
    task : In(Task)
    first_code, first_state, first_action : In(8), In(16), In(8)
        Where the request starts.
    payload_bytes : In(16)
        Bytes of values in a REWARDS or LOAD.
    read_count : In(16)
        Values that a READ asks for.
    check, move : In(1)
        Begin.
    busy : Out(1)
        A check or a move is under way.
    verdict : Out(3)
        Result of the last check.
    data_bytes : Out(16)
        Bytes that the move takes or gives.
    bytes_in, bytes_out : In(stream of 8), Out(stream of 8)
        Values, `value_bytes` each; as many bytes come in as `payload_bytes` says, the first two clocks
        after `move` at the earliest.
    state, action, value : Out
        Entry of the table and what is written to it.
    write_table, write_reward : Out(1)
    code : Out(8)
        Entry of the reward table.
    table_value : In
        What the entry holds, two clocks after its address.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        width = config.format.width
        payload_bits = max_payload(config.link.buffer_bytes).bit_length()
        super().__init__(
            {
                "task": In(Task),
                "first_code": In(CODE_BITS),
                "first_state": In(16),
                "first_action": In(8),
                "payload_bytes": In(payload_bits),
                "read_count": In(16),
                "check": In(1),
                "move": In(1),
                "busy": Out(1),
                "verdict": Out(StatusCode),
                "data_bytes": Out(payload_bits),
                "bytes_in": In(stream.Signature(8, always_ready=True)),
                "bytes_out": Out(stream.Signature(8)),
                "state": Out(config.state_bits),
                "action": Out(config.action_bits),
                "value": Out(width),
                "write_table": Out(1),
                "write_reward": Out(1),
                "code": Out(CODE_BITS),
                "table_value": In(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        size = config.value_bytes
        most_values = (max_payload(config.link.buffer_bytes) - COMMON.size) // size

        left = Signal(len(self.data_bytes))  # bytes still to be checked, moved or fetched
        outside = Signal()
        reading = Signal()
        m.d.comb += reading.eq(self.task == Task.READ)

        # The walk: one entry further with `advance`.
        advance, restart, past_table, past_rewards = Signal(), Signal(), Signal(), Signal()
        with m.If(restart):
            m.d.sync += [
                Cat(self.code, past_rewards).eq(self.first_code),
                self.state.eq(Mux(self.task == Task.CLEAR, 0, self.first_state)),
                self.action.eq(Mux(self.task == Task.CLEAR, 0, self.first_action)),
                past_table.eq(0),
                left.eq(self.data_bytes),
            ]
        with m.Elif(advance):
            m.d.sync += [
                Cat(self.code, past_rewards).eq(Cat(self.code, past_rewards) + 1),
                self.action.eq(self.action + 1),
            ]
            with m.If(self.action == config.actions - 1):
                m.d.sync += [self.action.eq(0), self.state.eq(self.state + 1)]
                with m.If(self.state == config.states - 1):
                    m.d.sync += past_table.eq(1)

        # Values: shifted in from the top and out at the bottom.
        value = Signal(8 * size)
        extended = Signal(8 * size)
        phase = Signal(range(size))  # bytes of the value that have passed
        writing = Signal()
        wait = Signal(range(_READ_CLOCKS + 1))
        have = Signal()
        m.d.comb += [
            self.value.eq(value),
            extended.eq(self.table_value.as_signed()),
            self.write_table.eq(writing & (self.task != Task.REWARDS)),
            self.write_reward.eq(writing & (self.task == Task.REWARDS)),
            self.bytes_out.payload.eq(value[:8]),
            self.bytes_out.valid.eq(have),
        ]

        def next_phase() -> None:
            with m.If(phase == size - 1):
                m.d.sync += phase.eq(0)
            with m.Else():
                m.d.sync += phase.eq(phase + 1)

        m.d.sync += restart.eq(0)
        with m.FSM() as fsm:
            m.d.comb += self.busy.eq(~fsm.ongoing("idle"))
            with m.State("idle"):
                m.d.sync += restart.eq(self.check | self.move)
                with m.If(self.check):
                    m.d.sync += self.data_bytes.eq(
                        Mux(reading, self.read_count * size, self.payload_bytes)
                    )
                    m.next = "measure"
                with m.Elif(self.move):
                    m.next = "start"
            with m.State("start"):
                m.d.sync += [value.eq(0), wait.eq(_READ_CLOCKS)]
                with m.If(reading):
                    m.next = "read"
                with m.Elif(self.task == Task.CLEAR):
                    m.d.sync += writing.eq(1)
                    m.next = "clear"
                with m.Else():
                    m.next = "write"
            with m.State("measure"):
                bad_count = (self.read_count == 0) | (self.read_count > most_values)
                no_entry = (self.first_state >= config.states) | (
                    self.first_action >= config.actions
                )
                m.d.sync += outside.eq(
                    ((self.task != Task.REWARDS) & no_entry) | (reading & bad_count)
                )
                m.next = "check"
            with m.State("check"):
                m.d.comb += advance.eq(1)
                with m.If(Mux(self.task == Task.REWARDS, past_rewards, past_table)):
                    m.d.sync += outside.eq(1)
                with m.If((left < size) | (reading & outside)):
                    m.d.sync += self.verdict.eq(
                        Mux(outside, StatusCode.OUT_OF_RANGE, StatusCode.OK)
                    )
                    too_many = outside & (self.task == Task.REWARDS)
                    with m.If(~reading & ((left != 0) | too_many)):
                        m.d.sync += self.verdict.eq(StatusCode.BAD_LENGTH)
                    m.next = "idle"
                with m.Else():
                    m.d.sync += left.eq(left - size)
            with m.State("write"):
                m.d.comb += advance.eq(writing)
                m.d.sync += writing.eq(0)
                with m.If(self.bytes_in.valid):
                    m.d.sync += [
                        value.eq(Cat(value, self.bytes_in.payload)[8:]),
                        writing.eq(phase == size - 1),
                        left.eq(left - 1),
                    ]
                    next_phase()
                with m.If((left == 0) & ~writing):
                    m.next = "idle"
            with m.State("clear"):
                m.d.comb += advance.eq(1)
                last = (self.state == config.states - 1) & (self.action == config.actions - 1)
                with m.If(last):
                    m.d.sync += writing.eq(0)
                    m.next = "idle"
            with m.State("read"):
                with m.If(wait != 0):
                    m.d.sync += wait.eq(wait - 1)
                with m.If(have & self.bytes_out.ready):
                    m.d.sync += [value.eq(value >> 8), have.eq(phase != size - 1)]
                    next_phase()
                with m.If((wait == 0) & ~have):
                    # The walk runs ahead: the next entry is fetched while this one is sent.
                    m.d.comb += advance.eq(1)
                    # Counted now and not as its bytes go, as it is late in a clock until one does.
                    m.d.sync += [value.eq(extended), have.eq(1), wait.eq(_READ_CLOCKS)]
                    m.d.sync += left.eq(left - size)
                with m.If((left == 0) & ~have):
                    m.d.sync += have.eq(0)
                    m.next = "idle"
        return m
