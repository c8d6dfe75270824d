"""Generated Verilog that counts, for the Python that it comes from.

The hardware is elaborated as for a device. Each branch of ``m.If``, ``m.Switch`` and ``m.FSM`` gets a
register that becomes 1 when the branch is taken at an edge of the clock outside a reset. So does each
value of each condition, where it is evaluated. Points are these registers and the signals that a block
declares: Verilator counts their toggles and no others. A comment behind each leads back to the Python.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from amaranth.back import verilog
from amaranth.hdl import Elaboratable, ResetSignal, Signal, Value
from amaranth.hdl._ast import (
    Assign,
    Concat,
    Const,
    Operator,
    Part,
    Slice,
    Statement,
    Switch,
    SwitchValue,
)
from amaranth.hdl._ir import Fragment
from tb.bench import TB
from tb.coverage.annotate import annotated, is_hardware
from tb.formal import blocks

from qstep.files import make_folder, write_atomically
from qstep_rtl.invariants import GENERATED

__all__ = ["NETLISTS", "convert", "measured", "top_of"]

NETLISTS = TB.parent / "build" / "coverage" / "netlists"
"""The folder of everything that :func:`convert` has returned."""

_Place = tuple[str, int]

_amaranths = verilog.convert
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "r|", "r&", "r^", "b")

_MOST_BITS = 12
"""Of a value whose cases are looked at one by one, whether there is one for every value."""

_NAMED = (
    (re.compile(r"\(sig (\S+?)\)"), r"\1"),
    (re.compile(r"\(const \d+'s?d(-?\d+)\)"), "#"),
    (re.compile(r" \d+:\d+\)"), ")"),
)
"""How Amaranth writes a value, without constants and bits, which differ between geometries."""


def convert(block: Elaboratable, name: str = "top", **options: Any) -> str:
    """Return the Verilog of a block that counts, in the place of Amaranth's function of this name.

    It is also in a file of :data:`NETLISTS`, which the text names as its source.
    """
    if "ports" not in options:
        options["ports"] = blocks.ports(block)
    fragment = Fragment.get(block, GENERATED)
    _instrument(fragment, "sync", itertools.count())
    for ours in ("emit_src", "strip_internal_attrs"):
        options.pop(ours, None)
    verilog_text = _amaranths(fragment, name=name, **{**options, "platform": GENERATED})
    text = annotated(verilog_text)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    path = NETLISTS / f"qstep_{name}-{digest}.v"
    text = f'`line 1 "{path}" 0\n{text}'
    if not path.exists():
        make_folder(path.parent)
        write_atomically(path, text.encode())
    return text


def top_of(path: Path) -> str:
    """Return the name of the top in a file of :func:`convert`."""
    return path.stem.removeprefix("qstep_").rpartition("-")[0]


@contextmanager
def measured() -> Iterator[None]:
    """Let all Verilog that is generated meanwhile count."""
    with patch.object(verilog, "convert", convert):
        yield


def _instrument(fragment: Fragment, around: str, numbers: Iterator[int]) -> None:
    """Add registers for all statements; `around` is the domain of a block that has none itself."""
    domains = [*dict.fromkeys(_domains(fragment))] or [around]
    for inner, _, _ in fragment.subfragments:
        _instrument(inner, domains[0], numbers)
    for of, statements in [*fragment.statements.items()]:
        # A combinational value can belong to any of the domains.
        for domain in domains if of == "comb" else [of]:
            notes = _Notes(numbers)
            for note in [*notes.of(statements)]:
                fragment.add_statements(domain, note)


def _domains(fragment: Fragment) -> Iterator[str]:
    yield from (domain for domain in fragment.statements if domain != "comb")
    for inner, _, _ in fragment.subfragments:
        yield from _domains(inner)


class _Notes:
    """Statements that note what others do; one register for a place and a text."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._registers: dict[tuple[_Place, str], Signal] = {}

    def _note(self, place: _Place, what: str) -> Statement:
        if (place, what) not in self._registers:
            register = Signal(name=f"point_{next(self._numbers)}", attrs={"point": what})
            register.src_loc = place
            self._registers[place, what] = register
        return self._registers[place, what].eq(1)

    def of(self, statements: Any) -> Iterator[Statement]:
        """Return the notes about statements, under the same conditions as these."""
        for statement in statements:
            if isinstance(statement, Assign):
                yield from self._values(statement.rhs, statement.src_loc)
            elif isinstance(statement, Switch):
                yield from self._values(statement.test, statement.src_loc)
                cases = [
                    (patterns, [self._note(place, "branch taken"), *self.of(body)], place)
                    for patterns, body, place in statement.cases
                ]
                if not _is_complete(statement):
                    none = self._note(statement.src_loc, "branch none of these")
                    cases.append((None, [none], statement.src_loc))
                yield Switch(statement.test, cases, src_loc=statement.src_loc)

    def _values(self, value: Value, place: _Place) -> Iterator[Statement]:
        for condition in _conditions(value):
            at = condition.src_loc if isinstance(condition, Operator) else place
            if not is_hardware(at):
                at = place
            text = repr(condition)
            for pattern, replacement in _NAMED:
                text = pattern.sub(replacement, text)
            zero, one = (self._note(at, f"expr {text} = {number}") for number in (0, 1))
            cases = [(0, [zero], at), (None, [one], at)]
            yield Switch(condition, cases, src_loc=at)


def _is_complete(switch: Switch) -> bool:
    """Return whether one case is always taken."""
    patterns = [pattern for given, _, _ in switch.cases for pattern in given or ()]
    if any(given is None for given, _, _ in switch.cases) or switch.test.src_loc is None:
        return True
    if isinstance(switch.test, Signal) and switch.test.name.endswith("fsm_state"):
        return True
    if len(switch.test) > _MOST_BITS:
        return False
    expressions = [re.compile(pattern.replace("-", ".")) for pattern in patterns]
    values = (f"{value:0{len(switch.test)}b}" for value in range(1 << len(switch.test)))
    return all(any(e.fullmatch(value) for e in expressions) for value in values)


def _conditions(value: Value, within: bool = False) -> Iterator[Value]:
    """Return the conditions in a value: comparisons, and what is chosen by or combined from one bit.

    `within` says that the value itself is such a part.
    """
    if isinstance(value, Operator):
        operands = value.operands
        if value.operator in _COMPARISONS and value._rhs_signals():
            yield value
        is_logic = len(value) == 1 and value.operator in ("&", "|", "^")
        for operand in operands:
            yield from _conditions(operand, is_logic or (within and value.operator == "~"))
    elif isinstance(value, SwitchValue):
        yield from _conditions(value.test, len(value.test) == 1)
        for _, choice in value.cases:
            yield from _conditions(choice)
    elif isinstance(value, Concat):
        for part in value.parts:
            yield from _conditions(part)
    elif isinstance(value, Part):
        yield from _conditions(value.value)
        yield from _conditions(value.offset)
    elif within and len(value) == 1 and not isinstance(value, Const | ResetSignal):
        yield value
    elif isinstance(value, Slice):
        yield from _conditions(value.value)
