"""Build the wheel, and try it in a separate environment, which sees nothing of this checkout.

The packages that QStep needs come from this interpreter; QStep itself, its cache and the current folder
are new.

python -m tb.wheel
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

__all__ = ["COMMANDS", "ROOT", "build", "left_out", "main", "strangers"]

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("sw", "rtl", "sim", "fpga")

COMMANDS = (
    "qstep build icebreaker --config small.toml --out board",
    "qstep demo --out demo",
    "qstep train gridworld --device sim --steps 20000 --out run",
    "qstep train worlds/gridworld.sv --config circuit.toml --device sim --steps 20000",
    "qstep generate --states 64 --actions 4 --out verilog",
)
FILES = {
    "circuit.toml": 'states = 25\nactions = 4\n\n[acting]\nworld = "worlds/gridworld.sv"\n',
    "small.toml": "states = 4\nactions = 2\n\n[link]\nclock_hz = 18_000_000\nbaud = 1_000_000\n",
}
"""The files that the commands read."""

_WHERE = """import importlib, json, sys
import qstep
names = ["qstep_command", "qstep", "qstep_rtl", "qstep_sim", "qstep_fpga"]
found = [importlib.import_module(name).__file__ for name in names]
print(json.dumps([*sys.path, *found, *map(str, qstep.rtl_files())]))
"""


class WheelError(AssertionError):
    """The wheel lacks something, or a command fails where it is installed."""


def build(folder: Path) -> Path:
    """Build the wheel into a folder, and return it."""
    # setuptools would pack leftovers of an earlier build, including removed modules.
    shutil.rmtree(ROOT / "build/lib", ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def left_out(wheel: Path) -> list[str]:
    """Return the files of the package that are missing from a wheel, or differ there."""
    with zipfile.ZipFile(wheel) as archive:
        held = {(Path(name).name, archive.read(name)) for name in archive.namelist()}
    return [
        path.relative_to(ROOT).as_posix()
        for path in _files()
        if (path.name, path.read_bytes()) not in held
    ]


def _files() -> Iterator[Path]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            made = {"__pycache__", "qstep.egg-info"} & set(path.parts)
            if path.is_file() and path.suffix != ".md" and not made:
                yield path


def strangers(places: Sequence[str], environment: Path) -> list[str]:
    """Return the places in this checkout that are neither in an environment nor in its packages."""
    return [
        place
        for place in places
        if Path(place).is_relative_to(ROOT)
        and not Path(place).is_relative_to(environment)
        and "site-packages" not in Path(place).parts
    ]


def _run(command: str, folder: Path, environment: Mapping[str, str], status: int = 0) -> str:
    """Run a command there and return its output; raise unless it ends with `status`."""
    start = time.perf_counter()
    words = shlex.split(command)
    program = str(folder.parent / "environment/bin" / words[0])
    done = subprocess.run(
        [program, *words[1:]],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != status:
        raise WheelError(f"{command}: status {done.returncode}\n{done.stdout}")
    print(f"{time.perf_counter() - start:6.1f} s  {command.splitlines()[0]}", flush=True)
    return done.stdout


def _install(wheel: Path, environment: Path) -> None:
    """Make an environment with the wheel; its dependencies come from this interpreter."""
    venv.create(environment, symlinks=True)
    python = environment / "bin/python"
    options = ["--quiet", "--no-deps", "--no-index", str(wheel)]
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", *options]
    subprocess.run(pip, check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    shared = [place for place in sys.path if Path(place).name == "site-packages"]
    # Each line is a place to import from. The .pth files there are not read: one names our own checkout.
    (packages / "shared.pth").write_text("\n".join(shared) + "\n", encoding="utf-8")
    for program in Path(sys.executable).parent.iterdir():
        if not (ours := python.with_name(program.name)).exists():
            ours.symlink_to(program)


def main() -> int:
    """Build the wheel and try it; return the exit status."""
    wheel = build(ROOT / "build/wheel")
    missing = left_out(wheel)
    if missing:
        print(f"{wheel.name} leaves out {', '.join(missing)}: see package-data in pyproject.toml")
        return 1
    with tempfile.TemporaryDirectory() as place:
        folder, programs = Path(place) / "elsewhere", Path(place) / "environment/bin"
        folder.mkdir()
        for name, text in FILES.items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "empty").mkdir()
        _install(wheel, programs.parent)
        given = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        given |= {"PATH": os.pathsep.join([str(programs), os.defpath]), "MPLBACKEND": "Agg"}
        given["QSTEP_CACHE"] = str(folder / "cache")
        bare = {**given, "PATH": str(folder / "empty"), "QSTEP_CACHE": str(folder / "bare")}
        bare.pop("CXX", None)
        try:
            places = json.loads(_run(f"python -c {shlex.quote(_WHERE)}", folder, given))
            if found := strangers(places, programs.parent):
                raise WheelError(f"the wheel is not alone: {', '.join(found)}")
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda command: _run(command, folder, given), COMMANDS))
            answer = _run(f"{COMMANDS[3]} --out bare", folder, bare, status=1)
            if "error: C++ compiler was not found; install one" not in answer:
                raise WheelError(f"without a C++ compiler:\n{answer}")
        except WheelError as error:
            print(error)
            return 1
    print(f"{wheel}  {wheel.stat().st_size:,} bytes, works without the checkout")
    return 0


if __name__ == "__main__":
    sys.exit(main())
