"""How reader, session and handlers are in each state of the commands, for proofs of equivalence.

The texts are Verilog, of the nets in :data:`INSIDE` and of what the contract declares
(:func:`tb.mutate.commands_contract.commands`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tb.mutate.link_contracts import VERDICT

from qstep.config import Config
from qstep.protocol import HEADER, LEAST_DIVISOR, Request, StatusCode, arguments_of
from qstep_rtl.handle_apply import ApplyHandler
from qstep_rtl.handle_settings import SettingsHandler
from qstep_rtl.handle_tables import TablesHandler

__all__ = ["INSIDE", "STATES", "WITH_VALUES", "lemmas", "one_of"]

WITH_VALUES = (Request.REWARDS, Request.LOAD)
"""Values follow the arguments."""

_REPEATABLE = (Request.READ, Request.STATUS, Request.COUNTERS)

STATES = (
    " localparam [2:0] LINGER = 0, IDLE = 1, DISCARD = 2, WORK = 3, ANSWER = 4;"
    " localparam [2:0] OFFER = 0, JUDGE = 1, DECIDE = 2, HEAD = 3, ARGUMENTS = 4;"
    " localparam [1:0] AT_REST = 0, CHECK = 1, MOVE = 2, MOVING = 3;"
)
"""Of the commands, of the reader and of the handler of tables, as Amaranth numbers them."""

INSIDE = {
    "doing": ("fsm_state", 3),
    "discarding": ("discarding", 1),
    # The reader of requests.
    "reading": ("reader.fsm_state", 3),
    "type_q": ("reader.$signal$16", 8),
    "seq": ("reader.seq", 16),
    "left_q": ("reader.left", 11),
    "spent": ("reader.spent", 1),
    "fields": ("reader.fields", 64),
    "status": ("reader.status$17", 3),
    "mine": ("reader.$signal$27", 1),
    "heading": ("reader.$signal$31", 1),
    "passing": ("reader.passing", 1),
    "index": ("reader.index", 4),
    "last": ("reader.last_argument", 3),
    "at_last": ("reader.at_last", 1),
    "known": ("reader.$signal$45", 1),
    "fits": ("reader.$signal$51", 1),
    "has_arguments": ("reader.has_arguments", 1),
    "is_apply": ("reader.is_apply", 1),
    "is_hello": ("reader.is_hello", 1),
    "repeatable": ("reader.repeatable", 1),
    "judge": ("reader.judge", 1),
    "finish": ("reader.finish", 1),
    # The session.
    "judged": ("reader.session.$signal$22", 1),
    "ahead": ("reader.session.ahead", 16),
    "expected": ("reader.session.expected", 16),
    "fresh": ("reader.session.$signal$5", 1),
    "latest": ("reader.session.$signal$6", 1),
    "behind": ("reader.session.behind", 1),
    "stale": ("reader.session.stale", 1),
    "halted": ("reader.session.halted", 3),
    "opens": ("reader.session.$signal$28", 1),
    # The handlers.
    "greet": ("reports.greet", 1),
    "waiting": ("rate.waiting", 1),
    "retuning": ("rate.fsm_state", 2),
    "running": ("apply.running", 1),
    "tables": ("tables.fsm_state", 2),
    "moving": ("tables.moving", 1),
    "compares": ("settings.request__busy", 1),
    "in_range": ("settings.$signal$12", 1),
    "alpha_fits": ("settings.$signal", 1),
    "kappa_fits": ("settings.$signal$3", 1),
    "rounding_fits": ("settings.$signal$4", 1),
    "x_fits": ("settings.$signal$5", 1),
}


def lemmas(config: Config) -> Iterator[str]:
    """Yield the lemmas; each holds once the reset at power-up is over."""
    yield from _lemmas_of_the_reader(config)
    yield from _lemmas_of_the_session()
    yield from _lemmas_of_handlers()
    values, apply = one_of("type_q", WITH_VALUES), one_of("type_q", ApplyHandler.requests)
    # Of the commands.
    yield "doing <= ANSWER"
    yield "doing != LINGER || (reading == OFFER && head == 0 && spent && !discarding && status == 0)"
    yield "doing != IDLE || !discarding"
    yield "doing != DISCARD || (reading == OFFER && discarding)"
    yield "doing != WORK || (reading == OFFER && !discarding && status == 0)"
    yield "doing != ANSWER || (reading == OFFER && !discarding && spent)"
    yield "doing == IDLE || reading == OFFER"
    yield f"reading != OFFER || status != 0 || discarding || {values} || {apply} || spent"
    yield (
        f"!(doing == WORK || doing == ANSWER) || status != 0 || tables != AT_REST || !{values}"
        f" || access__verdict != {StatusCode.OK} || spent"
    )


def _lemmas_of_the_reader(config: Config) -> Iterator[str]:
    arguments = arguments_of(config)
    exact = {kind: layout.size for kind, layout in arguments.items()}
    for kind in (*ApplyHandler.requests, *WITH_VALUES):
        del exact[kind]
    loads, values = f"type_q == {Request.LOAD}", one_of("type_q", WITH_VALUES)
    apply, whole = one_of("type_q", ApplyHandler.requests), HEADER.size
    yield "reading <= ARGUMENTS"
    yield f"reading != HEAD || (mine && heading && !passing && index == head && head < {whole})"
    waits = "(reading == JUDGE || reading == DECIDE)"
    yield f"!{waits} || (!mine && !heading && !passing && index == 0 && head == {whole})"
    yield f"!{waits} || at_last == (last == 0)"
    yield (
        "reading != ARGUMENTS || (mine && !heading && !passing && has_arguments && known && fits"
        f" && status == 0 && index <= last && head == {whole})"
    )
    yield "reading != ARGUMENTS || at_last == (index == last)"
    yield "reading == HEAD || reading == OFFER || index == place"
    yield f"reading != OFFER || (!mine && !heading && (head == {whole} || doing == LINGER))"
    yield f"head == 0 || reading == HEAD || (head == {whole} && doing != LINGER)"
    yield "!passing || !spent"
    yield "heading || spent == (left_q == 0)"
    # What has arrived of the header.
    yield "head == 0 || type_q == kind"
    yield "!(heading && head == 8) || left_q[7:0] == left[7:0]"
    yield "heading || doing == LINGER || left_q == left"
    # Its type has been judged.
    is_judged = "(head == 8 || (head == 7 && !judge) || !heading || finish)"
    takes_some = one_of("type_q", (kind for kind, layout in arguments.items() if layout.size))
    for register, is_one in {
        "known": one_of("type_q", arguments),
        "is_apply": apply,
        "is_hello": f"type_q == {Request.HELLO:d}",
        "repeatable": one_of("type_q", _REPEATABLE),
        "has_arguments": takes_some,
    }.items():
        yield f"!{is_judged} || {register} == ({is_one})"
    # This is enough for a known type, and a mutant may break the one about all types.
    yield f"!{is_judged} || !known || has_arguments == {takes_some}"
    for kind, layout in arguments.items():
        yield f"!{is_judged} || type_q != {kind:d} || last == {max(layout.size - 1, 0)}"
    # Its length.
    sizes = " || ".join(f"(type_q == {k:d} && left_q == {size})" for k, size in exact.items())
    least = f"(type_q == {Request.REWARDS:d} && left_q != 0) || ({loads} && left_q > 3)"
    yield f"reading != DECIDE || fits == ({apply} || {sizes} || {least})"
    yield f"reading != OFFER || status != 0 || {one_of('type_q', arguments)}"
    yield "reading != ARGUMENTS || left_q + index > last"
    yield f"reading != ARGUMENTS || !({loads}) || left_q + index > last + 1"
    yield f"reading != ARGUMENTS || {values} || left_q + index == last + 1"


def _lemmas_of_the_session() -> Iterator[str]:
    hello = f"type_q == {Request.HELLO:d}"
    whole = HEADER.size
    yield "!judge || (reading == HEAD && head == 7)"
    yield "!finish || (type_q == kind && reading != JUDGE && head <= 1 && (head == 0 || !takes))"
    # A HELLO sets `expected` while it is carried out, and needs no verdict.
    is_past = f"(head == {whole} || finish)"
    is_exempt = f"({hello} && (finish || reading == OFFER))"
    compared = f"(head == 7 && !judge) || head == 8 || {is_past}"
    yield f"!({compared}) || {is_exempt} || ahead == (seq - expected & 65535)"
    decided = f"(head == 7 && !judge && !judged) || (head == 8 && !judged) || {is_past}"
    yield f"!({decided}) || {is_exempt} || {VERDICT}"
    yield f"!greet || (doing == WORK && {hello})"
    yield f"!opens || ({hello} && reading == OFFER && head == {whole}) || head <= 1"
    # A lane is never busy, and a refusal halts.
    busy, stale = f"{StatusCode.BUSY:d}", f"{StatusCode.STALE_EPOCH:d}"
    yield f"halted == 0 || (halted > {stale} && halted != {busy})"
    yield f"status != {busy} && (!finish || raw_answers__payload[26:24] != {busy})"
    is_stale = "(stale && !is_hello)"
    yield f"reading == JUDGE || (reading == HEAD && !finish) || status != {stale} || {is_stale}"
    yield f"!finish || raw_answers__payload[26:24] != {stale} || {is_stale}"


def _lemmas_of_handlers() -> Iterator[str]:
    works = "doing >= DISCARD && status == 0"
    sets_the_lane = one_of("type_q", SettingsHandler.requests)
    baud, legal = f"type_q == {Request.BAUD:d}", f"fields[15:0] >= {LEAST_DIVISOR}"
    yield f"!running || (doing == WORK && {one_of('type_q', ApplyHandler.requests)})"
    # Of the line's rate.
    yield f"!waiting || ({baud} && reading == OFFER && status == 0 && doing != IDLE)"
    yield f"!({baud} && {works}) || waiting == ({legal})"
    yield "retuning <= 2 && (retuning == 0 || doing == LINGER)"
    yield f"doing != LINGER || (waiting == (retuning != 0) && {legal})"
    # Of the lane's settings.
    yield f"!compares || (doing == WORK && {sets_the_lane})"
    fits = f"(type_q == {Request.NOISE:d} ? x_fits : alpha_fits & kappa_fits & rounding_fits)"
    yield f"!({works} && !compares && {sets_the_lane}) || in_range == {fits}"
    # Of tables.
    yield f"tables == AT_REST || (doing == WORK && {one_of('type_q', TablesHandler.requests)})"
    yield "!(checks || raw_access__check) || tables == CHECK"
    yield f"tables < MOVE || type_q != {Request.READ:d}"
    yield "tables != CHECK || raw_access__check || asked || accessing"
    yield "tables != MOVE || raw_access__move || (asked && moves)"
    yield "tables != MOVING || (accessing && moves)"
    yield "moving == (tables == MOVING)"
    yield "!was_reset || (doing == IDLE && reading == HEAD && tables == AT_REST && head == 0)"


def one_of(signal: str, values: Iterable[int]) -> str:
    """Return the condition that a signal has one of these values."""
    return f"({' || '.join(f'{signal} == {value:d}' for value in values)})"
