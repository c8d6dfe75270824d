"""Proofs about the link: frames, CRC, session, requests to agents."""

from __future__ import annotations

from tb.formal.proof import Fault, Proof

__all__ = ["LINK"]

_CRC = Proof(
    name="crc",
    says="the link's CRC is CRC-32 bit by bit; a frame with its own CRC behind it matches",
    top="crc_proof",
    files=("crc32.v", "crc_proof.sv"),
    parameters={},
    clocks=6,
    cover_clocks=10,
    faults=(
        Fault(
            "one word of a table is wrong",
            "crc32.v",
            "32'd1802195444",
            "32'd1802195445",
            10,
        ),
    ),
)

_SESSION = Proof(
    name="session",
    says="a session carries out each request once, in order, none of another session or after a refusal",
    top="session_proof",
    files=("session.v", "session_proof.sv"),
    parameters={},
    clocks=14,
    cover_clocks=60,
    faults=(
        Fault(
            "a request is carried out if its number is ahead by 256",
            "session.v",
            "= ! ahead;",
            "= ! ahead[7:0];",
            60,
        ),
    ),
)

_COBS = Proof(
    name="cobs",
    says="the link's COBS decoder undoes every legal stuffing, and tells frames that were cut off",
    top="cobs_proof",
    files=("cobs_decoder.v", "cobs_proof.sv"),
    parameters={},
    clocks=1,
    cover_clocks=10,
    faults=(
        Fault(
            "a zero stands behind full blocks too",
            "cobs_decoder.v",
            "in_data != 8'hff;",
            "in_data != 8'hfe;",
            10,
        ),
    ),
)

_ENCODER = Proof(
    name="encoder",
    says="the link's COBS encoder sends a legal stuffing of exactly the bytes that it was given",
    top="encoder_proof",
    files=("cobs_encoder.v", "encoder_proof.sv"),
    parameters={},
    clocks=2,
    cover_clocks=20,
    faults=(
        Fault(
            "a zero is sent as a byte",
            "cobs_encoder.v",
            "append = \\$5  & \\$6 ;",
            "append = \\$5 ;",
            20,
        ),
        Fault(
            "a frame ends in its last code",
            "cobs_encoder.v",
            "delimiting ? 8'h00 : run",
            "run",
            20,
        ),
    ),
    memories=True,
)

_HANDLER = Proof(
    name="handler",
    says="STORE, FETCH, RUN, STOP and PROGRESS do what the link says, once, or change nothing: 2 lanes",
    top="handler_proof",
    files=("agents_handler.v", "handler_proof.sv"),
    parameters={},
    clocks=3,
    cover_clocks=20,
    faults=(
        Fault(
            "a store into a lane that does not exist is carried out",
            "agents_handler.v",
            "request__fields[103:96] >= 2'h2",
            "request__fields[103:96] > 2'h2",
            20,
        ),
        Fault(
            "a store is carried out while agents make steps",
            "agents_handler.v",
            "request__fields[7:0] == 2'h2",
            "request__fields[7:0] != 2'h3",
            20,
        ),
        Fault(
            "a fetch of one word too many is carried out",
            "agents_handler.v",
            "left > 9'h1fa",
            "left > 9'h1fb",
            20,
        ),
    ),
)

_COMMANDS = Proof(
    name="commands",
    says="each good frame gets one answer, behind its last byte, and only what passed its checks is "
    "carried out: agents in 2 lanes",
    top="commands_proof",
    files=("commands_pkg.sv", "commands.v", "commands_frames.sv", "commands_proof.sv"),
    parameters={},
    clocks=2,
    cover_clocks=90,
    faults=(
        Fault(
            "a request of a wrong length is carried out",
            "commands.v",
            "assign \\$56  = ~ \\$signal$51 ;",
            "assign \\$56  = 1'h0;",
            30,
        ),
        Fault(
            "a refused request is carried out",
            "commands.v",
            "assign \\$7  = ! request__payload[26:24];",
            "assign \\$7  = 1'h1;",
            30,
        ),
        Fault(
            "the payload of a refused request stays",
            "commands.v",
            "assign payload__ready = discarding | \\$6 ;",
            "assign payload__ready = \\$6 ;",
            40,
        ),
    ),
)

