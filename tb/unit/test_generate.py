"""`qstep generate` writes the same bytes for the same input, and a correct manifest."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import qstep
from qstep.cli.generate import command
from qstep.errors import ConfigError, FileFormatError, QStepError
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep.spec.integer_worlds import CART_POLE
from qstep.spec.tiles import Tiles
from qstep_fpga import tools
from qstep_rtl import sources
from qstep_rtl.bus.generate import wrapper_paths
from qstep_rtl.bus.registers import AGENTS, LANE
from qstep_rtl.generate import MANIFEST_NAME, generate

pytestmark = pytest.mark.unit

CONFIG = Config(states=25, actions=3, format="Q4.4")

PORTS = {
    "qstep_device": {
        "clk": ("input", 1),
        "rst": ("input", 1),
        "rx_valid": ("input", 1),
        "rx_ready": ("output", 1),
        "rx_data": ("input", 8),
        "tx_valid": ("output", 1),
        "tx_ready": ("input", 1),
        "tx_data": ("output", 8),
        "divisor": ("output", 16),
        "line_break": ("input", 1),
        "build": ("input", 64),
    },
    "qstep_top": {
        "clk": ("input", 1),
        "rst": ("input", 1),
        "rx": ("input", 1),
        "tx": ("output", 1),
        "build": ("input", 64),
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the generated files for `CONFIG`."""
    path = tmp_path_factory.mktemp("generated")
    generate(CONFIG, path)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "4242"])
def test_generate_writes_the_same_bytes_in_another_process(
    folder: Path, tmp_path: Path, seed: str
) -> None:
    other = tmp_path / "deep" / "er"
    program = (
        "import sys; from pathlib import Path; from qstep.spec.config import Config;"
        "from qstep_rtl.generate import generate;"
        "generate(Config(25, 3, 'Q4.4'), Path(sys.argv[1]))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    subprocess.run([sys.executable, "-c", program, str(other)], check=True, env=environment)
    assert contents(other) == contents(folder)


@pytest.mark.slow
def test_generate_writes_other_bytes_for_another_configuration(
    folder: Path, tmp_path: Path
) -> None:
    generate(Config(states=26, actions=3, format="Q4.4"), tmp_path)
    mine, others = contents(folder), contents(tmp_path)
    assert mine.keys() == others.keys()
    assert all(mine[name] != others[name] for name in mine)


def test_manifest_names_config_digest_and_versions(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST_NAME).read_text(encoding="utf-8"))
    assert Config.from_dict(manifest["config"]) == CONFIG
    assert manifest["digest"] == CONFIG.digest
    assert set(manifest["versions"]) == {"amaranth", "yosys"}
    assert all(re.match(r"\d+\.\d+", version) for version in manifest["versions"].values())


def test_manifest_checksums_are_those_of_the_files(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST_NAME).read_text(encoding="utf-8"))
    by_hand = [*sources.rtl_files(), *sources.includes()]
    files = [folder / "qstep_device.v", folder / "qstep_top.v", *by_hand]
    assert manifest["files"] == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }
    assert manifest["sources"] == [path.name for path in sources.rtl_files()]


def test_sources_are_all_the_systemverilog_there_is() -> None:
    there = {path.name for path in sources.RTL.rglob("qs_*.sv*")} - {"qs_replay.sv"}
    configs = [Config(4, 2, acting=Acting(agents=2), lanes=lanes) for lanes in (1, 2)]
    axi = [*wrapper_paths(LANE), *wrapper_paths(AGENTS)]
    lane, agents, farm = qstep.rtl_files(), *map(qstep.rtl_files, configs)
    learner = sources.fileset("planes")
    assert there == {path.name for path in [*farm, *axi, *learner, *sources.includes()]}
    assert set(lane) < set(agents) < set(farm)
    assert [files[-1].name for files in (lane, agents, farm)] == [
        *("qs_lane.sv", "qs_acting.sv", "qs_chain_node.sv")
    ]


