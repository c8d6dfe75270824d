"""The simulated device as a serial port, used by a client through pyserial."""

import json
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import serial

from qstep.device import open_device
from qstep.errors import ConfigError, DeviceError, LinkError
from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config
from qstep.spec.settings import Hyperparameters
from qstep_sim.build import compile_library
from qstep_sim.port import SimPort
from qstep_sim.serve import serve

pytestmark = pytest.mark.rtl

ECHO = Path(__file__).with_name("echo_device.v")
CONFIG = Config(states=25, actions=4)

needs_pty = pytest.mark.skipif(os.name != "posix", reason="ptys are POSIX")
LINKS = [pytest.param("pty", marks=needs_pty), "tcp"]


def echo() -> SimPort:
    return SimPort(CONFIG, library=compile_library([ECHO], "echo_device"))


@contextmanager
def served(link: str) -> Iterator[str]:
    """Serve an echo device, and finally stop the server with a byte that violates its assertion."""
    names: queue.Queue[str] = queue.Queue()
    errors: list[DeviceError] = []

    def run() -> None:
        try:
            serve(echo(), link, 0, names.put)
        except DeviceError as error:
            errors.append(error)

    server = threading.Thread(target=run, daemon=True)
    server.start()
    name = names.get(timeout=120)
    yield name
    with serial.serial_for_url(name, timeout=10) as client:
        client.write(b"\xee")
        server.join(10)
    assert not server.is_alive()
    assert "byte EE is not allowed" in str(errors[0])


def serves_the_next_one(name: str) -> None:
    with serial.serial_for_url(name, timeout=30) as client:
        client.write(b"\0next\0")
        assert client.read(6) == b"\0next\0"


def address(name: str) -> tuple[str, int]:
    return "127.0.0.1", int(name.rpartition(":")[2])


@pytest.mark.parametrize("link", LINKS)
def test_bytes_go_through_unchanged_from_one_client_after_another(link: str) -> None:
    data = bytes(value for value in range(256) if value != 0xEE) * 20
    with served(link) as name:
        with serial.serial_for_url(name, timeout=10) as client:
            for _ in range(3):
                client.write(data)
                assert client.read(len(data)) == data
        serves_the_next_one(name)


def test_client_that_leaves_its_answer_does_not_stop_the_server() -> None:
    with served("tcp") as name:
        with serial.serial_for_url(name, timeout=10) as client:
            client.write(b"never read" * 1000)
        serves_the_next_one(name)


def test_client_that_breaks_its_connection_off_does_not_stop_the_server() -> None:
    with served("tcp") as name:
        with socket.create_connection(address(name), timeout=10) as client:
            client.sendall(b"first\0")
            assert client.recv(6) == b"first\0"
            at_once = struct.pack("ii", 1, 0)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        serves_the_next_one(name)


def test_client_that_sends_and_never_reads_is_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unread answers stall the echo device, and thereby the client."""
    most = 0
    write = SimPort.write

    def counted(device: SimPort, data: bytes) -> None:
        nonlocal most
        write(device, data)
        most = max(most, device.waiting)

    monkeypatch.setattr(SimPort, "write", counted)
    with served("tcp") as name:
        with socket.create_connection(address(name)) as client:
            client.settimeout(0.5)
            with pytest.raises(TimeoutError):
                client.sendall(b"more" * (16 << 20))
        serves_the_next_one(name)
    assert 0 < most <= 2 * 65536


@pytest.mark.slow
def test_silent_client_gives_way_to_the_next_one() -> None:
    with served("tcp") as name, socket.create_connection(address(name), timeout=10) as silent:
        silent.sendall(b"first\0")
        assert silent.recv(6) == b"first\0"
        serves_the_next_one(name)
        assert silent.recv(1) == b""


@pytest.mark.slow
def test_client_that_talks_is_not_interrupted_by_the_next_one() -> None:
    with served("tcp") as name, socket.create_connection(address(name), timeout=10) as talking:
        waiting = socket.create_connection(address(name), timeout=10)
        waiting.sendall(b"later\0")
        began = time.monotonic()
        while time.monotonic() - began < 1.5:
            talking.sendall(b"word\0")
            assert talking.recv(5) == b"word\0"
            time.sleep(0.1)
        talking.close()
        with waiting:
            assert waiting.recv(6) == b"later\0"


def test_taken_tcp_port_is_named() -> None:
    with served("tcp") as name:
        _, port = address(name)
        with pytest.raises(LinkError, match=f"cannot listen on port {port} of 127.0.0.1"):
            serve(echo(), "tcp", port, print)


@pytest.mark.parametrize(
    ("link", "port", "message"),
    [("tcp", 65536, "port is 65536; it must be from 0"), ("usb", 0, "link is 'usb'; .*pty, tcp")],
)
def test_illegal_link_or_port_is_refused(link: str, port: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        serve(echo(), link, port, print)


def test_system_without_ptys_is_told_to_use_tcp(monkeypatch: pytest.MonkeyPatch) -> None:
    device = echo()
    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")
        with pytest.raises(LinkError, match=r"needs a POSIX system.*use --link tcp"):
            serve(device, "pty", 0, print)


@pytest.mark.parametrize("link", LINKS)
def test_command_serves_a_device_that_lives_on_between_clients(link: str) -> None:
    options = ["--states", "25", "--actions", "4", "--link", link, "--json"]
    server = subprocess.Popen(
        [sys.executable, "-c", "import qstep_command; qstep_command.main()", "serve", *options],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        one = Transitions.from_arrays(CONFIG, [3], [2], [1.0], [4], [True])
        with open_device(url, CONFIG) as device:
            device.configure(Hyperparameters(alpha=0.5))
            device.clear()
            device.apply(one)
        with open_device(url, CONFIG) as device:
            assert device.status().applied == 1
            assert device.read()[3, 2] == 128
        server.send_signal(signal.SIGINT)
        assert server.wait(10) == 130
    finally:
        server.kill()
        server.communicate()
