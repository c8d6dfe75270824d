"""Proofs about a farm: its chain of stops, and the crossing to the clock of its lanes."""

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

_HEAD = Proof(
    name="head",
    says="the head of a chain sends each request once, to lane k behind k zeros, and gives the word "
    "that comes back: 5 lanes, indices of 18 bits",
    top="head_proof",
    files=("chain_head.v", "head_proof.sv"),
    parameters={},
    clocks=2,
    cover_clocks=116,
    faults=(
        Fault(
            "a frame goes to the lane behind",
            "chain_head.v",
            "agents__lane - 1'h1",
            "agents__lane",
            20,
        ),
        Fault(
            "a write to all lanes goes to one",
            "chain_head.v",
            "assign \\$77  = at[3] & \\$76 ;",
            "assign \\$77  = at[3] & \\$signal$28 ;",
            20,
        ),
        Fault(
            "a frame is a bit short",
            "chain_head.v",
            "6'h20 : 6'h36",
            "6'h20 : 6'h35",
            20,
        ),
    ),
)

_CROSSING = Proof(
    name="crossing",
    says="the crossing between the clocks of link and lanes carries each order once, and busy spans "
    "each run, whatever the clocks are: 2 lanes",
    top="crossing_proof",
    files=("crossing.v", "crossing_proof.sv"),
    parameters={},
    clocks=1,
    cover_clocks=40,
    faults=(
        Fault(
            "busy falls while the agents run",
            "crossing.v",
            "= running & \\$24 ;",
            "= running;",
            40,
        ),
        Fault(
            "an order from before a reset stays",
            "crossing.v",
            "= takes | reset;",
            "= takes;",
            40,
        ),
        Fault(
            "the link does not wait for the reset of the lanes",
            "crossing.v",
            "= rst | \\$2 ;",
            "= rst;",
            40,
        ),
        Fault(
            "an order is not waited for",
            "crossing.v",
            "assign \\$8  = asked == taken_seen;",
            "assign \\$8  = 1'h1;",
            40,
        ),
    ),
)

FARM = (_HEAD, _STOP, _CROSSING)
