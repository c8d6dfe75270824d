"""Encoded frames are decoded unchanged, and damaged frames are dropped."""

import struct
import zlib

import pytest
from cobs import cobs
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from tb.fuzz.pieces import damaged, mislengthed
from tb.planted import plant_python

from qstep.device.link import frames as module
from qstep.device.link.frames import DELIMITER, Frame, FrameReader, decode_frame, encode_frame
from qstep.spec.protocol import OVERHEAD, Request, max_payload

LIMIT = 512

frames = st.builds(
    Frame,
    st.integers(0, 255),
    st.integers(0, 65535),
    st.integers(0, 65535),
    st.binary(max_size=LIMIT - OVERHEAD),
)


@given(frames)
def test_frame_comes_back_whole(frame):
    data = encode_frame(*frame)
    assert data.count(0) == 1
    assert data.endswith(DELIMITER)
    assert decode_frame(data[:-1]) == frame


def test_frame_is_laid_out_as_documented():
    body = b"\x09\x02\x01\x06\x05\x04\x03\x02\x00\xaa\xbb"
    expected = cobs.encode(body + zlib.crc32(body).to_bytes(4, "little")) + b"\0"
    assert encode_frame(Request.APPLY_RAW, 0x0102, 0x03040506, b"\xaa\xbb") == expected


def test_overhead_and_limit_are_as_documented():
    assert OVERHEAD == 13
    assert max_payload(2048) == 1011


@given(frames, st.data())
def test_any_flipped_bit_is_noticed(frame, data):
    whole = bytearray(encode_frame(*frame))
    at = data.draw(st.integers(0, len(whole) - 2))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    assert FrameReader(LIMIT).feed(bytes(whole)) == []


def test_length_is_checked_beside_the_crc():
    body = struct.pack("<BHIH", 9, 1, 2, 5) + b"four"
    frame = cobs.encode(body + zlib.crc32(body).to_bytes(4, "little"))
    assert decode_frame(frame) is None


def test_splice_with_a_valid_crc_is_dropped():
    # A CRC is linear: if the first four bytes of a frame are XORed with the previous frame's CRC, the
    # joined frames have a valid CRC. Only the length shows that they are not one frame.
    first, second = (cobs.decode(encode_frame(1, 0, 0, part)[:-1]) for part in (b"abcd", b"efgh"))
    changed = bytes(a ^ b for a, b in zip(second, zlib.crc32(first).to_bytes(4, "little")))  # noqa: B905
    joined = first + changed + second[4:]
    assert zlib.crc32(joined[:-4]).to_bytes(4, "little") == joined[-4:]
    assert decode_frame(cobs.encode(joined)) is None


@given(st.lists(frames, max_size=5), st.integers(1, 40))
def test_reader_takes_pieces_of_any_size(sent, size):
    stream = b"".join(encode_frame(*frame) for frame in sent)
    reader = FrameReader(LIMIT)
    got = [
        frame for at in range(0, len(stream), size) for frame in reader.feed(stream[at : at + size])
    ]
    assert got == sent
    assert reader.errors == 0


def test_empty_frames_are_ignored():
    reader = FrameReader(LIMIT)
    assert reader.feed(b"\0\0\0" + encode_frame(1, 2, 3, b"x") + b"\0") == [Frame(1, 2, 3, b"x")]
    assert reader.errors == 0


@pytest.mark.parametrize(
    "damaged",
    [b"\x01", b"\x05ab", b"\x02a\x03b", encode_frame(1, 2, 3, b"x")[:-3]],
    ids=["no-header", "broken-cobs", "code-past-the-end", "truncated"],
)
def test_damaged_frames_are_counted_and_the_next_one_is_read(damaged):
    reader = FrameReader(LIMIT)
    assert reader.feed(damaged + b"\0" + encode_frame(1, 2, 3, b"x")) == [Frame(1, 2, 3, b"x")]
    assert reader.errors == 1


def test_longest_frame_passes_and_one_byte_more_does_not():
    reader = FrameReader(LIMIT)
    fits = b"\xff" * (LIMIT - OVERHEAD)
    assert reader.feed(encode_frame(1, 0, 0, fits)) == [Frame(1, 0, 0, fits)]
    assert reader.feed(encode_frame(1, 0, 0, fits + b"\xff")) == []
    assert reader.errors == 1


