"""Proofs about the lane, and the blocks of it: update, table, tree."""

from __future__ import annotations

from tb.formal.proof import Fault, Proof

__all__ = ["LANE"]

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

LANE = (
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
