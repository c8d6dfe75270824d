"""`-v` on every command: what the loggers of QStep say, on stderr."""

from __future__ import annotations

import logging

import click

__all__ = ["verbose_option"]


class _Stderr(logging.Handler):
    """Writes to whatever stderr is at that moment: a progress bar puts its own in between."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(self.format(record), err=True)


def verbose_option() -> click.Option:
    """Return the option, for a command to take beside its own."""
    return click.Option(
        ["-v", "--verbose"],
        count=True,
        expose_value=False,
        callback=_listen,
        help="Say what the link to a device does: sessions, retries, gaps, rates; -vv every request.",
    )


def _listen(ctx: click.Context, param: click.Parameter, count: int) -> None:
    """Listen to the loggers until the command ends."""
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
