"""Generates docs/cli.md, which documents every command of ``qstep``, from its click definition."""

from __future__ import annotations

import inspect
import re

import click

from qstep import cli

__all__ = ["page"]

_BAR = "\\|"
"""An escaped bar, for use in a table cell."""

_HEAD = """# Command line

This page lists every command of `qstep` and its options; its `--help` says the
same. The [quick start](start.md) has examples by purpose.

<!-- python -m tools.generated writes this page from the commands' help -->
"""


def page() -> str:
    """Return the page."""
    group = click.Context(cli._qstep, info_name="qstep")
    parts = [_HEAD]
    for title, names in cli._GROUPS.items():
        parts.append(f"\n## {title}\n")
        parts += [_section(cli._command(name), group) for name in names]
    return "".join(parts)


def _section(command: click.Command, group: click.Context) -> str:
    ctx = click.Context(command, info_name=command.name, parent=group)
    usage = " ".join([f"qstep {command.name}", *command.collect_usage_pieces(ctx)])
    options = [
        record
        for parameter in command.get_params(ctx)
        if (record := parameter.get_help_record(ctx)) and record[1] and "--help" not in record[0]
    ]
    rows = "".join(
        f"| `{flags.replace('|', _BAR)}` | {_plain(text).replace('|', _BAR)} |\n"
        for flags, text in options
    )
    text = _prose(command.help or "") + _prose(command.epilog or "")
    table = f"| option | meaning |\n|---|---|\n{rows}"
    return f"\n### qstep {command.name}\n\n```text\n{usage}\n```\n\n{text}{table}"


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("<", "\\<")


def _prose(text: str) -> str:
    """Return help as Markdown; blocks that click does not rewrap become code."""
    parts = []
    for paragraph in re.split(r"\n{2,}", inspect.cleandoc(text)):
        if paragraph.startswith("\b"):
            parts.append(f"```text\n{paragraph.lstrip(chr(8)).strip(chr(10))}\n```\n\n")
        elif paragraph:
            parts.append(f"{_plain(paragraph)}\n\n")
    return "".join(parts)
