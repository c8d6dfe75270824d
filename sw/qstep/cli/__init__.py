"""The command line: one file per command, loaded only when that command is called."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import click

from qstep.cli._interrupt import TYPED, answered
from qstep.cli._streams import guarded_streams, verbose_option
from qstep.errors import QStepError, QStepWarning
from qstep.spec.checks import did_you_mean

__all__ = ["main"]


_GROUPS = {
    "Learn": ("train", "sweep", "dqn", "pqn", "sac", "live", "play", "advise", "export"),
    "Hardware": ("generate", "build", "program", "explore", "serve", "replay"),
    "Laboratory": ("demo", "bench", "agents", "profile", "matmul", "doctor"),
}
"""Commands by section of ``qstep --help``."""

_LABORATORY = "qstep_bench.cli"
"""Package of most laboratory commands; it is a layer above this one, so it is loaded only by name."""


@cache
def _command(name: str) -> click.Command:
    """Load the module of a command."""
    here = importlib.util.find_spec(f"{__name__}.{name}")
    module = importlib.import_module(f"{__name__ if here else _LABORATORY}.{name}")
    command: click.Command = verbose_option(module.command)
    command.name = name
    return command


class _Commands(click.Group):
    """Click group that loads each command from its module."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(itertools.chain(*_GROUPS.values()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _command(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group, names in _GROUPS.items():
            with formatter.section(group):
                formatter.write_dl(
                    [(name, _command(name).get_short_help_str(formatter.width)) for name in names]
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}.{did_you_mean(args[0], names)}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[TYPED] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with _warnings_in_words(), answered(ctx):
            return super().invoke(ctx)


@contextmanager
def _warnings_in_words() -> Iterator[None]:
    """Print each QStepWarning on stderr as one line, without its position in the source."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", QStepWarning)
        show = warnings.showwarning

        def say(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if issubclass(category, QStepWarning):
                click.echo(f"warning: {message}", err=True)
            else:
                show(message, category, *place)

        warnings.showwarning = say  # type: ignore[assignment]  # all other parameters are passed on
        yield


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="qstep")
def _qstep() -> None:
    """QStep: exact Q-learning in hardware, one update per clock."""


def main() -> None:
    """Run the command line; print a :class:`QStepError` on one line of stderr and exit with 1."""
    with guarded_streams():
        try:
            _qstep(prog_name="qstep")
        except QStepError as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(1)
