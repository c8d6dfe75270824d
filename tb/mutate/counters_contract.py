"""What the bench of the agents' counters promises and looks at, and where words are in a sweep."""

from __future__ import annotations

from collections.abc import Iterator

from tb.bench import Run
from tb.mutate.agent_contracts import slots
from tb.mutate.contracts import Contract, held, in_the_past

__all__ = ["counters"]


def counters(run: Run) -> Contract:
    """A copy is read from its first word on.

    At power-up, no word is under way (in simulation, as on the FPGAs, flip-flops are 0 then). Lemmas: in
    which clock of a sweep a word is in which stage, and that no word is missing between two.
    """
    asks = "counters_read_i || counters_write_i"
    declare, same = held(
        asks,
        "raw_counters_done_o",
        counters_read_i=1,
        counters_write_i=1,
        counters_agent_i=4,
        counters_word_i=4,
        counters_data_i=16,
    )
    return Contract(
        declare=f"{declare} {in_the_past(8, 'counters_stepped_i')} reg [2:0] over = 0;"
        " always @(posedge clk_i) over <= {over, raw_counters_done_o};"
        " reg powered = 0; always @(posedge clk_i) powered <= 1;",
        assume=(
            *slots(run),
            same,
            "!(counters_read_i && counters_write_i)",
            f"over == 0 || !({asks})",  # StDone, StIdle and StOpen of the bus
            "!counters_stepped_i || raw_live_o[13]",
            "counters_stepped_i ||"
            " {counters_terminated_i, counters_truncated_i, counters_reward_i} == 0",
            "!counters_saturated_i || past[7]",
            "powered || {r_valid, b_valid, c_valid, d_valid, copies, copied} == 0",
        ),
        seen={
            "counters_data_o": "raw_counters_done_o && counters_read_i ? raw_counters_data_o : 0"
        },
        own="counters_",
        inside={
            name.removesuffix("_q"): (f"u_counters.{name}", width)
            for width, names in _COUNTERS_INSIDE.items()
            for name in names.split()
        },
        reset=8,
        lemmas=tuple(
            f"!started || ({lemma})"
            for lemma in _sweep(run.parameters["Slots"], run.parameters["Agents"])
        ),
    )


_COUNTERS_INSIDE = {
    1: "take_q lives_q r_valid_q b_valid_q c_valid_q d_valid_q copies_q copied_q",
    4: "swept_q summed_q a_word_q r_word_q b_word_q c_word_q d_word_q",
    5: "sweep_q",
    8: "b_from_q",
}


def _sweep(rotation: int, agents: int) -> Iterator[str]:
    """Yield what is always true of a sweep over the words of an agent."""
    yield f"sweep <= {rotation} && take == (sweep == 0)"
    yield "sweep == 0 || a_word == ((sweep - 1) & 15)"
    yield f"sweep == 0 || !lives || swept < {agents}"
    froms = ", ".join(f"b_word == {word}" for word in (13, 12, 11, 10, 9, 6, 3, 0))
    yield f"b_from == {{{froms}}}"
    for stage, name in enumerate("rbcd", 2):
        passed = f"{name}_word + {stage}"
        yield f"!{name}_valid || sweep == ({passed} > {rotation} ? {passed} - {rotation + 1} : {passed})"
    yield "!r_valid || sweep == 0 || lives"
    yield "!(lives && sweep >= 2 && sweep <= 17) || (r_valid && r_word == sweep - 2)"
    for early, late in ("rb", "bc", "cd"):
        word, past = f"{early}_word", f"{late}_word"
        yield f"!({early}_valid && {word} != 0) || ({late}_valid && {past} == {word} - 1)"
        yield f"!({late}_valid && {past} != 15) || ({early}_valid && {word} == {past} + 1)"
    yield f"!(c_valid || d_valid || (b_valid && b_word != 0)) || summed < {agents}"
    yield "!copies || d_valid"
    yield "!(copies || copied) || over[0] || (counters_read_i && counters_word_i == 0)"
