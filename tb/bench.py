"""Build a testbench with Verilator, run its cocotb tests, and print the command that replays a failure.

Runs of a bench with the same parameters share an executable under ``build/tb``. Its key is a digest of
the files that Verilator reads, without their comments. ``make clean`` removes all executables.

From the command line, this module replays one run::

    python -m tb.bench qs_lane_bench tb.uvm.lane_tests --parameters States=64,Actions=4 --seed 7
"""

import argparse
import hashlib
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from unittest.mock import patch

from cocotb_tools.runner import get_results, get_runner
from tb.reads import digest_of, forgotten, read_files
from tb.toggle_counts import HEADER, header

from qstep._io.files import make_folder
from qstep_rtl.sources import folders, source
from qstep_sim.verilator import environment

__all__ = ["BUILD", "RTL", "TB", "BenchError", "Report", "Run", "parameter_id", "run", "tests_of"]

TB = Path(__file__).resolve().parent
RTL = TB.parent / "rtl"
BUILD = TB.parent / "build" / "tb"

# A single module leaves some of the package's constants unused; the whole lane does not, as
# tools/lint_rtl.py checks.
_BUILD_ARGS = ("-Wall", "-Wno-UNUSEDPARAM", "--assert")
_COVERAGE_ARGS = ("--coverage-line", "--coverage-expr", "--coverage-toggle")

_LOG_LINES = 60

_LINES = "lines"
"""File in a build folder with a digest of the sources and their comments, which affect line numbers."""

_MAKEFLAGS = "VM_PARALLEL_BUILDS=0 OPT_FAST=-O0"
"""Compile a single C++ file without optimisation, because Python takes most of the time of each clock
and there are many builds. With these flags, the whole device builds in 3 s instead of 20 s."""

_REWRITTEN = "tb/*.py"
"""Files whose failed assertions show the compared values. By default, cocotb would let pytest rewrite
Numba as well, which takes several seconds per run."""


class BenchError(AssertionError):
    """A bench did not build or run, ran no test, or failed one; the message gives the replay command."""


