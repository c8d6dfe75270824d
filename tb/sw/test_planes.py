"""The learner for external logic: its definition matches a second implementation and a recording."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tb.planes_requests import random_requests
from tb.prefetch_log import PYTHIA, prefetch_log

from qstep.errors import ConfigError, TableError, TransitionError
from qstep.golden.planes import NO_ACTION, Choice, PlanesModel, Requests
from qstep.spec.fixed import QFormat
from qstep.spec.planes import PRESETS, PlanesConfig
from qstep.spec.random import advanced, draw, first_word

SMALL = PlanesConfig(groups=2, planes=2, rows=4, actions=3)


@st.composite
def configs(draw: st.DrawFn) -> PlanesConfig:
    error = draw(st.sampled_from(["own", "shared"]))
    return PlanesConfig(
        groups=1 if error == "shared" else draw(st.integers(1, 3)),
        planes=draw(st.integers(1, 5)),
        rows=draw(st.sampled_from([2, 8])),
        actions=draw(st.integers(2, 5)),
        format=draw(st.sampled_from([QFormat(7, 9), QFormat(4, 4), QFormat(8, 24)])),
        error=error,
        floor=draw(st.booleans()),
        coefficient_bits=draw(st.sampled_from([15, 18])),
        alpha=draw(st.sampled_from([0.0, 0.01, 0.1, 0.24])),
        gamma=draw(st.sampled_from([0.0, 0.55, 1.0])),
        epsilon=draw(st.sampled_from([0.0, 0.3, 1.0])),
        start=draw(st.sampled_from([0.0, 1.5, -2.25])),
    )


def served(config: PlanesConfig, requests: Requests, seed: int) -> tuple[list[Any], Any]:
    """Return choices and final weights for these requests, computed directly from the contract."""
    shape = config.groups, config.planes, config.rows, config.actions
    weights = np.full(shape, round(config.start * 2**config.format.fraction), np.int64)
    one, word, choices = 1 << config.coefficient_bits, first_word(seed, 0), []
    alpha = int(np.floor(config.alpha * one + 0.5))
    kappa = int(np.floor(config.alpha * config.gamma * one + 0.5))
    low, high = config.format.minimum, config.format.maximum
    for learns, rows, a, r, next_rows, next_a, terminated in zip(*requests, strict=True):
        at = (*np.indices(shape[:2]), np.reshape(rows, shape[:2]))
        r = int(r)
        if learns:
            q = weights[(*at, a)].astype(object)
            m = weights[(*np.indices(shape[:2]), np.reshape(next_rows, shape[:2]), next_a)].astype(
                object
            )
            m = m * (not terminated)
            if config.error == "shared":
                d = (alpha * (r - q.sum()) + kappa * m.sum() + one // 2) >> config.coefficient_bits
                new = q + d
            else:
                new = ((one - alpha) * q + alpha * r + kappa * m + one // 2) // one
            weights[(*at, a)] = np.clip(new, low, high).astype(np.int64)
        else:
            q = weights[at].sum(axis=1).max(axis=0)
            greedy = int(q.argmax()) if not config.floor or (q > 0).any() else 0
            word = advanced(word)
            drawn = draw(word)
            explores = drawn.explore < int(config.epsilon * 65536)
            action = (drawn.action * config.actions) // 65536 if explores else greedy
            action = action if a == NO_ACTION else int(a)
            choices.append((action, q[action], explores or a != NO_ACTION))
    return choices, weights.reshape(-1, config.rows, config.actions)


@settings(max_examples=60, deadline=None)
@given(configs(), st.integers(0, 2**32))
def test_the_model_is_the_contract(config: PlanesConfig, seed: int) -> None:
    requests, model = random_requests(config, 60, seed), PlanesModel(config, seed)
    choices, weights = served(config, requests, seed)
    assert list(zip(*model.apply(requests), strict=True)) == choices
    assert np.array_equal(model.weights, weights)


def test_single_requests_are_those_of_arrays() -> None:
    requests = random_requests(SMALL, 200, 1)
    one, many = PlanesModel(SMALL), PlanesModel(SMALL)
    choices = []
    for learns, rows, action, *rest in zip(*(column.tolist() for column in requests), strict=True):
        if learns:
            one.learn(rows, action, *rest)
        else:
            choices.append(one.choose(rows, action))
    assert choices == [Choice(*own) for own in zip(*many.apply(requests), strict=True)]
    assert np.array_equal(one.weights, many.weights)


def test_ties_go_to_the_lowest_action_and_the_floor_to_action_0() -> None:
    model = PlanesModel(replace(SMALL, floor=True))
    weights = np.zeros((4, 4, 3), np.int32)
    weights[0, 1] = -5, -1, -1
    weights[2, 1] = -5, -2, -2
    model.load(weights)
    assert model.choose([1, 1, 1, 1]) == Choice(0, -5, False)
    bare = PlanesModel(SMALL)
    bare.load(weights)
    assert bare.choose([1, 1, 1, 1]) == Choice(1, -1, False)
    weights[2, 1] = 0, 0, 1
    model.load(weights)
    assert model.choose([1, 1, 1, 1]) == Choice(2, 1, False)


def test_a_row_that_is_its_own_next_row_is_read_before_it_is_written() -> None:
    config = PlanesConfig(groups=1, planes=1, rows=2, actions=2, alpha=0.5, gamma=1.0, start=1.0)
    model = PlanesModel(config)
    model.learn([0], 1, 512, [0], 1)
    assert model.weights[0].tolist() == [[512, 768], [512, 512]]


def test_the_preset_reproduces_a_part_of_the_recording() -> None:
    log = prefetch_log()
    assert len(log.requests.learns) == 198_946
    part = Requests._make(column[:10_000] for column in log.requests)
    choices = PlanesModel(PYTHIA).apply(part)
    seen = log.explored[: len(choices.action)]
    assert np.array_equal(choices.explored, seen)
    agree = (choices.action == log.action[: len(seen)])[~seen]
    assert agree.mean() > 0.996
    assert [PYTHIA.rows_of(own) for own in log.words[:100].tolist()] == [
        tuple(own) for own in log.requests.rows[~log.requests.learns][:100].tolist()
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"groups": 0}, "groups is 0; it must be an integer from 1 to 16"),
        ({"planes": 17}, "planes is 17; it must be an integer from 1 to 16"),
        ({"groups": 4, "planes": 5}, "4 groups of 5 planes are 20 planes; there must be from 1 to 16"),
        ({"rows": 100}, "rows is 100; it must be a power of two from 2 to 65536"),
        ({"actions": 65}, "actions is 65; it must be an integer from 2 to 64"),
        ({"format": "Q9"}, "format is 'Q9'; write it as Qm.F"),
        ({"error": "both"}, "error is 'both'; it must be one of own, shared"),
        ({"error": "shared"}, "groups is 2; it must be 1 where error is 'shared'"),
        ({"floor": 0}, "floor is 0; it must be true or false"),
        ({"coefficient_bits": 25}, "coefficient_bits is 25; it must be an integer from 15 to 24"),
        ({"coefficient_bits": 22}, "alpha is 0.5, too large for 16 bits of which 22 are fractional"),
        ({"gamma": 1.5}, "gamma is 1.5; it must be from 0 to 1"),
        ({"epsilon": -1}, "epsilon is -1; it must be from 0 to 1"),
        ({"start": 64}, r"start is 64; it must be from -64.0 to 63.998046875, as Q7.9 holds"),
        ({"start": "0"}, "start is '0'; it must be from -64.0"),
        ({"constants": (1,)}, "constants has 1 numbers; it must have 2, or none for the default"),
        ({"constants": (1, -1)}, r"constants\[1\] is -1; it must be an integer from 0 to 2\^32-1"),
    ],
)  # fmt: skip
def test_an_illegal_configuration_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        replace(SMALL, **wrong)


def test_default_constants_follow_the_number_of_planes() -> None:
    assert replace(SMALL, planes=3) == PlanesConfig(groups=2, planes=3, rows=4, actions=3)
    with pytest.raises(ConfigError, match="constants has 3 numbers; it must have 4"):
        replace(PYTHIA, planes=4)


ROWS = [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: m.choose([0]), "rows has 1 rows; it must have 4"),
        (lambda m: m.choose([0, 0, 0, 4]), r"rows\[3\] is 4; it must be an integer from 0 to 3"),
        (lambda m: m.choose(ROWS, 3), "explore_action is 3; it must be an integer from -1 to 2"),
        (lambda m: m.learn(ROWS, -1, 0, ROWS, 0), "action is -1; it must be an integer from 0 to 2"),
        (lambda m: m.learn(ROWS, 0, 1 << 15, ROWS, 0), "reward is 32768; it must be an integer from"),
        (lambda m: m.learn(ROWS, 0, 0, [9] * 4, 0), r"next_rows\[0\] is 9; it must be an integer"),
        (lambda m: m.learn(ROWS, 0, 0, ROWS, 3), "next_action is 3; it must be an integer from 0 to 2"),
        (lambda m: m.learn(ROWS, 0, 0, ROWS, 0, 1), "terminated is 1; it must be true or false"),
        (lambda m: m.config.rows_of([0]), "words has 1 features; it must have 2"),
        (lambda m: m.config.rows_of([0, 1 << 64]), r"words\[1\] is 18446744073709551616; it must"),
    ],
)  # fmt: skip
def test_an_illegal_request_is_refused_and_changes_nothing(call: Any, said: str) -> None:
    model = PlanesModel(SMALL)
    with pytest.raises(ConfigError, match=said):
        call(model)
    assert not model.weights.any()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"learns": np.ones(3, np.int32)}, "learns has dtype int32; it must be bool"),
        ({"rows": np.zeros((3, 5), np.int32)}, r"rows has shape \(3, 5\); it must be \(3, 4\)"),
        ({"rows": np.full((3, 4), 4)}, r"rows\[0, 0\] is 4; it must be from 0 to 3"),
        ({"action": np.zeros(3)}, "action has dtype float64; it must be integers"),
        ({"action": np.array([-1, 0, -1])}, r"action\[2\] is -1; it must be from 0 to 2"),
        ({"action": np.array([-2, 0, 0])}, r"action\[0\] is -2; it must be from -1 to 2"),
        ({"reward": np.full(3, 1 << 15)}, r"reward\[0\] is 32768; it must be from -32768 to 32767"),
        ({"next_action": np.array([0, 0])}, r"next_action has shape \(2,\); it must be \(3,\)"),
    ],
)  # fmt: skip
def test_illegal_arrays_of_requests_are_refused(wrong: dict[str, Any], said: str) -> None:
    legal = random_requests(SMALL, 3, 0)._replace(learns=np.array([False, True, True]))
    legal = legal._replace(action=np.zeros(3, np.int32))
    with pytest.raises(TransitionError, match=said):
        PlanesModel(SMALL).apply(legal._replace(**wrong))


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.zeros((4, 4, 2), np.int32),
         r"table has shape \(4, 4, 2\); this configuration needs \(4, 4, 3\)"),
        (np.zeros((4, 4, 3)), "table has dtype float64; raw values are integers"),
        ([[[0, 0], [0]]], "table is not an array: setting an array element"),
        (np.full((4, 4, 3), 1 << 15), r"table\[0, 0, 0\] is 32768; Q7.9 holds -32768 to 32767"),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit_are_refused(weights: Any, said: str) -> None:
    with pytest.raises(TableError, match=said):
        PlanesModel(SMALL).load(weights)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_those_of_the_papers(name: str) -> None:
    shape = {"pythia": (2, 3, 128, 15), "chrome": (2, 4, 512, 4), "athena": (1, 10, 64, 4)}[name]
    config = PRESETS[name]
    assert (config.groups, config.planes, config.rows, config.actions) == shape
    assert abs(config.coefficients.kappa / config.coefficients.alpha - config.gamma) < 1e-4
