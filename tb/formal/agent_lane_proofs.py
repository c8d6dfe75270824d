"""Proofs about the whole interleaved lane, and about what they take as known: slots, words, tables."""

from __future__ import annotations

from tb.formal.proof import Fault, Proof

__all__ = ["AGENT_LANE"]

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

_CARRIED = (
    Fault(
        "an agent that stays goes on with the value before its step",
        "qs_agent_write.sv",
        "new_q[t] ? value_o : next_values[t]",
        "next_values[t]",
        120,
    ),
    Fault(
        "the world is late, and the draws are made again",
        "qs_agent_flags.sv",
        "s8_aim_q.asks ? !s8_ready_i :",
        "s8_aim_q.asks ? 1'b0 :",
        120,
    ),
    Fault(
        "a truncated step is written at once",
        "qs_agent_write.sv",
        "((last.step && !last.truncated) || last.finish)",
        "(last.step || last.finish)",
        120,
    ),
)
_EXPECTED = (
    Fault(
        "the expectation is of the epsilon of the slot before",
        "qs_agents.sv",
        "(Actions > 2 ? 1 : 2))",
        "(Actions > 2 ? 2 : 2))",
        120,
    ),
)
_DOUBLE = (
    Fault(
        "the entry is that of the other table",
        "qs_agent_write.sv",
        "before_values[Tables>1&&entry_number]",
        "before_values[Tables>1&&!entry_number]",
        120,
    ),
)


def _lane(name: str, algorithm: int, clocks: int, faults: tuple[Fault, ...]) -> Proof:
    return Proof(
        name=f"agent-lane-{name}",
        says=f"each agent acts and learns as if alone, step after step, with the stages of {name}: "
        "16 agents, 4096 states, 4 actions, 16 bits, any policy, target, update, draws and world",
        top="agent_lane_proof",
        files=(
            *("qs_pkg.sv", "qs_agents_pkg.sv", "qs_delay.sv"),
            *(f"any/{name}.sv" for name in ("drawn", "policy", "agent_value", "qs_draw")),
            *(
                f"any/qs_agent_{name}.sv"
                for name in ("ram", "rows", "slots", "budget", "choice", "update")
            ),
            *(f"qs_{name}.sv" for name in ("max_tree", "table", "epsilon", "epsilon_constant")),
            *(
                f"qs_agent_{name}.sv"
                for name in (
                    *("delay", "settings", "order", "counters", "bus", "flags", "episode"),
                    *("place", "explore", "write", "read"),
                )
            ),
            *("qs_agents.sv", "agent_lane_proof.sv"),
        ),
        parameters={"Algorithm": algorithm},
        rtl_assertions=False,
        clocks=clocks,
        cover_clocks=120,
        faults=faults,
        free_products=True,
        memories=True,
        apart=True,
    )


AGENT_LANE = (
    _SLOTS,
    _RAM,
    _ROWS,
    _lane("q-learning", 0, 37, _CARRIED),
    _lane("expected-sarsa", 2, 41, _EXPECTED),
    _lane("double-q", 3, 38, _DOUBLE),
)
