"""Run, within a minute, the tests that belong to changed files (``make check``).

    python -m tb.check [--seconds 40] [FILE ...]

Without a file, it checks the files that differ from the last commit. For a SystemVerilog file, it runs
the tests of ``make test`` whose simulation or proof reads the file, and the tests that plant a fault in
it. For a Python file, it runs the tests that import it, starting with the shortest import chains. At the
end, it lists the tests that did not run.
"""

import argparse
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
from tb.bench import RTL, TB, Run, tests_of
from tb.keys import imports
from tb.planted import Fault
from tb.reads import read_files
from tb.seconds import SECONDS
from tools.lint_rtl import lint_style

ROOT = TB.parent

_LONG_S = 15
"""Maximum duration of a test, in seconds; only ``make test`` runs slower tests."""

_FILES = 25
"""Maximum number of Python test files to collect; those with the shortest import chains are kept."""

_LAST = 100
"""A number above the file count of any simulation, which sorts planted faults last."""

_VERILOG = (".sv", ".svh", ".v")


def _changed() -> list[Path]:
    """Return the files that differ from the last commit, including new files."""
    command = "git diff --name-only HEAD && git ls-files --others --exclude-standard"
    names = subprocess.run(command, shell=True, cwd=ROOT, stdout=-1, text=True, check=True).stdout
    return [path for name in names.splitlines() if (path := ROOT / name).exists()]


def _modules() -> dict[str, Path]:
    """Return the path of every QStep module by its name."""
    found = {}
    for base, below in (("sw", ""), ("rtl", ""), ("sim", ""), ("fpga", ""), ("", "tb")):
        for path in (ROOT / base / below).rglob("*.py"):
            parts = path.relative_to(ROOT / base).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _imports(text: str, modules: Collection[str]) -> set[str]:
    """Return the modules that a text imports; an import from a package counts only for modules in it."""
    return set().union(
        *(
            {name for name in inside if name in modules} or {module}
            for module, inside in imports(text)
        )
    )


