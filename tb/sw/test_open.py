"""Devices are opened by URL, over every kind of port."""

import os
import re
import select
import socket
import sys
import threading
import time
import types
from contextlib import contextmanager

import numpy as np
import pytest
import serial
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import DirectPort

import qstep
from qstep import Config, Hyperparameters, Transitions
from qstep.device.lane import LinkDevice
from qstep.device.link.ports import SerialPort
from qstep.device.model import ModelDevice
from qstep.errors import (
    ClosedError,
    ConfigError,
    ConfigMismatchError,
    DeadlineError,
    LinkError,
    TableError,
    TransitionError,
)
from qstep.golden.lane import Model

CONFIG = Config(25, 4)


def walk(count=2000):
    rng = np.random.default_rng(4)
    state = rng.integers(0, 25, count + 1)
    reward = rng.choice([-1.0, 0.0, 1.0], count)
    return Transitions.from_arrays(
        CONFIG, state[:-1], rng.integers(0, 4, count), reward, state[1:], rng.random(count) < 0.1
    )


@pytest.mark.parametrize("url", ["model", "model:"])
def test_model_is_exact_and_counts(url):
    batch = walk()
    model = Model(CONFIG)
    model.apply(batch)
    reference = LinkDevice(DirectPort(ReferenceDevice(CONFIG)), CONFIG)
    reference.apply(batch)
    with qstep.open(url, CONFIG) as device:
        assert isinstance(device, ModelDevice)
        device.apply(batch[:700])
        device.apply(batch[700:])
        assert np.array_equal(device.read(), model.table)
        assert device.status() == reference.status()
        assert device.counters() is None


def test_model_is_loaded_cleared_and_given_noise():
    with qstep.open("model", CONFIG) as device:
        table = np.arange(100, dtype=np.int32).reshape(25, 4)
        device.load(table)
        before = device.read()
        device.clear()
        assert np.array_equal(before, table)
        assert not device.read().any()
        device.configure(Hyperparameters(seed=5))
        assert device.status().noise == Hyperparameters(seed=5).noise
        device.set_noise(Hyperparameters(seed=6).noise)
        assert device.status().noise == Hyperparameters(seed=6).noise


@pytest.mark.parametrize(("url", "uart"), [("sim", False), ("sim:", False), ("sim:uart", True)])
def test_simulator_is_loaded_on_use(url, uart, monkeypatch):
    made = []

    class SimPort(DirectPort):
        def __init__(self, config, uart=False):
            made.append((config, uart))
            super().__init__(ReferenceDevice(config))

    module = types.SimpleNamespace(SimPort=SimPort)
    monkeypatch.setitem(sys.modules, "qstep_sim.port", module)
    with qstep.open(url, CONFIG) as device:
        device.apply(walk(10))
    assert made == [(CONFIG, uart)]


FORMS = "it must be model:, sim:, sim:uart, serial:PORT"
SOCKET = "its socket must be socket://HOST:PORT, PORT from 0"
BUILD = "and must be 16 lower-case hexadecimal digits"
NONE = "is None; it must be a Config"
SIZES = {"states": 25, "actions": 4}
DICT = r"is \{'states': 25, 'actions': 4\}; it must be a Config"
UNOPENED = "cannot be opened at 3000000 baud"
BAD_NAMES = "", "models", "model:fast", "sim:fast", "serial", "serial:", "/dev/ttyUSB1"
NO_TEXT = None, 5, b"model:"
BAD_SOCKETS = "socket://x", "socket://", "socket://:7", "socket://x:65536", "socket:x:7"
BAD_BUILDS = "xyz", "", "001122334455667788", "00112233445566AB", "0" * 15


