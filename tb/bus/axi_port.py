"""AXI ports of a device in a cocotb test: register access by name, and packets on the lane's streams."""

from __future__ import annotations

import logging
import random
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiResp,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)
from tb.bus.axi_coverage import coverage_of

from qstep import Config, Hyperparameters, QFormat
from qstep.golden.lane import Model
from qstep_rtl.bus.registers import LANE, registers

__all__ = [
    "FORWARDED",
    "REFUSED",
    "SATURATED",
    "AxiPort",
    "Result",
    "Transition",
    "drawn",
    "no_output_follows_an_input",
    "packed",
]

SATURATED, FORWARDED, REFUSED = 1, 2, 4

_TRANSITION = struct.Struct("<IIiHH")
_PARTS = [(first, size) for size in (1, 2, 3) for first in range(5 - size)]
"""First byte and size of every access to part of a word."""

_RESULT = struct.Struct("<iiII")

_INPUT = re.compile(r"s_axil_(aw|w|ar)(?!ready)|s_axil_[br]ready$|s_axis_t(?!ready)|m_axis_tready")
"""Pattern that matches the input ports of a bus."""


class Transition(NamedTuple):
    """A transition, with its fields in the order of :meth:`qstep.Model.update`."""

    state: int
    action: int
    reward: int
    next_state: int
    terminated: int


class Result(NamedTuple):
    """The result of a transition."""

    value: int
    maximum: int
    greedy: int
    flags: int


def packed(transitions: Iterable[Transition]) -> bytes:
    """Return the bytes of a packet of transitions."""
    return b"".join(
        _TRANSITION.pack(t.state, t.next_state, t.reward, t.action, t.terminated)
        for t in transitions
    )


def drawn(config: Config, count: int) -> list[Transition]:
    """Return random transitions, half of them within a few states to exercise forwarding."""
    least, greatest = config.format.minimum, config.format.maximum
    few = min(config.states, 3)
    return [
        Transition(
            random.randrange(rows),
            random.randrange(config.actions),
            random.choice([least, greatest, random.randint(least, greatest)]),
            random.randrange(rows),
            int(random.random() < 0.2),
        )
        for rows in random.choices([few, config.states], k=count)
    ]


async def no_output_follows_an_input(dut: Any, clocks: int) -> None:
    """Drive random inputs, and check that no bus output depends combinationally on a bus input."""
    ports = [port for port in dut if re.match(r"[ms]_axi[ls]_", port._name)]
    inputs = [port for port in ports if _INPUT.match(port._name)]
    outputs = [port for port in ports if port not in inputs]
    dut.aresetn.value = 0
    Clock(dut.aclk, 10, unit="ns").start()
    for _ in range(clocks):
        await FallingEdge(dut.aclk)
        dut.aresetn.value = 1
        for port in inputs:
            port.value = random.getrandbits(len(port))
        await Timer(1, "ps")
        before = [port.value for port in outputs]
        for port in inputs:
            old = int(port.value)
            port.value = old ^ (1 << len(port)) - 1
            await Timer(1, "ps")
            assert [port.value for port in outputs] == before, port._name
            port.value = old


def _stalls(share: float) -> Iterator[bool]:
    while True:
        yield random.random() < share


def _hold(channel: Any, share: float) -> None:
    """Block a channel for 16 clocks, then stall it as in :meth:`AxiPort.stall`."""
    channel.set_pause_generator(chain(repeat(True, 16), _stalls(share)))


