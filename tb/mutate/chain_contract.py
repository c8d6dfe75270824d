"""What the bench of a farm's chain promises and looks at, and where the bits of a frame are.

A bit that the head sends is {all, valid, data, zeros, place}: zeros are those that its frame begins
with, and place is the number of its bits before this one, at most 3. Stop k has in ``down_q`` what the
head sent 2 k + 1 clocks ago, without the bits that stops before it have taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from tb.bench import Run
from tb.mutate.contracts import Contract, held

from qstep.protocol import ALL_LANES, Region
from qstep_rtl.chain_head import DOWN, UP

__all__ = ["stop"]

_LANES = 3
"""Of the bench, as it is."""


def stop(_: Run) -> Contract:
    """The head gets one request at a time, and lanes answer only what they are asked.

    At power-up, no frame is in a stop (in simulation, as on the FPGAs, its flip-flops are 0 then), and a
    reset lasts 16 clocks. A lane that is in reset obeys nothing.
    """
    declare, same = held(
        "access_i",
        "raw_done_o",
        access_i=1,
        write_i=1,
        lane_i=8,
        region_i=3,
        index_i=30,
        word_i=32,
    )

    def beside(strobe: str, name: str, width: int = 1) -> str:
        each = f"(raw_lane_{strobe}_o[{{0}}] & ~raw_lane_rst_o[{{0}}])"
        masks = (f"{{{width}{{{each.format(k)}}}}}" for k in reversed(range(_LANES)))
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
        f" clocks <= clocks + !clocks[4]; {_BITS} {_AGES}",
        assume=(
            same,
            "clocks[4] || rst_i",
            f"started || {{{', '.join(name for name in _INSIDE if name[-1].isdigit())}}} == 0",
            f"region_i <= {max(Region)}",
            f"lane_i < {_LANES} || lane_i == {ALL_LANES}",
            "!(access_i && (run_i || stop_i)) && !(run_i && stop_i)",
            "!(run_i && raw_busy_o)",
            "(lane_done_i & ~raw_lane_valid_o) == 0",
        ),
        seen={name: f"clocks[4] ? {value} : 0" for name, value in seen.items()},
        inside=_INSIDE,
        lemmas=(
            *_HEAD,
            *_on_the_way(),
            *(lemma for k in range(_LANES) for lemma in _at(k)),
            f"!passing_q_{_LANES - 1} || taking_q_{_LANES - 1}",
            *_in_reset(),
            *_without_gaps(),
        ),
    )


# --- Lemmas -----------------------------------------------------------------------------------------

_OF_A_STOP = {
    **dict.fromkeys(("down_q", "down_o"), DOWN.size),
    **dict.fromkeys(("up_q", "up_o"), UP.size),
    **dict.fromkeys(("taking_q", "passing_q", "rst_q", "rst_o"), 1),
}
"""Nets of a stop, and their widths."""

_LEFT_BITS = 7
"""Of the head's count of clocks and bits, a number with a sign."""

_INSIDE = {
    "at": ("u_head.at", 9),
    "asks_now": ("u_head.$signal$23", 1),
    "is_job": ("u_head.$signal$28", 1),
    "to_all": ("u_head.$signal$35", 1),
    "for_all": ("u_head.for_all", 1),
    "reads": ("u_head.reads", 1),
    "ahead": ("u_head.$like", 3),
    "before": ("u_head.before", 3),
    "down": ("u_head.down", DOWN.size),
    **{
        f"{name}_{k}": (f"gen_stop[{k}].u_stop.{name}", width)
        for k in range(_LANES)
        for name, width in _OF_A_STOP.items()
        if name not in ("down_o", "rst_o") or k < _LANES - 1
    },
    "reset": ("u_head.reset", 1),
    "left": ("u_head.left", _LEFT_BITS),
}

_STEPS = 2 * _LANES + 1
_BITS = (
    "reg [1:0] place = 0; wire [1:0] next_place = !down[1] ? 0 : place + (place != 3);"
    " always @(posedge clk_i) place <= rst_i ? 0 : next_place;"
    f" reg [6:0] {', '.join(f'bit_{n} = 0' for n in range(1, _STEPS))};"
    " wire [6:0] bit_0 = {down, down[2] ? 2'd0 : lane_i[1:0], place}; always @(posedge clk_i) begin "
    + " ".join(f"bit_{n} <= bit_{n - 1};" for n in range(1, _STEPS))
    + " end"
)

_SERVES = "(at[1] || at[3] || at[4] || at[5] || at[6] || at[7])"
_SENDS = "(at[4] || at[5])"
_ZEROS = "(to_all ? 2'd0 : lane_i[1:0])"

_HEAD = (
    "at != 0 && (at & (at - 1)) == 0",
    "!at[0] || is_job",
    "asks_now == asked",
    "!raw_done_o || at[8]",
    f"!({_SERVES} && !is_job) || asked",
    f"!asked || (for_all == (lane_i == {ALL_LANES}) && ahead == lane_i[2:0] - 3'd1)",
    "!reads || at[2] || at[3] || !is_job",
    f"!({_SERVES} && !at[3] && !is_job) || to_all == (lane_i == {ALL_LANES})",
    f"!({_SENDS} && is_job) || to_all",
    f"!at[4] || next_place <= {_ZEROS}",
    f"!at[4] || (to_all ? before[2] : before == {{1'b0, {_ZEROS}}} - 3'd1 - next_place)",
    f"!at[5] || (down[1] && next_place > {_ZEROS})",
    "!down[1] || at[1] || at[4] || at[5]",
    "!down[1] || down[2] == to_all",
    "!(down[1] && at[1]) || to_all || !is_job",
)
"""The head knows where it is in a frame, and for whom the frame is."""


