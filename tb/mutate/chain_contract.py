"""Contract for the bench of a farm's chain: input assumptions and compared outputs."""

from tb.bench import Run
from tb.mutate.contracts import Contract, held

from qstep.spec.memory_map import Region
from qstep.spec.protocol import ALL_LANES
from qstep_rtl.chain_head import DOWN, UP

__all__ = ["node"]

_LANES = 3
"""Number of lanes in the bench."""


def node(_: Run) -> Contract:
    """The head receives one request at a time, and lanes answer only requests.

    At power-up, nodes contain no frames, since their flip-flops start at 0, in simulation as on the
    FPGAs. The reset lasts 16 clocks. A lane in reset ignores all requests.
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
        f" clocks <= clocks + !clocks[4];",
        assume=(
            same,
            "clocks[4] || rst_i",
            f"started || {{{', '.join(_INSIDE)}}} == 0",
            f"region_i <= {max(Region)}",
            f"lane_i < {_LANES} || lane_i == {ALL_LANES}",
            "!(access_i && (run_i || stop_i)) && !(run_i && stop_i)",
            "!(run_i && raw_busy_o)",
            "(lane_done_i & ~raw_lane_valid_o) == 0",
        ),
        seen={name: f"clocks[4] ? {value} : 0" for name, value in seen.items()},
        inside=_INSIDE,
    )


_OF_A_STOP = {
    **dict.fromkeys(("down_q", "down_o"), DOWN.size),
    **dict.fromkeys(("up_q", "up_o"), UP.size),
    **dict.fromkeys(("taking_q", "passing_q", "rst_q", "rst_o"), 1),
}
"""Nets of a node, and their widths."""

_INSIDE = {
    f"{name}_{k}": (f"gen_node[{k}].u_node.{name}", width)
    for k in range(_LANES)
    for name, width in _OF_A_STOP.items()
    if name not in ("down_o", "rst_o") or k < _LANES - 1
}
"""Registers and nets inside the nodes, by their names in the contract."""
