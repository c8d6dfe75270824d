"""Proofs about the interleaved lane: whose table an agent touches, and how many steps it makes."""

from __future__ import annotations

from tb.formal.proof import Fault, Proof

__all__ = ["AGENTS"]

_BUDGET = Proof(
    name="budget",
    says="a RUN of n makes n steps of each agent, n up to 2^48 - 1: 4 agents, 16 slots",
    top="budget_proof",
    files=(
        "qs_pkg.sv",
        "qs_agents_pkg.sv",
        "qs_agent_slots.sv",
        "qs_agent_ram.sv",
        "qs_agent_budget.sv",
        "budget_proof.sv",
    ),
    parameters={"Agents": 4},
    clocks=3,
    cover_clocks=140,
    faults=(
        Fault(
            "a block is handed out and not taken away",
            "qs_agent_budget.sv",
            ": turn_i && grants;",
            ": 1'b0;",
            120,
        ),
        Fault(
            "a step takes nothing from what is at hand",
            "qs_agent_budget.sv",
            "s9_budget - (BlockBits + 1)'(s9_stepped_i);",
            "s9_budget;",
            80,
        ),
        Fault(
            "a run goes on where the last one was",
            "qs_agent_budget.sv",
            "s10_budget_q <= {1'b0, first_q};",
            "s10_budget_q <= s9_budget | {1'b0, first_q};",
            120,
        ),
    ),
)
_COUNTERS = Proof(
    name="counters",
    says="the counters of each of 16 agents are exact sums; a read is of one moment: rewards of 16 bits",
    top="counters_proof",
    files=(
        "qs_pkg.sv",
        "qs_agents_pkg.sv",
        "qs_agent_ram.sv",
        "qs_agent_counters.sv",
        "counters_proof.sv",
    ),
    parameters={},
    clocks=6,
    cover_clocks=60,
    faults=(
        Fault(
            "a carry goes on into the next sum",
            "qs_agent_counters.sv",
            "sum[16] && !b_first_q;",
            "sum[16];",
            48,
        ),
        Fault(
            "a copy has the words of the sweep before",
            "qs_agent_counters.sv",
            "snapshot[d_word_q] <= sum_q;",
            "snapshot[d_word_q] <= word_q;",
            60,
        ),
        Fault(
            "what was taken is counted again",
            "qs_agent_counters.sv",
            ".clear_i      (clear_q && live_i[(Stage-1)%Slots]),",
            ".clear_i      (1'b0),",
            60,
        ),
    ),
    memories=True,
)
_AGENTS = Proof(
    name="agents",
    says="agents touch no table but their own: 3 agents, 8 states, 2 actions",
    top="agents_proof",
    files=(
        "qs_pkg.sv",
        "qs_agents_pkg.sv",
        *(
            f"qs_{name}.sv"
            for name in ("delay", "max_tree", "draw", "epsilon", "alias", "expectation", "table")
        ),
        *(
            f"qs_agent_{name}.sv"
            for name in (
                *("ram", "rows", "delay", "budget", "order", "settings", "counters", "choice"),
                *(
                    "update",
                    "bus",
                    "slots",
                    "flags",
                    "episode",
                    "place",
                    "explore",
                    "write",
                    "read",
                ),
            )
        ),
        "qs_epsilon_constant.sv",
        "qs_agents.sv",
        "agents_proof.sv",
    ),
    parameters={"Agents": 3},
    rtl_assertions=False,
    clocks=24,
    cover_clocks=160,
    faults=(
        Fault(
            "a value is written in the rows of the slot before",
            "qs_agents.sv",
            "{agent[Write%Slots][IndexBits-1:0], write_state}",
            "{agent[(Write-1)%Slots][IndexBits-1:0], write_state}",
            120,
        ),
        Fault(
            "the world is asked in the name of the slot before",
            "qs_agents.sv",
            "world_agent_o = agent[RequestStage];",
            "world_agent_o = agent[RequestStage+1];",
            160,
        ),
    ),
    free_products=True,
)


def _order(algorithm: int, name: str, *faults: Fault) -> Proof:
    return Proof(
        name=f"order-{name}",
        says=f"agents of a shared table learn as if one after the other, {name}: 16 agents, any entry",
        top="order_proof",
        files=(
            "qs_pkg.sv",
            "qs_agents_pkg.sv",
            "qs_agent_slots.sv",
            "qs_agent_order.sv",
            "order_proof.sv",
        ),
        parameters={"Algorithm": algorithm},
        rtl_assertions=False,
        clocks=1,
        cover_clocks=140,
        faults=faults,
    )


_ORDERS = (
    _order(
        0,
        "q-learning",
        Fault(
            "a write in the clock of a read is not waited for",
            "qs_agent_order.sv",
            "k = 10; k <= Write; k++",
            "k = 10; k < Write; k++",
            100,
        ),
        Fault(
            "a held slot passes the turn on",
            "qs_agent_order.sv",
            "over = s10_acts_o &&",
            "over = mine &&",
            60,
        ),
    ),
    _order(
        2,
        "expected-sarsa",
        Fault(
            "a slot reads its entry a clock too early",
            "qs_agent_order.sv",
            "+ RowStage + 2;",
            "+ RowStage + 1;",
            100,
        ),
    ),
    _order(
        3,
        "double-q",
        Fault(
            "a run has a round more",
            "qs_agent_order.sv",
            "{left_o, two_q} <= {two_q, three_q};",
            "{left_o, two_q} <= {left_o, three_q};",
            120,
        ),
    ),
)

AGENTS = (_AGENTS, _BUDGET, _COUNTERS, *_ORDERS)
