"""The class of contracts, and the contracts for the benches of the lane's blocks.

The block's neighbours in the product also meet each of these assumptions, which are stated in the header
of the block's file or next to its ports.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tb.bench import Run

__all__ = [
    "Contract",
    "hazard",
    "held",
    "in_the_past",
    "lane",
    "table",
    "tree",
]


@dataclass(frozen=True)
class Contract:
    """The assumptions on a bench's inputs, and the outputs to compare, for proofs of equivalence.

    The texts are Verilog. They may use the ports of the bench's top; ``raw_NAME`` is the hardware's
    value of output ``NAME``.

    Parameters
    ----------
    declare : str
        Registers and nets used by the other texts.
    assume : tuple of str
        Conditions that are always true.
    seen : mapping of str to str
        For each output that is not compared directly, the expression compared instead.
    own : str
        Name prefix of the outputs that depend on the block; other outputs are not compared.
    inside : mapping of str to (str, int)
        Internal nets that the texts read: name in the texts, name in the hardware, and width.
    reset : int
        Clocks of the reset at power-up, during which no output is compared. If 1, a reset is optional.
    """

    declare: str = ""
    assume: tuple[str, ...] = ()
    seen: Mapping[str, str] = field(default_factory=dict)
    own: str = ""
    inside: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    reset: int = 1


def in_the_past(width: int, signal: str) -> str:
    """Return the declaration of ``past``, whose bit k is the signal's value k + 1 clocks ago."""
    return f"reg [{width - 1}:0] past = 0; always @(posedge clk_i) past <= {{past, {signal}}};"


def held(asks: str, done: str, **inputs: int) -> tuple[str, str]:
    """Return a declaration and the condition that inputs are stable from a request until it is done.

    The inputs are given with their widths; ``asks`` is one of them or an expression in them.
    """
    given = f"{{{', '.join(inputs)}}}"
    declare = (
        f"reg asked = 0; reg [{sum(inputs.values()) - 1}:0] held; always @(posedge clk_i) begin"
        f" asked <= ({asks}) && !{done} && !rst_i; held <= {given}; end"
    )
    return declare, f"!asked || (({asks}) && {given} == held)"


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
    clocks = [1 + (actions - 1).bit_length() for actions in (2, 3, 4, 5, 6, 7, 8, 16, 64)][::-1]

    def masked(name: str, bits: int) -> str:
        return f"raw_{name} & {{{', '.join(f'{{{bits}{{past[{k - 1}]}}}}' for k in clocks)}}}"

    return Contract(
        declare=in_the_past(8, "valid_i"),
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


_STATES = (("offer_i", 0), ("offer_i", 16), ("host_i", 32))
_ACTIONS = (("offer_i", 64), ("host_i", 48))
"""Positions of states and actions in the inputs of ``qs_lane_bench``."""


def lane(run: Run) -> Contract:
    """Settings, noise and the table change only while no transition is in flight."""
    states, actions = run.parameters["States"], run.parameters["Actions"]
    state_bits, action_bits = (states - 1).bit_length(), (actions - 1).bit_length()
    idle, settings = "(!offer_i[71] && !raw_busy_o)", "{alpha_i, kappa_i, rounding_i}"
    # Fields of a result: forwarded and saturated flags, greedy action, value and maximum.
    results = f"192'h{((1 << 64) - 1) << 128 | 0xFF << 48 | 0b11 << 37:x}"
    return Contract(
        declare="reg [71:0] offered; reg [33:0] were; reg [1:0] clocks = 0; always @(posedge clk_i)"
        f" begin offered <= offer_i; were <= {settings};"
        " clocks <= clocks + !clocks[1]; end",  # `seen_o` is delayed by a clock
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
    )
