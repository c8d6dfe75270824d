"""`qstep live` from the command line: who may open its page, and which options it rejects."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from bokeh.document import Document
from click.testing import CliRunner
from tb.sw.command_line import refused
from tb.sw.test_watch import Failing, watched

from qstep.cli.live import command
from qstep.errors import ConfigError, EnvironmentSpaceError, LinkError, ToolMissingError
from qstep.live.controller import Controller
from qstep.live.page import Page
from qstep.live.server import serve


class Program:
    """A running `qstep live` process, and the address that it prints."""

    def __init__(self, *options: str) -> None:
        code = "import qstep_command; qstep_command.main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "live", *options, "--no-browser"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.said = [self.process.stdout.readline() for _ in range(3)]
        found = re.search(r"http://127\.0\.0\.1:(\d+)/([\w-]{32})/$", self.said[1])
        if found is None:
            raise AssertionError(self.ends(signal.SIGKILL))
        self.address, self.port, self.token = found[0], int(found[1]), found[2]

    def ends(self, signal_number: int) -> tuple[int, str]:
        self.process.send_signal(signal_number)
        _, err = self.process.communicate(timeout=60)
        return self.process.returncode, err


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    made = Program("gridworld", "--speed", "10")
    yield made
    made.ends(signal.SIGTERM)


def answer(address: str, **headers: str) -> tuple[int, str]:
    """Return the status and body of the response to a request."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as page:
            return page.status, page.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, ""


def upgrade(program: Program, token: str, origin: str) -> int:
    """Return the status of the response to a WebSocket request."""
    headers = {
        "Host": f"127.0.0.1:{program.port}",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol": "bokeh, none",
        "Origin": origin,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection(("127.0.0.1", program.port), timeout=30) as line:
        line.sendall(f"GET {token}/ws HTTP/1.1\r\n{lines}\r\n".encode())
        return int(line.recv(4096).split()[1])


def test_program_says_what_it_learns_and_where(program: Program) -> None:
    assert program.said[0] == "gridworld on model: 8 agents, q-learning, Q4.12\n"
    assert program.said[1] == f"open {program.address}\n"


def test_page_is_for_who_has_the_token(program: Program) -> None:
    root = f"http://127.0.0.1:{program.port}"
    script = "static/js/bokeh.min.js"
    wrong = program.token[:-1] + ("A" if program.token[-1] != "A" else "B")
    assert answer(program.address)[0] == 200
    assert answer(program.address + script)[0] == 200
    for path in ("", f"{wrong}/", script, f"{wrong}/{script}", "ws", "autoload.js", "metadata"):
        assert answer(f"{root}/{path}")[0] == 404


def test_websocket_is_for_the_page_of_who_has_the_token(program: Program) -> None:
    own = f"http://127.0.0.1:{program.port}"
    token = f"/{program.token}"
    assert upgrade(program, token, own) == 101
    assert upgrade(program, "", own) == 404
    assert upgrade(program, "/another", own) == 404
    assert upgrade(program, token, "http://example.org") == 403
    assert upgrade(program, token, f"http://localhost:{program.port}") == 403


def test_other_addresses_of_this_computer_are_not_listened_to(program: Program) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", program.port), timeout=10)


def test_page_names_no_address_outside(program: Program) -> None:
    _, page = answer(program.address)
    assert "bokeh.min.js" in page
    found = re.findall(r"(?:https?:)?//([\w.-]+\.\w+)", page)
    assert set(found) <= {"127.0.0.1"}


@pytest.mark.slow
def test_next_program_has_another_token_and_no_scripts_from_elsewhere(program: Program) -> None:
    os.environ["BOKEH_RESOURCES"] = "cdn"  # scripts from Bokeh's servers
    try:
        other = Program("gridworld")
    finally:
        del os.environ["BOKEH_RESOURCES"]
    try:
        assert other.token != program.token
        assert f"{other.token}/static/js/bokeh.min.js" in answer(other.address)[1]
    finally:
        assert other.ends(signal.SIGINT) == (130, "stopped; nothing is kept\n")


def run(*words: str) -> Any:
    answer = CliRunner().invoke(command, [*words, "--no-browser"])
    if answer.exception is not None and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    return answer


def test_port_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port is {port}, which 127.0.0.1 refuses .*in use"):
            run("gridworld", "--port", str(port))


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ("nowhere", EnvironmentSpaceError, "nowhere: no such environment"),
        ("gridworld --speed 2000000", ConfigError, "speed is 2000000; .* from 0 to 1000000"),
        ("gridworld --epsilon 1.5", ConfigError, r"epsilon start is 1\.5; it must be from 0"),
        ("gridworld --alpha -1", ConfigError, r"alpha is -1\.0; it must be from 0 to 1"),
        ("gridworld --device usb:", ConfigError, "device is 'usb:'"),
        ("here.sv", ConfigError, "world is the circuit 'here.sv' and acting.world is None"),
        ("here.sv --max-episode-steps 9", SystemExit, "is for worlds with a transition table"),
        ("snake --max-episode-steps 9", SystemExit, "is for runs in which the device acts"),
        ("snake --env-kwargs observation=flood", ConfigError, "snake needs 'state'"),
        ("FrozenLake-v1 --env-kwargs slip=1", ConfigError, "takes no argument 'slip'"),
        ("snake --shared-table", SystemExit, "--shared-table is for runs in which the device acts"),
    ],
)
@pytest.mark.usefixtures("own_folder")
def test_an_unwatchable_run_is_refused(words: str, error: type[BaseException], text: str) -> None:
    refused(f"live {words} --no-browser", error, text)


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("qstep.live.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "bokeh.application", None)
    with pytest.raises(ToolMissingError, match=r"bokeh.* is not installed; run.*\[live\]'"):
        run("gridworld")


def test_browser_is_opened_unless_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)

    def served(*given: Any) -> None:
        given[-1]("http://127.0.0.1:1/t/")

    monkeypatch.setattr("qstep.live.server.serve", served)
    assert CliRunner().invoke(command, ["gridworld"]).exit_code == 0
    assert opened == ["http://127.0.0.1:1/t/"]
    assert run("FrozenLake-v1").exit_code == 0
    assert len(opened) == 1


