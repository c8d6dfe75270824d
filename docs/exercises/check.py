"""Check the answers to the exercises of docs/lesson.md against the golden model.

python -m docs.exercises.check build/lesson        all exercises
python -m docs.exercises.check build/lesson 1 3    only exercises 1 and 3
"""

from __future__ import annotations

import importlib.util
import json
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import numpy as np
from docs.exercises.golden import WRONG, golden, random_cases
from tb.bench import BenchError, Run, run

from qstep.golden.throughput import issue_clocks
from qstep_fpga import tools

__all__ = ["EXERCISES", "WrongAnswerError", "main"]

_CASES = 20_000
_MOST_CASES = 8
_MOST_MULTIPLIERS = 2
_RANGES = {
    "q": (-32768, 32767),
    "reward": (-32768, 32767),
    "maximum": (-32768, 32767),
    "terminated": (0, 1),
    "alpha": (0, 32768),
    "kappa": (0, 32768),
}
_LOOSE = ("-Wno-UNUSEDSIGNAL",)
"""The only lint warning that is disabled for answers: the supplied module leaves inputs unused."""


class WrongAnswerError(AssertionError):
    """An answer is wrong; the message shows where."""


def _answers(folder: Path) -> ModuleType:
    description = importlib.util.spec_from_file_location("answers", folder / "answers.py")
    assert description is not None
    assert description.loader is not None
    module = importlib.util.module_from_spec(description)
    description.loader.exec_module(module)
    return module


def _update_in_python(folder: Path) -> str:
    updated = _answers(folder).updated
    for case in random_cases(_CASES):
        if (found := updated(*case)) != (expected := golden(*case)):
            raise WrongAnswerError(f"updated{case} is {found}, the model has {expected}")
    return f"{_CASES:,} updates equal the model's"


def _update_in_systemverilog(folder: Path) -> str:
    source = (folder / "my_update.sv").resolve()
    if not source.exists():
        raise WrongAnswerError(f"{source} does not exist")
    try:
        run(Run("my_update", "docs.exercises.update_tests", sources=(source,), build_args=_LOOSE))
    except BenchError as error:
        said = re.search(r"AssertionError: (.+?)\s*$", str(error), re.MULTILINE)
        raise WrongAnswerError(said[1] if said else str(error)) from None
    return "2,000 updates of the simulated module equal the model's"


def _multipliers(folder: Path) -> str:
    _update_in_systemverilog(folder)
    with tempfile.TemporaryDirectory(dir=folder) as place:  # not /tmp, which yosys cannot read
        shutil.copy(folder / "my_update.sv", place)
        read = tools.reading("my_update", ["my_update.sv"])
        tools.yosys(f"{read}; synth_ecp5; tee -q -o cells.json stat -json", Path(place))
        report = json.loads((Path(place) / "cells.json").read_text(encoding="utf-8"))
    cells = report["design"]["num_cells_by_type"]
    found = cells.get("MULT18X18D", 0)
    said = f"{found} multipliers, {cells.get('LUT4', 0)} LUT4"
    if found > _MOST_MULTIPLIERS:
        raise WrongAnswerError(f"{said}; {_MOST_MULTIPLIERS} multipliers are enough")
    return f"{said} on an ECP5"


def _check_case(case: tuple[int, ...]) -> None:
    if len(case) != len(_RANGES):
        raise WrongAnswerError(
            f"{case} has {len(case)} values; a case has {len(_RANGES)}: {', '.join(_RANGES)}"
        )
    for value, (name, (low, high)) in zip(case, _RANGES.items(), strict=True):
        if not low <= value <= high:
            raise WrongAnswerError(f"{name} of {case} is {value}; it must be {low} to {high}")
    *_, alpha, kappa = case
    if kappa > alpha:
        raise WrongAnswerError(f"kappa of {case} is {kappa}; it must be at most alpha, {alpha}")


def _cases_that_tell(folder: Path) -> str:
    cases = _answers(folder).cases()
    if len(cases) > _MOST_CASES:
        raise WrongAnswerError(f"{len(cases)} cases; at most {_MOST_CASES} are allowed")
    for case in cases:
        _check_case(case)
    unseen = [
        name
        for name, wrong in WRONG.items()
        if all(wrong(*case) == golden(*case) for case in cases)
    ]
    if unseen:
        raise WrongAnswerError(f"no case notices an update that {', or one that '.join(unseen)}")
    return f"{len(cases)} cases notice all {len(WRONG)} wrong updates"


def _clocks(folder: Path) -> str:
    clocks, draw = _answers(folder).clocks, random.Random(1)
    for depth in (1, 2, 3):
        for _ in range(100):
            stream = [(draw.randrange(4), draw.randrange(2), draw.randrange(4)) for _ in range(8)]
            found = [int(clock) for clock in clocks(depth, stream)]
            expected = issue_clocks(
                depth, *(np.array(column) for column in zip(*stream, strict=True))
            )
            if found != expected.tolist():
                raise WrongAnswerError(
                    f"clocks({depth}, {stream}) is {found}, the lane takes {expected.tolist()}"
                )
    return "300 streams wait as in the lane"


EXERCISES = {
    "1": ("the update in Python", _update_in_python),
    "2": ("the update in SystemVerilog", _update_in_systemverilog),
    "3": ("cases that tell wrong from right", _cases_that_tell),
    "4": ("the clocks of the lane", _clocks),
    "5": ("an update with fewer multipliers", _multipliers),
}


def main(arguments: list[str]) -> int:
    """Check exercises and print one line for each; return 0 only if all checked answers are right."""
    if not arguments or not set(arguments[1:]) <= EXERCISES.keys():
        print(__doc__)
        return 2
    wrong = 0
    for number in arguments[1:] or EXERCISES:
        title, check = EXERCISES[number]
        try:
            verdict = f"right: {check(Path(arguments[0]))}"
        except Exception as error:  # an answer that raises is wrong
            wrong += 1
            name = "" if isinstance(error, WrongAnswerError) else f"{type(error).__name__}: "
            verdict = f"wrong: {name}{error}"
        print(f"{number} {title:33}{verdict}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
