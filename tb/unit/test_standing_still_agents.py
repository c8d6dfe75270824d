"""The sleeping blocks of a device with agents would not have changed: yosys proves it."""

import re
from pathlib import Path

import pytest
from tb.generated import generated
from tb.unit.standing_still import (
    GREETED,
    HAS_COUNTED_RESET,
    READER,
    link_facts,
    prove,
    type_of,
)

from qstep.errors import BuildError
from qstep.spec.agents import Acting
from qstep.spec.config import Config, Link
from qstep.spec.protocol import BUFFERS, COMMON, HEADER, Request, max_words

pytestmark = [pytest.mark.formal, pytest.mark.slow]

_LINK = Link(buffer_bytes=512)
CONFIGS = {
    "table": Config(9, 3, acting=Acting(agents=2), link=_LINK),
    # A circuit has the link of pins. The proof leaves the agents' outputs arbitrary, except their bus,
    # so it covers circuits too.
    "pins": Config(9, 3, acting=Acting(agents=2, world="pins"), link=_LINK),
    "live": Config(9, 3, acting=Acting(agents=2, world="live"), link=_LINK),
    "farm": Config(9, 3, acting=Acting(agents=2), lanes=2, link=_LINK),
    "own-clock": Config(9, 3, acting=Acting(agents=2, clock_hz=60_000_000), link=_LINK),
}

# The types that each of them knows have the same number of bits.
TYPE = type_of(CONFIGS["live"])

_STEPS = 2
_SETTLE_CLOCKS = 7  # of the device
_HANDLER, _ACT, _SESSION = "commands.agents", "commands.act", f"{READER}.session"
_WORKS_ON = (
    f"commands.fsm_state == 3 && {READER}.request__valid && {READER}.request__payload[26:24] == 0"
)
_MOST_LEFT = _LINK.buffer_bytes // BUFFERS - HEADER.size
_MOST_WORDS = max_words(_LINK.buffer_bytes)
_WORDS_FIT = f"({_HANDLER}.left != 0 && {_HANDLER}.left <= {_MOST_WORDS})"
_DATA_LEFT = "(responder.fsm_state == 0 ? responder.answer[42:27] : responder.left)"


def _settled(clocks: int, *facts: str) -> tuple[str, ...]:
    """Return the statement that all `facts` hold a number of clocks after the last cause to be awake."""
    return tuple(
        f"link_moves || settling > {_SETTLE_CLOCKS - clocks} || ({fact} )" for fact in facts
    )


def _data(sends: str, left: str) -> tuple[str, ...]:
    """Return the statement that an answer takes the `left` bytes that a handler `sends`."""
    common = HEADER.size + COMMON.size
    before = f"(responder.index <= {common} && responder.index != 0 && !responder.crc_follows"
    at_data = rf"responder.data_follow == (responder.index == {common}))"
    return (
        f"!{sends} || {left} == {_DATA_LEFT}",
        f"!{sends} || {_DATA_LEFT} != 0",
        rf"!{sends} || responder.fsm_state == 0 || responder.has_data",
        # It is neither HELLO nor STATUS nor COUNTERS.
        rf"!{sends} || !(responder.is_hello || responder.is_status || responder.is_counters)",
        f"!{sends} || responder.fsm_state <= 1 || responder.fsm_state == 3",
        f"!{sends} || responder.fsm_state != 1 || ({before} && {at_data})",
        # The next request has been judged, and waits.
        f"!{sends} || (commands.fsm_state == 0 && ({READER}.fsm_state == 3 || {READER}.fsm_state == 1"
        f" || ({READER}.fsm_state == 2 && !line_quiet)))",
    )


FACTS = (
    *link_facts(CONFIGS["live"]),
    # What settles at a fixed time after the last cause.
    *_settled(1, r"!receiver.decoder.valid && !receiver.decoder.\end "),
    *_settled(2, "!receiver.checking"),
    *_settled(
        3,
        f"!{GREETED} && {HAS_COUNTED_RESET} && !{_SESSION}.finish && !{_SESSION}.judge && "
        rf"!{_SESSION}.judged",
    ),
    *_settled(
        4,
        f"receiver.too_long == (receiver.index == {HEADER.size} && receiver.left > {_MOST_LEFT})",
        "receiver.reader.more || receiver.reader.read == receiver.committed",
    ),
    *_settled(5, "!receiver.too_long || receiver.bad", "!receiver.reader.more"),
    "receiver.reader.following == 9'(receiver.reader.read + 9'd1)",
    # No state beyond the last.
    "commands.fsm_state <= 4 && responder.fsm_state <= 5 && counters.fsm_state <= 4",
    f"{READER}.fsm_state <= 4 && (commands.fsm_state == 0 || {READER}.fsm_state == 0)",
    f"!{READER}.is_apply",
    "(responder.fsm_state == 3) == responder.streaming",
    "responder.fsm_state != 0 || responder.index == 0",
    # A handler does something only for its current request, or while it sends data of an answer.
    "commands.rate.fsm_state == 0 || (commands.rate.fsm_state <= 2 && commands.fsm_state == 1 && "
    f"commands.rate.waiting && {TYPE} == {Request.BAUD:d})",
    f"{_HANDLER}.fsm_state >= 4 || ({_WORKS_ON} && "
    f"{TYPE} >= {Request.STORE:d} && {TYPE} <= {Request.STOP:d})",
    f"{_HANDLER}.fsm_state >> 1 != 1 || {TYPE} == {Request.STORE:d}",
    f"!{_HANDLER}.request__payload__ready || {_HANDLER}.fsm_state == 2",
    # No more words are fetched than fit in an answer; see `_judged` too.
    f"{_HANDLER}.fsm_state != 4 || commands.fsm_state < 2 || {TYPE} != {Request.FETCH:d} || "
    f"{READER}.request__payload[26:24] != 0 || {_HANDLER}.request__status != 0 || {_WORDS_FIT}",
    *_data(
        f"({_HANDLER}.fsm_state >= 5)",
        rf"({{{_HANDLER}.left, 2'b0}} - ({_HANDLER}.fsm_state == 6 ? {_HANDLER}.\byte  : 2'b0))",
    ),
)
"""What is true in every state that a device with agents can be in."""

