"""Reference pages from the headers of SystemVerilog files.

The directive ``rtl-headers`` takes patterns of paths from the root of the repository. It makes a
section of each file: the first paragraph of its header, the entries (Function, Timing, ...), and the
declaration of the module with its parameters and ports. Names of other modules and pages become links.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

__all__ = ["ENTRIES", "Header", "parsed", "setup"]

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
"""What the header of a module says, in this order."""

_COLUMN = 12
"""Where the text of an entry begins, after the slashes and a space."""

_NAME = re.compile(
    r"\b(?P<module>qs_\w+|gridworld)\b|\bdocs/(?P<page>[\w-]+)\.md\b|\b(?P<code>\w+_A)\b"
)


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says about itself.

    Attributes
    ----------
    name : str
        Of the module or package.
    summary : str
        The first paragraph.
    entries : dict of str to list of str
        Paragraphs by entry; of a package also prose, under "". One that begins with a line break is
        text to be shown as it stands.
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
    ExtensionError
        The file has no module or package of its name, no summary, or a module lacks an entry.
    """
    text = path.read_text(encoding="utf-8")
    declaration = re.search(
        rf"^module ({path.stem})\b.*?^\);|^package ({path.stem});.*?^endpackage", text, re.M | re.S
    )
    if declaration is None:
        raise ExtensionError(f"{path.name}: no module or package of this name begins a line")
    comment = re.match(r"// SPDX[^\n]*\n((?://[^\n]*\n)+)", text)
    if comment is None:
        raise ExtensionError(f"{path.name}: no header follows the license")
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
        raise ExtensionError(f"{path.name}: the header has no {', '.join(missing)}; write none")
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
    """Return a paragraph on one line, or after a line break as it stands if it is indented further."""
    lines = paragraph.splitlines()
    if all(line.startswith(" " * (_COLUMN + 1)) for line in lines):
        return "\n" + "\n".join(line[_COLUMN:] for line in lines)
    return " ".join(paragraph.split())


class RtlHeaders(SphinxDirective):
    """``{rtl-headers}``: a section for each file that its arguments match."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        sections: list[nodes.Node] = []
        for pattern in self.arguments[0].split():
            paths = sorted(root.glob(pattern))
            if not paths:
                raise self.error(f"no file is {pattern}")
            for path in paths:
                self.env.note_dependency(str(path))
                sections.append(self._section(parsed(path), path.relative_to(root)))
        return sections

    def _section(self, header: Header, path: Path) -> nodes.section:
        section = nodes.section(ids=[header.name], names=[header.name])
        section += nodes.title("", "", nodes.literal("", header.name))
        self.state.document.note_explicit_target(section, section)
        section += nodes.paragraph("", "", *_linked(header.summary, header.name))
        entries = nodes.field_list()
        for entry, paragraphs in header.entries.items():
            body = [_shown(paragraph, header.name) for paragraph in paragraphs]
            if entry:
                entries += nodes.field("", nodes.field_name("", entry), nodes.field_body("", *body))
            else:
                section += body
        if entries.children:
            section += entries
        section += nodes.paragraph("", "", nodes.literal("", path.as_posix()))
        section += nodes.literal_block(
            header.declaration, header.declaration, language="systemverilog"
        )
        return section


def _shown(paragraph: str, name: str) -> nodes.Element:
    if paragraph.startswith("\n"):
        return nodes.literal_block("", paragraph[1:], language="none")
    return nodes.paragraph("", "", *_linked(paragraph, name))


def _linked(text: str, name: str) -> list[nodes.Node]:
    """Return text with links to other modules than `name`, and to pages."""
    found: list[nodes.Node] = []
    end = 0
    for match in _NAME.finditer(text):
        found.append(nodes.Text(text[end : match.start()]))
        end = match.end()
        word = nodes.literal("", match[0])
        if match["code"] or match[0] == name:
            found.append(word)
            continue
        module = match["module"]
        found.append(
            addnodes.pending_xref(
                "",
                word,
                refdomain="std",
                reftype="ref" if module else "doc",
                reftarget=module.lower() if module else f"/docs/{match['page']}",
                refexplicit=True,
                refwarn=True,
            )
        )
    return [*found, nodes.Text(text[end:])]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("rtl-headers", RtlHeaders)
    return {"parallel_read_safe": True}
