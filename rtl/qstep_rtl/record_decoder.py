"""Turns the bytes of an APPLY payload into transitions.

Function    Collects a record, looks up its reward code in a table in block RAM, fills in the state of a
            continuing record, and checks the ranges.
Latency     Three clocks from a record's last byte to `transitions.valid`.
Throughput  One byte per clock as long as transitions are accepted as fast as records arrive; at most one
            transition every two clocks.
Reset       The decoder is empty; the reward table keeps its contents (all 0 after power-up).
Hazards     `rewards` may be written only while `busy` is 0.
Invariants  A transition on `transitions` is legal and held until it is accepted; its payload is held for
            one more clock. After an illegal record, `illegal` is 1 and no transition follows until
            `start`; bytes are discarded meanwhile.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out, Signature

from qstep.spec.config import Config
from qstep.spec.protocol import CODE_BITS, CODES, RecordLayout
from qstep_rtl.invariants import invariant
from qstep_rtl.ring import UNORDERED

__all__ = [
    "RecordDecoder",
    "RecordsSignature",
    "RewardsSignature",
    "full_record",
    "transition_shape",
]


def transition_shape(config: Config) -> data.StructLayout:
    """Return the fields of a transition, in the order of a full record."""
    widths = RecordLayout.raw(config).widths
    return data.StructLayout({name: widths[name] for name in widths if name != "continues"})


def _at_least(value: Value, limit: int) -> Value:
    """Return whether `value` is at least `limit`; constant 0 if `value` is too narrow for it."""
    return value >= limit if limit < 1 << len(value) else Const(0, 1)


class RewardsSignature(Signature):
    """Write port of the reward table, as seen from the writer.

    Parameters
    ----------
    width : int
        Width of a value in bits.
    """

    def __init__(self, width: int) -> None:
        super().__init__({"write": Out(1), "code": Out(CODE_BITS), "value": Out(width)})


class RecordsSignature(Signature):
    """APPLY payloads, as seen from the commands.

    Attributes
    ----------
    start : Out(1)
        Drop an incomplete record and clear `illegal`; the next record must be full.
    coded : Out(1)
        Records contain reward codes; stable while `busy` is 1.
    bytes : Out(stream of 8)
        Payload.
    busy : In(1)
        A complete record is in the decoder.
    partial : In(1)
        Some, but not all, bytes of a record have arrived.
    illegal : In(1)
        A record was out of range.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "start": Out(1),
                "coded": Out(1),
                "bytes": Out(stream.Signature(8)),
                "busy": In(1),
                "partial": In(1),
                "illegal": In(1),
            }
        )


