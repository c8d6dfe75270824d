"""Every backend of the benchmark does its work right, and one that does not is caught."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from tb.sw.counting_device import CountingDevice

from qstep.bench import backends
from qstep.bench.backend import Absent, Backend
from qstep.bench.checks import WrongTableError
from qstep.bench.measure import FEWEST, measure
from qstep.bench.simulated import device, open_simulated
from qstep.bench.workloads import WORKLOADS, Workload
from qstep.errors import ToolMissingError
from qstep.transitions import Transitions

unit = pytest.mark.unit


class ForgetfulDevice(CountingDevice):
    """A device that loses the last transition."""

    def apply(self, transitions: Transitions) -> None:
        super().apply(transitions[:-1])


@unit
@pytest.mark.parametrize("name", list(WORKLOADS))
def test_every_software_backend_and_the_model_pass_their_check(name: str) -> None:
    workload = WORKLOADS[name]()
    compiled = backends.c_loop(workload)
    assert isinstance(compiled, Backend), compiled
    software = [*backends.original(workload), *backends.software(workload), compiled]
    for backend in (*software, backends.model(workload)):
        result = backend.kernel(backend.prepare(FEWEST))
        assert backend.verify(FEWEST, backend.read(result))


def check(workload: Workload, counting: CountingDevice) -> str:
    backend = device(workload, counting, counting.clocks)
    return backend.verify(FEWEST, backend.read(backend.kernel(backend.prepare(FEWEST))))


@unit
def test_a_device_that_equals_the_model_passes() -> None:
    stream, grid = WORKLOADS["stream"](), WORKLOADS["gridworld"]()
    assert check(stream, CountingDevice(stream.config)) == "equal to model"
    assert check(grid, CountingDevice(grid.config)) == "optimal policy, equal to model"


@unit
def test_a_device_that_loses_one_transition_is_caught() -> None:
    stream = WORKLOADS["stream"]()
    with pytest.raises(WrongTableError, match=rf"table\[\d+, \d\] is .* after {FEWEST} updates"):
        check(stream, ForgetfulDevice(stream.config))


@unit
def test_a_policy_that_is_not_optimal_is_caught() -> None:
    grid = WORKLOADS["gridworld"]()
    [dictionary, *_] = backends.software(grid)
    with pytest.raises(WrongTableError, match="policy on gridworld is not optimal"):
        dictionary.verify(FEWEST, np.zeros((25, 4)))


@unit
def test_a_model_far_from_the_real_numbers_is_caught() -> None:
    model = backends.model(WORKLOADS["stream"]())
    table = model.read(model.kernel(model.prepare(FEWEST)))
    table[3, 2] += 0.1
    with pytest.raises(WrongTableError, match=r"at most 0\.0\d+ may be"):
        model.verify(FEWEST, table)


@unit
def test_an_absent_torch_is_listed_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "qstep.baselines.torch_batched", raising=False)
    found = backends.torch(WORKLOADS["stream"]())
    assert isinstance(found, Absent)
    assert "pip install 'qstep[torch]'" in found.reason
    with pytest.raises(ToolMissingError, match=r"pip install 'qstep\[torch\]'"):
        backends.torch(WORKLOADS["stream"](), "cuda")


@unit
@pytest.mark.parametrize("name", list(WORKLOADS))
def test_pytorch_works_where_it_was_asked_to_and_has_ended_when_the_clock_is_read(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    from qstep import torch_device
    from qstep.baselines import torch_batched, torch_replay

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
    backend = backends.torch(WORKLOADS[name](), "cuda")
    assert isinstance(backend, Backend)
    assert (backend.name, backend.what) == ("torch (cuda)", "PyTorch, CUDA, 512 at once")
    backend.kernel(backend.prepare(FEWEST))
    assert (
        log
        == {
            "gridworld": ["learn cuda", "wait cuda"],
            "stream": ["zeros cuda", "upload cuda", "wait cuda", "replay stream", "wait cuda"],
        }[name]
    )


@pytest.mark.rtl
def test_the_simulated_hardware_is_checked_against_the_model() -> None:
    workload = WORKLOADS["stream"]()
    with ExitStack() as stack:
        found = open_simulated(workload, stack)
        assert isinstance(found, Backend), found
        [result] = measure([found], 1, 0.01, FEWEST, lambda name: None)
    assert result.checked == "equal to model"
    assert result.counts is not None
    assert result.counts.accepted == FEWEST
    assert result.counts.offered_clocks == FEWEST + result.counts.held
    # Four bytes a record, a byte a clock, and the frames around the records.
    assert 4 < result.counts.clocks / FEWEST < 5
