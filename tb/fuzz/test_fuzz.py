"""The kept inputs of the fuzzer break no property, and find each planted fault."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tb.fuzz.pieces import Bytes, Kind, Piece, pieces
from tb.fuzz.targets import TARGETS, Target

_MOST_KEPT_BYTES = 200_000

_FAULTS = [(target, fault) for target in TARGETS.values() for fault in target.faults]


def _mark(target: Target) -> pytest.MarkDecorator:
    return pytest.mark.rtl if target.name == "device" else pytest.mark.unit


@pytest.mark.parametrize(
    "target",
    [pytest.param(target, marks=_mark(target), id=name) for name, target in TARGETS.items()],
)
def test_kept_inputs_break_no_property(target: Target) -> None:
    tried, kept = target.prepared(), target.kept()
    assert len(kept) > len(target.faults)
    for data in [*target.seeds(), *kept]:
        tried.one_input(data)


@pytest.mark.parametrize(
    ("target", "fault"),
    [pytest.param(t, f, marks=_mark(t), id=f"{t.name}: {f}") for t, f in _FAULTS],
)
def test_a_kept_input_finds_the_planted_fault(target: Target, fault: str) -> None:
    with target.faults[fault]():
        tried = target.prepared()
        assert any(_breaks(tried.one_input, data) for data in target.kept())


def _breaks(one_input: Callable[[bytes], None], data: bytes) -> bool:
    try:
        one_input(data)
    except Exception:  # a fault may raise anything
        return True
    return False


@pytest.mark.unit
def test_inputs_are_few_and_each_is_kept_once() -> None:
    assert sum(target.corpus.stat().st_size for target in TARGETS.values()) < _MOST_KEPT_BYTES
    for target in TARGETS.values():
        assert len(set(target.kept())) == len(target.kept())


@pytest.mark.unit
def test_an_input_stands_for_pieces() -> None:
    data = bytes([0, 7, 2]) + b"ab" + bytes([0x81, 0xFE, 0xFF, 9, 0, 6, 5, 1]) + b"\0"
    assert list(pieces(Bytes(data))) == [
        Piece(Kind.REQUEST, 0, 7, b"ab", alone=False),
        Piece(Kind.OUT_OF_SEQUENCE, 0xFFFE, 9, b"", alone=True),
        Piece(Kind.RESET, 0, 0, b"", alone=False),
        Piece(Kind.BARE, 0, 0, b"\0", alone=False),
    ]
    assert list(pieces(Bytes(b""))) == []
