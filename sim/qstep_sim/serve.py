"""The simulated device as a serial port of this computer: a pty, or a TCP port for ``socket://``.

The device lives on between clients, and nothing runs while it has nothing to do.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Protocol

from qstep.errors import ConfigError, LinkError
from qstep_sim.port import SimPort

__all__ = ["LINKS", "serve"]

LINKS = ("pty", "tcp")
"""The kinds of port that a device can be served as."""

_CHUNK = 65536


class _Channel(Protocol):
    """One client's bytes; neither direction blocks."""

    def fileno(self) -> int:
        """What `select` waits for."""

    def receive(self) -> bytes:
        """Return what has arrived, or nothing if the client has gone."""

    def send(self, data: bytes) -> int:
        """Send as much as fits and return how much that was."""


class _Pty:
    """The master side of a pty. Its clients come and go unseen, so it never ends."""

    def __init__(self, master: int) -> None:
        self._master = master

    def fileno(self) -> int:
        return self._master

    def receive(self) -> bytes:
        return os.read(self._master, _CHUNK)

    def send(self, data: bytes) -> int:
        return os.write(self._master, data)


class _Tcp:
    """A connection; an abrupt end of it counts as its end."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def fileno(self) -> int:
        return self._connection.fileno()

    def receive(self) -> bytes:
        try:
            return self._connection.recv(_CHUNK)
        except ConnectionError:
            return b""

    def send(self, data: bytes) -> int:
        try:
            return self._connection.send(data)
        except ConnectionError:
            return len(data)


def _exchange(device: SimPort, channel: _Channel) -> None:
    """Carry bytes between a device and a client until the client has gone."""
    outgoing = b""
    while True:
        # An answer that the client does not take holds the device up, as a full line would.
        must_wait = bool(outgoing) or device.idle
        waiting_to_send = [channel] if outgoing else []
        readable, writable, _ = select.select(
            [channel], waiting_to_send, [], None if must_wait else 0
        )
        if readable:
            data = channel.receive()
            if not data:
                break
            device.write(data)
        if writable:
            outgoing = outgoing[channel.send(outgoing) :]
        if not outgoing:
            outgoing = device.read(0)
    while not device.idle:  # what was received is carried out, as a board would
        device.read(0)


@contextmanager
def _pty() -> Iterator[tuple[str, Iterator[_Channel]]]:
    if os.name != "posix":
        raise LinkError(f"a pty needs a POSIX system, this one is {os.name!r}; use --link tcp")
    import pty
    import tty

    master, slave = pty.openpty()
    try:
        # Holding this side open too keeps the port alive between clients.
        tty.setraw(slave)
        os.set_blocking(master, False)
        yield os.ttyname(slave), iter([_Pty(master)])
    finally:
        os.close(slave)
        os.close(master)


@contextmanager
def _tcp(port: int) -> Iterator[tuple[str, Iterator[_Channel]]]:
    if not 0 <= port <= 65535:
        raise ConfigError(f"port is {port}; it must be from 0 (a free one) to 65535")
    try:
        listener = socket.create_server(("127.0.0.1", port), backlog=1)
    except OSError as cause:
        raise LinkError(f"port {port} of 127.0.0.1 cannot be listened on: {cause}") from cause

    def clients() -> Iterator[_Channel]:
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.setblocking(False)
                yield _Tcp(connection)

    with listener:
        yield f"socket://127.0.0.1:{listener.getsockname()[1]}", clients()


def serve(device: SimPort, link: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve a device to one client after another, until the process is interrupted.

    Parameters
    ----------
    device : SimPort
        Closed at the end.
    link : str
        ``pty`` or ``tcp``. A TCP port listens on 127.0.0.1 only.
    port : int
        TCP port, 0..65535; 0 takes a free one.
    ready : callable
        Called once with the name under which pyserial opens the port.

    Raises
    ------
    LinkError
        The system has no ptys, or the TCP port is taken.
    ConfigError
        `link` or `port` is illegal.
    DeviceError
        An assertion in the hardware failed.
    """
    if link not in LINKS:
        raise ConfigError(f"link is {link!r}; it must be one of {', '.join(LINKS)}")
    with closing(device), _pty() if link == "pty" else _tcp(port) as (name, clients):
        ready(name)
        for client in clients:
            _exchange(device, client)
