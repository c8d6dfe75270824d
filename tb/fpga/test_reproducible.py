"""The same sources and tools give the same bytes in any folder and any process."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = pytest.mark.synth

# The whole design would take minutes without testing more about folders and processes.
# `tb/unit/test_generate.py` tests the generated Verilog.
LANE = """
import shutil
from qstep.spec.config import Config
from qstep_fpga.board import load
from qstep_fpga.netlist import synthesise_lane

shutil.copy(synthesise_lane(load("icebreaker"), Config(2, 2)), "made")
"""

COUNTER = """
import sys
from pathlib import Path
from qstep_fpga import tools
from qstep_fpga.board import load
from qstep_fpga.families import FAMILIES
from qstep_fpga.placement import Design, pack, place

Path("board.v").write_text('''
module board (input clock, input rx, output tx, output led, input button);
  reg [21:0] count_q = 0;
  always @(posedge clock) count_q <= button ? 0 : count_q + 1;
  assign led = count_q[21];
  assign tx = rx;
endmodule
''')
board = load(sys.argv[1])
script = f"read_verilog board.v; {FAMILIES[board.family].synthesis} -top board -json netlist.json"
tools.yosys(script, Path())
pack(board, place(Design(board, Path("netlist.json"), board.clock_hz), 1), Path("made"))
"""


BUILD = """
import sys
import qstep_command

sys.argv[1:] = ["build", sys.argv[1], "--seeds", "1", "--out", "built", "--accept-unmet-clock"]
qstep_command.main()
"""

BOARDS = ["icebreaker", "ulx3s-12f", "tang-nano-9k"]  # one per family


def start(script: str, place: Path, seed: int, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a script in a folder with its own cache there; `seed` determines the order of sets."""
    place.mkdir(parents=True, exist_ok=True)
    own = {"PYTHONHASHSEED": str(seed), "QSTEP_CACHE": str(place / "cache")}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(command, cwd=place, env={**os.environ, **own})


def built(place: Path) -> dict[str, bytes]:
    """Return the bitstream, report and configuration of a board."""
    files = {path.name: path.read_bytes() for path in (place / "built").iterdir()}
    assert len(files) == 3
    assert max(map(len, files.values())) > 10_000
    return files


def made_twice(script: str, folder: Path, *arguments: str) -> list[bytes]:
    """Return a script's output from two folders and two processes with different set orders."""
    folders = [folder / "a", folder / "another" / "folder"]
    running = [
        start(script, place, seed, *arguments) for seed, place in enumerate(folders, start=1)
    ]
    assert [process.wait() for process in running] == [0, 0]
    return [(place / "made").read_bytes() for place in folders]


@pytest.mark.slow
def test_two_builds_give_the_same_netlist(tmp_path: Path) -> None:
    first, second = made_twice(LANE, tmp_path)
    assert len(first) > 10_000
    assert first == second


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
def test_two_builds_give_the_same_bitstream(board: str, tmp_path: Path) -> None:
    first, second = made_twice(COUNTER, tmp_path, board)
    assert len(first) > 10_000
    assert first == second


@pytest.mark.rebuild
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("board", BOARDS)
def test_two_builds_of_a_board_give_the_same_bytes_also_if_one_is_stopped_again_and_again(
    board: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "a", tmp_path / "another" / "folder"
    began = time.monotonic()
    assert start(BUILD, first, 1, board).wait() == 0
    seconds = time.monotonic() - began
    rng = random.Random(board)
    stopped = 0
    for _ in range(5):
        with start(BUILD, second, 2, board) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0, seconds / 2))
            process.terminate()
        # Before the program has installed its handlers, the signal itself ends it.
        assert process.returncode in (0, 128 + signal.SIGTERM, -signal.SIGTERM)
        stopped += process.returncode != 0
    assert stopped
    assert start(BUILD, second, 3, board).wait() == 0
    assert built(first) == built(second)


def test_a_difference_between_folders_or_processes_is_seen(tmp_path: Path) -> None:
    for place_or_order in ("Path.cwd()", "{str(n) for n in range(99)}"):
        script = f"from pathlib import Path\nPath('made').write_text(str({place_or_order}))"
        first, second = made_twice(script, tmp_path / place_or_order[0])
        assert first != second
