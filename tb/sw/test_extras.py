"""A missing extra is reported with its install command, because QStep is not on PyPI."""

import json
import shlex
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from qstep._io.extras import remedy

PIP = f"{shlex.quote(sys.executable)} -m pip install"


def installed_from(monkeypatch: pytest.MonkeyPatch, record: object) -> None:
    text = None if record is None else json.dumps(record)
    here = SimpleNamespace(read_text=lambda name: text)
    monkeypatch.setattr(metadata, "distribution", lambda name: here)


def test_remedy_names_the_source_of_qstep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout, wheel = tmp_path / "a checkout", tmp_path / "qstep-0.1.0-py3-none-any.whl"
    checkout.mkdir()
    wheel.touch()
    installed_from(monkeypatch, {"url": checkout.as_uri(), "dir_info": {"editable": True}})
    assert remedy("torch") == f"run: {PIP} -e '{checkout}[torch]'"
    installed_from(monkeypatch, {"url": checkout.as_uri(), "dir_info": {}})
    assert remedy("torch") == f"run: {PIP} '{checkout}[torch]'"
    assert remedy(None) == f"run: {PIP} '{checkout}'"
    installed_from(monkeypatch, {"url": wheel.as_uri(), "archive_info": {}})
    assert remedy("fpga") == f"run: {PIP} '{wheel}[fpga]'"


@pytest.mark.parametrize(
    "record",
    [None, {"url": "file:///no/such/folder", "dir_info": {}}, {"url": "https://example.org/q.whl"}],
    ids=["unknown", "gone", "elsewhere"],
)
def test_remedy_without_source_at_hand(record: object, monkeypatch: pytest.MonkeyPatch) -> None:
    installed_from(monkeypatch, record)
    assert remedy("torch") == f"run in a checkout of QStep: {PIP} '.[torch]'"


def test_remedy_without_an_installation_is_for_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", absent)
    assert remedy("torch") == f"run in a checkout of QStep: {PIP} '.[torch]'"