@dataclass(frozen=True, slots=True)
class Run:
    """One simulation: its build, its tests and its seed.

    Parameters
    ----------
    top : str
        Top-level module; its file is ``rtl/TOP.sv``, ``tb/uvm/TOP.sv`` or ``tb/unit/TOP.sv``.
    module : str
        Python module with the cocotb tests, such as ``tb.uvm.lane_tests``.
    parameters : mapping of str to int
        Parameters of the top-level module.
    test : str
        Name of the only test to run; empty for all tests of the module.
    options : mapping of str to str
        Plusargs (``+name=value``) for the tests.
    seed : int
        Seed of every random choice in the tests.
    waves : bool
        Record ``dump.vcd`` (the environment variable ``WAVES=1`` does the same).
    rtl : Path
        Folder of the RTL, or of a mutated copy.
    sources : tuple of Path
        Additional sources, for a generated top-level module.
    build_args : tuple of str
        Additional arguments for Verilator.
    coverage : Path, optional
        File for Verilator's code coverage counts; without it, coverage is not counted.
    """

    top: str
    module: str
    parameters: Mapping[str, int] = field(default_factory=dict)
    test: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1
    waves: bool = False
    rtl: Path = RTL
    sources: tuple[Path, ...] = ()
    build_args: tuple[str, ...] = ()
    coverage: Path | None = None

    @property
    def command(self) -> str:
        """The shell command that repeats this run."""
        words = ["python", "-m", "tb.bench", self.top, self.module, "--seed", str(self.seed)]
        if self.parameters:
            words += ["--parameters", _joined(self.parameters)]
        if self.options:
            words += ["--options", _joined(self.options)]
        if self.test:
            words += ["--test", self.test]
        if self.rtl != RTL:
            words += ["--rtl", str(self.rtl)]
        for path in self.sources:
            words += ["--source", str(path)]
        words += [f"--build-arg={word}" for word in self.build_args]
        return shlex.join(words)

    @property
    def files(self) -> list[Path]:
        """Sources in the order of compilation; other modules are found by name in :attr:`rtl`."""
        packages = [source(f"qs_{name}pkg.sv", self.rtl) for name in ("", "map_", "agents_")]
        if self.sources:
            return [*packages, *self.sources]
        for folder in (self.rtl, TB / "uvm", TB / "unit"):
            if (path := source(f"{self.top}.sv", folder)).exists():
                return [*packages, path]
        raise BenchError(f"{self.top}.sv is neither in {self.rtl} nor in tb/uvm nor in tb/unit")


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a run that passed."""

    tests: int
    seconds: float
    folder: Path
    log: str


def tests_of(modules: str) -> list[str]:
    """Return the names of the cocotb and pyuvm tests in a comma-separated list of modules."""
    texts = [
        (TB.parent / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        for module in modules.split(",")
    ]
    return re.findall(
        r"^@(?:cocotb|pyuvm)\.test\(.*\n(?:async def|class) (\w+)", "".join(texts), re.M
    )


def parameter_id(parameters: Mapping[str, int]) -> str:
    """Return the short form of a parameter set for test names: ``s64-a4-w16-d1``."""
    short = {"LoopDepth": "d", "IndexBits": "i"}
    return "-".join(short.get(k, k[0].lower()) + str(v) for k, v in parameters.items())


def _joined(mapping: Mapping[str, object]) -> str:
    return ",".join(f"{key}={value}" for key, value in mapping.items())


def _split(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in text.split(",") if word)


def _built(this: Run, waves: bool) -> Path:
    """Return the folder with the executable of this run's bench; build it if necessary."""
    files = this.files
    read = read_files(files, this.rtl)
    args = (*_BUILD_ARGS, *this.build_args, *(_COVERAGE_ARGS if this.coverage else ()))
    tools = (version("verilator"), version("cocotb"))
    given = repr((sorted(this.parameters.items()), args, waves, tools)).encode()
    digest = hashlib.sha256(given + digest_of(read))
    if this.coverage:  # coverage points refer to lines
        digest.update(header() + _bytes(read))
    name = "-".join(
        filter(None, (this.top, parameter_id(this.parameters), digest.hexdigest()[:12]))
    )
    folder = BUILD / name
    if folder.exists():
        return folder
    # Build in a temporary folder and move it in one step, so that several processes can build a bench.
    BUILD.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=BUILD))
    log = aside / "build.log"
    # Verilator's runtime takes most of the build time and never changes, so it is compiled once. The
    # copies are made newer than the generated Makefile, so that make does not rebuild them.
    runtime = BUILD / f"runtime-{version('verilator')}-{version('cocotb')}{'-waves' * waves}"
    for path in runtime.glob("*.o"):
        later = time.time() + 60
        os.utime(shutil.copy(path, aside), (later, later))
    if this.coverage:
        (aside / HEADER).write_bytes(header())
    try:
        get_runner("verilator").build(
            sources=files,
            includes=folders(this.rtl),
            hdl_toplevel=this.top,
            parameters=this.parameters,
            build_args=args,
            build_dir=aside,
            timescale=("1ns", "1ps"),
            waves=waves,
            log_file=log,
        )
    except (RuntimeError, SystemExit) as cause:
        text = log.read_text(errors="replace") if log.exists() else ""
        shutil.rmtree(aside)
        raise BenchError(
            f"{this.top} does not build: {cause}\n{_tail(text)}\n{this.command}"
        ) from cause
    if missed := forgotten(aside / "Vtop__ver.d", read):
        raise BenchError(f"{this.top} is built from {missed}, which its key does not hold")
    (aside / _LINES).write_bytes(_bytes(read))
    if not runtime.exists():
        objects = Path(tempfile.mkdtemp(prefix=".runtime-", dir=BUILD))
        for path in aside.glob("verilated*.o"):
            shutil.copy(path, objects)
        _move(objects, runtime)
    _move(aside, folder)
    return folder


