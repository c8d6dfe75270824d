"""Blocks that stand still in the simulation: nobody outside can tell."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tb.generated import generated
from tb.unit.requests import RequestMaker

from qstep.config import Config
from qstep.link.frames import encode_frame
from qstep.protocol import OVERHEAD, Request
from qstep_rtl import sources
from qstep_sim.build import compile_library
from qstep_sim.clocked import clocked
from qstep_sim.port import SimPort
from qstep_sim.sleep import sleeping

CONFIG = Config(states=25, actions=3, format="Q10.10", loop_depth=3)


def rewritten(device: str) -> str:
    """Return a generated device as it is simulated."""
    return sleeping(clocked(device))


def library(folder: Path, change: Callable[[str], str], trace: bool = False) -> Path:
    """Return a simulated device of which `change` has rewritten the Verilog."""
    device = folder / "qstep_device.v"
    device.write_text(change(generated(CONFIG)["qstep_device"]), encoding="utf-8")
    verilog = [*sources.paths(), device]
    return compile_library(verilog, "qstep_device", trace=trace, optimise=False)


def conversation(path: Path) -> list[tuple[bytes, int]]:
    """Return what a device says to a random host, byte for byte and with the clock of each answer."""
    rng = random.Random(3)
    maker = RequestMaker(CONFIG, rng)
    port = SimPort(CONFIG, library=path)
    said = []

    def listen() -> bool:
        said.append((port.read(0), port.clocks))
        return said[-1][0] != b""

    # Each reset and each session count; the first session is the second.
    for count in range(2, 2 + 2 * 12, 2):
        nonce = rng.randbytes(4)
        epoch = int.from_bytes(nonce, "little") ^ count
        port.write(encode_frame(Request.HELLO, 0, 0, nonce))
        listen()
        seq = 0
        for _ in range(5):
            while listen():
                pass
            credit = CONFIG.link.buffer_bytes
            while True:
                kind, payload = maker.request(wrong=0.03)
                credit -= OVERHEAD + len(payload)
                if credit < 0:
                    break
                port.write(encode_frame(kind, seq, epoch, payload))
                seq += 1
            listen()
        # In the middle of whatever is going on.
        port.reset()
    port.close()
    return said


def causes(device: str) -> dict[str, str]:
    """Return what keeps a device awake, and the device without that cause."""
    expression = re.search(r"^  assign awake = (.*);$", device, re.MULTILINE)
    assert expression is not None
    terms, found = ["awake"], []
    begin = device.rindex("\nmodule ", 0, expression.start())
    scope = device[begin : device.index("\nendmodule", begin)]
    while terms:
        term = terms.pop()
        parts = re.search(rf"^  assign {re.escape(term)} = (.*) \| (.*);$", scope, re.MULTILINE)
        if parts is None:
            found.append(term)
        else:
            terms += [parts[1], parts[2]]
    return {
        cause: device.replace(
            expression[0], f"  assign awake = {' | '.join(set(found) - {cause})};"
        )
        for cause in found
    }


@pytest.fixture(scope="module")
def never_asleep(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[bytes, int]]:
    """Return the conversation with a device whose blocks all run in every clock."""
    return conversation(library(tmp_path_factory.mktemp("awake"), str))


@pytest.mark.rtl
def test_device_that_sleeps_says_the_same_in_the_same_clocks(
    tmp_path: Path, never_asleep: list[tuple[bytes, int]]
) -> None:
    assert sum(len(answer) for answer, _ in never_asleep) > 5000
    assert conversation(library(tmp_path, rewritten)) == never_asleep


@pytest.mark.rtl
@pytest.mark.parametrize("number", range(3))
def test_device_that_oversleeps_is_noticed(
    tmp_path: Path, never_asleep: list[tuple[bytes, int]], number: int
) -> None:
    def oversleeping(device: str) -> str:
        without = causes(device)
        # Not the reset: it lasts several clocks here, and ends every APPLY in the first.
        assert without.pop("rst")
        assert len(without) == 3
        return rewritten(list(without.values())[number])

    assert conversation(library(tmp_path, oversleeping)) != never_asleep


@pytest.mark.rtl
def test_direct_evaluation_says_what_verilators_own_loop_says(
    tmp_path: Path, never_asleep: list[tuple[bytes, int]]
) -> None:
    # A traced build calls the public Vqstep::eval, any other calls its parts.
    assert conversation(library(tmp_path, str, trace=True)) == never_asleep


@pytest.mark.unit
def test_only_a_device_can_sleep() -> None:
    with pytest.raises(ValueError, match="no signal 'awake'"):
        sleeping("module lamp(clk);\nendmodule\n")


@pytest.mark.unit
def test_sleepless_registers_keep_their_clock() -> None:
    for device in generated(CONFIG).values():
        text = rewritten(device)
        asleep = re.findall(r"@\(posedge clk iff .* begin\n(?:    .*\n)*", text)
        assert len(asleep) > 80
        assert not [
            process for process in asleep if re.search(r" (spent|low\d|rested) <=", process)
        ]
