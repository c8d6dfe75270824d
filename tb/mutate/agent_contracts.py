"""Contracts for the benches of the interleaved lane's blocks: input assumptions and compared outputs."""

from tb.bench import Run
from tb.mutate.contracts import Contract, held, in_the_past

from qstep.spec.memory_map import Region

__all__ = [
    "agent_bus",
    "agent_update",
    "agents",
    "budget",
    "choice",
    "counters",
    "epsilon",
    "slots",
    "world",
]


def slots(run: Run) -> tuple[str, ...]:
    """Return conditions which state that, from power-up on, every stage contains its slot's agent."""
    number, agents = run.parameters["Slots"], run.parameters["Agents"]

    def slot(stage: int) -> str:
        return f"(raw_slot_o >= {stage} ? raw_slot_o - {stage} : raw_slot_o + {number - stage})"

    return (
        f"raw_slot_o < {number}",
        *(f"raw_agent_o[{4 * k}+:4] == ({slot(k)} & 15)" for k in range(number)),
        *(f"raw_live_o[{k}] == ({slot(k)} < {agents})" for k in range(number)),
    )


def choice(run: Run) -> Contract:
    """Outputs are not compared until the pipeline's contents at power-up have been flushed."""
    return Contract(
        declare="reg [4:0] clocks = 0; always @(posedge clk_i) clocks <= clocks + !clocks[4];",
        assume=(f"pick_action_i < {run.parameters['Actions']}", "threshold_i <= 65536"),
        seen={name: f"clocks[4] ? raw_{name} : 0" for name in ("action_o", "values_o", "target_o")},
    )


def agent_update(run: Run) -> Contract:
    width = run.parameters["Width"]
    return Contract(
        declare=f"reg [15:0] alpha = 0; reg [{5 * width - 1}:0] entries = 0; reg [4:0] keeps = 0;"
        " always @(posedge clk_i) begin alpha <= alpha_coeff_i; keeps <= {keeps, entry_keep_i};"
        " entries <= {entries, entry_value_i}; end",
        assume=(
            "alpha_coeff_i <= 16'd32768",
            "target_kappa_i <= alpha",
            f"target_value_i[{width}] == target_value_i[{width - 1}]",
            f"keeps[4] ? again_zero_i : again_value_i == entries[{5 * width - 1}:{4 * width}]",
        ),
    )


def epsilon(run: Run) -> Contract:
    """A load is held from stage 0 to stage 11 of its agent's slot, which does not step.

    ``qs_agents`` accepts no load while agents step, and holds a load until it is done. Epsilon, end and
    decrement are at most 2^24 once they are loaded, so ``act_left_q`` is within +-2^24.
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
            "act_end <= 1 << 24",
            "act_left + 26'h1000000 <= 26'h2000000",
        ),
        own="epsilon_",
        inside={"act_end": ("u_epsilon.act_end_q", 25), "act_left": ("u_epsilon.act_left_q", 26)},
    )


def budget(run: Run) -> Contract:
    """Agents step in stage 9 only if they had steps left in stage 11 of their last slot.

    While ``qs_agent_flags`` is cleared after a reset, it does not use the outputs.
    """
    return Contract(
        declare="reg [15:0] more = 0;"
        " wire [3:0] in_9 = raw_agent_o[39:36], in_11 = raw_agent_o[47:44];"
        " always @(posedge clk_i) begin"
        " if (raw_live_o[11]) more[in_11] <= raw_budget_more_o;"
        " if (raw_live_o[9] && raw_budget_begins_o) more[in_9] <= 0; end",
        assume=(
            *slots(run),
            "!budget_stepped_i || (raw_live_o[9] && more[in_9] && !raw_budget_begins_o)",
        ),
        seen={
            "budget_begins_o": "raw_clearing_o ? 0 : raw_budget_begins_o",
            "budget_more_o": "raw_live_o[11] && !raw_clearing_o ? raw_budget_more_o : 0",
            "budget_remaining_o": "0",  # internal register that the bench reads while it is stable
        },
        own="budget_",
        reset=8,
    )


def agent_bus(run: Run) -> Contract:
    declare, same = held(
        "bus_valid_i",
        "raw_bus_done_o",
        bus_valid_i=1,
        bus_write_i=1,
        bus_region_i=3,
        bus_index_i=30,
        data_i=32,
    )
    agent = "(bus_region_i == 2 ? bus_index_i[7:4] : bus_region_i == 3 ? bus_index_i[25:22]"
    agent += " : bus_index_i[6:3])"
    counts = "raw_bus_counter_read_o || raw_bus_counter_write_o"
    seen = {name: f"raw_bus_token_o != 0 ? raw_{name} : 0" for name in _TOKEN_OUTPUTS}
    return Contract(
        declare=f"{declare} reg over = 0; always @(posedge clk_i) over <= raw_bus_done_o;",
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
    )


_TOKEN_OUTPUTS = ("bus_entry_o", "bus_field_o", "bus_load_o")
"""Bus outputs that are compared only while a token is present."""

_UNDER_WAY = ("r_valid", "b_valid", "c_valid", "d_valid", "copies", "copied")
"""Registers of the counters that indicate a word in flight."""


def counters(run: Run) -> Contract:
    """Reads of a copy start with its first word.

    At power-up, no word is in flight: flip-flops start at 0, in simulation as on the FPGAs.
    """
    asks = "counters_read_i || counters_write_i"
    declare, same = held(
        asks,
        "raw_counters_done_o",
        counters_read_i=1,
        counters_write_i=1,
        counters_agent_i=4,
        counters_word_i=4,
        counters_data_i=16,
    )
    return Contract(
        declare=f"{declare} {in_the_past(8, 'counters_stepped_i')} reg [2:0] over = 0;"
        " always @(posedge clk_i) over <= {over, raw_counters_done_o};"
        " reg powered = 0; always @(posedge clk_i) powered <= 1;",
        assume=(
            *slots(run),
            same,
            "!(counters_read_i && counters_write_i)",
            f"over == 0 || !({asks})",  # StDone, StIdle and StOpen of the bus
            "!counters_stepped_i || raw_live_o[13]",
            "counters_stepped_i ||"
            " {counters_terminated_i, counters_truncated_i, counters_reward_i} == 0",
            "!counters_saturated_i || past[7]",
            f"powered || {{{', '.join(_UNDER_WAY)}}} == 0",
        ),
        seen={
            "counters_data_o": "raw_counters_done_o && counters_read_i ? raw_counters_data_o : 0"
        },
        own="counters_",
        inside={name: (f"u_counters.{name}_q", 1) for name in _UNDER_WAY},
        reset=8,
    )


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
    """The host holds each access until it is done, and only reads counters while agents step.

    Each observed clock is compared only once, although ``seen_o`` contains the last sixteen. If its slot
    neither asks the world nor does anything else, only its number is compared.
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
            "seen_o": "raw_seen_o[32] || raw_seen_o[63:48] != 0 ? raw_seen_o[127:0] : raw_seen_o[31:0]",
            "steps_o": "began ? raw_steps_o : 0",  # later, it is shifted while counting
        },
    )