def _bytes(paths: Iterable[Path]) -> bytes:
    """Return the digest of the full contents of files, including comments and line breaks."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).digest()


def _move(aside: Path, folder: Path) -> None:
    try:
        aside.rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(aside)


def _tail(text: str) -> str:
    return "\n".join(text.splitlines()[-_LOG_LINES:])


def run(this: Run) -> Report:
    """Build the bench if needed, run its tests and return the report.

    Raises
    ------
    BenchError
        The bench does not build, the simulation fails, no test runs, or a test fails. The message ends
        with the command that replays the run.
    """
    waves = this.waves or os.environ.get("WAVES", "0") not in ("", "0")
    start = time.perf_counter()
    # cocotb's runner inherits the environment, and would mistake pytest's current test for its own.
    settings = {"MAKEFLAGS": _MAKEFLAGS, "COCOTB_REWRITE_ASSERTION_FILES": _REWRITTEN}
    with patch.dict(os.environ, {**environment(), **settings}):
        os.environ.pop("PYTEST_CURRENT_TEST", None)
        built = _built(this, waves)
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=built))
        log, results = folder / "run.log", folder / "results.xml"
        runner = get_runner("verilator")
        broken = ""
        try:
            with patch.object(sys, "path", [str(TB.parent), *sys.path]):
                runner.test(
                    test_module=this.module,
                    hdl_toplevel=this.top,
                    hdl_toplevel_lang="verilog",
                    test_filter=rf"\.{this.test}$" if this.test else None,
                    seed=this.seed,
                    plusargs=[f"+{key}={value}" for key, value in this.options.items()],
                    build_dir=built,
                    test_dir=folder,
                    waves=waves,
                    results_xml=str(results),
                    log_file=log,
                )
        except (RuntimeError, SystemExit) as cause:
            broken = f"the simulation failed: {cause}"
    text = log.read_text(errors="replace") if log.exists() else ""
    try:
        tests, failed = get_results(results)
    except RuntimeError:
        tests, failed = 0, 0
    if tests == 0:
        broken = broken or "no test ran"
    elif failed:
        broken = f"{failed} of {tests} tests failed"
    if broken:
        if (built / _LINES).read_bytes() != _bytes(read_files(this.files, this.rtl)):
            broken += f"; comments have moved lines since {built} was built"
        raise BenchError(
            f"{_tail(text)}\n{this.top} {this.module}: {broken}\nlog: {log}\nreplay: {this.command}"
        )
    if this.coverage:
        make_folder(this.coverage.parent)
        shutil.move(folder / "coverage.dat", this.coverage)
    if not waves:
        shutil.rmtree(folder)
    return Report(tests, time.perf_counter() - start, folder, text)


def _main() -> int:
    parser = argparse.ArgumentParser(description="Run the cocotb tests of one bench.")
    parser.add_argument("top", help="module at the top, e.g. qs_lane_bench")
    parser.add_argument("module", help="cocotb test module, e.g. tb.uvm.lane_tests")
    parser.add_argument("--parameters", default="", help="States=64,Actions=4")
    parser.add_argument("--options", default="", help="plusargs: name=value,name=value")
    parser.add_argument("--test", default="", help="one test of the module")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--waves", action="store_true", help="record dump.vcd")
    parser.add_argument("--rtl", type=Path, default=RTL, help="folder of the RTL")
    parser.add_argument(
        "--source", type=Path, action="append", default=[], help="source of the top"
    )
    parser.add_argument("--build-arg", action="append", default=[], help="argument of Verilator")
    arguments = vars(parser.parse_args())
    arguments["parameters"] = {k: int(v) for k, v in _split(arguments["parameters"]).items()}
    arguments["options"] = _split(arguments["options"])
    arguments["sources"] = tuple(arguments.pop("source"))
    arguments["build_args"] = tuple(arguments.pop("build_arg"))
    this = Run(**arguments)
    try:
        report = run(this)
    except BenchError as error:
        print(error)
        return 1
    print(report.log)
    print(f"passed: {report.tests} tests in {report.seconds:.1f} s")
    if this.waves:
        print(f"waves: {report.folder / 'dump.vcd'}")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
