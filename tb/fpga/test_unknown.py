"""In a four-state simulation of the netlist, no output is unknown after reset."""

import random
import re
import shutil
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tb.fpga.netlists import cells, device_before_flip_flops
from tb.reference_device import ReferenceDevice

from qstep._io import workers as processes
from qstep.device.link.frames import encode_frame
from qstep.device.link.records import encode_records
from qstep.errors import BuildError
from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config, Link
from qstep.spec.protocol import RecordLayout, Request, max_payload
from qstep_fpga.families import FAMILIES

pytestmark = [
    pytest.mark.synth,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed"),
]

CONFIG = Config(25, 4, link=Link(buffer_bytes=512))
BENCH = Path(__file__).with_name("qs_unknown_bench.v")


@dataclass
class Judgement:
    """The output of Icarus: clocks with an unknown output, and the bytes sent by the device."""

    unknown: list[str]
    sent: bytes


def stimulus() -> bytes:
    """Return requests that fit within the credit, and whose answers do not depend on timing."""
    rng = random.Random(5)
    columns: dict[str, Any] = {
        "state": [rng.randrange(CONFIG.states) for _ in range(24)],
        "action": [rng.randrange(CONFIG.actions) for _ in range(24)],
        "next_state": [rng.randrange(CONFIG.states) for _ in range(24)],
        "reward": [rng.uniform(-100, 100) for _ in range(24)],
        "terminated": [rng.random() < 0.2 for _ in range(24)],
    }
    transitions = Transitions.from_arrays(CONFIG, **columns)
    layout, limit = RecordLayout.raw(CONFIG), max_payload(CONFIG.link.buffer_bytes)
    ((steps, _),) = encode_records(layout, transitions, transitions.reward_raw, limit)
    requests: list[tuple[Request, bytes | memoryview]] = [
        (Request.CONFIGURE, struct.pack("<HHB", 3277, 2949, 2)),
        (Request.NOISE, struct.pack("<II", 12345, 678)),
        (Request.CLEAR, b""),
        (Request.APPLY_RAW, steps),
        (Request.READ, struct.pack("<HBH", 0, 0, 40)),
        (Request.STATUS, b""),
    ]
    frames = [encode_frame(Request.HELLO, 0, 0, b"abcd")]
    frames += [encode_frame(kind, seq, 2, payload) for seq, (kind, payload) in enumerate(requests)]
    return b"\0" + b"".join(frames)


def judge(netlist: Path, family: str, sent: bytes, folder: Path) -> Judgement:
    """Return the result of the bench on a netlist."""
    (folder / "stimulus.hex").write_text(sent.hex("\n"), encoding="ascii")
    models = []
    for path in cells(family):
        # Icarus Verilog 11 cannot read this module, which no netlist uses.
        text = re.sub(r"module TRELLIS_COMB\(.*?endmodule", "", path.read_text("utf-8"), flags=re.S)
        models.append(folder / path.with_suffix(".v").name)
        models[-1].write_text(text, encoding="utf-8")
    # Icarus Verilog 11 cannot read default values of ports either.
    options = ["-g2012", "-DNO_ICE40_DEFAULT_ASSIGNMENTS", "-s", BENCH.stem]
    options += [f"-P{BENCH.stem}.Count={len(sent)}", "-o", "bench.vvp"]
    processes.run(["iverilog", *options, BENCH, netlist, *models], BuildError, folder)
    said = processes.run(["vvp", "-n", "bench.vvp"], BuildError, folder)
    unknown = re.findall(r"^unknown .*", said, re.M)
    answer = bytes(int(word, 16) for word in re.findall(r"^sent ([0-9a-f]{2})$", said, re.M))
    return Judgement(unknown, answer)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_output_is_unknown_after_reset(family: str, tmp_path: Path) -> None:
    netlist = device_before_flip_flops(family, CONFIG)
    seen = judge(netlist, family, stimulus(), tmp_path)
    assert not seen.unknown
    assert seen.sent == ReferenceDevice(CONFIG).receive(stimulus())


def test_a_register_that_nobody_sets_is_found_on_an_output(tmp_path: Path) -> None:
    # No reset changes the session's epoch, so without a power-up value, the epoch stays unknown.
    netlist = device_before_flip_flops("ecp5", CONFIG, power_up=False)
    unknown = judge(netlist, "ecp5", stimulus(), tmp_path).unknown
    assert any(re.search("tx_valid 1 tx_data [01]*x", line) for line in unknown)