class RecordDecoder(Component):
    """Turns bytes into transitions.

    Parameters
    ----------
    config : Config
        Geometry and number format.

    Attributes
    ----------
    records : In(RecordsSignature)
    transitions : Out(stream)
        Legal transitions in order.
    rewards : In(RewardsSignature)
        Write port of the reward table.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                "records": In(RecordsSignature()),
                "transitions": Out(stream.Signature(transition_shape(config))),
                "rewards": In(RewardsSignature(config.format.width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        layouts = (RecordLayout.raw(config), RecordLayout.coded(config))
        most_bytes = max(layout.size(full=True) for layout in layouts)

        records = self.records
        m.submodules.rewards = memory = Memory(
            shape=config.format.width, depth=CODES, init=[], attrs=UNORDERED
        )
        store, look_up = memory.write_port(), memory.read_port()
        m.d.comb += [
            store.en.eq(self.rewards.write),
            store.addr.eq(self.rewards.code),
            store.data.eq(self.rewards.value),
        ]

        with m.If(self.rewards.write):
            invariant(m, platform, ~records.busy, "the reward table is written under a record")
        # Stage 0: collect the bytes. Stage 1: extract the fields, and look up the reward. Stage 2:
        # offer the transition.
        record = Signal(8 * most_bytes)
        count = Signal(range(most_bytes))
        last = Signal(range(most_bytes))
        first = Signal()
        whole = Signal()
        s1_valid = Signal()
        s1_coded = Signal()
        s1_illegal = Signal()
        s1_ready = Signal()
        s2_ready = Signal()
        s1_raw = Signal(config.format.width)
        fields = Signal(transition_shape(config))
        offer = self.transitions

        def field(name: str, layout: RecordLayout = layouts[0]) -> Value:
            return record[layout.offsets[name] :][: layout.widths[name]]

        # Stage 0
        continuing = Signal()
        m.d.comb += [
            # Transitions come at most every other clock, because a record has at least two bytes. So no
            # logic here depends on the lane's ready in the same clock.
            s2_ready.eq(~offer.valid),
            s1_ready.eq(~s1_valid | s2_ready),
            # After an illegal record, no transition is offered, so the decoder is always ready.
            records.bytes.ready.eq(~whole | s1_ready),
            continuing.eq(Mux(count == 0, records.bytes.payload[0], record[0])),
            records.busy.eq(whole | s1_valid | offer.valid),
            records.partial.eq(count != 0),
        ]
        for coded, layout in enumerate(layouts):
            for full in (False, True):
                with m.If((records.coded == coded) & (continuing != full)):
                    m.d.comb += last.eq(layout.size(full=full) - 1)
        with m.If(s1_ready):
            m.d.sync += whole.eq(0)
        with m.If(records.bytes.valid & records.bytes.ready & ~records.illegal):
            for index in range(most_bytes):
                with m.If(count == index):
                    m.d.sync += record.word_select(index, 8).eq(records.bytes.payload)
            with m.If(count == last):
                m.d.sync += [count.eq(0), whole.eq(1)]
            with m.Else():
                m.d.sync += count.eq(count + 1)

        # Stage 1
        state = Signal(config.state_bits)
        m.d.comb += [
            state.eq(Mux(records.coded, field("state", layouts[1]), field("state"))),
            look_up.addr.eq(field("reward", layouts[1])),
            look_up.en.eq(s1_ready),
        ]
        with m.If(s1_ready):
            m.d.sync += s1_valid.eq(whole)
            with m.If(whole):
                m.d.sync += [
                    first.eq(0),
                    s1_coded.eq(records.coded),
                    s1_raw.eq(field("reward")),
                    s1_illegal.eq(record[0] & first),
                    fields.action.eq(field("action")),
                    fields.next_state.eq(field("next_state")),
                    fields.terminated.eq(field("terminated")),
                    # The next state of the previous record, whose fields are still stored.
                    fields.state.eq(Mux(record[0], fields.next_state, state)),
                ]

        # Stage 2
        illegal = Signal()
        m.d.comb += illegal.eq(
            s1_illegal
            | _at_least(fields.state, config.states)
            | _at_least(fields.next_state, config.states)
            | _at_least(fields.action, config.actions)
        )
        with m.If(offer.ready):
            m.d.sync += offer.valid.eq(0)
        with m.If(s2_ready):
            m.d.sync += offer.valid.eq(s1_valid & ~illegal & ~records.illegal)
            with m.If(s1_valid):
                m.d.sync += [
                    offer.payload.eq(fields),
                    offer.payload.reward.eq(Mux(s1_coded, look_up.data, s1_raw)),
                    records.illegal.eq(records.illegal | illegal),
                ]

        legal = ~(
            _at_least(offer.payload.state, config.states)
            | _at_least(offer.payload.next_state, config.states)
            | _at_least(offer.payload.action, config.actions)
        )
        invariant(m, platform, ~offer.valid | legal, "an illegal transition is on offer")
        with m.If(records.start):
            m.d.sync += [count.eq(0), first.eq(1), records.illegal.eq(0)]
        return m


def full_record(config: Config, transition: data.View) -> Value:
    """Return a transition as the full raw record that the digest covers, padded to whole bytes."""
    bits = Cat(Const(0, 1), transition.as_value())
    size = RecordLayout.raw(config).size(full=True)
    return Cat(bits, Const(0, 8 * size - len(bits)))
