"""What the benches of the interleaved lane's blocks promise their hardware, and what they look at."""

from __future__ import annotations

from dataclasses import replace

from tb.bench import Run
from tb.mutate.contracts import Contract, held

from qstep.acting.draws import DRAW_BITS
from qstep.protocol import Region

__all__ = [
    "agent_bus",
    "agent_update",
    "agents",
    "budget",
    "choice",
    "epsilon",
    "expectation",
    "slots",
    "world",
]


def slots(run: Run) -> tuple[str, ...]:
    """Return the conditions that every stage has the agent whose slot is there, from power-up on."""
    number, agents = run.parameters["Slots"], run.parameters["Agents"]

    def slot(stage: int) -> str:
        return f"(raw_slot_o >= {stage} ? raw_slot_o - {stage} : raw_slot_o + {number - stage})"

    return (
        f"raw_slot_o < {number}",
        *(f"raw_agent_o[{4 * k}+:4] == ({slot(k)} & 15)" for k in range(number)),
        *(f"raw_live_o[{k}] == ({slot(k)} < {agents})" for k in range(number)),
    )


def choice(run: Run) -> Contract:
    """Outputs count when what was in the pipeline at power-up has left it."""
    return Contract(
        declare="reg [4:0] clocks = 0; always @(posedge clk_i) clocks <= clocks + !clocks[4];",
        assume=(f"pick_action_i < {run.parameters['Actions']}", "threshold_i <= 65536"),
        seen={name: f"clocks[4] ? raw_{name} : 0" for name in ("action_o", "values_o", "target_o")},
    )


def expectation(run: Run) -> Contract:
    """Outputs count likewise. Lemma: a share is at most that of an agent that always explores."""
    actions = run.parameters["Actions"]
    most = (2 * (1 << DRAW_BITS) + actions) // (2 * actions)
    block = "gen_algorithm[2].u_choice.gen_single.gen_expected.u_expectation"
    return replace(
        choice(run),
        inside={"share": (f"{block}.c_share_q", DRAW_BITS)},
        lemmas=(f"clocks == 0 || share <= {most}",),
        reset=16,
    )


def agent_update(run: Run) -> Contract:
    width = run.parameters["Width"]
    return Contract(
        declare=f"reg [15:0] alpha = 0; reg [{5 * width - 1}:0] entries = 0; reg [4:0] keeps = 0;"
        " always @(posedge clk_i) begin alpha <= s2_alpha_i; keeps <= {keeps, s0_keep_i};"
        " entries <= {entries, s0_entry_i}; end",
        assume=(
            "s2_alpha_i <= 16'd32768",
            "s3_kappa_i <= alpha",
            f"s3_target_i[{width}] == s3_target_i[{width - 1}]",
            f"keeps[4] ? s5_zero_i : s5_entry_i == entries[{5 * width - 1}:{4 * width}]",
        ),
    )


def epsilon(run: Run) -> Contract:
    """A load is held from stage 0 of its agent to stage 11, and its slot does not step.

    ``qs_agents`` takes no load while agents step, and holds one until it is done.
    """
    slot = "raw_agent_o[4*{0}+:4] == {1} && raw_live_o[{0}]"

    def passes(agent: str) -> str:
        return " || ".join(f"({slot.format(stage, agent)})" for stage in range(1, 12))

    given = "{epsilon_load_i, epsilon_agent_i, data_i}"
    return Contract(
        declare="reg [1:0] loading = 0; reg [35:0] loaded; always @(posedge clk_i) begin"
        " loading <= epsilon_load_i; loaded <= {epsilon_agent_i, data_i}; end"
        f" wire passing = {passes('epsilon_agent_i')}, held = {passes('loaded[35:32]')};",
        assume=(
            *slots(run),
            f"loading == 0 || !held || {given} == {{loading, loaded}}",
            f"epsilon_load_i == 0 || !passing || {given} == {{loading, loaded}}",
            "epsilon_load_i == 0 || epsilon_load_i == 1 || epsilon_load_i == 2",
            "!epsilon_stepped_i || raw_live_o[9]",
            f"!epsilon_stepped_i || epsilon_load_i == 0 || !({slot.format(9, 'epsilon_agent_i')})",
            "!epsilon_load_i[0] || data_i[24:0] <= 1 << 24",
            "!(epsilon_set_i[0] || epsilon_set_i[1]) || data_i[24:0] <= 1 << 24",
            "raw_epsilon_o <= 1 << 24",
        ),
        own="epsilon_",
    )


