"""What the benches of the link's blocks promise their hardware, and what they look at."""

from __future__ import annotations

from tb.mutate.contracts import Contract

__all__ = ["COBS_DECODER", "COBS_ENCODER", "DIGEST", "SESSION", "VERDICT"]

VERDICT = "{fresh, latest, behind} == {ahead == 0, ahead == 16'hffff, ahead > 16'h8000}"
"""What the session knows a clock after it has compared the number of a request."""

COBS_DECODER = Contract(
    seen={"data": "raw_valid ? raw_data : 0", "broken": "raw_end ? raw_broken : 0"}
)

COBS_ENCODER = Contract(
    # Rows of the ring from the one that is read to the open placeholder, and with the open block's.
    declare="wire [8:0] rows = placeholder - read; wire [10:0] used = rows + run;",
    seen={"line__payload": "raw_line__valid ? raw_line__payload : 0"},
    inside={
        **{name: (name, 1) for name in ("busy", "closing", "delimiting", "space")},
        **{name: (name, 9) for name in ("free", "placeholder", "read")},
        "run": ("run", 8),
        "more": ("reader.more", 1),
        "following": ("reader.following", 9),
    },
    lemmas=(
        "free == ((placeholder + run) & 511) && run != 0",
        "used <= (space ? 511 : 512)",
        "space || used >= 510 || delimiting",
        "busy == (run == 255 || closing || delimiting)",
        "!delimiting || (run == 1 && !closing)",
        "!more || rows != 0",
        "following == ((read + 1) & 511)",
    ),
)

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
    inside={
        "judged_q": ("$signal$26", 1),
        "fresh": ("$signal$19", 1),
        "latest": ("$signal$20", 1),
        "behind": ("behind", 1),
        "ahead": ("ahead", 16),
    },
    lemmas=(
        "!started || judged_q == was_judged",
        f"!judged || {VERDICT}",
    ),
)
