"""What the benches of blocks promise their hardware, and what they look at.

Each promise is one that the block's neighbours in the product keep as well: it stands in the head of
the block's file or beside its ports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tb.bench import Run

from qstep.protocol import ALL_LANES, Region

__all__ = [
    "COBS_DECODER",
    "COBS_ENCODER",
    "DIGEST",
    "SESSION",
    "Contract",
    "agent_bus",
    "agent_update",
    "budget",
    "choice",
    "counters",
    "epsilon",
    "hazard",
    "lane",
    "stop",
    "table",
    "tree",
    "world",
]


@dataclass(frozen=True)
class Contract:
    """What a bench promises its hardware, and what it looks at, for proofs of equivalence.

    The texts are Verilog. They may use the ports of the bench's top; ``raw_NAME`` is what the
    hardware gives at the output ``NAME``.

    Parameters
    ----------
    declare : str
        Registers and nets for the others.
    assume : tuple of str
        Conditions that always hold.
    seen : mapping of str to str
        For each output that is not compared as it is: what is compared in its place.
    own : str
        How the names of the outputs begin that depend on the block; the others are not compared.
    """

    declare: str = ""
    assume: tuple[str, ...] = ()
    seen: Mapping[str, str] = field(default_factory=dict)
    own: str = ""


def _in_the_past(width: int, signal: str) -> str:
    """Return the declaration of ``past``: bit k is the signal k + 1 clocks ago."""
    return f"reg [{width - 1}:0] past = 0; always @(posedge clk_i) past <= {{past, {signal}}};"


def _held(asks: str, done: str, **inputs: int) -> tuple[str, str]:
    """Return a declaration, and the condition that inputs hold from a request until it is done.

    The inputs are given with their widths; ``asks`` is among them or made of them.
    """
    given = f"{{{', '.join(inputs)}}}"
    declare = (
        f"reg asked = 0; reg [{sum(inputs.values()) - 1}:0] held; always @(posedge clk_i) begin"
        f" asked <= ({asks}) && !{done} && !rst_i; held <= {given}; end"
    )
    return declare, f"!asked || (({asks}) && {given} == held)"


def _slots(run: Run) -> tuple[str, ...]:
    """Return the conditions that every stage has the agent whose slot is there, from power-up on."""
    slots, agents = run.parameters["Slots"], run.parameters["Agents"]

    def slot(stage: int) -> str:
        return f"(raw_slot_o >= {stage} ? raw_slot_o - {stage} : raw_slot_o + {slots - stage})"

    return (
        f"raw_slot_o < {slots}",
        *(f"raw_agent_o[{4 * k}+:4] == ({slot(k)} & 15)" for k in range(slots)),
        *(f"raw_live_o[{k}] == ({slot(k)} < {agents})" for k in range(slots)),
    )


def hazard(run: Run) -> Contract:
    states, actions = run.parameters["States"], run.parameters["Actions"]
    return Contract(
        declare="reg [1:0] past = 0; always @(posedge clk_i)"
        " past <= {past[0], issue_valid_i && !raw_hold_o && !rst_i};",
        assume=(
            *(f"{name}_state_i < {states}" for name in ("issue", "offer")),
            *(f"{name}_next_state_i < {states}" for name in ("issue", "offer")),
            *(f"{name}_action_i < {actions}" for name in ("issue", "offer")),
        ),
        seen={"mask_o": "past[1] ? raw_mask_o : 0"},
    )


def tree(run: Run) -> Contract:
    width = run.parameters["Width"]
    clocks = [1 + (actions - 1).bit_length() for actions in (2, 3, 4, 5, 6, 7, 8, 64)][::-1]

    def masked(name: str, bits: int) -> str:
        return f"raw_{name} & {{{', '.join(f'{{{bits}{{past[{k - 1}]}}}}' for k in clocks)}}}"

    return Contract(
        declare=_in_the_past(8, "valid_i"),
        seen={"value_o": masked("value_o", width), "index_o": masked("index_o", 6)},
    )


def table(run: Run) -> Contract:
    states, actions = run.parameters["States"], run.parameters["Actions"]
    return Contract(
        assume=(
            *(f"{name}_state_i < {states}" for name in ("row", "entry", "write")),
            *(f"{name}_action_i < {actions}" for name in ("entry", "write")),
        )
    )


def choice(run: Run) -> Contract:
    """Outputs count when what was in the pipeline at power-up has left it."""
    return Contract(
        declare="reg [4:0] clocks = 0; always @(posedge clk_i) clocks <= clocks + !clocks[4];",
        assume=(f"pick_action_i < {run.parameters['Actions']}", "threshold_i <= 65536"),
        seen={name: f"clocks[4] ? raw_{name} : 0" for name in ("action_o", "values_o", "target_o")},
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
            *_slots(run),
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
    """Agents step in stage 9 only if they had steps left in stage 11 of their last slot."""
    return Contract(
        declare="reg [15:0] more = 0;"
        " wire [3:0] in_9 = raw_agent_o[39:36], in_11 = raw_agent_o[47:44];"
        " always @(posedge clk_i) begin"
        " if (raw_live_o[11]) more[in_11] <= raw_budget_more_o;"
        " if (raw_live_o[9] && raw_budget_begins_o) more[in_9] <= 0; end",
        assume=(
            *_slots(run),
            "!budget_stepped_i || (raw_live_o[9] && more[in_9] && !raw_budget_begins_o)",
        ),
        seen={
            "budget_more_o": "raw_live_o[11] ? raw_budget_more_o : 0",
            "budget_rest_o": "0",  # a register inside, which the bench looks at between its changes
        },
        own="budget_",
    )


def agent_bus(run: Run) -> Contract:
    declare, held = _held(
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
            *_slots(run),
            held,
            "!(over && bus_valid_i)",
            "bus_region_i <= 5",
            f"{agent} < {run.parameters['Agents']} || bus_region_i > 3",
            f"!bus_counted_i || {counts}",
        ),
        seen=seen | {"bus_agent_o": f"raw_bus_set_o != 0 || {counts} ? raw_bus_agent_o : 0"},
        own="bus_",
    )


_TOKEN_OUTPUTS = ("bus_entry_o", "bus_field_o", "bus_load_o")
"""Outputs of the bus that count only beside a token."""


def counters(run: Run) -> Contract:
    asks = "counters_read_i || counters_write_i"
    declare, held = _held(
        asks,
        "raw_counters_done_o",
        counters_read_i=1,
        counters_write_i=1,
        counters_agent_i=4,
        counters_word_i=4,
        counters_data_i=16,
    )
    return Contract(
        declare=f"{declare} {_in_the_past(8, 'counters_stepped_i')} reg [2:0] over = 0;"
        " always @(posedge clk_i) over <= {over, raw_counters_done_o};",
        assume=(
            *_slots(run),
            held,
            "!(counters_read_i && counters_write_i)",
            f"over == 0 || !({asks})",  # StDone, StIdle and StOpen of the bus
            "!counters_stepped_i || raw_live_o[13]",
            "counters_stepped_i ||"
            " {counters_terminated_i, counters_truncated_i, counters_reward_i} == 0",
            "!counters_saturated_i || past[7]",
        ),
        seen={
            "counters_data_o": "raw_counters_done_o && counters_read_i ? raw_counters_data_o : 0"
        },
        own="counters_",
    )


def lane(run: Run) -> Contract:
    """Settings, noise and the table change only while nothing is under way."""
    states, actions = run.parameters["States"], run.parameters["Actions"]
    state_bits, action_bits = (states - 1).bit_length(), (actions - 1).bit_length()
    idle, settings = "(!offer_i[71] && !raw_busy_o)", "{alpha_i, kappa_i, rounding_i}"
    # Of a result: whether it was forwarded and saturated, the greedy action, the value, the maximum.
    results = f"192'h{((1 << 64) - 1) << 128 | 0xFF << 48 | 0b11 << 37:x}"
    return Contract(
        declare="reg [71:0] offered; reg [33:0] were; reg [1:0] clocks = 0; always @(posedge clk_i)"
        f" begin offered <= offer_i; were <= {settings};"
        " clocks <= clocks + !clocks[1]; end",  # `seen_o` is a clock late
        assume=(
            "!raw_refused_o || rst_i || offer_i == offered",
            *(f"{name}[{at}+:{state_bits}] < {states}" for name, at in _LANE_STATES),
            *(f"{name}[{at}+:{action_bits}] < {actions}" for name, at in _LANE_ACTIONS),
            "alpha_i <= 32768 && kappa_i <= alpha_i && rounding_i <= 2",
            f"{idle} || {settings} == were",
            f"!noise_load_i || ({idle} && noise_x_i != 0)",
            f"!host_i[54] || {idle}",
        ),
        seen={"seen_o": f"clocks[1] ? raw_seen_o & ~(raw_seen_o[39] ? 192'b0 : {results}) : 0"},
    )


_LANE_STATES = (("offer_i", 0), ("offer_i", 16), ("host_i", 32))
_LANE_ACTIONS = (("offer_i", 64), ("host_i", 48))
"""Where ``qs_lane_bench`` has its states and actions."""


def stop(_: Run) -> Contract:
    """The head gets one request at a time, and lanes answer only what they are asked.

    A reset lasts 16 clocks at power-up, and a lane that is in reset obeys nothing.
    """
    declare, held = _held(
        "access_i",
        "raw_done_o",
        access_i=1,
        write_i=1,
        lane_i=8,
        region_i=3,
        index_i=30,
        word_i=32,
    )
    lanes = 3  # of the bench, as it is

    def beside(strobe: str, name: str, width: int = 1) -> str:
        each = f"(raw_lane_{strobe}_o[{{0}}] & ~raw_lane_rst_o[{{0}}])"
        masks = (f"{{{width}{{{each.format(k)}}}}}" for k in reversed(range(lanes)))
        return f"raw_lane_{name}_o & {{{', '.join(masks)}}}"

    valid = {"valid": 1, "write": 1, "region": 3, "index": 30, "word": 32}
    seen = {
        **{name: f"raw_{name}" for name in ("done_o", "busy_o", "lane_rst_o")},
        **{f"lane_{name}_o": beside("valid", name, width) for name, width in valid.items()},
        **{
            f"lane_{name}_o": beside("run", name, width)
            for name, width in (("run", 1), ("steps", 48))
        },
        "lane_stop_o": beside("stop", "stop"),
        "read_o": "raw_done_o && !write_i ? raw_read_o : 0",
    }
    return Contract(
        declare=f"{declare} reg [4:0] clocks = 0; always @(posedge clk_i)"
        " clocks <= clocks + !clocks[4];",
        assume=(
            held,
            "clocks[4] || rst_i",
            f"region_i <= {max(Region)}",
            f"lane_i < {lanes} || lane_i == {ALL_LANES}",
            "!(access_i && (run_i || stop_i)) && !(run_i && stop_i)",
            "!(run_i && raw_busy_o)",
            "(lane_done_i & ~raw_lane_valid_o) == 0",
        ),
        seen={name: f"clocks[4] ? {value} : 0" for name, value in seen.items()},
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


COBS_DECODER = Contract(
    seen={"data": "raw_valid ? raw_data : 0", "broken": "raw_end ? raw_broken : 0"}
)

COBS_ENCODER = Contract(seen={"line__payload": "raw_line__valid ? raw_line__payload : 0"})

DIGEST = Contract(seen={"crc": "raw_busy ? 0 : raw_crc"})

SESSION = Contract(
    declare="reg was_judged = 0, judged = 0, greeted = 0; reg [31:0] nonce; reg [1:0] kind;"
    " reg [2:0] compared = 0;"  # bytes of the epoch, which come in order
    " always @(posedge clk) begin greeted <= greet && !rst; nonce <= greet_nonce;"
    " kind <= {is_hello, repeatable}; was_judged <= judge && !rst;"
    " judged <= !rst && (was_judged || (judged && !finish));"
    " compared <= rst || (judge && !compare) ? 0 : !compare ? compared :"
    " position == 0 ? 1 : position == compared ? compared + 1 : 0; end",
    assume=(
        "!(greet || greeted) || greet_nonce == nonce",
        "!(greet && greeted)",
        "!judged || {is_hello, repeatable} == kind",
        "!judge || (compared == 4 && !(was_judged || judged))",
        "!finish || judged",
    ),
    seen={"verdict": "judged ? raw_verdict : 0", "epoch": "greeted ? 0 : raw_epoch"},
)
