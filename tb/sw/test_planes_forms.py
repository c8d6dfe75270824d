"""The compiled implementations of the learner, in Numba and C++, match its definition bit for bit."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from tb.planes_cpp import CppPlanes
from tb.planes_requests import random_requests
from tb.planted import Fault, faults, plant_file
from tb.prefetch_log import PYTHIA, prefetch_log

from qstep.errors import TableError, TransitionError
from qstep.golden.evaluation_queue import EvaluationQueue, Rewards
from qstep.golden.planes import Choices, PlanesModel, Requests
from qstep.golden.planes_fast import FastPlanesModel
from qstep.spec.fixed import QFormat
from qstep.spec.planes import CPP_HEADER, PlanesConfig

SMALL = PlanesConfig(groups=2, planes=2, rows=4, actions=3, epsilon=0.1)

CONFIGS = {
    "pythia": PYTHIA,
    "shared": replace(SMALL, groups=1, planes=5, error="shared", alpha=0.1, start=-1.5),
    "wide": replace(SMALL, groups=3, format=QFormat(8, 24), actions=9, gamma=1.0, floor=True),
    "narrow": replace(SMALL, groups=1, planes=1, format=QFormat(4, 4), rows=2),
}


def same(given: Choices, expected: Choices) -> bool:
    return all(
        np.array_equal(getattr(given, column), getattr(expected, column))
        for column in Choices._fields
    )


@pytest.fixture(scope="module")
def pythia(tmp_path_factory: pytest.TempPathFactory) -> CppPlanes:
    return CppPlanes("pythia", PYTHIA, tmp_path_factory.mktemp("pythia"))


@pytest.fixture(scope="module", params=CONFIGS)
def form(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, pythia: CppPlanes
) -> CppPlanes:
    if request.param == "pythia":
        return pythia
    return CppPlanes(request.param, CONFIGS[request.param], tmp_path_factory.mktemp("planes"))


def test_all_forms_choose_and_learn_the_same(form: CppPlanes) -> None:
    requests, model = random_requests(form.config, 3000, 5), PlanesModel(form.config, seed=3)
    expected = model.apply(requests)
    fast = FastPlanesModel(form.config, seed=3)
    parts = [
        fast.apply(Requests._make(column[first:last] for column in requests))
        for first, last in pairwise([0, 1234, 1234, 3000])
    ]
    assert same(Choices(*map(np.concatenate, zip(*parts, strict=True))), expected)
    assert np.array_equal(fast.weights, model.weights)
    choices, weights = form.run("fixed", requests, seed=3)
    assert same(choices, expected)
    assert np.array_equal(weights, model.weights)
    wrong, _ = form.run("fixed", requests, seed=4)
    assert same(wrong, expected) == (form.config.epsilon == 0)


def test_all_forms_hash_the_same_rows(form: CppPlanes) -> None:
    rng, config = np.random.default_rng(1), form.config
    words = rng.integers(0, 1 << 64, (200, config.groups), np.uint64)
    words[0], words[1] = 0, (1 << 64) - 1
    assert form.rows(words).tolist() == [list(config.rows_of(own)) for own in words.tolist()]


def agreeing(choices: Choices) -> tuple[int, int]:
    """Return how many of the recording's non-exploring choices agree, and their total number."""
    log = prefetch_log()
    assert np.array_equal(choices.explored, log.explored)
    agree = (choices.action == log.action)[~log.explored]
    return int(agree.sum()), agree.size


def test_float_reproduces_the_recording(pythia: CppPlanes) -> None:
    requests = prefetch_log().requests
    real = requests._replace(reward=requests.reward >> PYTHIA.format.fraction)
    assert agreeing(pythia.run("float", real)[0]) == (99_814, 99_814)


def test_fixed_point_agrees_with_the_recording_in_all_compiled_forms(pythia: CppPlanes) -> None:
    """Given the same updates, at least 99.6 % of the choices are those in the recording."""
    requests, fast = prefetch_log().requests, FastPlanesModel(PYTHIA)
    expected = fast.apply(requests)
    assert agreeing(expected) == (99_622, 99_814)
    choices, weights = pythia.run("fixed", requests)
    assert same(choices, expected)
    assert np.array_equal(weights, fast.weights)


