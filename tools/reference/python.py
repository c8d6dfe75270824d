"""Generates docs/python.md, which documents the public names of QStep, from their docstrings.

The website shows the same names with Sphinx, from the directives in docs/templates/python.md. Here, each
directive becomes a section in plain Markdown, for readers of the repository.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from numpydoc.docscrape import NumpyDocString

__all__ = ["TEMPLATE", "page"]

TEMPLATE = Path(__file__).resolve().parents[2] / "docs/templates/python.md"
_NOTE = "<!-- python -m tools.generated writes this page from docstrings -->\n"
_BLOCK = re.compile(r"^```{eval-rst}\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_DIRECTIVE = re.compile(
    r"^\.\. (\w+):: ([\w.]+)(?:\((.*)\))?\n((?:   .*\n|\n(?=   ))*)", re.MULTILINE
)
_LISTS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")
_PROPERTIES = property, cached_property
_PROSE = ("Notes", "References", "Examples")


class _Raw(str):
    """An annotation, shown without quotes."""

    __repr__ = str.__str__


def page() -> str:
    """Return the page."""
    text = _BLOCK.sub(lambda block: "\n".join(_sections(block[1])), TEMPLATE.read_text("utf-8"))
    title, rest = text.split("\n\n", 1)
    return re.sub(r"\n{3,}", "\n\n", f"{title}\n\n{_NOTE}\n{rest}")


def _sections(directives: str) -> Iterator[str]:
    for kind, name, arguments, body in _DIRECTIVE.findall(directives):
        if kind == "function":  # written out in the template: an alias
            text = _inline(inspect.cleandoc(body))
            yield f"### `{name}`\n\n```python\n{name}({arguments})\n```\n\n{text}\n"
        elif kind == "automodule":
            module = importlib.import_module(name)
            yield f"{_prose(inspect.getdoc(module) or '')}\n"
            for each in module.__all__:
                yield from _section(f"{name}.{each}", getattr(module, each), True, False)
        else:
            yield from _section(name, _found(name), ":members:" in body, ":inherited" in body)


def _found(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def _section(name: str, what: Any, members: bool, inherited: bool) -> Iterator[str]:
    if not callable(what):  # a constant
        yield f"### `{name}`\n"
        return
    yield f"### `{name}`\n\n{_signature(name.rpartition('.')[2], what)}{_prose(_doc(what))}"
    if not (members and inspect.isclass(what)):
        return
    if issubclass(what, enum.Enum):
        yield "".join(f"- `{member.name}` = `{member.value!r}`\n" for member in what)
    for member, value in _members(what, inherited):
        heading = f"#### `{name.rpartition('.')[2]}.{member}`"
        yield f"{heading}\n\n{_signature(member, value)}{_prose(_doc(value))}"


def _members(what: type, inherited: bool) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that have a docstring, in source order."""
    seen = set()
    for owner in what.__mro__ if inherited else (what,):
        for name, value in vars(owner).items():
            bare = getattr(value, "__func__", value)
            documented = inspect.isfunction(bare) or isinstance(bare, _PROPERTIES)
            if not name.startswith("_") and documented and _doc(bare) and name not in seen:
                seen.add(name)
                yield name, value


def _doc(what: Any) -> str:
    doc = getattr(getattr(what, "__func__", what), "__doc__", None)
    return inspect.cleandoc(doc) if doc else ""


def _signature(name: str, what: Any) -> str:
    bare = getattr(what, "__func__", what)
    if isinstance(bare, _PROPERTIES):
        return ""
    if inspect.isclass(bare) and issubclass(bare, BaseException | enum.Enum):
        return ""
    try:
        signature = inspect.signature(bare)
    except (TypeError, ValueError):
        return ""
    given = [
        each.replace(annotation=_raw(each.annotation))
        for each in signature.parameters.values()
        if each.name not in ("self", "cls")
    ]
    back = inspect.Signature.empty if inspect.isclass(what) else signature.return_annotation
    shown = signature.replace(parameters=given, return_annotation=_raw(back))
    text = f"{name}{shown}"
    if len(text) > 100:
        parts = [str(each) for each in given]
        named = [each.kind is inspect.Parameter.KEYWORD_ONLY for each in given]
        if any(named) and not any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in given):
            parts.insert(named.index(True), "*")
        inside = "".join(f"    {part},\n" for part in parts)
        end = f" -> {back}" if isinstance(back, str) else ""
        text = f"{name}(\n{inside}){end}"
    return f"```python\n{text}\n```\n\n"


def _raw(annotation: Any) -> Any:
    """Return an annotation without quotes; those of a NamedTuple are forward references."""
    text = getattr(annotation, "__forward_arg__", annotation)
    return _Raw(text) if isinstance(text, str) else text


def _prose(doc: str) -> str:
    """Return a NumPy-style docstring as Markdown."""
    parsed = NumpyDocString(doc)
    parts = [_text(parsed["Summary"]), _text(parsed["Extended Summary"])]
    for title in _LISTS:
        if entries := parsed[title]:
            parts.append(f"**{title}**\n\n" + "".join(_entry(*entry) for entry in entries))
    parts += [f"**{title}**\n\n{_text(parsed[title])}" for title in _PROSE if parsed[title]]
    return "\n\n".join(filter(None, parts)) + "\n\n"


def _entry(name: str, kind: str, lines: list[str]) -> str:
    head = ": ".join(f"`{part}`" for part in (name, kind) if part)
    text = re.sub(r"\n(?=.)", "\n  ", _text(lines))
    return f"- {head}  \n  {text}\n" if text else f"- {head}\n"


def _text(lines: list[str] | str) -> str:
    """Convert reStructuredText in docstrings (roles, literals, code blocks, doctests) to Markdown."""
    text = lines if isinstance(lines, str) else "\n".join(lines)
    parts = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if paragraph.lstrip().startswith(">>>"):
            parts.append(f"```python\n{inspect.cleandoc(paragraph)}\n```")
        elif paragraph.startswith("    "):
            parts.append(f"```text\n{inspect.cleandoc(paragraph)}\n```")
        else:
            parts.append(_inline(paragraph))
    return "\n\n".join(filter(None, parts))


def _inline(text: str) -> str:
    plain = re.sub(r":\w+(?::\w+)?:`~?([^`]+)`", r"`\1`", re.sub(r"::$", ":", text))
    return re.sub(r"``(.+?)``", r"`\1`", plain)
