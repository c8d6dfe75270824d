"""The text of generated Verilog, with the Python that each point comes from behind its declaration.

Points are registers that note something (``tb/coverage/instrument.py``) and the signals that a block
declares: its ports and its own, not those of blocks inside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tb.bench import TB

__all__ = ["COMMENT", "WIRES", "annotated", "is_hardware"]

COMMENT = re.compile(r"// (?P<file>\S+\.py):(?P<line>\d+) (?P<kind>\w+) (?P<what>.*)")
"""What stands behind a declaration that is a point. Of a toggle, the name is there without its bit."""

_Place = tuple[str, int]

_ROOT = TB.parent
_HARDWARE = "rtl/qstep_rtl/"

WIRES = tuple(
    f"{_HARDWARE}{name}.py"
    for name in ("generated_top", "bus/agents_core", "lockstep", "world_port")
)
"""Files of blocks that are only wires to what is inside."""

_ATTRIBUTE = re.compile(r' *\(\* (src|point) = "(.*)" \*\)$')
_DECLARATION = re.compile(
    r" *(?P<way>input|output|wire|reg) (?:\[-?\d+:0\] )?\\?(?P<name>[^ ;]+) ?(?:;| = .*)"
)
_PART = re.compile(r" *assign \\?\w+\.\S+ = ")
"""A field of a signal."""

_OFF, _ON = "/*verilator coverage_off*/", "/*verilator coverage_on*/"

_COPY = r"\$\d+$"
"""What Amaranth adds to a name that is there twice."""


def annotated(verilog: str) -> str:
    """Return Verilog with a comment behind each point, for which alone Verilator's counting is on."""
    return f"{_OFF}\n" + "".join(f"{line}\n" for line in _pointed(verilog.splitlines()))


def is_hardware(place: tuple[str, int]) -> bool:
    """Return whether a file and its line, as Amaranth names them, are of generated hardware."""
    return _place(f"{place[0]}:{place[1]}")[0].startswith(_HARDWARE)


def _pointed(lines: list[str]) -> Iterator[str]:
    """Return lines without attributes; those that declare points have comments."""
    module, before = ("", 0), {}
    points: dict[str, str] = {}
    unread: set[str] = set()
    for number, line in enumerate(lines):
        if found := _ATTRIBUTE.match(line):
            before[found[1]] = found[2]
            yield ""
            continue
        if line.lstrip().startswith("(*"):
            yield line
            continue
        place = _place(before.get("src", ""))
        found = _DECLARATION.fullmatch(line)
        if line.startswith("module "):
            end = lines.index("endmodule", number)
            module, points, unread = place, {}, _unread(lines[number:end])
        elif found and module[0].startswith(_HARDWARE) and module[0] not in WIRES:
            name, is_port = found["name"], found["way"] in ("input", "output")
            if "point" in before and place[0].startswith(_HARDWARE):
                points[name] = f"{place[0]}:{place[1]} {before['point']}"
            elif name not in {*points, *unread} and (is_port or place[0] == module[0]):
                at = place if place[0] == module[0] else module
                points[name] = f"{at[0]}:{at[1]} toggle {re.sub(_COPY, '', name)}"
            if name in points:
                line = f"{_ON}{line}{_OFF} // {points[name]}"
        before = {}
        yield line


def _unread(module: list[str]) -> set[str]:
    """Return the names in a module that are no points.

    These are clock, reset, ports that Amaranth invents, parts of signals, and ports that nothing reads.
    """
    declarations = [match for line in module if (match := _DECLARATION.fullmatch(line))]
    body = module[1 + next(at for at, line in enumerate(module) if line.endswith(");")) :]
    logic = [line for line in body if not _DECLARATION.fullmatch(line) and not _PART.match(line)]
    read = set(re.findall(r"[\w$.]+", "\n".join(logic)))
    return {
        match["name"]
        for match in declarations
        if match["name"] in ("clk", "rst")
        or match["name"].startswith("port$")
        or "." in match["name"]
        or (match["way"] == "input" and match["name"] not in read)
    }


def _place(source: str) -> _Place:
    """Return the file, relative to the repository, and the line of an attribute."""
    name, _, line = source.partition(":")
    path = Path(name)
    own = path.is_relative_to(_ROOT)
    return (path.relative_to(_ROOT).as_posix() if own else name), int(line or 0)