LIVE = (
    *_data(f"{_ACT}.data__valid", "1"),
    f"!{_ACT}.data__valid || {_HANDLER}.fsm_state == 4",
    f"{_ACT}.fsm_state == 0 || ({_ACT}.fsm_state <= 5 && {_WORKS_ON} && "
    f"{TYPE} >= {Request.BEGIN:d} && {TYPE} <= {Request.ACT:d})",
    *(fact for clocks in range(3) for fact in _settled(clocks + 1, f"!{_ACT}.answered[{clocks}]")),
)
"""What is also true where the host is the world."""


def _judged(config: Config) -> str:
    """Return the statement about a FETCH, compared in one clock and judged in the next."""
    is_outside = f"{_HANDLER}.is_outside"
    return (
        f"{_HANDLER}.fsm_state != 1 || {TYPE} != {Request.FETCH:d} || {is_outside} || {_WORDS_FIT}"
    )


def _facts(world: str) -> tuple[str, ...]:
    """Return the invariants of such a device, true in every reachable state."""
    return (*FACTS, _judged(CONFIGS[world]), *(LIVE * (world == "live")))


def causes(device: str, awake: str) -> dict[str, str]:
    """Return what keeps a device awake, and the device without that cause."""
    expression = re.search(rf"^  assign {awake} = (.*);$", device, re.MULTILINE)
    assert expression is not None
    terms, found = [awake], []
    begin = device.rindex("\nmodule ", 0, expression.start())
    scope = device[begin : device.index("\nendmodule", begin)]
    while terms:
        term = terms.pop()
        parts = re.search(rf"^  assign {re.escape(term)} = (.*) \| (.*);$", scope, re.MULTILINE)
        if parts is None:
            found.append(term)
        else:
            terms += [parts[1], parts[2]]
    return {
        cause: device.replace(
            expression[0], f"  assign {awake} = {' | '.join(set(found) - {cause})};"
        )
        for cause in found
    }


@pytest.mark.parametrize("world", CONFIGS)
def test_what_sleeps_beside_agents_would_not_have_moved(tmp_path: Path, world: str) -> None:
    config = CONFIGS[world]
    device = generated(config)["qstep_device"]
    assert prove(config, device, _facts(world), tmp_path, steps=_STEPS) > 100


@pytest.mark.parametrize("awake", ["counters_awake", "link_moves"])
def test_a_cause_of_agents_to_be_awake_that_is_left_out_is_no_proof(
    tmp_path: Path, awake: str
) -> None:
    config = CONFIGS["table"]
    device = generated(config)["qstep_device"]
    without = causes(device, awake)
    assert len(without) == {"counters_awake": 3, "link_moves": 5}[awake]
    # One cause besides the reset; the others fail likewise, and take some seconds each.
    cause = next(cause for cause in without if cause != "rst")
    with pytest.raises(BuildError, match="proof did fail"):
        prove(config, without[cause], _facts("table"), tmp_path, steps=_STEPS)


def test_too_few_clocks_to_settle_are_no_proof(tmp_path: Path) -> None:
    config = CONFIGS["table"]
    device = generated(config)["qstep_device"]
    # Asleep five clocks too early, which leaves the facts as they are.
    sooner, places = re.subn(
        r"(assign link_awake = link_moves) \| .*;", r"\1 | (settling > 5);", device
    )
    assert places == 1
    with pytest.raises(BuildError, match="proof did fail"):
        prove(config, sooner, _facts("table"), tmp_path, steps=_STEPS)


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        (r"\qstep_device .\design .link_awake", "rst_i"),
        (" || |token_q", ""),
        ("if (bus_valid_i) state_q", "if (bus_valid_i || live_i) state_q"),
    ],
    ids=["link", "token", "fault"],
)
def test_a_bus_that_would_have_moved_is_no_proof(tmp_path: Path, text: str, instead: str) -> None:
    device = generated(CONFIGS["table"])["qstep_device"]
    fault = (text, instead)
    with pytest.raises(BuildError, match="proof did fail"):
        prove(CONFIGS["table"], device, _facts("table"), tmp_path, steps=_STEPS, bus_fault=fault)


def test_a_fact_that_is_left_out_is_no_proof(tmp_path: Path) -> None:
    device = generated(CONFIGS["table"])["qstep_device"]
    facts = [fact for fact in _facts("table") if f"{_HANDLER}.fsm_state >= 4 ||" not in fact]
    assert len(facts) == len(_facts("table")) - 1
    with pytest.raises(BuildError, match="proof did fail"):
        prove(CONFIGS["table"], device, facts, tmp_path, steps=_STEPS)