class Choice:
    """pytest plugin that selects the tests of `files` by imports and by the files that they simulate."""

    def __init__(self, files: Sequence[Path], until: float) -> None:
        self.until, self.began = until, 0
        modules = _modules()
        texts = {name: path.read_text(encoding="utf-8") for name, path in modules.items()}
        imports = {name: _imports(text, modules) for name, text in texts.items()}
        reached = {name: 0 for name, path in modules.items() if path in files}
        for command in [name.rpartition(".")[2] for name in reached if ".cli." in name]:
            # A module that runs a command contains its name.
            callers = {name for name in modules if "qstep.cli" in imports[name]}
            callers |= {name for name in modules if imports[name] & callers}
            called = re.compile(rf'"{command}[" ]')
            reached |= {name: 1 for name in callers if called.search(texts[name])}
        for steps in (1, 2, 3):
            new = {name for name in modules if imports[name] & reached.keys()} - reached.keys()
            reached |= dict.fromkeys(new, steps)
        self.names = {path.name: 0 for path in files if path.suffix in _VERILOG}
        self.names |= {path.stem: 0 for path in files if path.parent == TB / "faults"}
        tests = {name: steps for name, steps in reached.items() if name.startswith("tb.")}
        self.names |= {name: steps for name, steps in tests.items() if tests_of(name)}
        others = [path.name for path in files if path.suffix not in (".py", *_VERILOG)]
        near = {}
        for name, path in modules.items():
            named = name in reached or any(other in texts[name] for other in others)
            if path.name.startswith("test_") and named:
                same = any(file.stem in path.stem for file in files)
                near[path] = 0 if same else reached.get(name, 1)
        order = sorted(near, key=lambda path: (near[path], path))
        self.near = {path: near[path] for path in order[:_FILES]}
        folders = ("unit", "uvm", "bus", "formal") if self.names else ()
        self.benches = {path for folder in folders for path in (TB / folder).glob("test_*.py")}
        self.told = Counter(f"left: {path}, {near[path]} imports away" for path in order[_FILES:])

    def place(self, item: pytest.Function) -> tuple[int, int] | None:
        """Return a test's import distance and the number of files that its simulation or proof reads.

        A test of a fault planted in a file ranks after all simulations. None means an unrelated test.
        """
        reads = [(m.args[0], read_files([], RTL, m.args[1])) for m in item.iter_markers("bench")]
        for value in item.callspec.params.values() if hasattr(item, "callspec") else ():
            if isinstance(value, Fault):
                return (0, _LAST) if value.file in self.names else None
            if isinstance(value, Run):
                reads.append((value.module, read_files(value.files, RTL)))
            elif isinstance(value, str) and value in getattr(item.module, "PROOFS", ()):
                reads.append(("", item.module.PROOFS[value].paths()))
        places = [(self.near[item.path], 0)] if item.path in self.near else []
        for modules, paths in reads:
            ours = self.names.keys() & {*modules.split(","), *(path.name for path in paths)}
            places += [(self.names[name], len(paths)) for name in ours]
        return min(places, default=None)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        wanted = collection_path in self.near or collection_path in self.benches
        return None if wanted or collection_path.is_dir() else True

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Function]
    ) -> None:
        """Sort the tests by import distance, with the fastest case of each function first."""
        kept = config.cache.get(SECONDS, {})
        order, cases = {}, Counter[tuple[Path, str]]()
        for item in sorted(items, key=lambda item: kept.get(item.nodeid, 1)):
            place, seconds = self.place(item), kept.get(item.nodeid, 1)
            if place and seconds <= _LONG_S:
                function = (item.path, item.name.partition("[")[0])
                order[item] = (place[0], cases[function], place[1], seconds)
                cases[function] += 1
            elif place:
                self.told[f"left, as it took {seconds:.0f} s: {item.nodeid}"] += 1
        config.hook.pytest_deselected(items=[item for item in items if item not in order])
        items[:] = sorted(order, key=order.__getitem__)

    def pytest_runtest_protocol(self, item: pytest.Function) -> bool | None:
        begins = time.time() < self.until
        self.began += begins
        steps, size = self.place(item) or (0, 0)
        why = f"reads {size} files" if size else f"{steps} imports away"
        self.told[f"{'ran' if begins else 'left, as time was up'}: {item.path}, {why}"] += 1
        return None if begins else True

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for what, number in self.told.items():
            terminalreporter.write_line(f"{number} {what.replace(f'{ROOT}/', '')}")
        terminalreporter.write_line(
            "make test runs what is left and what reaches the files otherwise; make slow, the slow tests"
        )


def _is_styled(files: Sequence[Path]) -> bool:
    """Print the findings of ruff and Verible, and return whether there are none."""
    said = "".join(lint_style(path) for path in files if path.suffix in _VERILOG)
    print(said, end="")
    python = [str(path) for path in files if path.suffix == ".py"]
    commands = (["check", "--no-cache", "--quiet"], ["format", "--check", "--quiet"])
    codes = [
        subprocess.run([sys.executable, "-m", "ruff", *words, *python], check=False).returncode
        for words in commands
        if python
    ]
    return not said and not any(codes)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests that belong to changed files.")
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--seconds", type=float, default=40, help="begin no test later than this")
    arguments = parser.parse_args()
    start = time.time()
    files = [path.resolve() for path in arguments.files] or _changed()
    if missing := [str(path) for path in files if not path.exists()]:
        parser.error(f"no such file: {', '.join(missing)}")
    if not files:
        print(
            "nothing differs from the last commit; name a file: make check FILE=rtl/lane/qs_update.sv"
        )
        return 2
    styled = _is_styled(files)
    choice = Choice(files, start + arguments.seconds)
    code = pytest.main(["-q", "-x"], plugins=[choice])
    print(f"{time.time() - start:.0f} s for {', '.join(str(path) for path in files)}")
    return code or not (styled and choice.began)


if __name__ == "__main__":
    sys.exit(main())
