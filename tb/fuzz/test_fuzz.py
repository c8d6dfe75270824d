"""The inputs in the fuzzer's corpus violate no property, and find each planted fault."""

from collections.abc import Callable

import pytest
from tb.fuzz.targets import TARGETS, kept


def _marked(name: str, *more: str) -> object:
    """Mark a case as slow if it builds a device."""
    marks = [pytest.mark.rtl, pytest.mark.slow] if name == "device" else pytest.mark.unit
    return pytest.param(name, *more, marks=marks, id=": ".join((name, *more)))


@pytest.mark.parametrize("name", [_marked(name) for name in TARGETS])
def test_kept_inputs_break_no_property(name: str) -> None:
    one_input, _ = TARGETS[name].prepared()
    for data in kept(name):
        one_input(data)


@pytest.mark.parametrize(
    ("name", "fault"), [_marked(name, fault) for name in TARGETS for fault in TARGETS[name].FAULTS]
)
def test_a_kept_input_finds_the_planted_fault(name: str, fault: str) -> None:
    with TARGETS[name].FAULTS[fault]():
        one_input, _ = TARGETS[name].prepared()
        assert any(_breaks(one_input, data) for data in kept(name))


def _breaks(one_input: Callable[[bytes], None], data: bytes) -> bool:
    try:
        one_input(data)
    except Exception:  # a fault may raise anything
        return True
    return False
