"""Extraction of a world's arrays from an environment with a transition table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium import wrappers
from gymnasium.envs.toy_text import CliffWalkingEnv, FrozenLakeEnv, TaxiEnv
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from qstep.envs.checked import CheckedEnv
from qstep.envs.gridworld import GridWorld
from qstep.errors import NoTableError, WorldError
from qstep.mdp.rows import OUTCOMES, STARTS
from qstep.mdp.table_env import TableEnv
from qstep.spec.checks import shown

if TYPE_CHECKING:
    from qstep.mdp.world import World

__all__ = ["arrays_of", "check_game"]

Arrays = tuple[dict[str, Any], int, int, int]
"""Columns by name, the step limit, and the numbers of states and actions."""

_KNOWN: dict[type[gym.Env[Any, Any]], set[str]] = {
    GridWorld: {"text", "source", "render_mode"},
    TableEnv: {"world"},
    FrozenLakeEnv: {
        *("render_mode", "desc", "map_name", "is_slippery", "success_rate", "reward_schedule"),
    },
    CliffWalkingEnv: {"render_mode", "is_slippery"},
    TaxiEnv: {
        *("render_mode", "is_rainy", "rainy_probability", "fickle_passenger", "fickle_probability"),
    },
}
"""Classes whose `step` and `reset` only sample from the table, and the arguments for which this has been
verified; `fickle_passenger` is an exception, which is checked below."""

_NEUTRAL = (
    CheckedEnv,
    wrappers.Autoreset,
    wrappers.HumanRendering,
    wrappers.OrderEnforcing,
    wrappers.PassiveEnvChecker,
    wrappers.RecordEpisodeStatistics,
    wrappers.RecordVideo,
    wrappers.RenderCollection,
    wrappers.TimeLimit,
)
"""Wrappers that leave actions, observations, rewards and terminations unchanged."""

_TRIED_STEPS = 1000


def arrays_of(env: gym.Env[Any, Any]) -> Arrays:
    """Return the unchecked columns of an environment's table; see ``World.from_env``."""
    if not isinstance(env, gym.Env):
        raise WorldError(
            f"world is {shown(env)}; it must be a World, the name of one, or an environment of Gymnasium"
        )
    inner = env.unwrapped
    table: Any = getattr(inner, "P", None)
    distribution: Any = getattr(inner, "initial_state_distrib", None)
    has_rows = isinstance(inner, GridWorld | TableEnv)
    if not has_rows and (not isinstance(table, dict) or distribution is None):
        raise NoTableError(
            f"{type(inner).__name__} has no transition table, P and initial_state_distrib; only the "
            "host can act in it, in qstep train (act='host', or --act host)"
        )
    _check_step(inner)
    limit = _limit(env)
    if isinstance(inner, GridWorld):
        return _of_map(inner, limit)
    if isinstance(inner, TableEnv):
        world = inner.world
        own = {name: getattr(world, name) for name in OUTCOMES + STARTS}
        return own, limit, world.states, world.actions
    try:
        rows = [
            (state, action, *outcome)
            for state, of_state in table.items()
            for action, outcomes in of_state.items()
            for outcome in outcomes
        ]
        state, action, probability, next_state, reward, terminated = map(
            np.array, zip(*rows, strict=True)
        )
        columns = {
            "probability": probability,
            "reward": reward.astype(np.float64),
            "terminated": terminated.astype(np.bool_),
            "start_state": np.arange(len(distribution)),
            "start_probability": distribution,
        }
    except (AttributeError, TypeError, ValueError) as cause:
        raise WorldError(
            f"{type(inner).__name__}: P is not a transition table, a dictionary of dictionaries of "
            f"lists of (probability, next state, reward, terminated): {cause}"
        ) from cause
    states, columns["state"], columns["next_state"] = _counted(
        "observation", inner, state, next_state
    )
    actions, columns["action"] = _counted("action", inner, action)
    return columns, limit, states, actions