@pytest.mark.parametrize(
    ("url", "config", "error", "text"),
    [
        *((url, CONFIG, ConfigError, f"^device is {url!r}; {FORMS}") for url in BAD_NAMES + NO_TEXT),
        *((url, None, ConfigError, NONE) for url in ("model:", "sim:", "serial:/dev/absent")),
        *((url, SIZES, ConfigError, DICT) for url in ("model:", "sim:", "serial:/dev/absent")),
        *((f"serial:{name}", CONFIG, ConfigError, SOCKET) for name in BAD_SOCKETS),
        *(
            (url, CONFIG, ConfigError, f"^device is '{re.escape(url)}'; its build is '{build}' {BUILD}$")
            for before in ("?", "?baud=115200&", "?baud=115200?")
            for build in BAD_BUILDS
            for url in [f"serial:/dev/absent{before}build={build}"]
        ),
        *(
            (f"serial:/dev/absent?baud={baud}", CONFIG, ConfigError,
             f"its baud is '{baud}' and must be from 1 to 999999999")
            for baud in ("", "0", "fast", "-9600", "9600.5", "1000000000")
        ),
        *(
            (f"serial:{name}", CONFIG, LinkError, f"{re.escape(name)}: {UNOPENED}")
            for name in ("loop://x?y=1", "nonsense://x", "/dev/null", "/dev/absent")
        ),
        ("serial:\0", CONFIG, LinkError, UNOPENED),
    ],
)  # fmt: skip
def test_what_names_no_device_is_refused(url, config, error, text):
    with pytest.raises(error, match=text):
        qstep.open(url, config)


def open_reference(config):
    return LinkDevice(DirectPort(ReferenceDevice(config)), config)


@pytest.mark.parametrize("make", [ModelDevice, open_reference])
def test_what_is_of_another_type_is_refused_before_anything_is_changed(make):
    with make(CONFIG) as device:
        device.apply(walk(10))
        table, status = device.read(), device.status()
        for wrong in (None, (1, 2), "text"):
            with pytest.raises(TransitionError, match=r"make them with Transitions\.from_arrays"):
                device.apply(wrong)
            with pytest.raises(ConfigError, match=r"hyperparameters are .*; they must be Hyper"):
                device.configure(wrong)
            with pytest.raises(ConfigError, match=r"noise is .*; it must be a NoiseState"):
                device.set_noise(wrong)
            with pytest.raises(TableError):
                device.load(wrong)
        assert np.array_equal(device.read(), table)
        assert device.status() == status


def test_a_closed_model_answers_nothing():
    device = qstep.open("model", CONFIG)
    device.close()
    device.close()
    noise, table = Hyperparameters().noise, np.zeros((25, 4), np.int32)
    for use in (
        device.read,
        device.clear,
        device.status,
        lambda: device.apply(walk(1)),
        lambda: device.load(table),
        lambda: device.configure(Hyperparameters()),
        lambda: device.set_noise(noise),
    ):
        with pytest.raises(ClosedError, match="the model is closed; open another"):
            use()


@pytest.mark.parametrize(
    "query", ["?build=0011223344556677", "?baud=115200&build=0011223344556677"]
)
def test_serial_device_of_another_build_is_refused(query):
    with (
        pty_pair() as (master, name),
        serving(master),
        pytest.raises(ConfigMismatchError, match="build is 0000000000000000, not 0011223344556677"),
    ):
        qstep.open(f"serial:{name}{query}", CONFIG)


def test_question_mark_in_the_name_of_a_port_belongs_to_the_port(monkeypatch):
    asked = []

    class Absent:
        def __init__(self, url, baud):
            asked.append((url, baud))
            raise LinkError("absent")

    monkeypatch.setattr("qstep.device.link.ports.SerialPort", Absent)
    name = "socket://localhost:7000?logging=debug"
    for options in ("", "?baud=9600", "?build=0011223344556677&baud=9600"):
        with pytest.raises(LinkError, match="absent"):
            qstep.open(f"serial:{name}{options}", CONFIG)
    assert asked == [(name, CONFIG.link.baud), (name, 9600), (name, 9600)]


@pytest.mark.parametrize("error", [None, ValueError("not supported")])
def test_serial_port_asks_for_low_latency_and_does_without(error, monkeypatch):
    asked = []

    def set_low_latency_mode(self, on):
        asked.append(on)
        if error:
            raise error

    monkeypatch.setattr(serial.Serial, "set_low_latency_mode", set_low_latency_mode, raising=False)
    with pty_pair() as (_, name):
        SerialPort(name, 115200).close()
    assert asked == [True]


def test_importing_qstep_loads_neither_numba_nor_the_simulator():
    code = "import sys, qstep; assert not {'numba', 'serial', 'qstep_sim'} & set(sys.modules)"
    assert os.spawnl(os.P_WAIT, sys.executable, sys.executable, "-c", code) == 0


