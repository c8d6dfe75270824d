"""Generates docs/rtl.md from the headers of SystemVerilog files.

The section of each file consists of the first paragraph of its header, the entries (Function, Timing,
...), and the declaration of the module with its parameters and ports. Names of other modules and pages
are links.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from qstep_rtl.bus.registers import AGENTS, LANE

__all__ = ["ENTRIES", "Header", "HeaderError", "files", "page", "parsed"]

_ROOT = Path(__file__).resolve().parents[2]
_FOLDERS = {
    "Common": "rtl/common",
    "The lane": "rtl/lane",
    "Agents": "rtl/agents",
    "Worlds": "rtl/worlds",
    "The learner": "rtl/planes",
    "A farm's chain": "rtl/farm",
    "On a bus": "rtl/bus",
    "Around a device": "fpga/qstep_fpga",
}
_REGISTERS = {LANE: "registers.md#the-lane", AGENTS: "registers.md#agents"}
_HEAD = """# Hardware modules

This page describes each module, so that you can instantiate it or read its source: what it
computes, its timing, handshake, reset and hazards, and its ports. The modules are compiled in
the order that `qstep.rtl_files` gives
([package](package.md#the-files-for-a-flow-of-your-own)).

<!-- python -m tools.generated writes this page from the modules' headers -->
"""

ENTRIES = (
    "Function",
    "Timing",
    "Handshake",
    "Reset",
    "Hazards",
    "Invariants",
    "Resources",
    "Reference",
)
"""Entries of a module's header, in this order."""

_COLUMN = 12
"""Column in which the text of an entry begins, after the slashes and a space."""

_NAME = re.compile(
    r"\b(?P<module>qs_\w+|gridworld)\b|\bdocs/(?P<page>[\w-]+)\.md\b|\b(?P<code>\w+_A)\b"
)


class HeaderError(ValueError):
    """A header is missing or incomplete, or refers to a module that does not exist."""


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a SystemVerilog file.

    Attributes
    ----------
    name : str
        Name of the module or package.
    summary : str
        The first paragraph.
    entries : dict of str to list of str
        Paragraphs by entry; the prose of a package is under "". A paragraph that begins with a line
        break is shown verbatim.
    declaration : str
        The source from ``module`` to the end of its ports, or a whole package.
    """

    name: str
    summary: str
    entries: dict[str, list[str]]
    declaration: str


def parsed(path: Path) -> Header:
    """Return the header of a file.

    Raises
    ------
    HeaderError
        The file has no summary or no module or package of the same name, or its module lacks an entry.
    """
    text = path.read_text(encoding="utf-8")
    declaration = re.search(
        rf"^module ({path.stem})\b.*?^\);|^package ({path.stem});.*?^endpackage", text, re.M | re.S
    )
    if declaration is None:
        raise HeaderError(f"{path.name}: no module or package of this name begins a line")
    comment = re.match(r"// SPDX[^\n]*\n((?://[^\n]*\n)+)", text)
    if comment is None:
        raise HeaderError(f"{path.name}: no header follows the license")
    summary, *rest = _paragraphs(comment[1])
    entries: dict[str, list[str]] = {}
    entry = ""
    for paragraph in rest:
        for part in re.split(rf"^(?=(?:{'|'.join(ENTRIES)})\b)", paragraph, flags=re.MULTILINE):
            word, gap, words = part[:_COLUMN].partition(" ")
            if gap and word in ENTRIES:
                entry, part = word, words.lstrip() + part[_COLUMN:]
            if part:
                entries.setdefault(entry, []).append(_prose(part))
    missing = [entry for entry in ENTRIES if entry not in entries]
    if missing and declaration[1]:
        raise HeaderError(f"{path.name}: the header has no {', '.join(missing)}; write none")
    return Header(declaration[1] or declaration[2], _prose(summary), entries, declaration[0])


def _paragraphs(comment: str) -> list[str]:
    """Return the paragraphs of a comment, without its slashes."""
    lines = [line[3:] for line in comment.splitlines()]
    return [
        paragraph.rstrip()
        for paragraph in re.split(r"\n\n+", "\n".join(lines))
        if paragraph.strip()
    ]


def _prose(paragraph: str) -> str:
    """Join a paragraph into one line; if it is indented further, keep its lines after a line break."""
    lines = paragraph.splitlines()
    if all(line.startswith(" " * (_COLUMN + 1)) for line in lines):
        return "\n" + "\n".join(line[_COLUMN:] for line in lines)
    return " ".join(paragraph.split())


def files(folder: str) -> list[Path]:
    """Return the files in a folder that the page describes."""
    return sorted((_ROOT / folder).glob("*.sv"))


def page() -> str:
    """Return the page."""
    known = {path.stem for folder in _FOLDERS.values() for path in files(folder)}
    parts = [_HEAD]
    for title, folder in _FOLDERS.items():
        parts.append(f"\n## {title}\n")
        parts += [_section(parsed(path), path.relative_to(_ROOT), known) for path in files(folder)]
    return "".join(parts)


def _section(header: Header, path: Path, known: Collection[str]) -> str:
    def shown(paragraph: str) -> str:
        if paragraph.startswith("\n"):
            return f"```text\n{paragraph[1:]}\n```"
        return _linked(paragraph, header.name, known)

    parts = [f"### `{header.name}`", shown(header.summary)]
    for entry, paragraphs in header.entries.items():
        first, *more = (shown(paragraph) for paragraph in paragraphs)
        # An entry that begins with code has its name on its own line.
        gap = "\n\n" if first.startswith("```") else " "
        parts += [f"**{entry}:**{gap}{first}" if entry else first, *more]
    parts += [f"[`{path.as_posix()}`](../{path.as_posix()})"]
    parts += [f"```systemverilog\n{header.declaration}\n```"]
    return "\n" + "\n\n".join(parts) + "\n"


def _linked(text: str, name: str, known: Collection[str]) -> str:
    """Return Markdown with links to pages, and to modules other than `name`.

    Raises
    ------
    HeaderError
        A module is not in `known`.
    """

    def link(match: re.Match[str]) -> str:
        word, module = match[0], match["module"]
        if match["page"]:
            return f"[{word}]({match['page']}.md)"
        if match["code"] or word == name:
            return f"`{word}`"
        if module in _REGISTERS:
            return f"[`{module}`]({_REGISTERS[module]})"
        if module not in known:
            raise HeaderError(f"{name}: the header names {module}, which is no module")
        return f"[`{module}`](#{module.lower()})"

    plain = re.sub(r"([*<>|])", r"\\\1", text)
    return _NAME.sub(link, re.sub(r"``(.+?)``", r"`\1`", plain))
