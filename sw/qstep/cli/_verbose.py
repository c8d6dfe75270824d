"""The option `-v` of every command: QStep's log messages on stderr."""

from __future__ import annotations

import logging

import click

__all__ = ["verbose_option"]


class _Stderr(logging.Handler):
    """Writes to the current stderr, which a progress bar may have replaced."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(self.format(record), err=True)


def verbose_option() -> click.Option:
    """Return the option, to be added to a command."""
    return click.Option(
        ["-v", "--verbose"],
        count=True,
        expose_value=False,
        callback=_listen,
        help="Log the link to a device: sessions, retries, gaps, rates; with -vv, every request.",
    )


def _listen(ctx: click.Context, param: click.Parameter, count: int) -> None:
    """Show log messages until the command ends."""
    if not count:
        return
    logger = logging.getLogger("qstep")
    handler, before = _Stderr(), logger.level
    handler.setFormatter(
        logging.Formatter("%(asctime)s.%(msecs)03d %(name)s: %(message)s", "%H:%M:%S")
    )
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if count == 1 else logging.DEBUG)

    def leave() -> None:
        logger.removeHandler(handler)
        logger.setLevel(before)

    ctx.call_on_close(leave)