def budget(run: Run) -> Contract:
    """Agents step in stage 9 only if they had steps left in stage 11 of their last slot.

    Lemmas: while a run begins or steps are granted, the pass over the rest is on. The ordinal counts its
    clocks.
    """
    rotation = run.parameters["Slots"]
    soon, later = (f"passes && place <= raw_slot_o + {more}" for more in (0, rotation))
    return Contract(
        declare="reg [15:0] more = 0; reg [5:0] ordinal = 0;"
        " always @(posedge clk_i) ordinal <= budget_run_i || !passes ? 0 : ordinal + 1;"
        " wire [3:0] in_9 = raw_agent_o[39:36], in_11 = raw_agent_o[47:44];"
        " always @(posedge clk_i) begin"
        " if (raw_live_o[11]) more[in_11] <= raw_budget_more_o;"
        " if (raw_live_o[9] && raw_budget_begins_o) more[in_9] <= 0; end",
        assume=(
            *slots(run),
            "!budget_stepped_i || (raw_live_o[9] && more[in_9] && !raw_budget_begins_o)",
        ),
        seen={
            "budget_more_o": "raw_live_o[11] ? raw_budget_more_o : 0",
            "budget_rest_o": "0",  # a register inside, which the bench looks at between its changes
        },
        own="budget_",
        inside={
            name.removesuffix("_q").removesuffix("_o"): (f"u_budget.{name}", width)
            for name, width in (
                ("asked_q", 1),
                ("begins_o", 1),
                ("grants_q", 1),
                ("left_o", 1),
                ("passes_q", 1),
                ("place_q", 6),
            )
        },
        reset=8,
        lemmas=(
            "!started || place == ordinal",
            f"!(started && asked && left) || ({soon})",
            f"!(started && grants) || ({soon})",
            f"!(started && begins && left) || ({later})",
            "!(started && passes) || (left && place < 43)",
        ),
    )


def agent_bus(run: Run) -> Contract:
    """Lemmas: while a token is under way, or awaits its slot, the access is to a context or a table."""
    declare, same = held(
        "bus_valid_i",
        "raw_bus_done_o",
        bus_valid_i=1,
        bus_write_i=1,
        bus_region_i=3,
        bus_index_i=30,
        data_i=32,
    )
    of_agent = f"(held[64:62] == {Region.CONTEXT:d} || held[64:62] == {Region.TABLE:d})"
    agent = "(bus_region_i == 2 ? bus_index_i[7:4] : bus_region_i == 3 ? bus_index_i[25:22]"
    agent += " : bus_index_i[6:3])"
    counts = "raw_bus_counter_read_o || raw_bus_counter_write_o"
    seen = {name: f"raw_bus_token_o != 0 ? raw_{name} : 0" for name in _TOKEN_OUTPUTS}
    return Contract(
        declare=f"{declare} reg over = 0; always @(posedge clk_i) over <= raw_bus_done_o;"
        " wire [18:1] passing = raw_bus_token_o[18:1];",
        assume=(
            *slots(run),
            same,
            "!(over && bus_valid_i)",
            "bus_region_i <= 5",
            f"{agent} < {run.parameters['Agents']} || bus_region_i > 3",
            f"!bus_counted_i || {counts}",
        ),
        seen=seen | {"bus_agent_o": f"raw_bus_set_o != 0 || {counts} ? raw_bus_agent_o : 0"},
        own="bus_",
        inside={"state": ("u_bus.state_q", 3), "region": ("u_bus.region_q", 3)},
        lemmas=(
            "!started || state != 1 || (asked && region == held[64:62])",
            f"!started || state != 2 || (asked && {of_agent})",
            f"!started || state != 3 || (asked && {of_agent})",
            "!started || passing == 0 || state == 3 || (state == 2 && passing == 1)",
            "!started || (passing & (passing - 1)) == 0",
            "!started || state != 2 || !passing[1]"
            " || (raw_live_o[1] && raw_agent_o[7:4] == raw_bus_agent_o)",
        ),
    )


_TOKEN_OUTPUTS = ("bus_entry_o", "bus_field_o", "bus_load_o")
"""Outputs of the bus that count only beside a token."""


def world(run: Run) -> Contract:
    states, actions = run.parameters["States"], run.parameters["Actions"]
    state_bits, action_bits = (states - 1).bit_length(), (actions - 1).bit_length()
    return Contract(
        assume=(
            f"state_i < {states}",
            f"action_i < {actions}",
            f"!world_write_i || index_i[14+:{state_bits}] < {states}",
            f"!world_write_i || index_i[8+:{action_bits}] < {actions}",
        )
    )


def agents(run: Run) -> Contract:
    """The host holds an access until it is done; while agents step, it only reads their counters.

    A clock that was seen is compared once, though ``seen_o`` has the last sixteen.
    """
    declare, same = held("bus_valid_i", "raw_bus_done_o", bus_valid_i=1, bus_i=66)
    writes, region = "bus_i[65]", "bus_i[64:62]"
    return Contract(
        declare=f"{declare} reg began = 0; always @(posedge clk_i) began <= run_i || stop_i;",
        assume=(
            same,
            f"{region} <= {max(Region):d}",
            f"!(bus_valid_i && raw_busy_o) || (!{writes} && {region} == {Region.COUNTERS:d})",
            "!run_i || !(raw_busy_o || bus_valid_i)",
        ),
        seen={
            "bus_data_o": f"raw_bus_done_o && !{writes} ? raw_bus_data_o : 0",
            "seen_o": "raw_seen_o[127:0]",
            "steps_o": "began ? raw_steps_o : 0",  # shifted then, as they are counted
        },
    )