def test_packages_come_before_what_uses_them() -> None:
    seen: set[str] = set()
    for path in qstep.rtl_files(Config(4, 2, acting=Acting(agents=2), lanes=2)):
        used = set(re.findall(r"\b(qs_\w+)::", sources.substance(path)))
        assert used <= seen, f"{path.name} comes before {used - seen}"
        seen.add(path.stem)
    assert {"qs_pkg", "qs_map_pkg", "qs_agents_pkg", "qs_chain_pkg"} < seen


@pytest.mark.slow
def test_a_circuit_is_among_the_files_whatever_its_language(tmp_path: Path) -> None:
    manifests = {}
    for world in ("my_world.v", "my_world.py"):
        circuit = tmp_path / world
        circuit.write_text("World = __import__('tb.sw.drowsy_world').sw.drowsy_world.World")
        config = Config(8, 3, acting=Acting(world=str(circuit)))
        manifests[world] = generate(config, tmp_path)
        checksum = hashlib.sha256(circuit.read_bytes()).hexdigest()
        assert manifests[world].files[world] == checksum
    assert manifests["my_world.v"].sources[-1] == "my_world.v"
    assert "my_world.py" not in manifests["my_world.py"].sources
    (tmp_path / "empty.py").touch()
    config = Config(8, 3, acting=Acting(world=str(tmp_path / "empty.py")))
    with pytest.raises(ConfigError, match=r"empty\.py'; it must hold a class World"):
        generate(config, tmp_path)


@pytest.mark.parametrize("top", PORTS)
def test_ports_are_those_of_the_contract_in_manifest_and_verilog(folder: Path, top: str) -> None:
    described = json.loads((folder / MANIFEST_NAME).read_text(encoding="utf-8"))["tops"][top]
    ports = {name: (p["direction"], p["bits"]) for name, p in described["ports"].items()}
    assert ports == PORTS[top]

    text = (folder / described["file"]).read_text(encoding="utf-8")
    body = re.search(rf"^module {top}\(.*?^endmodule", text, re.MULTILINE | re.DOTALL)
    assert body is not None
    declared = {
        name: (direction, int(high or 0) + 1)
        for direction, high, name in re.findall(
            r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", body[0], re.MULTILINE
        )
    }
    assert declared == PORTS[top]


def test_generated_files_share_no_module_and_hold_none_written_by_hand(folder: Path) -> None:
    modules: list[str] = []
    for name in ("qstep_device.v", "qstep_top.v"):
        modules += re.findall(r"^module (\S+?)\s*\(", (folder / name).read_text(), re.MULTILINE)
    assert len(modules) == len(set(modules))
    assert not {path.stem for path in sources.rtl_files()} & set(modules)


def test_generate_names_no_path_of_this_machine(folder: Path) -> None:
    home = str(Path(__file__).parents[2]).encode()
    assert all(home not in content for content in contents(folder).values())


@pytest.mark.slow
def test_generate_refuses_a_folder_that_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "taken"
    path.write_text("")
    with pytest.raises(FileFormatError, match="taken: cannot be created"):
        generate(CONFIG, path)


