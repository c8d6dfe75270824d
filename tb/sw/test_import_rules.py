"""Dependencies point in one direction, and importing `qstep` loads few packages."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

OURS = {"qstep", "qstep_bench", "qstep_rtl", "qstep_sim", "qstep_fpga"}

FOLDERS = [
    "errors",
    "_io",
    "spec",
    "envs",
    "mdp",
    "golden",
    "device",
    "learn",
    "deep",
    "live",
    "cli",
]
"""The folders of `qstep`, lowest first; each may import itself and the ones before it."""

DESCRIPTION = {
    "qstep",
    "qstep.spec.agents",
    "qstep.spec.checks",
    "qstep.spec.config",
    "qstep.errors",
    "qstep._io.files",
    "qstep.spec.fixed",
    "qstep.spec.integer_worlds",
    "qstep.spec.memory_map",
    "qstep.spec.planes",
    "qstep.spec.random",
    "qstep.spec.protocol",
    "qstep.spec.tiles",
}
"""Modules that the hardware package may import: the accelerator's description, and file output."""


def imports(path: Path, top_level_only: bool) -> set[str]:
    """Return the modules that a file imports, either at its top level only or anywhere."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            assert node.module is not None
            found.add(node.module)
            if node.module == "qstep":  # imported names may be folders
                found.update(f"qstep.{alias.name}" for alias in node.names)
    return found


def room(name: str) -> list[Path]:
    files = sorted((ROOT / name).rglob("*.py"))
    assert files, f"{name} holds no Python"
    return files


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", room("sw/qstep"), ids=named)
def test_software_does_not_import_other_rooms_when_it_is_imported(path: Path) -> None:
    others = {m for m in imports(path, True) if m.split(".")[0] in OURS - {"qstep"}}
    assert not others


@pytest.mark.parametrize("path", room("sw/qstep"), ids=named)
def test_imports_run_one_way(path: Path) -> None:
    *folders, _ = path.relative_to(ROOT / "sw/qstep").with_suffix("").parts
    own = (folders or [path.stem])[0]
    if own == "__init__":
        return  # collects the public names
    lower = set(FOLDERS[: FOLDERS.index(own) + 1])
    for module in imports(path, False):
        package, _, rest = module.partition(".")
        if package in {"qstep", "qstep_bench"}:
            assert (package, rest.partition(".")[0]) in {("qstep", name) for name in lower}, module


@pytest.mark.parametrize("path", room("rtl"), ids=named)
def test_hardware_knows_only_the_description(path: Path) -> None:
    ours = {m for m in imports(path, False) if m.split(".")[0] in OURS - {"qstep_rtl"}}
    assert ours <= DESCRIPTION


@pytest.mark.parametrize("name", ["sim", "fpga"])
def test_simulation_and_board_flow_do_not_know_each_other(name: str) -> None:
    own = {"sim": "qstep_sim", "fpga": "qstep_fpga"}
    (other,) = set(own.values()) - {own[name]}
    used = {m.split(".")[0] for path in room(name) for m in imports(path, False)}
    assert own[name] in used
    assert other not in used


def test_imports_are_found_at_both_depths(tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text("import a.b\ndef f():\n    from c.d import e\n", encoding="utf-8")
    assert imports(path, True) == {"a.b"}
    assert imports(path, False) == {"a.b", "c.d"}


def distribution(requirement: str) -> str:
    """Return the normalised name of the distribution in a requirement."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def declared(extra: str | None = None) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    return {distribution(requirement) for requirement in listed}


providers = cache(metadata.packages_distributions)


@pytest.mark.parametrize(
    "path", [*room("sw"), *room("rtl"), *room("sim"), *room("fpga")], ids=named
)
def test_every_import_is_a_declared_dependency(path: Path) -> None:
    known = declared().union(*map(declared, ("torch", "jax", "profile", "live", "bus", "litex")))
    modules = {module.split(".")[0] for module in imports(path, False)}
    for module in modules - set(sys.stdlib_module_names) - OURS:
        # For an extra that is not installed, assume that its packages are named like its modules.
        names = {distribution(name) for name in providers().get(module, [module])}
        assert names & known, f"{module} comes from {names or 'nowhere'}: not in pyproject.toml"


def test_every_declared_dependency_is_pinned() -> None:
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = declared().union(*map(declared, project["optional-dependencies"]))
    assert wanted <= {distribution(pin) for pin in pins}


def loaded_by(code: str) -> set[str]:
    """Return the top-level packages that a fresh interpreter has loaded after `code`."""
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in json.loads(answer.stdout)}


def test_import_of_qstep_is_light() -> None:
    loaded = loaded_by("import qstep")
    heavy = {"torch", "amaranth", "matplotlib", "numba", *OURS} - {"qstep"}
    assert "qstep" in loaded
    assert not loaded & heavy


def test_qstep_is_imported_where_there_is_no_fcntl() -> None:
    assert "qstep" in loaded_by("import sys; sys.modules['fcntl'] = None; import qstep")


def test_listing_the_commands_is_light() -> None:
    loaded = loaded_by(
        "import click.testing, qstep.cli\n"
        "assert click.testing.CliRunner().invoke(qstep.cli._qstep, ['--help']).exit_code == 0"
    )
    heavy = {"torch", "amaranth", "matplotlib", "numba", "qstep_rtl", "qstep_sim", "qstep_fpga"}
    assert "qstep" in loaded
    assert not loaded & heavy
