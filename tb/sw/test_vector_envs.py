"""All vector environments reset, restore their state, and reject bad input in the same way."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from tb.sw.vector_steps import poles, snakes, stepped

from qstep.envs.cartpole_vector import CartPoleVectorEnv
from qstep.envs.snake_vector import SnakeVectorEnv
from qstep.envs.vector import CompiledVectorEnv
from qstep.errors import CheckpointError, ConfigError, EnvironmentSpaceError

Begin = Callable[..., CompiledVectorEnv]
KINDS: dict[str, Begin] = {
    "cartpole": poles,
    **{f"snake-{kind}": partial(snakes, kind=kind) for kind in ("state", "features", "flood")},
}


@pytest.fixture(params=list(KINDS.values()), ids=list(KINDS))
def begin(request: pytest.FixtureRequest) -> Begin:
    begun: Begin = request.param
    return begun


def played(envs: CompiledVectorEnv, steps: int) -> list[Any]:
    """Return the outcomes of steps with random actions."""
    choices = int(envs.single_action_space.n)  # type: ignore[attr-defined]
    actions = np.random.default_rng(0).integers(choices, size=(steps, envs.num_envs))
    return [[column.tolist() for column in stepped(envs, row)[:4]] for row in actions]


def kept(envs: CompiledVectorEnv) -> dict[str, Any]:
    return {name: array.tolist() for name, array in envs.checkpoint().items()}


def test_reset_starts_over(begin: Begin) -> None:
    envs = begin(5, seed=9)
    first = played(envs, 100)
    assert played(envs, 100) != first
    envs.reset(seed=9)
    assert played(envs, 100) == first
    envs.reset(seed=10)
    assert played(envs, 100) != first


@pytest.mark.parametrize("kind", [CartPoleVectorEnv, SnakeVectorEnv])
def test_environments_without_a_seed_begin_differently_each_time(kind: Begin) -> None:
    first, second = kind(8), kind(8)
    begun = first.reset()[0]
    assert (begun != second.reset()[0]).any()
    assert (begun != first.reset()[0]).any()
    first.reset(seed=5)
    second.reset(seed=5)
    assert (first.reset()[0] == second.reset()[0]).all()


def test_restored_environments_go_on_as_the_saved_ones(begin: Begin) -> None:
    envs, other = begin(5, seed=1), begin(5, seed=2)
    assert played(envs, 60) != played(other, 60)
    assert (other.restore(envs.checkpoint()) == envs.observation).all()
    going_on = played(envs, 60)
    assert played(other, 60) == going_on
    assert kept(other) == kept(envs)
    ends = sum(sum(terminated) for _, _, terminated, _ in going_on)
    assert ends > 2  # so the generators were restored too


def test_checkpoint_is_a_copy(begin: Begin) -> None:
    envs = begin(1)
    saved, before = envs.checkpoint(), kept(envs)
    played(envs, 1)
    assert {name: array.tolist() for name, array in saved.items()} == before != kept(envs)


def test_checkpoint_that_does_not_fit_is_refused_and_nothing_changes(begin: Begin) -> None:
    envs = begin(2)
    good, before = envs.checkpoint(), kept(envs)
    message = r"word of the checkpoint is uint64 of shape \[3\]; it must be uint64 of shape \[2\]"
    with pytest.raises(CheckpointError, match=message):
        envs.restore(begin(3).checkpoint())
    for name in good.keys() - {"word"}:
        other = {**good, "word": good["word"] + 1, name: good[name].astype(np.complex64)}
        with pytest.raises(CheckpointError, match=f"{name} of the checkpoint is complex64"):
            envs.restore(other)
        del other[name]
        with pytest.raises(CheckpointError, match=f"the checkpoint has no '{name}'"):
            envs.restore(other)
    assert kept(envs) == before


@pytest.mark.parametrize("number", [0, -1, 2.0, True])
def test_bad_number_of_environments_is_refused(begin: Begin, number: Any) -> None:
    with pytest.raises(ConfigError, match=f"envs is {number}; .* 1 or more"):
        begin(number)


@pytest.mark.parametrize("seed", [-1, 2**64 - 1])
def test_seed_without_room_for_every_environment_is_refused(begin: Begin, seed: int) -> None:
    with pytest.raises(ConfigError, match=r"seed is .* from 0 to 2\^64-1"):
        begin(2).reset(seed=seed)


def test_bad_actions_are_refused_and_nothing_moves(begin: Begin) -> None:
    envs = begin(3)
    before, last = kept(envs), int(envs.single_action_space.n) - 1  # type: ignore[attr-defined]
    for actions, message in (
        ([0, 1], r"actions are int64 of shape \(2,\); they must be integers of shape \(3,\)"),
        ([0.0, 1.0, 1.0], r"actions are float64 of shape \(3,\)"),
        ([0, 1, last + 1], f"action of environment 2 is {last + 1}; it must be from 0 to {last}$"),
        ([0, -1, 0], f"action of environment 1 is -1; it must be from 0 to {last}$"),
    ):
        with pytest.raises(EnvironmentSpaceError, match=message):
            envs.step(actions)
        assert kept(envs) == before
