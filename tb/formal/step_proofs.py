"""Proofs about the blocks of a step of an agent: draw, world, policy, target, update."""

from __future__ import annotations

from tb.formal.proof import Fault, Proof

__all__ = ["STEP"]

_WORLD = Proof(
    name="world",
    says="qs_world answers as its tables say: 500 states, 6 actions, 4 outcomes, 512 starts, 16 bits",
    top="world_proof",
    files=(
        "qs_pkg.sv",
        "qs_agents_pkg.sv",
        "qs_delay.sv",
        "qs_alias.sv",
        "qs_world.sv",
        "world_proof.sv",
    ),
    parameters={},
    clocks=4,
    cover_clocks=12,
    faults=(
        Fault(
            "a draw at the split takes the first outcome",
            "qs_alias.sv",
            "rest < word[WordBits-1-:SplitBits]",
            "rest <= word[WordBits-1-:SplitBits]",
            12,
        ),
        Fault(
            "the draw is of the request before",
            "qs_alias.sv",
            ".Depth(2)",
            ".Depth(3)",
            12,
        ),
    ),
    memories=True,
)
_DRAW = Proof(
    name="draw",
    says="each of 16 agents draws from its own word: xorshift, five rounds of Simon, never 0",
    top="draw_proof",
    files=("qs_pkg.sv", "qs_agents_pkg.sv", "qs_agent_ram.sv", "qs_draw.sv", "draw_proof.sv"),
    parameters={},
    rtl_assertions=False,
    clocks=4,
    cover_clocks=16,
    faults=(
        Fault(
            "a word goes back to the slot before",
            "qs_draw.sv",
            ".write_agent_i(s3_agent_i),",
            ".write_agent_i(s1_agent_i),",
            16,
        ),
        Fault(
            "a round is left out",
            "qs_draw.sv",
            "round(round(s4_halves_q))",
            "round(s4_halves_q)",
            16,
        ),
    ),
    memories=True,
)
_EXPLORE = Proof(
    name="explore",
    says="agents explore if the draw is below epsilon, with action (draw * 6) >> 16",
    top="explore_proof",
    files=(
        "qs_pkg.sv",
        "qs_agents_pkg.sv",
        "qs_delay.sv",
        "qs_agent_explore.sv",
        "explore_proof.sv",
    ),
    parameters={},
    clocks=8,
    cover_clocks=10,
    faults=(
        Fault(
            "a draw equal to the threshold explores",
            "qs_agent_explore.sv",
            "{1'b0, s5_explore_i} <",
            "{1'b0, s5_explore_i} <=",
            10,
        ),
        Fault(
            "a known action is not picked",
            "qs_agent_explore.sv",
            "s9_pick_i ? s9_action_i : s9_random",
            "s9_random",
            10,
        ),
    ),
)
_AGENT_UPDATE = Proof(
    name="agent-update",
    says="qs_agent_update is the formula on the operands of a slot: 16 bits, any product",
    top="agent_update_proof",
    files=("qs_pkg.sv", "qs_agent_update.sv", "agent_update_proof.sv"),
    parameters={},
    clocks=10,
    cover_clocks=12,
    faults=(
        Fault(
            "the target of a terminated step counts",
            "qs_agent_update.sv",
            "s5_zero_i ? '0 : s5_next_q",
            "s5_next_q",
            12,
        ),
        Fault(
            "an entry to keep is updated",
            "qs_agent_update.sv",
            "s0_keep_i ? '0 : ",
            "",
            12,
        ),
    ),
    free_products=True,
)


def _choice(algorithm: int, name: str, clocks: int, fault: Fault) -> Proof:
    return Proof(
        name=f"choice-{name}",
        says=f"the next action and the target of {name} are those of the model: 3 actions, 16 bits",
        top="choice_proof",
        files=(
            "qs_pkg.sv",
            "qs_agents_pkg.sv",
            "qs_delay.sv",
            "qs_max_tree.sv",
            "qs_expectation.sv",
            "qs_agent_choice.sv",
            "choice_proof.sv",
        ),
        parameters={"Algorithm": algorithm},
        rtl_assertions=False,
        clocks=clocks,
        cover_clocks=14,
        faults=(fault,),
        free_products=True,
    )


_CHOICES = (
    _choice(
        0,
        "q-learning",
        6,
        Fault(
            "the higher of two equal actions wins",
            "qs_max_tree.sv",
            "if (lead >= 0) begin",
            "if (lead >= -1) begin",
            14,
        ),
    ),
    _choice(
        1,
        "sarsa",
        6,
        Fault(
            "the target is the maximum",
            "qs_agent_choice.sv",
            "? value : maximum);",
            "? maximum : maximum);",
            14,
        ),
    ),
    _choice(
        2,
        "expected-sarsa",
        10,
        Fault(
            "the fall is not rounded",
            "qs_expectation.sv",
            "ProductBits'(1 << (DrawBits - 1))",
            "ProductBits'(0)",
            14,
        ),
    ),
    _choice(
        3,
        "double-q",
        8,
        Fault(
            "the target is from the updated table",
            "qs_agent_choice.sv",
            "rows[!number][best]",
            "rows[number][best]",
            14,
        ),
    ),
)

_EPSILON = Proof(
    name="epsilon",
    says="epsilon of each of 16 agents falls as the model says, after each step or episode",
    top="epsilon_proof",
    files=(
        "qs_pkg.sv",
        "qs_agents_pkg.sv",
        "qs_agent_ram.sv",
        "qs_agent_settings.sv",
        "qs_epsilon.sv",
        "epsilon_proof.sv",
    ),
    parameters={},
    rtl_assertions=False,
    clocks=2,
    cover_clocks=44,
    faults=(
        Fault(
            "a loaded epsilon is compared with what was left of the last one",
            "qs_epsilon.sv",
            "if (token_i[10] && access_i.load[2]) s11_less_q <= 1'b1;",
            "",
            16,
        ),
        Fault(
            "a loaded count is the lower half of its word",
            "qs_epsilon.sv",
            "access_i.data[31-:Count] : s10_due",
            "access_i.data[0+:Count] : s10_due",
            16,
        ),
    ),
    memories=True,
)

STEP = (_EPSILON, _WORLD, _DRAW, _EXPLORE, _AGENT_UPDATE, *_CHOICES)
