"""cocotb tests of ``qs_hazard`` against a plain list of transitions in flight."""

import random
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly


@dataclass(frozen=True)
class _Issue:
    state: int
    action: int
    next_state: int


def _bits(positions: set[int]) -> int:
    return sum(1 << (position - 1) for position in positions)


class _Reference:
    """The transitions in slots 1 to window, youngest first; None is a bubble."""

    def __init__(self, window: int, loop_depth: int) -> None:
        self.slots: list[_Issue | None] = [None] * window
        self.loop_depth = loop_depth

    def look(self, issue: _Issue) -> tuple[int, int, bool]:
        """Return replaces_entry_o and joins_max_o as bits, and hold_o."""
        replaces: set[int] = set()
        joins: set[int] = set()
        written: set[tuple[int, int]] = set()
        for distance, slot in enumerate(self.slots, 1):
            if slot is None or (slot.state, slot.action) in written:
                continue
            written.add((slot.state, slot.action))
            if (slot.state, slot.action) == (issue.state, issue.action):
                replaces.add(distance)
            if slot.state == issue.next_state:
                joins.add(distance)
        hold = any(distance < self.loop_depth for distance in replaces | joins)
        return _bits(replaces), _bits(joins), hold

    def mask(self, next_state: int) -> int:
        """Return a mask of the actions that are being written in a row."""
        actions = {slot.action for slot in self.slots if slot and slot.state == next_state}
        return sum(1 << action for action in actions)

    def shift(self, entering: _Issue | None) -> None:
        self.slots = [entering, *self.slots[:-1]]


async def _start(dut: Any) -> None:
    Clock(dut.clk_i, 10, unit="ns").start()
    dut.issue_valid_i.value = dut.issue_state_i.value = 0
    dut.issue_action_i.value = dut.issue_next_state_i.value = 0
    dut.offer_state_i.value = dut.offer_action_i.value = dut.offer_next_state_i.value = 0
    dut.rst_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0


@cocotb.test()
async def every_clock_matches_a_list_of_what_is_in_flight(dut: Any) -> None:
    states, actions = int(dut.States.value), int(dut.Actions.value)
    window = len(dut.replaces_entry_o)
    reference = _Reference(window, int(dut.LoopDepth.value))
    await _start(dut)
    masks: list[int | None] = []
    issue, issue_valid = _Issue(0, 0, 0), False
    hits = 0
    for clock in range(20_000):
        few = (2, states, 3)[clock // 1000 % 3]
        offer_valid = random.random() < 0.9
        limit = few if offer_valid else states
        offer = _Issue(random.randrange(limit), random.randrange(actions), random.randrange(limit))
        dut.issue_valid_i.value = issue_valid
        for name, shown in ("issue", issue), ("offer", offer):
            getattr(dut, f"{name}_state_i").value = shown.state
            getattr(dut, f"{name}_action_i").value = shown.action
            getattr(dut, f"{name}_next_state_i").value = shown.next_state
        await ReadOnly()
        replaces, joins, hold = reference.look(issue)
        hold = hold and issue_valid
        assert bool(dut.hold_o.value) == hold, f"clock {clock}: hold_o should be {hold}"
        if issue_valid:
            assert int(dut.replaces_entry_o.value) == replaces
            assert int(dut.joins_max_o.value) == joins
            hits += replaces != 0 or joins != 0
        entering = issue_valid and not hold
        masks.append(reference.mask(issue.next_state) if entering else None)
        reference.shift(issue if entering else None)
        await FallingEdge(dut.clk_i)
        valid = _bits({d for d, slot in enumerate(reference.slots, 1) if slot})
        assert int(dut.valid_o.value) == valid, (
            f"clock {clock}: it should be {entering} that one enters"
        )
        oldest = reference.slots[-1]
        if oldest is not None:
            entry = int(dut.write_state_o.value), int(dut.write_action_o.value)
            assert entry == (oldest.state, oldest.action)
            action_bits = len(dut.write_rank_o)
            assert int(dut.write_rank_o.value) == ~oldest.action & ((1 << action_bits) - 1)
        if len(masks) == 2:
            mask = masks.pop(0)
            assert mask is None or int(dut.mask_o.value) == mask
        if not hold:
            issue, issue_valid = offer, offer_valid
    assert hits > 1000


@cocotb.test()
async def reset_empties_every_slot(dut: Any) -> None:
    await _start(dut)
    dut.issue_valid_i.value = 1
    for state in range(len(dut.replaces_entry_o)):
        dut.issue_state_i.value = state % int(dut.States.value)
        dut.issue_next_state_i.value = int(dut.States.value) - 1
        await FallingEdge(dut.clk_i)
    assert int(dut.valid_o.value)
    dut.issue_valid_i.value = 0
    dut.rst_i.value = 1
    await FallingEdge(dut.clk_i)
    assert int(dut.valid_o.value) == 0
    assert int(dut.replaces_entry_o.value) == int(dut.joins_max_o.value) == 0
