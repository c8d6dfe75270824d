"""Log messages of the driver, the link and the session, and the `-v` option of every command."""

import logging
import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner
from tb.reference_device import ReferenceDevice
from tb.sw.lossy_port import DirectPort, Silent
from tb.sw.session_bench import CONFIG, PATIENCE, transitions
from tb.sw.test_cli import COMMANDS
from tb.sw.timed_port import TimedPort

from qstep import cli
from qstep.cli._streams import verbose_option
from qstep.device.lane import LinkDevice
from qstep.device.link.session import RETRIES, Session
from qstep.errors import DeadlineError
from qstep.spec.protocol import Request


def said(caplog: pytest.LogCaptureFixture, name: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == name]


def test_session_says_when_it_opens_and_what_it_sent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "qstep")
    port = DirectPort(ReferenceDevice(CONFIG))
    device = LinkDevice(port, CONFIG, PATIENCE)
    device.apply(transitions(300))
    device.close()
    messages = said(caplog, "qstep.device.link.session")
    assert re.fullmatch(r"session opened: epoch [0-9a-f]{8}, 0 transitions applied", messages[0])
    sent = sum(len(data) for data in port.written)
    assert re.fullmatch(
        rf"closed after .* s: {sent} bytes sent \(.*/s\), \d+ received \(.*/s\), 0 retries, 0 gaps; "
        "300 transitions applied since the device's reset",
        messages[-1],
    )
    steps = [re.search(r"APPLY_CODED: .* (\d+) transitions", message) for message in messages]
    assert sum(int(step[1]) for step in steps if step) == 300
    (rate,) = said(caplog, "qstep.device.lane")
    assert re.fullmatch(r"300 transitions in .* s, .*/s", rate)


def test_retries_are_said_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "qstep")
    port = Silent(ReferenceDevice(CONFIG), 100)
    device = LinkDevice(port, CONFIG, PATIENCE)
    port.frames = 0
    with pytest.raises(DeadlineError):
        device.clear()
    device.close()
    again = [
        m for m in said(caplog, "qstep.device.link.session") if m.startswith("no answer to CLEAR")
    ]
    assert [message.split(": ")[1] for message in again] == [
        f"sent again, {k} of {RETRIES}" for k in range(1, RETRIES + 1)
    ]
    assert f" {RETRIES} retries, 0 gaps;" in said(caplog, "qstep.device.link.session")[-1]
    assert "payloads are now at most 64 bytes" in said(caplog, "qstep.device.link.window")


def test_gaps_are_said_and_counted(
    session: Session, timed_port: TimedPort, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "qstep")
    timed_port.device.gaps[Request.CLEAR] = 2
    session.send(Request.CLEAR)
    session.drain()
    session.report()
    gaps = [m for m in said(caplog, "qstep.device.link.session") if m.startswith("gap: ")]
    assert [message.split(" ", 2)[2] for message in gaps] == [
        f"bytes sent again, {k} of {RETRIES}" for k in (1, 2)
    ]
    assert " 0 retries, 2 gaps;" in said(caplog, "qstep.device.link.session")[-1]


def test_a_good_line_is_logged_by_its_beginning_and_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "qstep")
    device = LinkDevice(DirectPort(ReferenceDevice(CONFIG)), CONFIG, PATIENCE)
    device.apply(transitions(300))
    device.close()
    assert len(caplog.records) == 2


def test_without_a_listener_nothing_is_printed() -> None:
    code = (
        "import qstep, logging\n"
        "logging.getLogger('qstep.device.link.session').error('unheard')\n"
        "logging.getLogger('other').error('heard')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "heard\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_verbose(name: str) -> None:
    group = click.Context(cli._qstep, info_name="qstep")
    command = cli._qstep.get_command(group, name)
    assert command is cli._qstep.get_command(group, name)
    assert sum("-v" in parameter.opts for parameter in command.params) == 1  # type: ignore[union-attr]


@verbose_option
@click.command("talk")
def talk() -> None:
    """Log a message at every level."""
    for level in (logging.DEBUG, logging.INFO, logging.WARNING):
        logging.getLogger("qstep.device.link").log(level, "level %d", level)


@pytest.mark.parametrize(
    ("words", "levels"),
    [("", []), ("-v", [20, 30]), ("-vv", [10, 20, 30]), ("-v -v -v", [10, 20, 30])],
)
def test_verbosity_decides_what_is_said_on_stderr(words: str, levels: list[int]) -> None:
    result = CliRunner().invoke(talk, words.split())
    lines = result.stderr.splitlines()
    assert [int(line.split()[-1]) for line in lines] == levels
    pattern = r"\d\d:\d\d:\d\d\.\d{3} qstep\.device\.link: level \d\d"
    assert all(re.fullmatch(pattern, line) for line in lines)
    assert result.stdout == ""
    logger = logging.getLogger("qstep")
    assert (logger.level, len(logger.handlers)) == (logging.NOTSET, 1)  # its handler is removed
