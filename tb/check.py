"""The command behind ``make check``: the tests that belong to the files that changed, within a minute.

    python -m tb.check [--seconds 40] [FILE ...]

Without a file, they are those that differ from the last commit. To SystemVerilog belong the tests whose
simulation or proof reads it, and those that plant a fault in it; to Python those that import it, the
closest first. What is left to ``make test`` is said at the end.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tb.bench import RTL, TB, Run, tests_of
from tb.lint_rtl import lint_style
from tb.planted import Fault
from tb.reads import read_files
from tb.seconds import SECONDS

ROOT = TB.parent
_LONG_S = 15
"""A test that took longer is left to ``make test``."""

_FILES = 25
"""Test files of Python that are read, at most: the closest ones."""

_LAST = 100
"""More files than any simulation reads."""

_VERILOG = (".sv", ".svh", ".v")
_LATE = "no time was left"


def _changed() -> list[Path]:
    """Return the files that differ from the last commit, new ones too."""
    commands = (["diff", "--name-only", "HEAD"], ["ls-files", "--others", "--exclude-standard"])
    text = "".join(
        subprocess.run(["git", *words], cwd=ROOT, stdout=-1, text=True, check=True).stdout
        for words in commands
    )
    return [path for name in text.splitlines() if (path := ROOT / name).exists()]


def _modules() -> dict[str, Path]:
    """Return every module of ours by its name."""
    found = {}
    for base, below in (("sw", ""), ("rtl", ""), ("sim", ""), ("fpga", ""), ("", "tb")):
        for path in (ROOT / base / below).rglob("*.py"):
            parts = path.relative_to(ROOT / base).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def importers(files: Sequence[Path]) -> dict[str, int]:
    """Return the modules that reach `files` by imports, and over how many steps."""
    modules = _modules()
    texts = {name: path.read_text(encoding="utf-8") for name, path in modules.items()}
    imports: dict[str, set[str]] = {}
    for name, text in texts.items():
        nodes = list(ast.walk(ast.parse(text)))
        found = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                inside = {f"{node.module}.{each.name}" for each in node.names} & modules.keys()
                found |= inside or {str(node.module)}
        imports[name] = found
    reached = {name: 0 for name, path in modules.items() if path in files}
    # Commands are called by their names.
    for package, _, command in [name.rpartition(".") for name in reached if ".cli." in name]:
        called = re.compile(rf'"{command}[" ]')
        callers = {name for name in modules if package in imports[name]}
        callers |= {name for name in modules if imports[name] & callers}
        reached |= {name: 1 for name in callers if called.search(texts[name])}
    for distance in (1, 2, 3):
        new = {name for name in modules if imports[name] & reached.keys()} - reached.keys()
        reached |= dict.fromkeys(new, distance)
    return reached


class Choice:
    """The plugin of pytest that chooses the tests of `files`, by imports and by what they simulate."""

    def __init__(self, files: Sequence[Path], until: float) -> None:
        reached = importers(files)
        self.until = until
        self.began = 0
        self.names = {path.name for path in files if path.suffix in _VERILOG}
        self.names |= {name for name in reached if name.startswith("tb.") and tests_of(name)}
        others = [path.name for path in files if path.suffix not in (".py", *_VERILOG)]
        near = {}
        for name, path in _modules().items():
            text = path.read_text(encoding="utf-8") if path.name.startswith("test_") else ""
            if text and (name in reached or any(other in text for other in others)):
                same = any(file.stem in path.stem for file in files)
                near[path] = 0 if same else reached.get(name, 1)
        order = sorted(near, key=lambda path: (near[path], path))
        self.near = {path: near[path] for path in order[:_FILES]}
        folders = ("unit", "uvm", "bus", "formal") if self.names else ()
        self.benches = {path for folder in folders for path in (TB / folder).glob("test_*.py")}
        self.left = [(f"over {near[path]} imports", path) for path in order[_FILES:]]

    def size(self, item: pytest.Item) -> int:
        """Return how many files the test's simulation or proof reads, 0 if ours is none of them.

        A test with our file's name among its parameters, as that of a planted fault, comes last.
        """
        given = list(item.callspec.params.values()) if hasattr(item, "callspec") else []
        if planted := [each.file for each in given if isinstance(each, Fault)]:
            return _LAST * (planted[0] in self.names)
        proofs = getattr(item.module, "PROOFS", {})
        reads = [
            [mark.args[0], *(path.name for path in read_files([], RTL, mark.args[1]))]
            for mark in item.iter_markers("bench")
        ]
        for value in given:
            if isinstance(value, Run):
                files = read_files(value.files, RTL)
                reads.append([*value.module.split(","), *(path.name for path in files)])
            elif isinstance(value, str) and value in proofs:
                reads.append(list(proofs[value].files))
        sizes = [len(read) for read in reads if self.names & set(read)]
        words = str([each for each in given if isinstance(each, str | tuple | list)])
        return min(sizes) if sizes else _LAST * any(name in words for name in self.names)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        wanted = collection_path in self.near or collection_path in self.benches
        return None if wanted or collection_path.is_dir() else True

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Put one case of each function, the quickest, before the others."""
        kept = config.cache.get(SECONDS, {})
        order, cases = {}, Counter[tuple[Path, str]]()
        for item in sorted(items, key=lambda item: kept.get(item.nodeid, 1)):
            size, near, seconds = (
                self.size(item),
                self.near.get(item.path),
                kept.get(item.nodeid, 1),
            )
            if not size and near is None:
                continue
            if seconds > _LONG_S:
                self.left.append((f"{seconds:.0f} s", item.nodeid))
                continue
            function = (item.path, item.name.partition("[")[0])
            order[item] = (0 if size else near, cases[function], size, seconds)
            cases[function] += 1
        config.hook.pytest_deselected(items=[item for item in items if item not in order])
        items[:] = sorted(order, key=order.__getitem__)

    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if time.time() < self.until:
            self.began += 1
            return None
        self.left.append(("no time", item.nodeid))
        return True

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        files = Counter((why, str(what).partition("::")[0]) for why, what in self.left)
        for (why, file), number in files.items():
            terminalreporter.write_line(f"left to make test ({why}): {number} of {file}")


def _is_styled(files: Sequence[Path]) -> bool:
    """Return whether ruff and Verible find nothing; print what they find."""
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
    if not files:
        print("nothing differs from the last commit; name a file: make check FILE=rtl/qs_update.sv")
        return 2
    styled = _is_styled(files)
    choice = Choice(files, start + arguments.seconds)
    code = pytest.main(["-q", "-x"], plugins=[choice])
    print(f"{time.time() - start:.0f} s for {', '.join(str(path) for path in files)}")
    return code or not (styled and choice.began)


if __name__ == "__main__":
    sys.exit(main())
