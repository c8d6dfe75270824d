"""Agents on all cores as a benchmark: their rates per watt and euro are compared with the boards'."""

import io
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tb.sw.jax_extra import NO_JAX
from tb.sw.made_up_board import made_up_build

from qstep.errors import ToolMissingError
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep_bench import report
from qstep_bench.boards import load_reports
from qstep_bench.checks import WrongTableError
from qstep_bench.efficiency import ASSUMPTIONS, Efficiency, efficiencies
from qstep_bench.measure import Comparison, Form, compare
from qstep_bench.table import render
from qstep_fpga.report import BuildReport

torch = pytest.importorskip("torch")

from qstep_bench.systems import farm  # noqa: E402


def form_named(name: str) -> Form:
    return next(form for form in farm.benchmark("cpu").forms if form.name == name)


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farm, "_LEAST_THREADED", 1 << 16)
    monkeypatch.setattr(farm, "_TOGETHER", 64)
    monkeypatch.setattr(farm, "_LEAST", 64 << 10)
    monkeypatch.setattr(farm, "_MOST", 64 << 10)


@pytest.fixture(scope="module")
def compared() -> Comparison:
    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        patch.setitem(sys.modules, "jax", None)
        patch.delitem(sys.modules, "qstep_bench.baselines.jax_own_tables", raising=False)
        return compare(farm.benchmark("cpu"), 1, 0.001, lambda *_: None)


def test_every_form_of_a_farm_learns(compared: Comparison) -> None:
    vector, c, model, vectorised = compared.forms
    assert (vector.name, vector.checked) == ("farm-vector", "equal to the model")
    assert (c.name, c.checked) == ("farm-c", "equal to the model")
    assert {form.base for form in (c, model, vectorised)} == {"farm-vector"}
    assert (model.name, model.checked) == ("farm-model", "equal to the plain model")
    assert vectorised.name == "farm-torch"
    assert vectorised.checked.endswith("of 64 agents have the optimal policy")
    assert "[jax]'" in compared.absent[0].reason


@pytest.mark.parametrize("kind", ["c", "vector"])
def test_a_thread_whose_table_is_wrong_is_found(kind: str) -> None:
    threads = farm._Threads(2)
    form = threads.form(kind, "", None)
    assert form.run(1 << 12) == 1 << 12
    _, worked = threads._tasks[1]._last[kind]
    worked.table[0, 0, 0] += 1
    with pytest.raises(WrongTableError, match=rf"{kind} does not match the model after 128 turns"):
        form.check()


def test_vectorised_agents_that_learn_nothing_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    form = farm._Vectorised(lambda _: np.zeros((64, 25, 4), np.float32)).form("torch", "")
    form.run(64)
    with pytest.raises(
        WrongTableError, match=r"the greedy policy of 0 of 64 agents is optimal; at least 90%"
    ):
        form.check()


def test_without_jax_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "qstep_bench.baselines.jax_own_tables", raising=False)
    with pytest.raises(ToolMissingError, match=r"jax is not installed; run.*\[jax\]'"):
        form_named("farm-jax").run(1 << 20)


def test_agents_of_jax_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax", reason=NO_JAX)
    small(monkeypatch)
    form = form_named("farm-jax")
    assert form.run(64 << 10) == 64 << 10
    assert form.check().endswith("of 64 agents have the optimal policy")


def test_watts_and_euros_are_counted(compared: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BuildReport, "stale", "")
    agents = made_up_build(Config(32, 4, acting=Acting(agents=16)))
    nano = replace(agents, board="tang-nano-9k-agents")
    builds = [agents, nano, made_up_build(Config(32, 4))]  # one board is unknown, one has no agents
    found = {entry.name: entry for entry in efficiencies(compared, 2, builds)}
    assert list(found) == [
        entry.name for entry in sorted(found.values(), key=lambda entry: -entry.rate)
    ]
    rate = compared.forms[0].rate.median
    assert found["2 cores here"].rate == rate
    assert found["2 cores here"].watts == 280 * 2 / 64
    # Both products have the same factors in a different order.
    assert found["64 cores"].per_euro == pytest.approx(found["2 cores here"].per_euro, rel=1e-12)
    board = found["tang-nano-9k-agents"]
    assert board == Efficiency("tang-nano-9k-agents", "16 agents, 24 MHz", 24e6, 2.5, 20)
    assert (board.per_watt, board.per_euro) == (9.6e6, 1.2e6)
    assert set(found) == {"2 cores here", "64 cores", "tang-nano-9k-agents"}
    monkeypatch.setattr(BuildReport, "stale", "stale: sources changed since 1234567")
    (stale,) = (entry for entry in efficiencies(compared, 2, builds) if entry.name == board.name)
    assert stale.how == "16 agents, 24 MHz; stale: sources changed since 1234567"


def test_the_table_has_assumptions(compared: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "compare", lambda *_: compared)
    monkeypatch.setattr(BuildReport, "stale", "")  # computing it takes a second per board
    system: Any = None
    result = report.run([system], 1, 0.1, lambda *_: None, load_reports([]))
    assert {"64 cores", "ulx3s-85f-agents"} <= {entry.name for entry in result.efficiency}
    console = Console(width=120, file=io.StringIO(), record=True)
    console.print(render(result))
    text = " ".join(console.export_text().split())
    assert ASSUMPTIONS in text
    assert "ulx3s-85f-agents" in text
    assert report.run([system], 1, 0.1, lambda *_: None).efficiency == ()
