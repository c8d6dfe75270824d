"""The numbers and layouts of the protocol are the ones in ``docs/link.md``, which this test parses."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from qstep import Config
from qstep.spec import protocol
from qstep.spec.agents import Acting
from qstep.spec.protocol import ARGUMENTS, REQUESTS, Layout, Request, StatusCode

PAGE = (Path(__file__).parents[2] / "docs/link.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """Return the text of the page's section with this title."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    """Return the cells of a section's table, without its header."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines[2:]]


def sizes(text: str) -> dict[str, int]:
    """Return the fields ``name:bytes`` in a text, in order."""
    return {name: int(size) for name, size in re.findall(r"\b(\w+):(\d)\b", text)}


def test_every_type_has_a_row_in_the_order_of_their_numbers():
    assert list(REQUESTS) == list(Request)
    kinds = [spec.least_bytes for spec in REQUESTS.values() if spec.least_bytes]
    assert all(least & (least - 1) == 0 for least in kinds)


def test_frame_answer_and_overhead_are_as_described():
    frame = sizes(section("Frame").partition("COBS(")[2].partition(")")[0])
    crc = frame.popitem()
    assert (protocol.HEADER.sizes, protocol.CRC.sizes) == (frame, dict([crc]))
    assert sum(frame.values()) + crc[1] == protocol.OVERHEAD
    assert f"max_payload = buffer_bytes / 2 - {protocol.OVERHEAD}" in PAGE
    assert [protocol.max_payload(size) for size in (512, 2048)] == [512 // 2 - 13, 2048 // 2 - 13]
    answers = " ".join(section("Answers").split())  # the text may be wrapped anywhere
    common = answers.partition("begins with")[2].partition("`expected`")[0]
    assert sizes(common) == protocol.COMMON.sizes
    assert [protocol.max_words(size) for size in (512, 2048)] == [(243 - 11) // 4, (1011 - 11) // 4]
    assert f"`type = request type + {protocol.ANSWER:#x}`" in section("Answers")


def test_statuses_have_their_numbers():
    assert [(int(number), name) for number, name, _ in rows("Answers")] == [
        (status.value, status.name) for status in StatusCode
    ]
    said = re.search(r"Refusals are (.*?)\. The", section("Session, epoch, sequence"), re.DOTALL)
    assert said is not None
    names = re.findall(r"`(\w+)`", said[1])
    assert tuple(StatusCode[name] for name in names) == protocol.REFUSALS


def test_other_numbers_are_those_of_the_text():
    text = " ".join(PAGE.split())
    assert f"version {protocol.PROTOCOL_VERSION} of the protocol" in text
    assert f"`steps:8`, 1 to 2^{protocol.MOST_STEPS.bit_length()} - 1" in text
    assert protocol.MOST_STEPS + 1 == 1 << 48
    assert f"{protocol.SILENT} + n if the last job ended" in text
    assert f"STORE to lane {protocol.ALL_LANES} applies to every lane" in text
    assert f"words of {protocol.WORD_BYTES} bytes" in text
    assert f"`RB` = {protocol.CODE_BITS} (a code: an index" in text
    assert f"up to {protocol.CODES} - first_code values" in text
    assert f"BAUD if the divisor is below {protocol.LEAST_DIVISOR}." in text
    assert "8 data bits, no parity, 1 stop bit" in text
    assert protocol.BITS_PER_BYTE == 1 + 8 + 1
    assert f"more than two byte times, {protocol.BREAK_BITS} bits" in text
    assert f"for {2 * protocol.BREAK_BITS} bit times at {protocol.LEAST_BAUD:,} baud" in text
    assert "so that two always fit" in text
    assert protocol.BUFFERS == 2


LANE = Config(7, 3)
AGENTS = Config(7, 3, acting=Acting(agents=2))
LIVE = Config(7, 3, acting=Acting(agents=2, world="live"))
BOTH = ["HELLO", "STATUS", "COUNTERS", "BAUD"]
STEPS = ["CONFIGURE", "NOISE", "REWARDS", "CLEAR", "LOAD", "READ", "APPLY_CODED", "APPLY_RAW"]
WORDS = ["STORE", "FETCH", "STOP", "PROGRESS"]


@pytest.mark.parametrize(
    ("config", "names"),
    [
        (LANE, [*BOTH, *STEPS]),
        (AGENTS, [*BOTH, *WORDS, "RUN"]),
        (LIVE, [*BOTH, *WORDS, "BEGIN", "ACT"]),
    ],
    ids=["lane", "agents", "live"],
)
def test_a_device_knows_the_requests_of_its_kind(config, names):
    known = protocol.requests_of(config)
    assert known == tuple(sorted(Request[name] for name in names))
    assert protocol.arguments_of(config) == {request: ARGUMENTS[request] for request in known}


def test_only_in_a_farm_words_name_a_lane():
    assert "STORE or FETCH has `lane:1` after `count`" in section("Agents")
    config = Config(7, 3, acting=Acting(agents=2), lanes=2)
    found = protocol.arguments_of(config)
    for request, layout in found.items():
        words = request in (Request.STORE, Request.FETCH)
        expected = ARGUMENTS[request].sizes | ({"lane": 1} if words else {})
        assert list(layout.sizes.items()) == list(expected.items())
    assert set(found) == set(protocol.requests_of(config))


def test_with_planes_a_state_is_the_row_in_each():
    assert "With T planes, `state` and `next_state` are T rows of two bytes" in section(
        "A live world"
    )
    found = protocol.arguments_of(replace(LIVE, planes=3))
    begin, act = found.pop(Request.BEGIN), found.pop(Request.ACT)
    rows = range(0x201, 0x204)
    given = bytes([1, 1, 2, 2, 2, 3, 2])
    assert begin.pack(1, *rows) == given
    assert act.pack(1, *rows, 0, 5) == given + bytes([0, 5, 0, 0, 0])
    others = protocol.arguments_of(LIVE)
    assert found == {request: others[request] for request in found}


def test_a_layout_packs_low_bytes_first_and_names_what_it_unpacks():
    layout = Layout(a=1, b=2, c=4, d=8)
    data = bytes(range(1, 16))
    values = 0x01, 0x0302, 0x07060504, 0x0F0E0D0C0B0A0908
    assert layout.pack(*values) == data
    assert layout.unpack(data + b"more") == values
    assert layout.named(data + b"more") == dict(zip("abcd", values, strict=True))