@pytest.mark.slow
def test_unless_given_settings_are_those_of_qstep_train(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def served(controller: Controller, grid: Any, tiles: Any, headline: str, *_: Any) -> None:
        own, q = controller.view.settings, controller.view.q
        seen.append((own.alpha, own.gamma, headline, q.shape[1]))
        page = Document()
        Page(controller, grid, headline, tiles=tiles).fill(page)
        has_map = page.select_one({"name": "map"}) is not None
        assert has_map == headline.startswith("FrozenLake")

    monkeypatch.setattr("qstep.live.server.serve", served)
    run("FrozenLake-v1")
    run("FrozenLake-v1", "--alpha", "0.5", "--agents", "1", "--env-kwargs", "is_slippery=false")
    run("FrozenLake-v1", "--env-kwargs", "map_name=8x8")
    run("cartpole")
    run("Blackjack-v1", "--env-kwargs", "natural=true")
    run("CartPole-v1")
    assert seen == [
        (0.0305, 0.99, "FrozenLake-v1 on model: 8 agents, q-learning, Q2.14", 16),
        (0.5, 0.99, "FrozenLake-v1 on model: 1 agent, q-learning, Q2.14", 16),
        (0.0305, 0.99, "FrozenLake-v1 on model: 8 agents, q-learning, Q2.14", 64),
        (0.1, 0.99, "cartpole on model: the host acts, Q8.8", 2048),
        (0.5, 0.9, "Blackjack-v1 on model: the host acts, Q8.8", 704),
        (0.1, 0.99, "CartPole-v1 on model: 8 agents, q-learning, Q8.8", 8),
    ]


@pytest.mark.slow
def test_device_that_fails_ends_the_program_with_its_error() -> None:
    with watched(stand_in=Failing) as (controller, _):
        controller.play()
        with pytest.raises(LinkError, match="the port is gone"):
            serve(controller, None, None, "a failure", None, 0, lambda address: None)
