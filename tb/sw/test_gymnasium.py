"""QStep's environments are valid in Gymnasium: registered, accepted by its checkers, and rendered."""

import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from tb.sw.vector_steps import poles

from qstep.envs import ENVIRONMENTS, CartPoleTable, GridWorld, Snake
from qstep.envs.snake import Observation
from qstep.envs.vector import led_to
from qstep.errors import ConfigError, EpisodeError


@pytest.mark.parametrize("env_id", [own.id for own in ENVIRONMENTS if own.entry_point])
def test_gymnasium_accepts_every_registered_environment(env_id: str) -> None:
    env = gym.make(env_id)
    check_env(env.unwrapped)  # with every render mode; a warning is an error here
    env.close()


class Silent(Snake):
    """A Snake that ignores its seed."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return super().reset(seed=None, options=options)


def test_the_checker_notices_a_seed_that_is_not_used() -> None:
    with pytest.raises(AssertionError, match=r"non-deterministic|super"):
        check_env(Silent("state"), skip_render_check=True)


def test_import_of_qstep_is_enough() -> None:
    code = "import qstep, gymnasium; print(gymnasium.make('qstep/Snake-v0').unwrapped.kind)"
    named = code.replace("import qstep, ", "import ").replace("qstep/S", "qstep:qstep/S")
    for way in (code, named):
        assert subprocess.check_output([sys.executable, "-c", way], text=True) == "features\n"


def test_grid_world_takes_a_map_of_ones_own() -> None:
    env = gym.make("qstep/GridWorld-v0", text="S.#\n..G", render_mode="ansi")
    env.reset()
    env.step(1)
    assert env.render() == "S.#\n@.G\n"


def test_picture_shows_each_cell_as_a_square_of_its_colour() -> None:
    world = GridWorld("S.G", render_mode="rgb_array")
    world.reset()
    before = world.render()
    assert (before.shape, before.dtype) == ((12, 36, 3), np.uint8)
    squares = before[1:, :, :].reshape(11, 3, 12, 3)[:, :, 1:]
    assert (squares == squares[:1, :, :1]).all()
    assert len({tuple(squares[0, cell, 0]) for cell in range(3)}) == 3
    world.step(3)
    after = world.render()[1:].reshape(11, 3, 12, 3)[:, :, 1:]
    assert (after[:, 1] == squares[:, 0]).all()  # the walker has arrived
    assert not (after[:, 0] == squares[:, 0]).all()


def test_snake_is_drawn_with_its_head_and_its_food() -> None:
    snake = Snake("state", render_mode="ansi")
    snake.reset(seed=0)
    snake.place([(0, 2), (0, 1), (0, 0)], (9, 9))
    rows = snake.render().splitlines()
    assert (rows[0], rows[1], rows[9]) == ("oo@" + "." * 7, "." * 10, "." * 9 + "*")
    assert len(rows) == 10


def test_pole_is_drawn_where_it_stands() -> None:
    env = CartPoleTable(render_mode="ansi")
    env.reset(seed=0)
    env.pole.state = np.array([1.2, 0.0, 0.2, 0.0])
    rows = env.render().splitlines()
    assert rows[-1].index("@") == 36  # at three quarters of the width
    assert rows[0].index("|") == 38  # leaning to the right
    assert {len(row) for row in rows} == {49}
    assert Snake().render() is None


@pytest.mark.parametrize("kind", [GridWorld, Snake, CartPoleTable])
def test_unknown_render_mode_is_refused(kind: Any) -> None:
    options = {"text": "SG"} if kind is GridWorld else {}
    said = "render_mode is 'human'; it must be None or one of ansi, rgb_array"
    with pytest.raises(ConfigError, match=said):
        kind(**options, render_mode="human")


@pytest.mark.parametrize("kind", ["state", "features", "flood"])
def test_vector_environments_are_gymnasiums_own_of_the_single_one(kind: Observation) -> None:
    # Gymnasium 1.4 has no checker for vector environments, so QStep's are compared with Gymnasium's.
    name, same_step = "qstep/Snake-v0", {"autoreset_mode": AutoresetMode.SAME_STEP}
    envs = gym.make_vec(name, 3, observation=kind)
    plain = gym.make_vec(name, 3, "sync", vector_kwargs=same_step, observation=kind)
    assert type(envs).__name__ == "SnakeVectorEnv"
    for space in ("observation", "action", "single_observation", "single_action"):
        assert getattr(envs, f"{space}_space") == getattr(plain, f"{space}_space")
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert data_equivalence(envs.reset(seed=4), plain.reset(seed=4), exact=True)
    draw, ends = np.random.default_rng(0), 0
    for _ in range(200):
        actions = draw.integers(3, size=3)
        (seen, reward, *over, info), (other, *rest) = envs.step(actions), plain.step(actions)
        assert seen in envs.observation_space
        assert (led_to(seen, info) == led_to(other, rest[-1])).all()
        info.pop("final_obs", None)  # NumPy integers here, Python integers there
        rest[-1].pop("final_obs", None)
        ours = (seen, reward.astype(float), *over, info)
        assert data_equivalence(ours, (other, *rest), exact=True)
        ends += int(over[0].sum())
    assert ends > 10
    # A reset without a seed continues the generators.
    assert data_equivalence(envs.reset(), plain.reset(), exact=True)


def test_compiled_poles_have_the_spaces_of_gymnasiums() -> None:
    envs, plain = gym.make_vec("qstep/CartPole-v0", 2), gym.make("CartPole-v1")
    assert envs.single_observation_space == plain.observation_space
    assert envs.single_action_space == plain.action_space
    assert envs.reset(seed=0)[0] in envs.observation_space


def test_wrappers_of_gymnasium_take_them() -> None:
    envs = RecordEpisodeStatistics(poles(2))
    envs.reset(seed=0)
    lengths = []
    for _ in range(60):
        *_, info = envs.step(np.array([0, 0]))
        if "episode" in info:
            lengths += info["episode"]["l"][info["_episode"]].tolist()
    assert len(lengths) > 4
    assert all(8 <= length <= 11 for length in lengths)


def test_what_was_returned_is_not_changed_by_later_steps() -> None:
    envs = poles(4)
    kept = [envs.step([0, 1, 0, 1])[:4] for _ in range(30)]
    copies = [[array.copy() for array in step] for step in kept]
    for _ in range(30):
        envs.step([1, 1, 1, 1])
    for step, copy in zip(kept, copies, strict=True):
        assert all((one == other).all() for one, other in zip(step, copy, strict=True))


def test_step_needs_an_episode() -> None:
    with pytest.raises(EpisodeError, match="no episode has begun; call reset before"):
        gym.make_vec("qstep/CartPole-v0", 1).step([0])