def _on_the_way() -> Iterator[str]:
    """Yield what is true of each bit, and of two that follow each other."""
    for n in range(_STEPS):
        all_, valid, data, zeros, place = (f"bit_{n}[{part}]" for part in _PARTS)
        yield f"!{valid} || {place} > {zeros} || {data} == ({place} == {zeros})"
        yield f"!{valid} || ({zeros} != 3 && !({all_} && {zeros} != 0))"
        yield f"clocks[4] || !{valid}"
    for n in range(_STEPS - 1):
        all_, valid, _, zeros, place = (f"bit_{n}[{part}]" for part in _PARTS)
        of_all, was_valid, _, of_zeros, behind = (f"bit_{n + 1}[{part}]" for part in _PARTS)
        follows = f"{place} == {behind} + ({behind} != 3)"
        same = f"{all_} == {of_all} && {zeros} == {of_zeros}"
        yield f"!{valid} || ({was_valid} ? {follows} && {same} : {place} == 0)"


_PARTS = ("6", "5", "4", "3:2", "1:0")


def _reaches(n: int, k: int) -> str:
    """Return whether bit n comes to stop k."""
    all_, valid, _, zeros, place = (f"bit_{n}[{part}]" for part in _PARTS)
    return f"({valid} && ({all_} || ({zeros} >= {k} && {place} >= {k})))"


def _at(k: int) -> Iterator[str]:
    """Yield what a stop makes of the bits that come to it."""
    now, past = 2 * k + 1, 2 * k + 2
    all_, _, _, zeros, _ = (f"bit_{past}[{part}]" for part in _PARTS)
    comes, came = _reaches(now, k), _reaches(past, k)
    yield f"down_q_{k}[1] == {comes}"
    yield f"!{comes} || {{down_q_{k}[2], down_q_{k}[0]}} == {{bit_{now}[6], bit_{now}[4]}}"
    yield f"taking_q_{k} == ({came} && ({all_} || {zeros} == {k}))"
    yield f"passing_q_{k} == ({came} && ({all_} || {zeros} > {k}))"
    if k < _LANES - 1:
        on = _reaches(past, k + 1)
        yield f"down_o_{k}[1] == {on}"
        yield f"!{on} || {{down_o_{k}[2], down_o_{k}[0]}} == {{bit_{past}[6], bit_{past}[4]}}"


# --- Lemmas about resets and whole frames ----------------------------------------------------------

_AGES = (
    "reg out = 0; always @(posedge clk_i) out <= rst_q_2;"
    " wire [6:0] ages = {out, rst_q_2, rst_o_1, rst_q_1, rst_o_0, rst_q_0, reset};"
    " reg [3:0] length = 0; always @(posedge clk_i)"
    " length <= rst_i || !down[1] ? 0 : length + (length != 15);"
)
"""Bit n of ``ages`` is the reset that the head gave n clocks ago.

So many bits of a frame as ``length``, or 15 and more, came right before the one in ``down``.
"""

_OVER = 2**_LEFT_BITS - 1
"""What the head's count of clocks is when a reset is over; it begins as 4."""

_SHORTEST = 30
"""The least that the head's count of the bits of a frame begins as."""


def _in_reset() -> Iterator[str]:
    """Yield that a reset is at least seven clocks long, and behind it the head waits until it is out."""
    yield f"!at[0] || left <= 4 || left == {_OVER}"
    for count in range(5):
        yield f"!at[0] || left != {4 - count} || &ages[{count}:0]"
    yield f"!at[0] || left != {_OVER} || &ages[5:0]"
    yield "!at[1] || (ages & ~(ages >> 1) & 7'h3f) == 0"
    yield "at[0] || at[1] || ages == 0"
    for age, up in ((4, "up_o_1"), (5, "up_q_0"), (6, "up_o_0")):
        yield f"!ages[{age}] || {up}[1]"


def _without_gaps() -> Iterator[str]:
    """Yield that a bit follows each one, unless it is the last of a whole frame, or a reset comes."""
    yield f"!at[4] || (left >= {_SHORTEST} && left < 64)"
    yield f"!(at[5] && length < 15) || (left < 64 && left + length + 1 >= {_SHORTEST})"
    last = _STEPS - 1
    for n in range(_STEPS):
        yield f"!down[1] || length < {n} || bit_{n}[5]"
    for n in range(last - 1):
        is_reset = f"(at[0] && left <= 4 && left + {n} >= 4 && &ages[{n}:0])"
        earlier = " && ".join(f"bit_{k}[5]" for k in range(n + 2, last + 1))
        ends = f"({earlier} && bit_{last}[1:0] == 3)"
        yield f"!bit_{n + 1}[5] || bit_{n}[5] || {is_reset} || {ends}"
