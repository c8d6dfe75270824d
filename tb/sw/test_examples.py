"""The examples in docstrings give the results that they show."""

import doctest
import importlib
from pathlib import Path

import pytest

import qstep

FOLDER = Path(qstep.__file__).parent
SHOWING = [path for path in sorted(FOLDER.rglob("*.py")) if ">>>" in path.read_text("utf-8")]


@pytest.mark.parametrize("path", SHOWING, ids=lambda path: path.stem)
def test_examples_answer_what_they_show(path: Path) -> None:
    name = ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
    failed, tried = doctest.testmod(importlib.import_module(name.removesuffix(".__init__")))
    assert tried > 0
    assert failed == 0