@pytest.mark.slow
def test_generate_leaves_no_file_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileFormatError, match=r"\.v: cannot be written: No space left"):
        generate(CONFIG, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_command_writes_the_files_and_says_so(folder: Path, tmp_path: Path) -> None:
    arguments = ["--states", "25", "--actions", "3", "--format", "Q4.4", "--out", str(tmp_path)]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    written = contents(tmp_path)
    assert written.items() >= contents(folder).items()
    sources = json.loads(written[MANIFEST_NAME])["sources"]
    listed = f"{len(sources)} SystemVerilog sources, listed in {tmp_path / MANIFEST_NAME}\n"
    assert listed in result.output
    for name in written.keys() - set(sources):
        assert name in result.output
    # The folder contains all modules below the top-level modules, and the manifest lists every file.
    files = json.loads(written[MANIFEST_NAME])["files"]
    assert written.keys() == files.keys() | {MANIFEST_NAME}
    for name, digest in files.items():
        assert hashlib.sha256(written[name]).hexdigest() == digest, name


@pytest.mark.parametrize(
    ("states", "acting", "message"),
    [
        (4, Acting(agents=17), "acting has 17 agents; hardware has 1 to 16, 16 a lane"),
        (16385, Acting(agents=3), "states is 16385 and a lane has 3 agents .* 2 to 16384 states"),
        (
            4,
            Acting(2, shared_table=True, world="live"),
            "agents that share a table need a world that is a table",
        ),
        (4, Acting(world="no.sv"), "acting.world is 'no.sv'; there is no such file in .* or .*rtl"),
    ],
    ids=["too-many", "too-many-states", "shared-live", "no-file"],
)
def test_agents_that_hardware_cannot_have_are_refused(
    states: int, acting: Acting, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        generate(Config(states=states, actions=2, acting=acting), tmp_path)


HASHED = Tiles.from_dict({**CART_POLE.tiles.to_dict(), "rows": 64})
FINE = Tiles.from_dict({**CART_POLE.tiles.to_dict(), "tiles": 255, "tilings": 16, "groups": [(0,)]})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"acting": Acting()},
         "planes is 8 and acting.world 'table'; hardware with several planes needs 'MountainCar-v0' or "
         "'CartPole-v1' or 'live' or 'pins'"),
        ({"acting": Acting(16, world="CartPole-v1"), "states": 4097},
         "states is 4097 and a lane has 16 agents .* 2 to 4096 states"),
        ({"format": "Q1.7"}, "reward is 1.0; Q1.7 holds -1.0 to 0.9921875"),
        ({"acting": Acting(world="CartPole-v1", tiles=HASHED), "states": 64},
         "acting.tiles.rows is 64 and a tiling has 81; hardware does not hash them: leave rows out"),
        ({"acting": Acting(world="CartPole-v1", tiles=FINE), "states": 256, "planes": 16},
         "acting.tiles have 79 edges where episodes start, in number 0; hardware has up to 64: use"),
    ],
)  # fmt: skip
def test_planes_that_hardware_cannot_have_are_refused(
    changed: dict[str, Any], message: str, tmp_path: Path
) -> None:
    config = Config(81, 2, acting=Acting(world="CartPole-v1"), planes=8)
    with pytest.raises(QStepError, match=message):
        generate(replace(config, **changed), tmp_path)


@pytest.mark.parametrize(
    "options",
    [pytest.param([], marks=pytest.mark.slow, id="link"), pytest.param(["--bus", "axi"], id="axi")],
)
def test_flat_files_are_plain_verilog_that_other_tools_read(
    options: list[str], tmp_path: Path
) -> None:
    arguments = [
        *["--states", "25", "--actions", "3", "--format", "Q4.4", "--flat", "--out"],
        str(tmp_path),
    ]
    result = CliRunner().invoke(command, [*arguments, *options])
    assert result.exit_code == 0, result.output
    flat = sorted(tmp_path.glob("*_flat.v"))
    assert flat
    for file in flat:
        top = file.name.removesuffix("_flat.v")
        tools.yosys(f"read_verilog {file.name}; hierarchy -check -top {top}; proc; check", tmp_path)
        if shutil.which("iverilog"):
            subprocess.run(["iverilog", "-g2005", "-t", "null", "-s", top, file], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "tops"),
    [
        ("--states 4 --actions 2", ["qstep_device", "qstep_top"]),
        ("--states 4 --actions 2 --bus axi", ["qstep_axi"]),
        ("--preset pythia", ["qstep_learner"]),
    ],
)
def test_a_flat_file_of_an_earlier_configuration_is_removed(
    options: str, tops: list[str], tmp_path: Path
) -> None:
    for top in tops:
        (tmp_path / f"{top}_flat.v").touch()
    result = CliRunner().invoke(command, [*options.split(), "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert not list(tmp_path.glob("*_flat.v"))
