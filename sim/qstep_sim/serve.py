"""The simulated device as a serial port on this computer: a pty, or a TCP port for ``socket://``.

The device keeps its state between clients, and the simulation pauses while it is idle. A TCP port
serves one client at a time: the next client waits until the first has disconnected, or has been silent
for a second. A client's bytes stay in its buffers until the device accepts them.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Protocol

from qstep.errors import ConfigError, LinkError
from qstep_sim.port import SimPort

__all__ = ["LINKS", "serve"]

LINKS = ("pty", "tcp")
"""The kinds of port that can serve a device."""

_CHUNK = 65536
"""Maximum number of a client's bytes buffered here; the operating system buffers as many again."""

_SILENT_SECONDS = 1.0
"""Less than the time of a driver's first retries, so the next client is served in time."""


class _Channel(Protocol):
    """One client's byte stream; neither direction blocks."""

    def fileno(self) -> int:
        """Return the file descriptor for `select`."""

    def receive(self) -> bytes:
        """Return the bytes that have arrived, or no bytes if the client has disconnected."""

    def send(self, data: bytes) -> int:
        """Send as many bytes as fit, and return their number."""


_Clients = Iterator[_Channel]


class _Pty:
    """The master side of a pty. It cannot detect when a client disconnects, so its stream never ends."""

    def __init__(self, master: int) -> None:
        self._master = master

    def fileno(self) -> int:
        return self._master

    def receive(self) -> bytes:
        return os.read(self._master, _CHUNK)

    def send(self, data: bytes) -> int:
        return os.write(self._master, data)


class _Tcp:
    """A TCP connection; an abrupt end is treated as a normal one."""

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


def _exchange(device: SimPort, channel: _Channel, next_one: socket.socket | None) -> None:
    """Transfer bytes until the client disconnects, or is silent while another client waits.

    Parameters
    ----------
    device : SimPort
    channel : _Channel
    next_one : socket or None
        Readable as soon as another client waits; None if there cannot be another.
    """
    outgoing = b""
    heard = time.monotonic()
    while True:
        # An answer that the client does not read stalls the device, as it would on a serial line.
        must_wait = bool(outgoing) or device.idle
        silent = time.monotonic() - heard >= _SILENT_SECONDS
        reading: list[_Channel | socket.socket] = [channel] if device.waiting < _CHUNK else []
        if silent and must_wait and next_one is not None:
            reading.append(next_one)
        timeout = (None if silent else _SILENT_SECONDS) if must_wait else 0
        readable, writable, _ = select.select(reading, [channel] if outgoing else [], [], timeout)
        if channel in readable:
            data = channel.receive()
            if not data:
                break
            device.write(data)
        elif next_one in readable:
            break
        if writable:
            outgoing = outgoing[channel.send(outgoing) :]
        if readable or writable or not must_wait:
            heard = time.monotonic()
        if not outgoing:
            outgoing = device.read(0)
    while not device.idle:  # process received bytes, as a board would
        device.read(0)


@contextmanager
def _pty() -> Iterator[tuple[str, _Clients, None]]:
    if os.name != "posix":
        raise LinkError(f"a pty needs a POSIX system, but this one is {os.name!r}; use --link tcp")
    import pty
    import tty

    master, slave = pty.openpty()
    try:
        # Keeping this side open as well keeps the port alive between clients.
        tty.setraw(slave)
        os.set_blocking(master, False)
        yield os.ttyname(slave), iter([_Pty(master)]), None
    finally:
        os.close(slave)
        os.close(master)


@contextmanager
def _tcp(port: int) -> Iterator[tuple[str, _Clients, socket.socket]]:
    if not 0 <= port <= 65535:
        raise ConfigError(f"port is {port}; it must be from 0 (any free port) to 65535")
    try:
        listener = socket.create_server(("127.0.0.1", port))
        listener.setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVBUF, _CHUNK
        )  # connections inherit this option
    except OSError as cause:
        raise LinkError(f"cannot listen on port {port} of 127.0.0.1: {cause}") from cause

    def clients() -> Iterator[_Channel]:
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.setblocking(False)
                yield _Tcp(connection)

    with listener:
        yield f"socket://127.0.0.1:{listener.getsockname()[1]}", clients(), listener


def serve(device: SimPort, link: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve a device to one client after another, until the process is interrupted.

    Parameters
    ----------
    device : SimPort
        The device to serve; closed at the end.
    link : str
        ``pty`` or ``tcp``. A TCP port listens on 127.0.0.1 only.
    port : int
        TCP port, 0..65535; 0 chooses a free one.
    ready : callable
        Called once with the name under which pyserial opens the port.

    Raises
    ------
    LinkError
        The system has no ptys, or the TCP port is in use.
    ConfigError
        `link` or `port` is illegal.
    DeviceError
        An assertion in the hardware failed.
    """
    if link not in LINKS:
        raise ConfigError(f"link is {link!r}; it must be one of {', '.join(LINKS)}")
    with closing(device), _pty() if link == "pty" else _tcp(port) as (name, clients, next_one):
        ready(name)
        for client in clients:
            _exchange(device, client, next_one)
