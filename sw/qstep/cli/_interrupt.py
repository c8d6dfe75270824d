"""How a run ends after Ctrl-C: alike in every command that keeps checkpoints.

Ctrl-C is an exception wherever the run is. What the run was doing is dropped, the checkpoint that it
left counts, and going on from there gives what the run would have given.
"""

from __future__ import annotations

import shlex

import click
from click.core import ParameterSource

__all__ = ["resume_command", "stopped"]

_INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 + SIGINT, as shells have it."""


def resume_command(ctx: click.Context) -> str:
    """Return the command that goes on with this run: what was typed, and ``--resume``."""
    words = ["qstep", str(ctx.command.name)]
    for parameter in ctx.command.params:
        name = str(parameter.name)
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not given or name == "resume":
            continue
        if isinstance(parameter, click.Option):
            words.append(parameter.opts[-1])
        if not (isinstance(parameter, click.Option) and parameter.is_flag):
            words.append(str(ctx.params[name]))
    return shlex.join([*words, "--resume"])


def stopped(after: str | None, command: str) -> int:
    """Say on stderr how to go on, and return the exit status.

    Parameters
    ----------
    after : str or None
        Where the checkpoint stands, for example ``episode 20``; None if there is none to go on from.
    command : str
        See :func:`resume_command`.
    """
    rest = "; this run starts over" if after is None else f" after {after}; go on with: {command}"
    click.echo(f"stopped{rest}", err=True)
    return _INTERRUPTED
