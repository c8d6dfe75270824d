"""Serves the page to browsers on this computer that know its token."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable

from bokeh.application import Application
from bokeh.application.handlers import FunctionHandler
from bokeh.document import Document
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.settings import settings
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop

from qstep.envs.rendering import GridMap
from qstep.errors import ConfigError
from qstep.live.controller import Controller
from qstep.live.game import Game
from qstep.live.page import Page
from qstep.spec.tiles import Tiles

__all__ = ["ADDRESS", "serve"]

ADDRESS = "127.0.0.1"
_CHECK_SECONDS = 0.2
_SHOW_SECONDS = 1.0  # time for pages to show the error before the server stops
_TOKEN_BYTES = 24


def serve(
    controller: Controller,
    grid: GridMap | None,
    tiles: Tiles | None,
    headline: str,
    game: Callable[[], Game | None] | None,
    port: int,
    ready: Callable[[str], object],
) -> None:
    """Serve the page of a run on 127.0.0.1 until an interrupt or a device failure.

    Every path, including scripts and the websocket, contains a new random token; all other requests get
    a 404 response. Scripts come from the installed package. Port 0 selects a free port. `game`
    returns the game that a page shows if there is no map, and `ready` is called with the address as soon
    as it can be opened. If the device fails, the page shows the error, which is then raised.
    """
    try:
        listener = socket.create_server((ADDRESS, port))
    except OSError as cause:
        raise ConfigError(
            f"port is {port}, which {ADDRESS} refuses ({cause.strerror}); choose another one, or "
            "none for a free one"
        ) from cause
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    listener.setblocking(False)
    host = f"{ADDRESS}:{listener.getsockname()[1]}"
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    settings.resources = "server"  # regardless of environment variables

    def fill(document: Document) -> None:
        shown = None if game is None else game()
        Page(controller, grid, headline, shown, tiles).fill(document)

    handlers = BokehTornado(
        Application(FunctionHandler(fill)),
        prefix=token,
        extra_websocket_origins=[host],
        absolute_url=f"http://{host}",
        ico_path="none",
    )
    http = HTTPServer(handlers)
    http.add_sockets([listener])
    server = BaseServer(IOLoop.current(), handlers, http)
    try:
        server.start()
        server.io_loop.call_later(_CHECK_SECONDS, _check, server, controller)
        ready(f"http://{host}/{token}/")
        server.io_loop.start()
    finally:
        server.stop()
        asyncio.set_event_loop(None)
        loop.close()
    if controller.error is not None:  # pragma: no branch: nothing else ends the loop
        raise controller.error


def _check(server: BaseServer, controller: Controller) -> None:
    """Stop the server shortly after the device has failed."""
    if controller.error is None:
        server.io_loop.call_later(_CHECK_SECONDS, _check, server, controller)
    else:
        server.io_loop.call_later(_SHOW_SECONDS, server.io_loop.stop)