class AxiPort:
    """The two streams and the registers of a top-level module."""

    def __init__(self, dut: Any, block: str) -> None:
        self.dut = dut
        reset = {"reset": dut.aresetn, "reset_active_level": False}
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.aclk, **reset)
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.aclk, **reset)
        self.sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.aclk, **reset)
        for log in (self.master.write_if.log, self.master.read_if.log):
            log.setLevel(logging.WARNING)  # otherwise, each access logs two lines
        for log in (self.source.log, self.sink.log):
            log.setLevel(logging.WARNING)
        self.registers = registers(block)
        self.coverage = coverage_of(block, 8 * _TRANSITION.size // len(dut.s_axis_tdata))
        width, fraction = int(dut.Width.value), int(dut.Fraction.value)
        self.format = QFormat(width - fraction, fraction)

    async def start(self) -> None:
        """Start the clock and reset the design."""
        self.dut.aresetn.value = 0
        Clock(self.dut.aclk, 10, unit="ns").start()
        self.dut.s_axil_awprot.value = self.dut.s_axil_arprot.value = 0
        await self.reset()
        cocotb.start_soon(self.coverage.watch(self.dut))

    async def reset(self, clocks: int = 4) -> None:
        """Assert the reset for a number of clocks."""
        self.dut.aresetn.value = 0
        await ClockCycles(self.dut.aclk, clocks)
        self.dut.aresetn.value = 1
        await ClockCycles(self.dut.aclk, 2)

    def stall(self, share: float) -> None:
        """Stall each of the seven channels driven by the test, for a share of the clocks.

        Each call also drives new random protection bits, which the registers ignore.
        """
        for name in ("s_axil_awprot", "s_axil_arprot"):
            getattr(self.dut, name).value = random.getrandbits(3)
        write, read = self.master.write_if, self.master.read_if
        channels = [write.aw_channel, write.w_channel, write.b_channel]
        channels += [read.ar_channel, read.r_channel]
        for channel in (*channels, self.source, self.sink):
            channel.set_pause_generator(_stalls(share) if share else repeat(False))

    async def read(self, name: str) -> int:
        """Return the value of a register; the access must succeed."""
        register = self.registers[name]
        answer = await self.master.read(register.address, register.size)
        assert answer.resp == AxiResp.OKAY, f"{name} was read with {answer.resp}"
        return int.from_bytes(answer.data, "little")

    async def reads_parts_of(self, name: str) -> None:
        """Check partial-word reads of a register, starting at each byte."""
        whole = (await self.read(name)).to_bytes(4, "little")
        for first, size in _PARTS:
            answer = await self.master.read(self.registers[name].address + first, size)
            assert answer.resp == AxiResp.OKAY, f"{size} bytes of {name} from {first}"
            assert bytes(answer.data) == whole[first : first + size], (name, first, size)

    async def field(self, name: str, field: str) -> int:
        """Return the value of a register field."""
        low, bits = self.registers[name].fields[field]
        return await self.read(name) >> low & (1 << bits) - 1

    async def write(self, name: str, **fields: int) -> None:
        """Write a register; omitted fields are 0."""
        register = self.registers[name]
        word = 0
        for field, value in fields.items():
            low, bits = register.fields[field]
            word |= (value & (1 << bits) - 1) << low
        answer = await self.master.write(register.address, word.to_bytes(4, "little"))
        assert answer.resp == AxiResp.OKAY, f"{name} was written with {answer.resp}"

    async def refuses(self, unchanged: Sequence[str]) -> None:
        """Try each access that must get SLVERR; check that `unchanged` registers keep their values."""
        before = [await self.read(name) for name in unchanged]
        registers = self.registers.values()
        known = {r.address + offset for r in registers for offset in range(0, r.size, 4)}
        outside = [*(word for word in range(0, 0xC0, 4) if word not in known), 0x100, 0x800, 0xFFC]
        unreadable = [r.address for r in registers if not r.readable]
        unwritable = [r.address for r in registers if not r.writable]
        for address in (*outside, *unreadable):
            assert (await self.master.read(address, 4)).resp == AxiResp.SLVERR, hex(address)
        for address in (*outside, *unwritable):
            answer = await self.master.write(address, b"\xff" * 4)
            assert answer.resp == AxiResp.SLVERR, hex(address)
        for name, register in self.registers.items():
            for first, size in _PARTS if register.writable else ():
                answer = await self.master.write(register.address + first, b"\x01" * size)
                assert answer.resp == AxiResp.SLVERR, f"{size} bytes of {name} from {first}"
        assert [await self.read(name) for name in unchanged] == before

    async def at_once(self, name: str) -> None:
        """Send many writes and reads of a register without waiting for the answers.

        The first response is held off for several clocks, so the following addresses have to wait.
        """
        address = self.registers[name].address
        for share in (0, 0.5):
            self.stall(share)
            _hold(self.master.write_if.b_channel, share)
            writes = [
                cocotb.start_soon(self.master.write(address, value.to_bytes(4, "little")))
                for value in range(1, 9)
            ]
            for write in writes:
                assert (await write).resp == AxiResp.OKAY
            _hold(self.master.read_if.r_channel, share)
            reads = [cocotb.start_soon(self.master.read(address, 4)) for _ in writes]
            for read in reads:
                assert int.from_bytes((await read).data, "little") == len(writes)
        self.stall(0)

    async def clocks(self, count: int = 1) -> None:
        """Wait for a number of rising clock edges."""
        for _ in range(count):
            await RisingEdge(self.dut.aclk)


class LanePort(AxiPort):
    """The ports of ``qs_axi_lane``."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut, LANE)
        self.config = Config(
            states=int(dut.States.value),
            actions=int(dut.Actions.value),
            format=self.format,
            loop_depth=int(dut.LoopDepth.value),
        )

    @classmethod
    async def started(cls, dut: Any) -> LanePort:
        """Return the ports after a reset, with the table cleared."""
        port = cls(dut)
        await port.start()
        await port.write("control", clear=1)
        await port.settled()
        return port

    async def settled(self) -> None:
        """Wait until neither settings nor a clear is pending."""
        while await self.field("status", "pending"):
            pass

    async def configure(self, hyper: Hyperparameters) -> None:
        """Apply hyperparameters."""
        c = hyper.coefficients_for(self.config)
        await self.write("alpha", value=c.alpha)
        await self.write("kappa", value=c.kappa)
        await self.write("rounding", mode=hyper.rounding_for(self.config).code)
        await self.write("noise_seed_x", value=hyper.noise.x)
        await self.write("noise_seed_w", value=hyper.noise.w)
        await self.write("control", configure=1)
        await self.settled()

    async def table(self) -> list[list[int]]:
        """Return the whole table as raw values."""
        await self.write("table_state", value=0)
        await self.write("table_action", value=0)
        words = [
            [await self.read("table_value") for _ in range(self.config.actions)]
            for _ in range(self.config.states)
        ]
        return [[word - (word >> 31 << 32) for word in row] for row in words]

    async def load(self, table: Sequence[Sequence[int]]) -> None:
        """Write the whole table."""
        await self.write("table_state", value=0)
        await self.write("table_action", value=0)
        for row in table:
            for value in row:
                await self.write("table_value", value=value)

    async def results(self) -> list[Result]:
        """Return the next packet of results."""
        frame: AxiStreamFrame = await self.sink.recv()
        assert len(frame.tdata) % _RESULT.size == 0, f"{len(frame.tdata)} bytes came back"
        return [Result(*words) for words in _RESULT.iter_unpack(bytes(frame.tdata))]

    async def apply(self, transitions: Sequence[Transition]) -> list[Result]:
        """Send a packet and return its results."""
        await self.source.send(packed(transitions))
        return await self.results()

    def check(
        self, model: Model, transitions: Sequence[Transition], results: Sequence[Result]
    ) -> None:
        """Compare results with the model's, except for the forwarded flag."""
        assert len(results) == len(transitions)
        for number, (given, found) in enumerate(zip(transitions, results, strict=True)):
            update = model.update(*given[:4], bool(given.terminated))
            expected = (update.value, update.maximum, update.greedy, int(update.saturated))
            assert (*found[:3], found.flags & ~FORWARDED) == expected, (
                f"result {number} of {given} is {found}, the model's {expected}"
            )
