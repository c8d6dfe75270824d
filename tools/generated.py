"""Write the generated files that are kept in the repository: python -m tools.generated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from pathlib import Path

from tools.reference import cli, python, registers, rtl

from qstep.spec.memory_map import (
    CONTEXT,
    COUNTER_WORD_BITS,
    COUNTERS,
    INDEX,
    INDEX_BITS,
    NUMBERS,
    REGION_BITS,
    SETTINGS,
    WORD_BITS,
    Fields,
    Region,
)
from qstep.spec.protocol import REQUESTS

__all__ = ["generated", "main"]

_ROOT = Path(__file__).resolve().parents[1]
_BEGIN = "<!-- python -m tools.generated writes from here -->\n"
_END = "<!-- to here -->\n"
_HEADER = """\
// SPDX-License-Identifier: Apache-2.0
// The host's memory map of the interleaved lane: regions, the fields of their indexes, and words.
//
// Written by python -m tools.generated from qstep.spec.memory_map; its tables are in docs/agents.md.

package qs_map_pkg;
"""


def generated() -> dict[Path, Callable[[], str]]:
    """Return functions that build the full text of every file that is fully or partly generated."""
    return {
        _ROOT / "rtl/agents/qs_map_pkg.sv": _package,
        _ROOT / "docs/agents.md": lambda: _with_block("docs/agents.md", _map_tables()),
        _ROOT / "docs/link.md": lambda: _with_block("docs/link.md", _requests()),
        _ROOT / "docs/cli.md": cli.page,
        _ROOT / "docs/python.md": python.page,
        _ROOT / "docs/registers.md": registers.page,
        _ROOT / "docs/rtl.md": rtl.page,
    }


def _with_block(page: str, block: str) -> str:
    """Return a page whose generated block is `block`."""
    before, begin, rest = (_ROOT / page).read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    assert end, f"{page} has no place for what is generated"
    return f"{before}{begin}{block}{end}{after}"


def _table(heads: str, rows: Iterable[tuple[object, ...]]) -> str:
    lines = [heads.split(), ["---"] * len(heads.split()), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def _map_tables() -> str:
    """Return the tables of regions and words."""
    regions = [(region.value, region.name, _listed(index)) for region, index in INDEX.items()]
    tiled = f"{Region.WORLD.name} seen through tiles"
    regions.insert(Region.WORLD + 1, (Region.WORLD.value, tiled, _listed(NUMBERS)))
    words: list[tuple[object, ...]] = [
        (word.region.name, word.number, _listed(word), word.meaning)
        for word in (*SETTINGS, *CONTEXT)
    ]
    firsts = accumulate(COUNTERS.values(), initial=0)
    words += [
        (
            "COUNTERS",
            f"{first} to {first + length - 1}",
            f"`{name}:{COUNTER_WORD_BITS * length}`",
            "",
        )
        for (name, length), first in zip(COUNTERS.items(), firsts, strict=False)
    ]
    return (
        _table("number region index", regions) + "\n" + _table("region word fields meaning", words)
    )


def _requests() -> str:
    """Return the table of requests."""
    rows = [
        (
            f"0x{request:02X}",
            request.name,
            spec.devices.value,
            f"{_named(spec.arguments.sizes)}{spec.then}" or "none",
            f"{_named(spec.answer.sizes)}{spec.reply}" or "none",
        )
        for request, spec in REQUESTS.items()
    ]
    return _table("type name devices payload answer", rows)


def _listed(fields: Fields) -> str:
    return _named(fields.widths)


def _named(sizes: Mapping[str, int]) -> str:
    return f"`{' '.join(f'{name}:{size}' for name, size in sizes.items())}`" if sizes else ""


def _camel(name: str) -> str:
    return name.title().replace("_", "")


def _enum(kind: str, numbers: Mapping[str, int], bits: int) -> str:
    longest = max(map(len, numbers))
    members = (f"    {name:{longest}} = {bits}'d{n}" for name, n in numbers.items())
    return (
        f"\n  typedef enum logic [{bits - 1}:0] {{\n" + ",\n".join(members) + f"\n  }} {kind}_e;\n"
    )


def _members(kinds: Mapping[str, str]) -> str:
    longest = max(map(len, kinds.values()))
    return "".join(f"    {kind:{longest}} {name};\n" for name, kind in kinds.items())


def _struct(name: str, fields: Fields, bits: int) -> str:
    """Return a packed struct, high bit first."""
    unused = bits - sum(fields.widths.values())
    widths = fields.widths | ({"unused": unused} if unused else {})
    kinds = {
        field: f"logic [{width - 1}:0]" if width > 1 else "logic"
        for field, width in reversed(widths.items())
    }
    if len(kinds) == 1:
        return "".join(
            f"\n  typedef struct packed {{{kind} {field};}} {name}_t;\n"
            for field, kind in kinds.items()
        )
    longest = max(len(kind) for kind in kinds.values())
    aligned = {field: f"{kind:{longest}}" for field, kind in kinds.items()}
    return f"\n  typedef struct packed {{\n{_members(aligned)}  }} {name}_t;\n"


def _union(name: str, kinds: Mapping[str, str]) -> str:
    return f"\n  typedef union packed {{\n{_members(kinds)}  }} {name}_t;\n"


def _package() -> str:
    """Return ``rtl/agents/qs_map_pkg.sv``."""
    words = (*SETTINGS, *CONTEXT)
    firsts = accumulate(COUNTERS.values(), initial=0)
    counter_bits = INDEX[Region.COUNTERS].widths["word"]
    regions = {region.name.lower(): index for region, index in INDEX.items()}
    return "".join(
        [
            _HEADER,
            f"\n  typedef logic [{INDEX[Region.CONTEXT].widths['agent'] - 1}:0] agent_t;\n",
            _enum("region", {f"Region{_camel(r.name)}": r for r in Region}, REGION_BITS),
            *(
                _enum(
                    kind,
                    {f"{_camel(kind)}{_camel(word.name)}": word.number for word in group},
                    INDEX[group[0].region].widths["word"],
                )
                for kind, group in (("setting", SETTINGS), ("context", CONTEXT))
            ),
            _enum(
                "counter",  # numbers of the lowest words
                {f"Counter{_camel(name)}": n for name, n in zip(COUNTERS, firsts, strict=False)},
                counter_bits,
            ),
            *(_struct(f"{name}_index", index, INDEX_BITS) for name, index in regions.items()),
            _union("index", {f"in_{name}": f"{name}_index_t" for name in regions}),
            *(_struct(f"{word.name}_word", word, WORD_BITS) for word in words),
            _union("word", {word.name: f"{word.name}_word_t" for word in words}),
            "\nendpackage\n",
        ]
    )


def main() -> None:
    """Write all generated files."""
    for path, text in {path: text() for path, text in generated().items()}.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