def check_game(env: gym.Env[Any, Any], world: World) -> None:
    """Raise WorldError if an environment of an unknown class contradicts its table in a trial.

    The trial takes 1000 random actions. Known classes are exempt, because their code has been reviewed.
    """
    inner = env.unwrapped
    if isinstance(inner, tuple(_KNOWN)):
        return
    columns = world.state, world.action, world.next_state, world.reward, world.terminated
    known = set(zip(*(column.tolist() for column in columns), strict=True))
    starts = set(world.start_state.tolist())
    name, draw = type(inner).__name__, np.random.default_rng(0)
    game, state = CheckedEnv(inner, name), -1
    for tried in range(_TRIED_STEPS):
        if state < 0:
            state, _ = game.reset(seed=None if tried else 0)
            if state not in starts:
                raise WorldError(
                    f"{name}: reset gave state {state}, in which no episode starts according to "
                    f"initial_state_distrib; {_INSTEAD}"
                )
        action = int(draw.integers(world.actions))
        following, reward, terminated, truncated, _ = game.step(action)
        if (state, action, following, reward, terminated) not in known:
            raise WorldError(
                f"{name}: step gave state {following}, reward {reward:g}, terminated {terminated} for "
                f"action {action} in state {state}, which its P does not contain; {_INSTEAD}"
            )
        state = -1 if terminated or truncated else following


def _check_step(inner: gym.Env[Any, Any]) -> None:
    """Raise WorldError if an environment of a known class does not follow its table."""
    for known, arguments in _KNOWN.items():
        if not isinstance(inner, known):
            continue
        for method in ("step", "reset"):
            own = getattr(inner, method)
            if getattr(own, "__func__", None) is not getattr(known, method):
                raise WorldError(
                    f"{type(inner).__name__} replaces {method} of {known.__name__}, so its transition "
                    f"table may describe another game; {_INSTEAD}"
                )
        given = inner.spec.kwargs if type(inner) is known and inner.spec is not None else ()
        for argument in set(given) - arguments:
            raise WorldError(
                f"{known.__name__} was made with {argument}, and it is not known whether the transition "
                f"table reflects that; {_INSTEAD}"
            )
    if isinstance(inner, TaxiEnv) and getattr(inner, "fickle_passenger", False):
        raise WorldError(
            "fickle_passenger is true; the passenger then changes the destination, which the transition "
            f"table of {type(inner).__name__} does not contain; {_INSTEAD}"
        )


_INSTEAD = "let the host act (qstep train --act host), or give the true table to World.from_arrays"


def _counted(what: str, env: gym.Env[Any, Any], *columns: NDArray[Any]) -> Any:
    """Return the size of a space, and columns of its observations or actions, renumbered from 0."""
    name, space = type(env).__name__, getattr(env, f"{what}_space")
    if not isinstance(space, Discrete):
        raise WorldError(
            f"{name}: the {what} space is {space}; a transition table needs a Discrete one"
        )
    for column in columns:
        if column.dtype.kind not in "iu":
            raise WorldError(f"{name}: P has {what}s of {column.dtype}; they must be integers")
        outside = (column < space.start) | (column >= space.start + space.n)
        if outside.any():
            raise WorldError(
                f"{name}: P has the {what} {column[outside][0]}; the {what} space is {space}"
            )
    return int(space.n), *(column - space.start for column in columns)


def _of_map(grid: GridWorld, limit: int) -> Arrays:
    model = grid.deterministic_model()
    states, actions = model.reward.shape
    state, action = np.divmod(np.arange(states * actions), actions)
    columns = {
        "state": state,
        "action": action,
        "next_state": model.next_state.ravel(),
        "reward": model.reward.ravel(),
        "terminated": model.terminated.ravel(),
        "start_state": [model.start],
    }
    return columns, min(limit or grid.step_cap, grid.step_cap), states, actions


def _limit(env: gym.Env[Any, Any]) -> int:
    """Return the lowest step limit of an environment's wrappers, or 0; reject unknown wrappers."""
    limits = []
    while isinstance(env, gym.Wrapper):
        if type(env) not in _NEUTRAL:
            raise WorldError(
                f"{type(env).__name__} may change how {type(env.unwrapped).__name__} behaves, "
                "which the transition table would not show; make the world from the environment "
                "without this wrapper, or let the host act (qstep train --act host)"
            )
        if isinstance(env, wrappers.TimeLimit):
            limits.append(int(env._max_episode_steps))
        env = env.env
    return min(limits, default=0)
