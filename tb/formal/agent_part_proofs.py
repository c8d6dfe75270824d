"""Proofs about parts of the interleaved lane that hold what agents have: slots, words, tables."""

from __future__ import annotations

from tb.formal.proof import Fault, Proof

__all__ = ["AGENT_PARTS"]

_SLOTS = Proof(
    name="slots",
    says="each of 16 agents has one slot in 16 clocks, which passes through the stages one by one",
    top="slots_proof",
    files=("qs_pkg.sv", "qs_agents_pkg.sv", "qs_agent_slots.sv", "slots_proof.sv"),
    parameters={},
    clocks=1,
    cover_clocks=60,
    faults=(
        Fault(
            "a turn is a clock longer",
            "qs_agent_slots.sv",
            "32'(slot_q) == Slots - 2;",
            "32'(slot_q) == Slots - 1;",
            40,
        ),
        Fault(
            "agents sleep for one turn",
            "qs_agent_slots.sv",
            "<= {wakes_longer_q, 1'b0};",
            "<= {1'b0, 1'b0};",
            40,
        ),
    ),
)
_RAM = Proof(
    name="agent-ram",
    says="qs_agent_ram returns the word that an agent has: 16 agents, 16 bits",
    top="agent_ram_proof",
    files=("qs_pkg.sv", "qs_agents_pkg.sv", "qs_agent_ram.sv", "agent_ram_proof.sv"),
    parameters={},
    clocks=2,
    cover_clocks=6,
    faults=(
        Fault(
            "a write goes to the agent that is read",
            "qs_agent_ram.sv",
            "if (write_i) mem[write_index] <=",
            "if (write_i) mem[read_index] <=",
            6,
        ),
    ),
    memories=True,
)
_ROWS = Proof(
    name="rows",
    says="qs_agent_rows gives what was written last: 1000 states, 3 actions, 16 bits",
    top="rows_proof",
    files=("qs_agent_rows.sv", "rows_proof.sv"),
    parameters={},
    clocks=2,
    cover_clocks=10,
    faults=(
        Fault(
            "a write changes the next action too",
            "qs_agent_rows.sv",
            "write_action_i == ActionBits'(a)",
            "write_action_i <= ActionBits'(a)",
            10,
        ),
        Fault(
            "a row comes a clock early",
            "qs_agent_rows.sv",
            "row_o <= ram_q;",
            "row_o <= mem[row_state_i];",
            10,
        ),
    ),
    memories=True,
)

AGENT_PARTS = (_SLOTS, _RAM, _ROWS)
