"""Moves values between the memories and the bytes of REWARDS, LOAD and READ; clears the table.

Function    `check` walks over the entries of a request and reports whether all exist; `move` walks again
            and moves the values. No part of a bad request is therefore applied, and no multiplier is
            needed.
Latency     One clock per value for the check; CLEAR takes one clock per table entry.
Throughput  REWARDS and LOAD: one byte per clock. READ: one value per `value_bytes` + 1 clocks, at least
            three.
Reset       Idle.
Hazards     `task` and its arguments must be stable from `check` to the end of the move.
Invariants  The table is written only while the lane is idle; `check` may be asserted only while it is
            idle.
"""

from __future__ import annotations

from enum import IntEnum

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out, Signature

from qstep.spec.config import Config
from qstep.spec.protocol import CODE_BITS, COMMON, StatusCode, max_payload
from qstep_rtl.invariants import invariant
from qstep_rtl.record_decoder import RewardsSignature

__all__ = ["AccessSignature", "AccessTask", "TableAccess"]

_READ_CLOCKS = 2  # of the lane's host port, from address to data


class AccessTask(IntEnum):
    """The kind of access."""

    REWARDS = 0
    LOAD = 1
    READ = 2
    CLEAR = 3


class AccessSignature(Signature):
    """Requests to the table access, as seen from the commands.

    Parameters
    ----------
    config : Config
        Its link limits the payload size.

    Attributes
    ----------
    task : Out(AccessTask)
    first_code, first_state, first_action : Out(8), Out(16), Out(8)
        First entry of the request.
    payload_bytes : Out
        Bytes of values in a REWARDS or LOAD.
    count : Out(16)
        Number of values in a READ.
    check, move : Out(1)
        Start a check or a move.
    values : Out(stream of 8)
        Values of a REWARDS or LOAD, `payload_bytes` bytes; the first byte arrives at least two clocks
        after `move`.
    busy : In(1)
        A check or a move is in progress.
    verdict : In(StatusCode)
        Result of the last check.
    data_bytes : In
        Bytes that the move consumes or produces.
    """

    def __init__(self, config: Config) -> None:
        payload_bits = max_payload(config.link.buffer_bytes).bit_length()
        super().__init__(
            {
                "task": Out(AccessTask),
                "first_code": Out(CODE_BITS),
                "first_state": Out(16),
                "first_action": Out(8),
                "payload_bytes": Out(payload_bits),
                "count": Out(16),
                "check": Out(1),
                "move": Out(1),
                "values": Out(stream.Signature(8, always_ready=True)),
                "busy": In(1),
                "verdict": In(StatusCode),
                "data_bytes": In(payload_bits),
            }
        )