_COMMANDS_LANE = Proof(
    name="commands-lane",
    says="each good frame gets one answer, behind its last byte, and only what passed its checks is "
    "carried out: a lane",
    top="commands_lane_proof",
    files=("commands_pkg.sv", "commands_lane.v", "commands_frames.sv", "commands_lane_proof.sv"),
    parameters={},
    clocks=3,
    cover_clocks=43,
    faults=(
        Fault(
            "an APPLY is answered while a transition is left",
            "commands_lane.v",
            "assign request__busy = \\$1  | records__busy;",
            "assign request__busy = \\$1 ;",
            40,
        ),
        Fault(
            "values that the check refused are moved",
            "commands_lane.v",
            "assign \\$16  = \\$13  & \\$15 ;",
            "assign \\$16  = \\$15 ;",
            45,
        ),
        Fault(
            "a kappa above alpha is set",
            "commands_lane.v",
            "request__fields[31:16] <= request__fields[15:0]",
            "1'h1",
            45,
        ),
    ),
)

_ACCESS = Proof(
    name="access",
    says="REWARDS, CLEAR, LOAD and READ move exactly the values that they name, once, or none: "
    "12 states, 3 actions, 13 bits",
    top="access_proof",
    files=("table_access.v", "access_proof.sv"),
    parameters={},
    clocks=2,
    cover_clocks=20,
    faults=(
        Fault(
            "a LOAD begins behind the last action",
            "table_access.v",
            "request__first_action >= 2'h3",
            "request__first_action > 2'h3",
            10,
        ),
        Fault(
            "a READ of 1025 values is taken for one of 1",
            "table_access.v",
            "assign \\$33  = \\$31  | \\$32 ;",
            "assign \\$33  = \\$31 ;",
            10,
        ),
        Fault(
            "REWARDS goes on with code 0 behind code 255",
            "table_access.v",
            "\\$36  ? \\$signal$35  : \\$signal$36 ;",
            "\\$signal$36 ;",
            20,
        ),
        Fault(
            "values go on to the next entry before they are whole",
            "table_access.v",
            "\\$signal  = writing;",
            "\\$signal  = 1'h1;",
            20,
        ),
        Fault(
            "a negative value is read as a large one",
            "table_access.v",
            "\\$83  = { table_value[12], table_value[12], table_value[12], table_value };",
            "\\$83  = { 3'h0, table_value };",
            20,
        ),
    ),
)

_RECORDS = Proof(
    name="records",
    says="the transitions of an APPLY are handed over once, in order, up to the first illegal record: "
    "12 states, 3 actions, 13 bits",
    top="records_proof",
    files=("record_decoder.v", "records_proof.sv"),
    parameters={},
    clocks=2,
    cover_clocks=12,
    faults=(
        Fault(
            "a transition behind an illegal record is offered",
            "record_decoder.v",
            "assign \\$36  = \\$34  & \\$35 ;",
            "assign \\$36  = \\$34 ;",
            20,
        ),
        Fault(
            "a continuing record has a state of its own",
            "record_decoder.v",
            "record[0] ? fields[5:2] : state",
            "state",
            15,
        ),
        Fault(
            "a continuing record may come first",
            "record_decoder.v",
            "record[0] & first",
            "1'h0",
            15,
        ),
        Fault(
            "an action that does not exist is legal",
            "record_decoder.v",
            "fields[1:0] >= 2'h3",
            "fields[1:0] > 2'h3",
            15,
        ),
    ),
    memories=True,
)

LINK = (_COBS, _ENCODER, _SESSION, _CRC, _HANDLER, _COMMANDS, _COMMANDS_LANE, _ACCESS, _RECORDS)