@pytest.mark.slow
def test_the_definition_equals_the_compiled_form_on_the_whole_recording() -> None:
    requests, model, fast = prefetch_log().requests, PlanesModel(PYTHIA), FastPlanesModel(PYTHIA)
    assert same(model.apply(requests), fast.apply(requests))
    assert np.array_equal(model.weights, fast.weights)


@pytest.mark.parametrize(("fraction", "least"), [(6, 0.979), (8, 0.995), (12, 0.9997)])
def test_more_fractional_bits_agree_more(fraction: int, least: float) -> None:
    config = replace(PYTHIA, format=QFormat(7, fraction))
    requests, one = prefetch_log().requests, PYTHIA.format.fraction
    reward = requests.reward >> one << fraction
    agree, of = agreeing(FastPlanesModel(config).apply(requests._replace(reward=reward)))
    assert least < agree / of < least + 0.001


def queues(form: CppPlanes) -> tuple[Any, Any]:
    """Return updates and unknown keys of the C++ queue and the Python queue for the same events."""
    rng = np.random.default_rng(2)
    kinds = rng.choice([0, 0, 1, 2], 3000)
    events = np.stack(
        [kinds, rng.integers(0, 4, 3000), rng.integers(0, 2, 3000), rng.integers(0, 2, 3000),
         rng.integers(-9, 9, 3000)], axis=1
    )  # fmt: skip
    queue = EvaluationQueue(3, [Rewards(20, 12, -8), Rewards(21, 13, -14)])
    learns: list[Any] = []
    inserted = 0
    for kind, key, number, known, reward in events.tolist():
        if kind == 0:
            given = reward if known else None
            learns.append(queue.insert(key, inserted, inserted % 5, given, number))
            inserted += 1
        elif kind == 1:
            queue.fill(key)
        else:
            queue.demand(key, number)
    found, unknown = form.queue(np.ascontiguousarray(events, np.int64))
    return (found.tolist(), unknown), ([list(own) for own in learns if own], queue.unknown)


def test_the_queue_in_cpp_emits_the_same_updates(pythia: CppPlanes) -> None:
    found, (learns, unknown) = queues(pythia)
    assert found == (learns, unknown)
    assert len(learns) > 1000
    assert unknown > 100


def differs(form: CppPlanes) -> bool:
    """Return whether the learner, the hash or the queue in C++ differs from its definition."""
    config = form.config
    requests, model = random_requests(config, 3000, 5), PlanesModel(config, seed=3)
    expected = model.apply(requests)
    choices, weights = form.run("fixed", requests, seed=3)
    words = np.random.default_rng(1).integers(0, 1 << 64, (200, config.groups), np.uint64)
    rows = [list(config.rows_of(own)) for own in words.tolist()]
    found, wanted = queues(form)
    return not (
        same(choices, expected)
        and np.array_equal(weights, model.weights)
        and form.rows(words).tolist() == rows
        and found == wanted
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", [None, *faults("test_planes_forms")], ids=lambda fault: getattr(fault, "name", "none")
)
def test_a_fault_planted_in_the_header_is_found(fault: Fault | None, tmp_path: Path) -> None:
    header, name = CPP_HEADER, "faultless"
    if fault is not None:
        header = plant_file(tmp_path, CPP_HEADER, fault.old, fault.new)
        name = f"fault{crc32(fault.name.encode())}"
    form = CppPlanes(name, replace(SMALL, floor=True, format=QFormat(4, 4)), tmp_path, header)
    assert differs(form) == (fault is not None)


def test_the_compiled_model_refuses_what_the_definition_refuses() -> None:
    fast, requests = FastPlanesModel(SMALL), random_requests(SMALL, 3, 0)
    with pytest.raises(TransitionError, match=r"rows\[0, 0\] is 4; it must be from 0 to 3"):
        fast.apply(requests._replace(rows=np.full((3, 4), 4)))
    with pytest.raises(TableError, match="table has shape"):
        fast.load(np.zeros((1, 4, 3), np.int32))
    fast.load(np.ones((4, 4, 3), np.int32))
    assert fast.weights.all()