class TableAccess(Component):
    """The host's access to the Q-table and to the reward table.

    Parameters
    ----------
    config : Config
        Geometry and number format.

    Attributes
    ----------
    request : In(AccessSignature)
    values : Out(stream of 8)
        Values of a READ, `value_bytes` bytes each.
    state, action, value : Out
        Entry of the table, and the value written to it.
    write_table : Out(1)
    table_value : In
        Value of the entry, two clocks after its address.
    rewards : Out(RewardsSignature)
        Write port of the reward table.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        width = config.format.width
        super().__init__(
            {
                "request": In(AccessSignature(config)),
                "values": Out(stream.Signature(8)),
                "state": Out(config.state_bits),
                "action": Out(config.action_bits),
                "value": Out(width),
                "write_table": Out(1),
                "table_value": In(width),
                "rewards": Out(RewardsSignature(width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, request = self._config, self.request
        size = config.value_bytes
        most_values = (max_payload(config.link.buffer_bytes) - COMMON.size) // size

        left = Signal(len(request.data_bytes))  # bytes still to be checked, moved or fetched
        outside = Signal()
        reading = Signal()
        m.d.comb += reading.eq(request.task == AccessTask.READ)

        # The walk: `advance` moves to the next entry.
        advance = Signal()
        restart = Signal()
        past_table = Signal()
        past_rewards = Signal()
        with m.If(restart):
            m.d.sync += [
                Cat(self.rewards.code, past_rewards).eq(request.first_code),
                self.state.eq(Mux(request.task == AccessTask.CLEAR, 0, request.first_state)),
                self.action.eq(Mux(request.task == AccessTask.CLEAR, 0, request.first_action)),
                past_table.eq(0),
                left.eq(request.data_bytes),
            ]
        with m.Elif(advance):
            m.d.sync += [
                Cat(self.rewards.code, past_rewards).eq(Cat(self.rewards.code, past_rewards) + 1),
                self.action.eq(self.action + 1),
            ]
            with m.If(self.action == config.actions - 1):
                m.d.sync += [self.action.eq(0), self.state.eq(self.state + 1)]
                with m.If(self.state == config.states - 1):
                    m.d.sync += past_table.eq(1)

        # Values: shifted in at the top and out at the bottom.
        value = Signal(8 * size)
        extended = Signal(8 * size)
        phase = Signal(range(size))  # bytes of the value already moved
        writing = Signal()
        wait = Signal(range(_READ_CLOCKS + 1))
        have = Signal()
        m.d.comb += [
            self.value.eq(value),
            self.rewards.value.eq(value),
            extended.eq(self.table_value.as_signed()),
            self.write_table.eq(writing & (request.task != AccessTask.REWARDS)),
            self.rewards.write.eq(writing & (request.task == AccessTask.REWARDS)),
            self.values.payload.eq(value[:8]),
            self.values.valid.eq(have),
        ]

        def next_phase() -> None:
            with m.If(phase == size - 1):
                m.d.sync += phase.eq(0)
            with m.Else():
                m.d.sync += phase.eq(phase + 1)

        last = Signal()  # the last entry of the table is cleared in this clock
        with m.If(request.check | request.move):
            invariant(m, platform, ~request.busy, "a check or a move began in another")
        m.d.sync += [restart.eq(0), last.eq(0)]
        with m.FSM() as fsm:
            m.d.comb += request.busy.eq(~fsm.ongoing("idle"))
            with m.State("idle"):
                m.d.sync += restart.eq(request.check | request.move)
                with m.If(request.check):
                    m.d.sync += request.data_bytes.eq(
                        Mux(reading, request.count * size, request.payload_bytes)
                    )
                    m.next = "measure"
                with m.Elif(request.move):
                    m.next = "start"
            with m.State("start"):
                m.d.sync += [value.eq(0), wait.eq(_READ_CLOCKS)]
                with m.If(reading):
                    m.next = "read"
                with m.Elif(request.task == AccessTask.CLEAR):
                    m.d.sync += writing.eq(1)
                    m.next = "clear"
                with m.Else():
                    m.next = "write"
            with m.State("measure"):
                bad_count = (request.count == 0) | (request.count > most_values)
                no_entry = (request.first_state >= config.states) | (
                    request.first_action >= config.actions
                )
                m.d.sync += outside.eq(
                    ((request.task != AccessTask.REWARDS) & no_entry) | (reading & bad_count)
                )
                m.next = "check"
            with m.State("check"):
                m.d.comb += advance.eq(1)
                with m.If(Mux(request.task == AccessTask.REWARDS, past_rewards, past_table)):
                    m.d.sync += outside.eq(1)
                with m.If((left < size) | (reading & outside)):
                    m.d.sync += request.verdict.eq(
                        Mux(outside, StatusCode.OUT_OF_RANGE, StatusCode.OK)
                    )
                    too_many = outside & (request.task == AccessTask.REWARDS)
                    with m.If(~reading & ((left != 0) | too_many)):
                        m.d.sync += request.verdict.eq(StatusCode.BAD_LENGTH)
                    m.next = "idle"
                with m.Else():
                    m.d.sync += left.eq(left - size)
            with m.State("write"):
                m.d.comb += advance.eq(writing)
                m.d.sync += writing.eq(0)
                with m.If(request.values.valid):
                    m.d.sync += [
                        value.eq(Cat(value, request.values.payload)[8:]),
                        writing.eq(phase == size - 1),
                        left.eq(left - 1),
                    ]
                    next_phase()
                with m.If((left == 0) & ~writing):
                    m.next = "idle"
            with m.State("clear"):
                m.d.comb += advance.eq(1)
                # Compared one entry early, because the walk visits one entry per clock here.
                m.d.sync += last.eq(
                    (self.state == config.states - 1) & (self.action == config.actions - 2)
                )
                with m.If(last):
                    m.d.sync += writing.eq(0)
                    m.next = "idle"
            with m.State("read"):
                with m.If(wait != 0):
                    m.d.sync += wait.eq(wait - 1)
                with m.If(have & self.values.ready):
                    m.d.sync += [value.eq(value >> 8), have.eq(phase != size - 1)]
                    next_phase()
                with m.If((wait == 0) & ~have):
                    # The walk is ahead: the next entry is fetched while this one is sent.
                    m.d.comb += advance.eq(1)
                    # `left` is decremented now, not when the bytes are sent, because it is known only
                    # late in a clock whether a byte is sent.
                    m.d.sync += [value.eq(extended), have.eq(1), wait.eq(_READ_CLOCKS)]
                    m.d.sync += left.eq(left - size)
                with m.If((left == 0) & ~have):
                    m.d.sync += have.eq(0)
                    m.next = "idle"
        return m
