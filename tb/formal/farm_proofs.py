"""Proofs about a farm: the stops of its chain."""

from __future__ import annotations

from tb.formal.proof import Fault, Proof

__all__ = ["FARM"]

_STOP = Proof(
    name="stop",
    says="a stop takes the frames for its lane, passes on the others, and returns answers unchanged: "
    "indices of 18 bits",
    top="stop_proof",
    files=("qs_chain_pkg.sv", "qs_stop.sv", "stop_proof.sv"),
    parameters={},
    clocks=4,
    cover_clocks=90,
    faults=(
        Fault(
            "a frame keeps its first 0",
            "qs_stop.sv",
            "down_q.valid && (passing_q || (first && down_q.all))",
            "down_q.valid && (passing_q || first)",
            20,
        ),
        Fault(
            "a frame for one lane goes on to the next",
            "qs_stop.sv",
            "(first && (!down_q.data || down_q.all))",
            "first",
            20,
        ),
        Fault(
            "an answer is pushed out a bit late",
            "qs_stop.sv",
            "taking_q && down_q.valid && frame_q[FrameBits-1])",
            "taking_q && down_q.valid && frame_q[FrameBits-2])",
            90,
        ),
        Fault(
            "an access is made in a reset",
            "qs_stop.sv",
            "working_q <= !rst_q && (",
            "working_q <= (",
            30,
        ),
    ),
)

FARM = (_STOP,)