@contextmanager
def serving(descriptor):
    """Act as a reference device on a file descriptor until the block ends."""
    device = ReferenceDevice(CONFIG)
    stop = threading.Event()

    def serve():
        while not stop.is_set():
            if select.select([descriptor], [], [], 0.02)[0]:
                data = os.read(descriptor, 4096)
                os.write(descriptor, device.receive(data))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield device
    finally:
        stop.set()
        thread.join()


@contextmanager
def pty_pair():
    pty = pytest.importorskip("pty")
    tty = pytest.importorskip("tty")
    master, slave = pty.openpty()
    tty.setraw(slave)
    try:
        yield master, os.ttyname(slave)
    finally:
        os.close(master)
        os.close(slave)


def test_serial_device_behind_a_pty():
    batch = walk()
    with (
        pty_pair() as (master, name),
        serving(master) as reference,
        qstep.open(f"serial:{name}?baud=115200", CONFIG) as device,
    ):
        assert isinstance(device, LinkDevice)
        assert device._session.baud == 115200
        assert device.build == 16 * "0"
        device.apply(batch)
        assert np.array_equal(device.read(), reference.table)
    assert reference.applied == len(batch)
    with pytest.raises(LinkError, match="cannot be written"):
        device.read()


def test_serial_port_sends_a_break(monkeypatch):
    levels = []
    with pty_pair() as (_, name):
        port = SerialPort(name, 115200)
        monkeypatch.setattr(
            port._serial,
            "_update_break_state",
            lambda: levels.append((port._serial.break_condition, time.monotonic())),
        )
        port.send_break()
        monkeypatch.undo()
        port.send_break()  # a pty ignores it
        port.close()
        port.send_break()
    (on, began), (off, ended) = levels
    assert (on, off) == (True, False)
    assert ended - began > 20 / 9600


def test_serial_port_is_not_shared():
    with pty_pair() as (_, name):
        port = SerialPort(name, 115200)
        with pytest.raises(LinkError, match=r"cannot be opened at 115200 baud: .*lock"):
            SerialPort(name, 115200)
        port.close()
        port.close()


def test_serial_port_reads_nothing_after_the_timeout():
    with pty_pair() as (master, name):
        port = SerialPort(name, 115200)
        assert port.read(0.05) == b""
        os.write(master, b"abc")
        assert port.read(5.0) == b"abc"
        port.set_baud(9600)
        assert port.baud == 9600
        with pytest.raises(LinkError, match="cannot be set to -1 baud"):
            port.set_baud(-1)
        port.close()
        with pytest.raises(LinkError, match="cannot be read"):
            port.read(0.0)
        with pytest.raises(LinkError, match="cannot be written"):
            port.write(b"x")


def test_serial_device_behind_a_socket():
    batch = walk()
    with socket.create_server(("localhost", 0)) as server:
        url = f"serial:socket://localhost:{server.getsockname()[1]}"
        accepted = []
        thread = threading.Thread(target=lambda: accepted.append(server.accept()[0]))
        thread.start()
        port = SerialPort(url.removeprefix("serial:"), 3_000_000)
        thread.join()
        with (
            accepted[0] as connection,
            serving(connection.fileno()) as reference,
            LinkDevice(port, CONFIG) as device,
        ):
            device.apply(batch)
            assert np.array_equal(device.read(), reference.table)


# pyserial leaves a socket to the garbage collector if the other end has already closed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_socket_that_hangs_up_is_a_link_error():
    with socket.create_server(("localhost", 0)) as server:
        port = SerialPort(f"socket://localhost:{server.getsockname()[1]}", 3_000_000)
        server.accept()[0].close()
        with pytest.raises(LinkError, match=r"cannot be (read|written)"):
            LinkDevice(port, CONFIG)


def test_serial_port_that_takes_no_data_or_cannot_be_closed_says_so(monkeypatch):
    def fails(error):
        def call(*_):
            raise error

        return call

    with pty_pair() as (_, name):
        port = SerialPort(name, 115200)
        with monkeypatch.context() as patch:
            patch.setattr(port._serial, "write", fails(serial.SerialTimeoutException()))
            with pytest.raises(DeadlineError, match=f"{name}: accepted no data for 11 s"):
                port.write(b"x")
            patch.setattr(port._serial, "close", fails(OSError("gone")))
            with pytest.raises(LinkError, match=f"{name}: cannot be closed: gone"):
                port.close()
        port.close()
