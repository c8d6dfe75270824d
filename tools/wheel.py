"""Build and test the wheel, and run the commands in README and quick start, in new environments.

For the wheel, QStep's dependencies come from this interpreter, while QStep itself, its cache and the
current folder are new. For the pages, everything is new: their commands run in order, in a copy of this
checkout, and nothing but these commands installs packages in their environment.

python -m tools.wheel
"""

from __future__ import annotations

import json
import os
import re
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

__all__ = [
    "BOUNDED",
    "COMMANDS",
    "EXCLUDED",
    "ROOT",
    "WheelError",
    "build",
    "commands",
    "left_out",
    "main",
    "run",
    "strangers",
    "written",
]

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
"""Files that the commands read."""

EXCLUDED = {
    "make demo": "does what `qstep demo` does, in an environment of its own",
    "make test": "is a step of CI",
    "qstep train gridworld --act host --device serial:PORT": "needs a board",
}
"""Prefixes of commands on the pages that are not run, with the reasons."""

BOUNDED = {
    "qstep live": 10,  # it never exits
    "qstep serve": 10,  # it never exits
    "qstep bench": 15,
    "qstep build": 20,
    "qstep dqn": 15,
    "qstep explore": 20,
    "qstep pqn": 15,
    "qstep sac": 15,
    "qstep train Acrobot-v1": 15,
}
"""Time limits in seconds for long-running commands on the pages, by prefix."""

_STOPPED = 143
"""Exit status of a command stopped by SIGTERM."""

_WHERE = """import importlib, json, sys
import qstep
names = ["qstep_command", "qstep", "qstep_rtl", "qstep_sim", "qstep_fpga"]
found = [importlib.import_module(name).__file__ for name in names]
print(json.dumps([*sys.path, *found, *map(str, qstep.rtl_files())]))
"""


class WheelError(AssertionError):
    """The wheel is incomplete, or a command of the installed package fails."""


def commands() -> list[str]:
    """Return the commands in README and quick start, in order, without duplicates."""
    pages = (ROOT / name for name in ("README.md", "docs/start.md"))
    return [*dict.fromkeys(line for page in pages for line in written(page.read_text("utf-8")))]


def written(page: str) -> list[str]:
    """Return the commands on a page, in order, without comments."""
    shown = re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    lines = [shlex.join(shlex.split(line, comments=True)) for line in "".join(shown).splitlines()]
    return [line for line in lines if line]


def build(folder: Path) -> Path:
    """Build the wheel into a folder, and return its path."""
    # setuptools would pack leftovers of an earlier build, including removed modules.
    shutil.rmtree(ROOT / "build/lib", ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def left_out(wheel: Path) -> list[str]:
    """Return the files of the package that are missing from a wheel, or differ from those in it."""
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
    """Return the paths in this checkout that are neither in the environment nor in site-packages."""
    return [
        place
        for place in places
        if Path(place).is_relative_to(ROOT)
        and not Path(place).is_relative_to(environment)
        and "site-packages" not in Path(place).parts
    ]


def run(
    command: str,
    folder: Path,
    environment: Mapping[str, str],
    status: int = 0,
    seconds: float | None = None,
) -> str:
    """Run a command in `folder` and return its output; raise unless it exits with `status`.

    A command still running after `seconds` is stopped, and its exit status must show that.
    """
    start = time.perf_counter()
    words = shlex.split(command)
    program = str(folder.parent / "environment/bin" / words[0])
    with subprocess.Popen(
        [program, *words[1:]],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        try:
            output, _ = running.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            status = _STOPPED
            running.terminate()
            output, _ = running.communicate()
    if running.returncode != status:
        raise WheelError(f"{command}: status {running.returncode}\n{output}")
    end = ", then stopped" if status == _STOPPED else ""
    print(f"{time.perf_counter() - start:6.1f} s  {command.splitlines()[0]}{end}", flush=True)
    return output


def _install(wheel: Path, environment: Path) -> None:
    """Create an environment with the wheel; its dependencies come from this interpreter."""
    venv.create(environment, symlinks=True)
    python = environment / "bin/python"
    options = ["--quiet", "--no-deps", "--no-index", str(wheel)]
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", *options]
    subprocess.run(pip, check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    shared = [place for place in sys.path if Path(place).name == "site-packages"]
    # Each line adds an import path. Python skips .pth files in such paths; one would add this checkout.
    (packages / "shared.pth").write_text("\n".join(shared) + "\n", encoding="utf-8")
    for program in Path(sys.executable).parent.iterdir():
        if not (ours := python.with_name(program.name)).exists():
            ours.symlink_to(program)


def _environment(folder: Path, programs: Path) -> dict[str, str]:
    """Return a command's environment, with a cache in `folder`, and `programs` first in PATH."""
    given = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    given |= {"PATH": os.pathsep.join([str(programs), os.defpath]), "MPLBACKEND": "Agg"}
    given |= {"QSTEP_CACHE": str(folder / "cache"), "BROWSER": "true"}
    return given


def _try_pages() -> None:
    """Run the commands in README and quick start; raise WheelError if one fails."""
    with tempfile.TemporaryDirectory() as place:
        checkout, programs = Path(place) / "checkout", Path(place) / "environment/bin"
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files = subprocess.run(listed, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        for name in filter(None, files.stdout.split("\0")):
            if (ROOT / name).is_file():
                (checkout / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, checkout / name)
        venv.create(programs.parent, symlinks=True, with_pip=True)
        given = _environment(Path(place), programs)
        given["PIP_CONSTRAINT"] = str(ROOT / "constraints.txt")
        for command in commands():
            if command.startswith(tuple(EXCLUDED)):
                continue
            bounds = [limit for start, limit in BOUNDED.items() if command.startswith(start)]
            run(command, checkout, given, seconds=min(bounds, default=None))


def _try_wheel(wheel: Path) -> None:
    """Run the installed wheel's commands outside this checkout; raise WheelError if one fails."""
    with tempfile.TemporaryDirectory() as place:
        folder, programs = Path(place) / "elsewhere", Path(place) / "environment/bin"
        folder.mkdir()
        for name, text in FILES.items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "empty").mkdir()
        _install(wheel, programs.parent)
        given = _environment(folder, programs)
        bare = {**given, "PATH": str(folder / "empty"), "QSTEP_CACHE": str(folder / "bare")}
        bare.pop("CXX", None)
        places = json.loads(run(f"python -c {shlex.quote(_WHERE)}", folder, given))
        if found := strangers(places, programs.parent):
            raise WheelError(f"the wheel is not alone: {', '.join(found)}")
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda command: run(command, folder, given), COMMANDS))
        answer = run(f"{COMMANDS[3]} --out bare", folder, bare, status=1)
        if "error: C++ compiler was not found; install one" not in answer:
            raise WheelError(f"without a C++ compiler:\n{answer}")


def main() -> int:
    """Build and test the wheel, test the pages, and return the exit status."""
    wheel = build(ROOT / "build/wheel")
    missing = left_out(wheel)
    if missing:
        print(f"{wheel.name} leaves out {', '.join(missing)}: see package-data in pyproject.toml")
        return 1
    try:
        _try_wheel(wheel)
        _try_pages()
    except WheelError as error:
        print(error)
        return 1
    print(f"{wheel}  {wheel.stat().st_size:,} bytes, works without the checkout; the pages do too")
    return 0


if __name__ == "__main__":
    sys.exit(main())
