"""Ties the unused inputs of block RAMs and multipliers, in the bitstream's text form from nextpnr.

nextpnr ties these inputs to constants, but loses the ties when it reads a packed netlist again; the
inputs would then be 1. Ties do not depend on routes, so they are copied from the text before routing,
which contains the block RAMs and multipliers of all lanes.
"""

from __future__ import annotations

import re
from collections import defaultdict

from qstep.errors import BuildError

__all__ = ["tied"]

_TIE = re.compile(r"enum: CIB\.(\w+)MUX [01]")
_SETTING = re.compile(r"\w+: (EBR\d|MULT18_\d)\.(?!WID )")


def tied(text: str, before: str) -> str:
    """Return a farm's text with the ties from the text before routing.

    Ties of routed inputs are not copied: before routing, the lanes' inputs only seem to be unused.

    Parameters
    ----------
    text, before : str
        Settings of a bitstream as nextpnr writes them.

    Raises
    ------
    BuildError
        A block RAM or a multiplier has settings that differ from those before routing.
    """
    tiles, earlier = _tiles(text), _tiles(before)
    for tile, lines in earlier.items():
        there = tiles.get(tile, [])
        was, now = _settings(lines), _settings(there)
        for cell in now:
            if now[cell] != was[cell]:
                changed = ", ".join(sorted(now[cell] ^ was[cell])[:3])
                raise BuildError(f"{cell} in {tile} has other settings than before: {changed}")
        used = {line.split()[1] for line in there if line.startswith("arc: ")}
        ties = [line for line in lines if (tie := _TIE.fullmatch(line)) and tie[1] not in used]
        added = [line for line in ties if line not in there]
        if added:
            tiles.setdefault(tile, []).extend(added)
    return "\n\n".join("\n".join([head, *lines]) for head, lines in tiles.items()) + "\n"


def _settings(lines: list[str]) -> defaultdict[str, set[str]]:
    """Return a tile's block RAM and multiplier settings, without the numbers of their contents."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for line in lines:
        if match := _SETTING.match(line):
            found[match[1]].add(line)
    return found


def _tiles(text: str) -> dict[str, list[str]]:
    """Return the lines below each heading; headings begin with a dot."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("."):
            lines = found.setdefault(line, [])
        elif line:
            lines.append(line)
    return found
