"""Contracts for the benches of the link's blocks: input assumptions and compared outputs."""

from collections.abc import Iterable

from tb.mutate.contracts import Contract

from qstep.spec.config import Config
from qstep.spec.protocol import HEADER, Request, StatusCode, max_payload
from qstep_rtl.table_access import AccessTask

__all__ = ["COBS_DECODER", "COBS_ENCODER", "DIGEST", "SESSION", "commands"]

COBS_DECODER = Contract(
    seen={"data": "raw_valid ? raw_data : 0", "broken": "raw_end ? raw_broken : 0"}
)

COBS_ENCODER = Contract(seen={"line__payload": "raw_line__valid ? raw_line__payload : 0"})

DIGEST = Contract(seen={"crc": "raw_busy ? 0 : raw_crc"})

SESSION = Contract(
    declare="reg was_judged = 0, judged = 0, greeted = 0; reg [31:0] nonce; reg [1:0] kind;"
    " reg [2:0] compared = 0;"  # bytes of the epoch compared so far, in order
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
)

_WITH_VALUES = (Request.REWARDS, Request.LOAD)
"""Requests with values after the arguments."""


def commands(config: Config) -> Contract:
    """Neighbours meet the assumptions of ``tb/formal/commands_lane_proof.sv``.

    Session outputs are compared from the third clock after an answer until the next header has arrived.
    `quiet` matters only if the block has requested it.
    """
    longest = max_payload(config.link.buffer_bytes)
    table_bytes = config.states * config.actions * config.value_bytes
    verdicts = (StatusCode.OK, StatusCode.BAD_LENGTH, StatusCode.OUT_OF_RANGE)
    places = {
        "first_code": (AccessTask.REWARDS,),
        "first_state": (AccessTask.LOAD, AccessTask.READ),
        "first_action": (AccessTask.LOAD, AccessTask.READ),
        "count": (AccessTask.READ,),
    }
    seen = {
        "answers__payload": "raw_answers__valid",
        "records__coded": "(raw_records__start || applies)",
        "records__bytes__payload": "raw_records__bytes__valid",
        "access__task": "accessed",
        **{
            f"access__{name}": f"accessed && {_one_of('raw_access__task', tasks)}"
            for name, tasks in places.items()
        },
        "access__payload_bytes": "raw_access__check",
        "access__values__payload": "raw_access__values__valid",
        "settings__noise_x": "raw_settings__noise_load",
        "settings__noise_w": "raw_settings__noise_load",
        "session__epoch": "told",
        "session__expected": "told",
        "session__nonce": "told && greeted",
    }
    return Contract(
        declare="wire takes = bytes__valid && raw_bytes__ready;"
        " wire answered = raw_answers__valid && answers__ready;"
        " wire given = raw_records__bytes__valid && records__bytes__ready;"
        " wire asks = raw_access__check || raw_access__move, accessed = asks || access__busy;"
        f" wire reads = answered && raw_answers__payload[7:0] == {Request.READ};"
        # The frame: bytes of its header received so far, its type, and bytes of its payload left.
        " reg [3:0] head = 0; reg [7:0] kind; reg [10:0] left; always @(posedge clk) begin"
        f" head <= rst || answered ? 0 : head + (takes && head != {HEADER.size});"
        " if (takes && head == 0) kind <= bytes__payload;"
        " if (takes && head == 7) left <= bytes__payload;"
        " if (takes && head == 8) left[10:8] <= bytes__payload;"
        f" if (takes && head == {HEADER.size}) left <= left - 1; end"
        # Values of the previous clock.
        " reg was_reset = 1, offered = 0, gave = 0, began = 0, decoded = 0, asked = 0, accessing = 0;"
        " reg asked_quiet = 0, rested = 0; reg [7:0] offer; reg [1:0] records; reg [13:0] checked;"
        " always @(posedge clk) begin"
        " was_reset <= rst; offered <= bytes__valid && !raw_bytes__ready; offer <= bytes__payload;"
        " gave <= given; began <= raw_records__start; decoded <= records__busy;"
        " records <= {records__partial, records__illegal}; asked <= asks; accessing <= access__busy;"
        " checked <= {access__verdict, access__data_bytes}; asked_quiet <= raw_asks_quiet;"
        " rested <= !(accessed || reads || records__busy); end"
        # A check is in progress; an APPLY is in progress; this request has moved values; the last
        # answer accepted a HELLO.
        " reg checks = 0, applies = 0, moves = 0, greeted; always @(posedge clk) begin"
        " checks <= !rst && (raw_access__check || (checks && access__busy));"
        " applies <= !rst && (raw_records__start || (applies && !answered));"
        " moves <= !rst && !answered && (moves || raw_access__move);"
        f" if (answered) greeted <= raw_answers__payload[7:0] == {Request.HELLO}"
        f" && raw_answers__payload[26:24] == {StatusCode.OK}; end"
        " reg [1:0] age = 0; always @(posedge clk)"
        " age <= rst ? 0 : answered ? 1 : age + (age != 0 && age != 3);"
        f" wire told = age == 3 && head != {HEADER.size}, judges = checks && access__busy;",
        assume=(
            "!offered || was_reset || (bytes__valid && bytes__payload == offer)",
            f"!(bytes__valid && head == 8) || {{bytes__payload, left[7:0]}} <= {longest}",
            "!records__busy || (!was_reset && (decoded || gave))",
            "decoded || gave || began || was_reset || {records__partial, records__illegal} == records",
            "access__busy || !asked || was_reset",
            "!access__busy || (!was_reset && (asked || accessing))",
            "access__busy || !accessing || was_reset || !moves || left == 0"
            f" || !{_one_of('kind', _WITH_VALUES)}",
            "checks || was_reset || {access__verdict, access__data_bytes} == checked",
            f"judges || {_one_of('access__verdict', verdicts)}",
            f"judges || access__verdict != {StatusCode.OK} || access__data_bytes <= {table_bytes}",
            "!quiet || !asked_quiet || rested",
        ),
        seen={name: f"{counts} ? raw_{name} : 0" for name, counts in seen.items()},
    )


def _one_of(signal: str, values: Iterable[int]) -> str:
    """Return the condition that a signal has one of these values."""
    return f"({' || '.join(f'{signal} == {value:d}' for value in values)})"
