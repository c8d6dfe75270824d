"""What the bench of the whole lane promises and looks at, and what is true of results in flight."""

from __future__ import annotations

from collections.abc import Iterator

from tb.bench import Run
from tb.mutate.contracts import Contract

from qstep.config import Config
from qstep_rtl.timing import write_stage

__all__ = ["lane"]

_STATES = (("offer_i", 0), ("offer_i", 16), ("host_i", 32))
_ACTIONS = (("offer_i", 64), ("host_i", 48))
"""Where ``qs_lane_bench`` has its states and actions."""


def lane(run: Run) -> Contract:
    """Settings, noise and the table change only while nothing is under way.

    Lemmas: a transition joins only results that are under way; a result has its complement beside it.
    """
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
            *(f"{name}[{at}+:{state_bits}] < {states}" for name, at in _STATES),
            *(f"{name}[{at}+:{action_bits}] < {actions}" for name, at in _ACTIONS),
            "alpha_i <= 32768 && kappa_i <= alpha_i && rounding_i <= 2",
            f"{idle} || {settings} == were",
            f"!noise_load_i || ({idle} && noise_x_i != 0)",
            f"!host_i[54] || {idle}",
        ),
        seen={"seen_o": f"clocks[1] ? raw_seen_o & ~(raw_seen_o[39] ? 192'b0 : {results}) : 0"},
        inside=_inside(run),
        lemmas=tuple(f"!started || {lemma}" for lemma in _under_way(run)),
    )


def _under_way(run: Run) -> Iterator[str]:
    """Yield that a transition joins only results that are under way, and what their complements are."""
    depth, merge, write = _stages(run)
    yield f"!valid[{write - 1}] || not_value == ~value"
    for k in range(1, merge + 2):
        for distance in range(depth, write - k + 1):
            joins = f"valid[{k - 1}] && join_{k}[{distance - depth}]"
            yield f"!({joins}) || valid[{k + distance - 1}]"


def _inside(run: Run) -> dict[str, tuple[str, int]]:
    depth, merge, write = _stages(run)
    width = run.parameters["Width"]
    return {
        "valid": ("u_lane.u_hazard.valid_q", write),
        "value": ("u_lane.u_update.value_q", width),
        "not_value": ("u_lane.u_update.not_value_q", width),
        **{
            f"join_{k}": (f"u_lane.gen_stage[{k}].join_q", write - k - depth + 1)
            for k in range(1, merge + 1)
        },
        f"join_{merge + 1}": ("u_lane.product_join_q", 2),
    }


def _stages(run: Run) -> tuple[int, int, int]:
    """Return the depth of the loop, and the stages in which maxima are merged and results written."""
    states, actions, depth = (run.parameters[name] for name in ("States", "Actions", "LoopDepth"))
    write = write_stage(Config(states, actions, loop_depth=depth))
    return depth, write - depth - 2, write