def test_endless_garbage_is_one_error_and_takes_no_memory():
    reader = FrameReader(LIMIT)
    for _ in range(100):
        assert reader.feed(b"\xff" * 1000) == []
    assert len(reader._rest) <= 2 * LIMIT
    assert reader.feed(b"\0" + encode_frame(1, 2, 3, b"x")) == [Frame(1, 2, 3, b"x")]
    assert reader.errors == 1


@pytest.mark.parametrize("limit", [509, LIMIT, 763])
def test_longest_frame_passes_although_its_end_comes_alone(limit):
    frame = Frame(1, 0x0101, 0x01010101, b"\x01" * (limit - OVERHEAD))
    data = encode_frame(*frame)
    assert len(data) == limit + limit // 254 + 2  # COBS adds most to data without a zero
    reader = FrameReader(limit)
    assert reader.feed(data[:-1]) == []
    assert reader.feed(data[-1:]) == [frame]
    assert reader.errors == 0


def test_no_more_is_kept_than_the_longest_frame_takes_on_the_line():
    reader = FrameReader(LIMIT)
    kept = []
    for _ in range(2 * LIMIT):
        reader.feed(b"\xff")
        kept.append(len(reader._rest))
    assert max(kept) == LIMIT + LIMIT // 254 + 1


@pytest.mark.parametrize("size", [1, 20, 2 * LIMIT])
def test_after_forgetting_the_next_byte_begins_a_frame(size):
    reader = FrameReader(LIMIT)
    frame = Frame(1, 2, 3, b"x")
    for _ in range(2):
        assert reader.feed(b"\xff" * size) == []
        reader.forget()
        assert reader.feed(encode_frame(*frame)) == [frame]
    assert reader.errors == 0


SHORT = 64
"""Size limit of frames in the streams, so low that even oversized frames are short."""

BYTES = st.binary(max_size=16) | st.integers(SHORT - 16, SHORT + 8).map(lambda size: b"\xff" * size)

WHOLE = st.builds(
    encode_frame, st.integers(0, 255), st.integers(0, 65535), st.just(0x12345678), BYTES
)

STREAMS = st.tuples(
    st.lists(
        st.one_of(
            WHOLE,
            st.builds(damaged, WHOLE, st.integers(0, 2047)),
            st.builds(mislengthed, WHOLE, st.integers(1, 65535)),
            BYTES,
        ),
        max_size=6,
    ).map(b"".join),
    st.just(1) | st.integers(1, 256),
)
"""The bytes that arrive, and the size of their pieces."""


def defined(part: bytes) -> Frame | None:
    """Return the frame encoded in `part`, or None if it must be dropped."""
    body, at = b"", 0
    while at < len(part):
        code = part[at]
        if at + code > len(part):
            return None
        body += part[at + 1 : at + code]
        at += code
        if code < 255 and at < len(part):
            body += b"\0"
    if not OVERHEAD <= len(body) <= SHORT:
        return None
    kind, seq, epoch, length = (
        int.from_bytes(body[a:b], "little") for a, b in ((0, 1), (1, 3), (3, 7), (7, 9))
    )
    payload, crc = body[9:-4], body[-4:]
    if length != len(payload) or zlib.crc32(body[:-4]).to_bytes(4, "little") != crc:
        return None
    return Frame(kind, seq, epoch, payload)


def is_as_defined(reader, stream, size):
    got = [
        frame for at in range(0, len(stream), size) for frame in reader.feed(stream[at : at + size])
    ]
    expected = [defined(part) for part in stream.split(b"\0")[:-1] if part]
    whole = [frame for frame in expected if frame is not None]
    return (got, reader.errors) == (whole, expected.count(None))


@settings(max_examples=200)
@given(STREAMS)
def test_a_stream_is_cut_as_the_definition_says(arriving):
    assert is_as_defined(FrameReader(SHORT), *arriving)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("length != len(body) - OVERHEAD or ", ""),
        ("if not part and not overlong:", "if not part:"),
        (" or OVERHEAD + len(frame.payload) > self._limit", ""),
    ],
    ids=["length-not-compared", "overlong-forgotten-at-its-end", "too-long-passes"],
)
def test_a_fault_of_the_frame_reader_is_found(old, new):
    reader = plant_python(module, old, new).FrameReader
    few = settings(max_examples=200, phases=[Phase.generate], derandomize=True, database=None)
    find(STREAMS, lambda arriving: not is_as_defined(reader(SHORT), *arriving), settings=few)
