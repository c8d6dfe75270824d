"""``qstep generate --bus axi`` writes a complete design and its register files."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tb.bus.axi_runs import AXI_SENSORS
from tb.generated_bench import run_bench

from qstep import Acting, Config
from qstep.cli.generate import command
from qstep.errors import ConfigError
from qstep.spec.integer_worlds import MOUNTAIN_CAR
from qstep.spec.tiles import Tiles
from qstep_rtl.bus.generate import generate_axi
from qstep_rtl.bus.registers import AGENTS, LANE, header_name, page_name, registers
from qstep_rtl.bus.start import BENCH, FIRST, INSTANCE, start_files
from qstep_rtl.bus.start import CONFIG as CONSTANTS
from qstep_rtl.sources import RTL
from qstep_sim import verilator

pytestmark = pytest.mark.rtl

CONFIG = Config(states=25, actions=3, format="Q4.4", loop_depth=2)
CAR = Config(
    *(16, 3),
    acting=Acting(
        agents=2,
        world=MOUNTAIN_CAR.env_id,
        tiles=Tiles.from_dict({**MOUNTAIN_CAR.tiles.to_dict(), "tiles": 3, "tilings": 4}),
    ),
    planes=4,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the command's output."""
    path = tmp_path_factory.mktemp("axi")
    words = ["--bus", "axi", "--stream-bytes", "8", "--states", "25", "--actions", "3"]
    words += ["--format", "Q4.4", "--loop-depth", "2", "--out", str(path)]
    answer = CliRunner().invoke(command, words, catch_exceptions=False)
    assert answer.exit_code == 0
    named = ("qstep_axi.sv", header_name(LANE), page_name(LANE), INSTANCE, BENCH, FIRST)
    for name in (*named, "manifest.json"):
        assert f"{path / name}" in answer.output
    assert f" SystemVerilog sources, listed in {path / 'qstep_axi.f'}\n" in answer.output
    return path


def test_the_design_is_whole_and_the_manifest_says_what_it_is(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["config"], manifest["digest"]) == (CONFIG.to_dict(), CONFIG.digest)
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    (file,) = {top["file"] for top in manifest["tops"].values()}
    answer = subprocess.run(
        [
            *(str(verilator.find()), "--lint-only", "-Wall", "--top-module", "qstep_axi"),
            *(*manifest["sources"], file),
        ],
        cwd=folder,
        env=verilator.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    text = (folder / file).read_text(encoding="utf-8")
    for name, port in manifest["tops"]["qstep_axi"]["ports"].items():
        bits = f"[{port['bits'] - 1}:0] " if port["bits"] > 1 else ""
        assert f"{port['direction']} logic {bits}{name}" in text


def test_header_and_page_name_each_register(folder: Path) -> None:
    """The C compiler and the testbench agree on every register offset."""
    offsets = "".join(
        f'_Static_assert(offsetof({LANE}_t, {name}) == {register.address}, "{name}");\n'
        for name, register in registers(LANE).items()
    )
    source = f'#include <stddef.h>\n#include "{header_name(LANE)}"\n{offsets}'
    check = folder / "offsets.c"
    check.write_text(source, encoding="utf-8")
    assert subprocess.run(["cc", "-std=c11", "-fsyntax-only", check], check=False).returncode == 0
    wrong = source.replace("== 128", "== 132")
    assert wrong != source
    check.write_text(wrong, encoding="utf-8")
    answer = subprocess.run(
        ["cc", "-std=c11", "-fsyntax-only", check], capture_output=True, check=False
    )
    assert answer.returncode != 0
    assert (folder / page_name(LANE)).is_file()
    pages = "".join(
        path.read_text(encoding="utf-8")
        for path in (folder / page_name(LANE)).parent.glob("content/*.html")
    )
    assert all(name in pages for name in registers(LANE))


@pytest.mark.parametrize(
    ("config", "tables"),
    [
        (Config(4, 3, acting=Acting(2)), 1),
        (Config(4, 3, acting=Acting(2, "double-q")), 2),
        (CAR, 4),
    ],
    ids=["q-learning", "double-q", "planes"],
)
def test_two_agents_have_as_many_tables_each_as_their_learner_asks(
    config: Config, tables: int
) -> None:
    header = start_files(config, AGENTS, "qstep_axi", {}, 4)[f"{CONSTANTS}.h"].decode()
    assert f"#define QSTEP_TABLES {tables}\n" in header


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "stream_bytes"),
    [
        (CONFIG, 8),
        (Config(4, 3, "Q4.4", acting=Acting(2, "double-q", world="pins")), 4),
        (Config(4, 3, acting=Acting(2, world="pins"), planes=10), 16),
        (AXI_SENSORS, 8),
        (Config(4, 3, acting=Acting(3, shared_table=True, outcomes=2, starts=2)), 16),
        (CAR, 4),
    ],
    ids=["lane", "pins", "pins-planes", "pins-tiles", "table", "planes"],
)
def test_bench_passes(config: Config, stream_bytes: int, tmp_path: Path) -> None:
    generate_axi(config, tmp_path, stream_bytes)
    assert run_bench("qstep_axi", tmp_path) == (0, "PASS")


@pytest.mark.slow
def test_bench_finds_another_digest(tmp_path: Path) -> None:
    generate_axi(CONFIG, tmp_path)
    constants = tmp_path / f"{CONSTANTS}.vh"
    text = constants.read_text(encoding="utf-8")
    constants.write_text(text.replace(CONFIG.digest[:8], "00000000"), encoding="utf-8")
    code, printed = run_bench("qstep_axi", tmp_path)
    assert code != 0
    assert printed == f"FAIL: digest 4 is {int(CONFIG.digest[:8], 16)}, not 0"


def test_nothing_that_is_generated_is_kept_beside_its_description() -> None:
    there = sorted(path.name for path in (RTL / "bus").glob("*_regs*"))
    assert there == sorted(f"{name}.rdl" for name in (AGENTS, "qs_bus_regs", LANE))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"acting": Acting(agents=2), "lanes": 2}, "lanes is 2; it must be 1 with --bus"),
        (
            {"acting": Acting(world="live")},
            "acting.world is 'live'; with --bus, use 'pins' for an external world",
        ),
        (
            {"acting": Acting(clock_hz=1_000_000)},
            "acting.clock_hz is 1000000; with --bus, agents run on the bus clock",
        ),
        ({"acting": Acting(agents=17)}, "acting has 17 agents; hardware has 1 to 16"),
    ],
    ids=["lanes", "live", "clock", "room"],
)
def test_what_no_bus_can_have_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        generate_axi(Config(states=4, actions=2, **changes), tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_odd_beat_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="stream_bytes is 5; it must be 4, 8 or 16"):
        generate_axi(CONFIG, tmp_path, 5)


def test_without_peakrdl_the_command_says_how_to_get_it(tmp_path: Path) -> None:
    words = ["generate", "--bus", "axi", "--states", "4", "--actions", "2", "--out", str(tmp_path)]
    code = f"""import sys
sys.modules["systemrdl"] = None
sys.argv[1:] = {words!r}
import qstep_command
qstep_command.main()"""
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert answer.returncode != 0
    assert "[bus]'" in answer.stderr
    assert "Traceback" not in answer.stderr
