"""The device: link, command decoder, and lane or agents, with a byte stream or a UART to the host.

Function    Implements the ports and behaviour of ``docs/link.md``, around the hand-written lane of
            ``docs/lane.md``.
Latency     See the individual blocks.
Throughput  One byte per clock; a stream of full APPLY frames takes one clock per byte.
Reset       The session is lost; Q-table and reward table keep their contents.
Hazards     none: everything that the host sends is answered, or dropped and counted.
Invariants  A transition is offered until the lane accepts it, and is counted and digested exactly once,
            in the next clock.
"""

from __future__ import annotations

from amaranth.hdl import (
    Cat,
    ClockDomain,
    ClockSignal,
    DomainRenamer,
    Instance,
    Module,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib.wiring import Component, In, Out, connect

from qstep.spec.config import Config
from qstep.spec.protocol import ANSWERS, RecordLayout, Request
from qstep_rtl.agents import Agents
from qstep_rtl.commands import Commands
from qstep_rtl.counters import Counters, wide_counter
from qstep_rtl.crc32 import RecordDigest
from qstep_rtl.crossing import LANES, Crossing, lanes_clock
from qstep_rtl.farm import Farm
from qstep_rtl.pins import connect_pins, pins_of
from qstep_rtl.receiver import Receiver
from qstep_rtl.record_decoder import RecordDecoder, full_record
from qstep_rtl.responder import Responder
from qstep_rtl.table_access import TableAccess
from qstep_rtl.uart import UartReceiver, UartSender

__all__ = ["LINK", "ByteDevice", "UartDevice"]

LINK = "link"
"""Clock domain of the blocks whose clock may be gated, if the device sleeps."""

_COUNTERS = ANSWERS[Request.COUNTERS]

_SETTLE_CLOCKS = 7
"""Enough clocks for a change to reach the last register that depends on it."""


class ByteDevice(Component):
    """The device with byte streams: ``qstep_device``.

    Parameters
    ----------
    config : Config
        What to build.
    sleeps : bool
        Put blocks into the domain ``link``, whose clock may be gated while `awake` is 0: the link's
        blocks in a device with agents, the responder and the table access in a device with a lane.
        Only simulations use this domain, for speed.

    Attributes
    ----------
    rx_valid, rx_ready, rx_data : In(1), Out(1), In(8)
        Bytes from the host; always ready outside reset.
    tx_valid, tx_ready, tx_data : Out(1), In(1), Out(8)
        Bytes to the host.
    divisor : Out(16)
        Clocks per bit as set by BAUD, for a UART around the device.
    line_break : In(1)
        Restore the configured divisor.
    build : In(64)
        Identity of the build for HELLO, first byte lowest; constant.
    lanes_clk : In(1)
        Present only if the lanes have a separate clock.
    awake : Out(1)
        Present only if the device sleeps: 0 while no register in the domain ``link`` would change,
        except by a reset.
    action_valid, ... : Out, In
        Present only if the agents' world is at the pins: see :func:`qstep_rtl.pins.pins_of`.
    """

    def __init__(self, config: Config, *, sleeps: bool = False) -> None:
        self._config, self._sleeps = config, sleeps
        super().__init__(
            {
                "rx_valid": In(1),
                "rx_ready": Out(1),
                "rx_data": In(8),
                "tx_valid": Out(1),
                "tx_ready": In(1),
                "tx_data": Out(8),
                "divisor": Out(16),
                "line_break": In(1),
                "build": In(64),
                **lanes_clock(config),
                **pins_of(config),
                **({"awake": Out(1)} if sleeps else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        idle = LINK if self._sleeps else "sync"
        # With a lane, an APPLY payload passes through these blocks.
        passed = idle if config.acting else "sync"

        receiver, commands = Receiver(config.link.buffer_bytes), Commands(config)
        responder = Responder(config)
        m.submodules.receiver = DomainRenamer(passed)(receiver)
        m.submodules.commands = DomainRenamer(passed)(commands)
        m.submodules.counters = counters = Counters(len(_COUNTERS.sizes))
        m.submodules.responder = DomainRenamer(idle)(responder)

        # Line
        m.d.comb += [
            self.rx_ready.eq(~ResetSignal()),
            self.tx_valid.eq(responder.line.valid),
            self.tx_data.eq(responder.line.payload),
            responder.line.ready.eq(self.tx_ready),
            self.divisor.eq(commands.divisor),
            commands.line_break.eq(self.line_break),
        ]
        # Registered, so that no logic waits for a late input, and because a Verilated model
        # evaluates logic that depends on inputs more than once per clock.
        m.d[passed] += [
            receiver.in_valid.eq(self.rx_valid & self.rx_ready),
            receiver.in_data.eq(self.rx_data),
        ]
        connect(m, receiver.bytes, commands.bytes)
        connect(m, commands.answers, responder.answers)
        connect(m, commands.session, responder.session)
        connect(m, counters.totals, responder.totals)

        # Commands and the blocks that they drive. `core_quiet` and `line_quiet` may be one clock late,
        # because a header separates the last transition or answer from a request that waits for its end.
        core_quiet = Signal()
        core_is_quiet = Signal()
        line_quiet = Signal()
        if config.acting:
            self._add_agents(m, commands, responder)
            m.d.comb += core_is_quiet.eq(1)  # a job continues whatever the host requests
            events = {}
        else:
            events = self._add_lane(m, commands, responder, core_is_quiet)
        with m.If(commands.asks_quiet):
            m.d[passed] += [core_quiet.eq(core_is_quiet), line_quiet.eq(responder.idle)]
        m.d.comb += commands.quiet.eq(core_quiet & line_quiet)

        if self._sleeps and config.acting:
            self._add_waking(m, receiver, commands, responder)
        elif self._sleeps:
            m.d.comb += self.awake.eq(
                commands.busy | counters.busy | ~responder.idle | commands.access.busy
            )

        # Answers
        events |= {"frame_errors": receiver.dropped, "refused": commands.refused}
        m.d.comb += [
            responder.build.eq(self.build),
            counters.start.eq(commands.count),
            counters.events.eq(Cat(events.get(name, 0) for name in _COUNTERS.sizes)),
        ]
        return m

    def _add_agents(self, m: Module, commands: Commands, responder: Responder) -> None:
        """Add the agents, and connect them to the commands, the responder and the pins."""
        core: Farm | Agents = (Farm if self._config.lanes > 1 else Agents)(self._config)
        if lanes_clock(self._config):
            m.domains += (lanes := ClockDomain(LANES))
            m.submodules.crossing = crossing = Crossing(self._config.lanes)
            m.submodules.agents = DomainRenamer(LANES)(core)
            lanes.clk, lanes.rst = self.lanes_clk, crossing.reset
            connect(m, commands.agents, crossing.host)
            connect(m, crossing.agents, core.agents)
        else:
            m.submodules.agents = core
            connect(m, commands.agents, core.agents)
        connect(m, commands.data, responder.values)
        if not isinstance(core, Agents):
            return
        connect_pins(m, self._config, self, core)
        if core.is_live:
            connect(m, core.world, commands.world)

    def _add_waking(
        self, m: Module, receiver: Receiver, commands: Commands, responder: Responder
    ) -> None:
        """Drive `awake`: 1 while bytes are in flight in the device or their effects have not settled."""
        moves = Signal()
        settling = Signal(range(_SETTLE_CLOCKS + 1), init=_SETTLE_CLOCKS)
        m.d.comb += [
            moves.eq(receiver.in_valid | receiver.bytes.valid | commands.busy | ~responder.idle),
            self.awake.eq(self.rx_valid | moves | (settling != 0)),
        ]
        with m.If(moves):
            m.d.sync += settling.eq(_SETTLE_CLOCKS)
        with m.Elif(settling != 0):
            m.d.sync += settling.eq(settling - 1)

    def _add_lane(
        self, m: Module, commands: Commands, responder: Responder, quiet: Signal
    ) -> dict[str, Value]:
        """Add the lane and the blocks that feed it; drive `quiet`. Return the events to count."""
        config = self._config
        m.submodules.decoder = decoder = RecordDecoder(config)
        access = TableAccess(config)
        m.submodules.access = DomainRenamer(LINK if self._sleeps else "sync")(access)
        m.submodules.digest = digest = RecordDigest(
            RecordLayout.raw(config).size(full=True),
            # Records never arrive faster than this.
            steps=RecordLayout.coded(config).size(full=False),
        )
        connect(m, commands.records, decoder.records)
        connect(m, commands.access, access.request)
        connect(m, access.rewards, decoder.rewards)
        connect(m, access.values, responder.values)

        # Transitions: the digest processes each one a clock after the lane, because the lane's
        # acceptance is known late in a clock. In the next clock the transition is still on
        # `decoder.transitions`.
        offered = Signal()
        taken = Signal()
        ready = Signal()
        was_taken = Signal()
        transition = decoder.transitions.payload
        m.d.comb += [
            offered.eq(decoder.transitions.valid & digest.soon_ready & ~responder.reading),
            taken.eq(offered & ready),
            decoder.transitions.ready.eq(taken),
            digest.records.valid.eq(was_taken),
            digest.records.payload.eq(full_record(config, transition)),
        ]
        m.d.sync += was_taken.eq(taken)

        lane_busy = Signal()
        hold = Signal()
        was_held = Signal()
        result = Signal()
        saturated = Signal()
        forwarded = Signal()
        m.submodules.lane = Instance(
            "qs_lane",
            p_States=config.states,
            p_Actions=config.actions,
            p_Width=config.format.width,
            p_CoeffFraction=config.coefficient_bits,
            p_LoopDepth=config.loop_depth,
            i_clk_i=ClockSignal(),
            i_rst_i=ResetSignal(),
            i_alpha_i=commands.settings.alpha,
            i_kappa_i=commands.settings.kappa,
            i_rounding_i=commands.settings.rounding,
            i_noise_load_i=commands.settings.noise_load,
            i_noise_x_i=commands.settings.noise_x,
            i_noise_w_i=commands.settings.noise_w,
            o_noise_x_o=responder.noise_x,
            o_noise_w_o=responder.noise_w,
            i_tr_valid_i=offered,
            o_tr_ready_o=ready,
            i_tr_state_i=transition.state,
            i_tr_action_i=transition.action,
            i_tr_reward_i=transition.reward,
            i_tr_next_state_i=transition.next_state,
            i_tr_terminated_i=transition.terminated,
            o_res_valid_o=result,
            o_res_saturated_o=saturated,
            o_res_forwarded_o=forwarded,
            i_host_write_i=access.write_table,
            i_host_state_i=access.state,
            i_host_action_i=access.action,
            i_host_data_i=access.value,
            o_host_data_o=access.table_value,
            o_hold_o=hold,
            o_busy_o=lane_busy,
        )

        m.d.sync += was_held.eq(hold)
        m.d.comb += [
            quiet.eq(~lane_busy & ~digest.busy),
            responder.applied.eq(wide_counter(m, was_taken, "applied")),
            responder.digest.eq(digest.crc),
        ]
        return {
            "offered_clocks": offered,
            "accepted": was_taken,
            "held": was_held,
            "forwarded": result & forwarded,
            "saturated": result & saturated,
        }


class UartDevice(Component):
    """The device behind a UART: ``qstep_top``.

    Parameters
    ----------
    config : Config
        What to build.
    sleeps : bool
        As in :class:`ByteDevice`.

    Attributes
    ----------
    rx, tx : In(1), Out(1)
        Serial lines, high while idle.
    build : In(64)
    lanes_clk : In(1)
    awake : Out(1)
    action_valid, ... : Out, In
        As in :class:`ByteDevice`.
    """

    def __init__(self, config: Config, *, sleeps: bool = False) -> None:
        self._config, self._sleeps = config, sleeps
        super().__init__(
            {
                "rx": In(1, init=1),
                "tx": Out(1, init=1),
                "build": In(64),
                **lanes_clock(config),
                **pins_of(config),
                **({"awake": Out(1)} if sleeps else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.device = device = ByteDevice(self._config, sleeps=self._sleeps)
        connect_pins(m, self._config, self, device)
        for name in lanes_clock(self._config):
            m.d.comb += getattr(device, name).eq(getattr(self, name))
        if self._sleeps:
            m.d.comb += self.awake.eq(device.awake)
        m.submodules.uart_receiver = receiver = UartReceiver()
        m.submodules.uart_sender = sender = UartSender()
        m.d.comb += [
            receiver.rx.eq(self.rx),
            receiver.divisor.eq(device.divisor),
            device.line_break.eq(receiver.line_break),
            device.rx_valid.eq(receiver.valid),
            device.rx_data.eq(receiver.data),
            self.tx.eq(sender.tx),
            sender.divisor.eq(device.divisor),
            sender.bytes.payload.eq(device.tx_data),
            sender.bytes.valid.eq(device.tx_valid),
            device.tx_ready.eq(sender.bytes.ready),
            device.build.eq(self.build),
        ]
        return m
