"""The list of proofs: what each one states, about which hardware, and its method."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tb.bench import RTL
from tb.formal.blocks import BLOCKS, block

__all__ = ["FAST", "PROOFS", "Fault", "Proof"]

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Fault:
    """A planted text in a file; a search from power-up must find it within `clocks` clocks."""

    name: str
    file: str
    old: str
    new: str
    clocks: int


@dataclass(frozen=True)
class Proof:
    """One proof.

    Parameters
    ----------
    name : str
    says : str
        Its statement in one line, for the table.
    top : str
        The module with the properties.
    files : tuple of str
        Sources by name, packages first: a generated block, a file of `tb/formal`, or else of `rtl`.
    parameters : dict of str to int
    clocks : int
        Clocks of the induction, or of the search from power-up if it is not inductive.
    cover_clocks : int
        Clocks from power-up within which all covers are reached.
    faults : tuple of Fault
    is_inductive : bool
    free_products : bool
        Multipliers of one width are the same unknown function of their operands.
    memories : bool
        Memories stay memories.
    rtl_assertions : bool
        The assertions in the RTL are properties as well.
    """

    name: str
    says: str
    top: str
    files: tuple[str, ...]
    parameters: dict[str, int]
    clocks: int
    cover_clocks: int
    faults: tuple[Fault, ...]
    is_inductive: bool = True
    free_products: bool = False
    memories: bool = False
    rtl_assertions: bool = True

    def paths(self) -> list[Path]:
        """Return the paths of its files."""
        return [
            block(file) if file in BLOCKS else own if (own := _HERE / file).exists() else RTL / file
            for file in self.files
        ]


_LANE_FAULTS = (
    Fault(
        "an older writer of an entry is joined too",
        "qs_hazard.sv",
        "join_o[d] = valid_q[d] && youngest_q[d] && same_row[d]",
        "join_o[d] = valid_q[d] && same_row[d]",
        16,
    ),
    Fault(
        "an entry in flight is not taken",
        "qs_lane.sv",
        "entry_q <= gen_stage[k-1].take_q[WriteStage-k+1] ? value : entry;",
        "entry_q <= entry;",
        16,
    ),
    Fault(
        "a result is joined a clock late",
        "qs_lane.sv",
        "join_row[WriteStage-1:LoopDepth];",
        "join_row[WriteStage:LoopDepth+1];",
        20,
    ),
    Fault(
        "the higher of two equal actions wins",
        "qs_max_tree.sv",
        "if (lead >= 0) begin",
        "if (lead >= -1) begin",
        16,
    ),
    Fault(
        "the mask of the row is of the transition before",
        "qs_hazard.sv",
        "if (valid_q[1]) begin",
        "if (valid_q[2]) begin",
        20,
    ),
    Fault(
        "noise goes on while nothing is drawn",
        "qs_lane.sv",
        "(stochastic && valid[MergeStage-1])",
        "(stochastic)",
        16,
    ),
)
_DEEP_FAULTS = (
    Fault(
        "a row in flight holds nobody",
        "qs_hazard.sv",
        "|(take_o[LoopDepth-1:1] | join_o[LoopDepth-1:1]);",
        "|take_o[LoopDepth-1:1];",
        20,
    ),
    Fault(
        "the far result is joined as the near one",
        "qs_lane.sv",
        "(product_join_q[LoopDepth+1])",
        "(product_join_q[LoopDepth])",
        24,
    ),
)

_UPDATE = ("qs_pkg.sv", "update_operands.sv")
_IN_THE_LANE = ("qs_lane.sv", "qs_hazard.sv", "qs_max_tree.sv", "qs_noise.sv")


def _lane(actions: int, width: int, loop_depth: int, clocks: int) -> Proof:
    return Proof(
        name=f"lane-{actions}x{width}-{loop_depth}",
        says=f"the lane is the sequential one: 1024 states, {actions} actions, {width} bits, "
        f"loop depth {loop_depth}, any update",
        top="lane_proof",
        files=(
            *_UPDATE,
            "any/qs_table.sv",
            "any/updated_value.sv",
            "any/qs_update.sv",
            *_IN_THE_LANE,
            "lane_proof.sv",
        ),
        parameters={
            "States": 1024,
            "Actions": actions,
            "Width": width,
            "LoopDepth": loop_depth,
        },
        clocks=clocks,
        cover_clocks=40,
        faults=_LANE_FAULTS if loop_depth == 1 else _DEEP_FAULTS,
        free_products=True,
    )


def _update(width: int, loop_depth: int) -> Proof:
    return Proof(
        name=f"update-{width}-{loop_depth}",
        says=f"qs_update is the formula on the operands it is given and those in flight: {width} bits, "
        f"loop depth {loop_depth}, any product",
        top="update_proof",
        files=(*_UPDATE, "updated_value.sv", "qs_update.sv", "update_proof.sv"),
        parameters={"Width": width, "LoopDepth": loop_depth},
        clocks=2 * loop_depth + 4,
        cover_clocks=20,
        faults=(
            Fault(
                "a terminated transition is raised by the near result",
                "qs_update.sv",
                "raise: near_greater && !s2_terminated_q,",
                "raise: near_greater,",
                12,
            ),
            Fault(
                "a maximum is raised by the near result for an equal one of a higher action",
                "qs_update.sv",
                "greedy: near_greater ? value_index_i : ~s2_rank_q",
                "greedy: ~s2_rank_q",
                12,
            ),
        ),
        free_products=True,
    )


_TABLE = Proof(
    name="table",
    says="qs_table gives what was written last, from both copies: 1000 states, 3 actions, 16 bits",
    top="table_proof",
    files=("qs_pkg.sv", "qs_table.sv", "table_proof.sv"),
    parameters={"States": 1000, "Actions": 3, "Width": 16},
    clocks=2,
    cover_clocks=10,
    faults=(
        Fault(
            "the copy takes the writes of one action only",
            "qs_table.sv",
            "if (write_i) copy[copy_write] <= write_data_i;",
            "if (write_i && write_action_i == 0) copy[copy_write] <= write_data_i;",
            10,
        ),
        Fault(
            "a row comes a clock early",
            "qs_table.sv",
            "row_o[a] <= ram_q;",
            "row_o[a] <= mem[row_state_i];",
            10,
        ),
    ),
    memories=True,
)

_TREE = Proof(
    name="tree",
    says="qs_max_tree gives the maximum and the lowest action that has it: 5 actions, 16 bits, any mask",
    top="tree_proof",
    files=("qs_pkg.sv", "qs_max_tree.sv", "tree_proof.sv"),
    parameters={"Actions": 5, "Width": 16},
    clocks=5,
    cover_clocks=10,
    faults=(
        Fault(
            "the higher of two equal actions wins",
            "qs_max_tree.sv",
            "if (lead >= 0) begin",
            "if (lead >= -1) begin",
            10,
        ),
    ),
)

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
_CRC = Proof(
    name="crc",
    says="the link's CRC is CRC-32 bit by bit; a frame with its own CRC behind it matches",
    top="crc_proof",
    files=("crc32.v", "crc_proof.sv"),
    parameters={},
    clocks=6,
    cover_clocks=10,
    faults=(
        Fault(
            "one word of a table is wrong",
            "crc32.v",
            "32'd1802195444",
            "32'd1802195445",
            10,
        ),
    ),
)

_SESSION = Proof(
    name="session",
    says="a session carries out each request once, in order, none of another session or after a refusal",
    top="session_proof",
    files=("session.v", "session_proof.sv"),
    parameters={},
    clocks=14,
    cover_clocks=60,
    faults=(
        Fault(
            "a request is carried out if its number is ahead by 256",
            "session.v",
            "= ! ahead;",
            "= ! ahead[7:0];",
            60,
        ),
    ),
)

_COBS = Proof(
    name="cobs",
    says="the link's COBS decoder undoes every legal stuffing, and tells frames that were cut off",
    top="cobs_proof",
    files=("cobs_decoder.v", "cobs_proof.sv"),
    parameters={},
    clocks=1,
    cover_clocks=10,
    faults=(
        Fault(
            "a zero stands behind full blocks too",
            "cobs_decoder.v",
            "in_data != 8'hff;",
            "in_data != 8'hfe;",
            10,
        ),
    ),
)

_ALL = (
    _COBS,
    _SESSION,
    _CRC,
    _AGENTS,
    _BUDGET,
    _TABLE,
    _TREE,
    _update(16, 1),
    _update(16, 2),
    _update(16, 3),
    _lane(2, 16, 1, 8),
    _lane(2, 16, 2, 10),
    _lane(2, 16, 3, 12),
    _lane(3, 16, 2, 11),
    _lane(4, 16, 1, 9),
    _lane(4, 16, 2, 11),
    _lane(4, 16, 3, 13),
)

PROOFS = {proof.name: proof for proof in _ALL}
"""All proofs by name."""

FAST = ("cobs", "crc", "table", "tree", "update-16-1", "lane-2x16-1")
"""Names of the proofs in each test run."""
