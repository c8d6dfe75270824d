"""Records of environments with built-in settings; QStep's own are registered with Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

from qstep.envs.maps import MAPS
from qstep.spec.epsilon import Epsilon

__all__ = [
    "ENVIRONMENTS",
    "NAMED",
    "NETWORKS",
    "UNNAMED",
    "Environment",
    "defaults",
    "in_words",
    "networks_in_words",
    "record_of",
]

UNNAMED = "world"
"""Placeholder name of a world given as an object without a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The record of an environment with built-in settings.

    Attributes
    ----------
    id : str
        Gymnasium's id.
    name : str
        Short name of its table version, or empty.
    aliases : tuple of str
        Ids of the same task in other releases of Gymnasium.
    entry_point : str
        Its class, as ``module:name``; empty for an environment that is not QStep's.
    vector_entry_point, vector_id : str
        Class of its compiled version, or empty, and the id of that version if it differs.
    kwargs : mapping
        Arguments for its registration.
    reward_threshold : float or None
        Minimum mean return that counts as solved.
    table : mapping or None
        Arguments that make it return table rows as observations; None if it has no table version.
    kernels : str
        Module of the compiled kernels of its table version, or empty; see ``qstep.learn.actor_kernels``.
    success_length : int or None
        Number of steps after which an episode that has not terminated counts as a success; None if the
        length is irrelevant.
    device, host : mapping
        Default options of ``qstep train`` for tables, if the device acts and if the host acts. Other
        options keep their usual defaults.
    networks : mapping
        Its arguments, by the name under which networks learn it with the settings below.
    network_episodes : int or None
        Number of episodes after which the training of a network ends.
    network_settings : mapping
        Settings by algorithm: fields of its configuration, `num_envs` and `evaluate_every`.
    """

    id: str
    name: str = ""
    aliases: tuple[str, ...] = ()
    entry_point: str = ""
    vector_entry_point: str = ""
    vector_id: str = ""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    reward_threshold: float | None = None
    table: Mapping[str, Any] | None = field(default_factory=dict)
    kernels: str = ""
    success_length: int | None = None
    device: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    networks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    network_episodes: int | None = None
    network_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def _grid_world(name: str, env_id: str, **settings: Any) -> Environment:
    return Environment(
        id=env_id,
        name=name,
        entry_point="qstep.envs.gridworld:GridWorld",
        kwargs={"text": MAPS[name], "source": name},
        device=settings,
        host=settings,
    )


# One update with a batch of 128 transitions every 8 steps, and a soft-updated target network.
_CARTPOLE_DQN = {
    "total_timesteps": 400_000,
    "hidden": (64, 64),
    "variant": "double",
    "gamma": 0.98,
    "reward_scale": 0.02,  # 1 - gamma, so values reach 1
    "batch_size": 128,
    "gradient_steps": 4,
    "buffer_size": 100_000,
    "learning_starts": 1_000,
    "target_update_interval": 1,
    "tau": 0.02,
    "learning_rate": 1e-3,
    "final_learning_rate": 0.0,
    "epsilon": Epsilon(1.0, 0.05, "linear", 0.2, "run"),
}

# In Snake, exploration stops completely, because a single random move can end a long game.
_SNAKE_DQN = {
    "total_timesteps": 2_000_000,  # about as long as 5,000 episodes with the flood fill
    "hidden": (256,),
    "variant": "target",
    "gamma": 0.95,
    "reward_scale": 0.1,
    "batch_size": 128,
    "gradient_steps": 16,
    "buffer_size": 100_000,
    "learning_starts": 2_048,
    "target_update_interval": 8,
    "tau": 1.0,
    "learning_rate": 1e-3,
    "final_learning_rate": 1e-4,
    "epsilon": Epsilon(1.0, 0.0, "linear", 0.015, "run"),
    "num_envs": 256,
}

ENVIRONMENTS = (
    _grid_world("gridworld", "qstep/GridWorld-v0"),
    _grid_world("gridworld-8x8", "qstep/GridWorld8x8-v0"),
    _grid_world("gridworld-16x16", "qstep/GridWorld16x16-v0"),
    # At 74 steps from the goal, values with a gamma of 0.9 are below the resolution of Q8.8.
    _grid_world("gridworld-32x32", "qstep/GridWorld32x32-v0", gamma=0.99),
    Environment(
        id="FrozenLake-v1",
        # The ice is slippery, so outcomes must be averaged, and a reward of 1 many steps ahead must stay
        # above 2^-8 when discounted. The device takes so many steps per second that it can average with
        # a small alpha. With alpha 0.03, the learned discount would be 0.98983.
        device={"alpha": 0.0305, "gamma": 0.99, "episodes": 20_000},
        host={"alpha": 0.1, "gamma": 0.99, "episodes": 5000},
    ),
    Environment(
        id="CliffWalking-v1",
        aliases=("CliffWalking-v0",),
        # Without a step limit, the first episodes are long, so few episodes are enough.
        device={"episodes": 500},
        host={"episodes": 500},
    ),
    Environment(id="Taxi-v4", aliases=("Taxi-v3",), device={"episodes": 5000}),
    Environment(
        id="qstep/Snake-v0",
        name="snake",
        entry_point="qstep.envs.snake:Snake",
        vector_entry_point="qstep.envs.snake_vector:SnakeVectorEnv",
        table={"observation": "state"},
        kernels="qstep.envs.snake_kernels",
        # A state covers many grids, so values must be averaged. One random move can end a game.
        host={
            "alpha": 0.05,
            "epsilon_end": 0.0,
            "episodes": 3000,
            "evaluate_every": 500,
            "num_envs": 8,
            "sync_steps": 1024,
        },
        networks={"snake": {"observation": "flood"}, "snake-features": {"observation": "features"}},
        network_episodes=5_000,
        network_settings={
            "dqn": _SNAKE_DQN,
            "dqn plain": {
                **_SNAKE_DQN,
                "batch_size": 32,
                "gradient_steps": 1,
                "target_update_interval": 250,
                "num_envs": 4,
            },
            "pqn": {
                "total_timesteps": 1_000_000,
                "hidden": (256,),
                "gamma": 0.95,
                "q_lambda": 0.65,
                "num_steps": 16,
                "update_epochs": 2,
                "num_minibatches": 8,
                "epsilon": Epsilon(1.0, 0.0, "linear", 0.05, "run"),
                "num_envs": 256,
            },
        },
    ),
    Environment(
        id="qstep/CartPoleTable-v0",
        name="cartpole",
        entry_point="qstep.envs.cartpole_table:CartPoleTable",
        reward_threshold=475.0,
        kernels="qstep.envs.cartpole_kernels",
        success_length=500,
        # A row covers many states, so values are means of many small corrections. Rounding to
        # nearest would drop corrections below half of 2^-8.
        host={
            "alpha": 0.1,
            "gamma": 0.99,
            "rounding": "stochastic",
            "epsilon_end": 0.0,
            "episodes": 3000,
            "evaluate_every": 500,
            "num_envs": 4,
            "sync_steps": 1024,
        },
    ),
    Environment(
        id="CartPole-v1",
        aliases=("CartPole-v0",),
        vector_entry_point="qstep.envs.cartpole_vector:CartPoleVectorEnv",
        vector_id="qstep/CartPole-v0",
        reward_threshold=475.0,
        table=None,
        device={
            "alpha": 0.1,
            "gamma": 0.99,
            "epsilon_start": 0.1,
            "epsilon_end": 0.0,
            "epsilon_share": 0.6,
            "steps": 200_000,
        },
        networks={"cartpole": {}},
        network_settings={
            "dqn": {**_CARTPOLE_DQN, "evaluate_every": 100},
            "dqn plain": {**_CARTPOLE_DQN, "evaluate_every": 10},
            "pqn": {"evaluate_every": 100},
        },
    ),
    Environment(
        id="MountainCar-v0",
        reward_threshold=-110.0,
        table=None,
        device={
            "alpha": 0.8,
            "gamma": 1.0,
            "epsilon_start": 0.0,
            "epsilon_end": 0.0,
            "steps": 60_000,
        },
    ),
    Environment(
        id="Pendulum-v1",
        vector_entry_point="qstep.envs.pendulum_vector:PendulumVectorEnv",
        vector_id="qstep/Pendulum-v0",
        table=None,
        networks={"Pendulum-v1": {}},
        network_settings={
            "sac": {
                "total_timesteps": 10_000,
                "hidden": (64, 64),
                "reward_scale": 0.1,
                "learning_rate": 1e-3,
                "final_learning_rate": 0.0,
                "learning_starts": 500,
                "tau": 0.01,
                "evaluate_every": 5,
            },
        },
    ),
    # A fixed temperature and a gamma near 1: the goal's reward is rare, and each step has a cost.
    Environment(
        id="MountainCarContinuous-v0",
        table=None,
        networks={"MountainCarContinuous-v0": {}},
        network_settings={
            "sac": {
                "total_timesteps": 50_000,
                "hidden": (64, 64),
                "gamma": 0.9999,
                "learning_starts": 4_000,
                "action_hold": 30,
                "learning_rate": 1e-3,
                "final_learning_rate": 0.0,
                "gradient_steps": 4,
                "tau": 0.01,
                "policy_frequency": 1,
                "temperature": 0.1,
                "learn_temperature": False,
                "num_envs": 8,
                "evaluate_every": 50,
            },
        },
    ),
    Environment(
        id="HalfCheetah-v5",
        table=None,
        networks={"HalfCheetah-v5": {}},
        network_settings={"sac": {"evaluate_every": 50}},
    ),
)
"""All environments with built-in settings."""

NAMED = {
    name: record
    for record in ENVIRONMENTS
    for name in (record.name, record.id, record.vector_id, *record.aliases)
    if name
}
"""Records by short name, id and alias."""

NETWORKS = {name: record for record in ENVIRONMENTS for name in record.networks}
"""Records by the names under which networks have specific settings."""


def record_of(env_id: object) -> Environment | None:
    """Return the record of a short name, an id or ``module:id``; None for anything else."""
    return NAMED.get(env_id.rpartition(":")[2]) if isinstance(env_id, str) else None


def defaults(world: str, on_host: bool) -> Mapping[str, Any]:
    """Return a world's table settings that differ from the usual defaults."""
    record = record_of(world)
    if record is None:
        return {}
    return record.host if on_host else record.device


def in_words() -> str:
    """Return the names of QStep's environments and all worlds' defaults, for ``qstep train --help``."""
    names = ", ".join(record.name for record in ENVIRONMENTS if record.name)
    text = f"Worlds of QStep: {names}."
    for who in ("device", "host"):
        settings = {record.name or record.id: getattr(record, who) for record in ENVIRONMENTS}
        worlds = "; ".join(f"{name} {_typed(own)}" for name, own in settings.items() if own)
        text += f" Defaults of worlds in which the {who} acts: {worlds}."
    return text


def networks_in_words(algorithm: str) -> str:
    """Return the names for which an algorithm has specific settings, for its ``--help``."""
    names = []
    for name, record in NETWORKS.items():
        if algorithm not in record.network_settings:
            continue
        arguments = ", ".join(f"{key} {value}" for key, value in record.networks[name].items())
        names.append(f"{name} ({arguments})" if arguments else name)
    return f"Worlds with specific settings: {', '.join(names)}."


def _typed(settings: Mapping[str, Any]) -> str:
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in settings.items())


for _own in ENVIRONMENTS:
    if _own.entry_point or _own.vector_entry_point:
        # No `max_episode_steps`: these environments end their episodes themselves.
        gym.register(
            _own.vector_id or _own.id,
            entry_point=_own.entry_point or None,
            vector_entry_point=_own.vector_entry_point or None,
            reward_threshold=_own.reward_threshold,
            kwargs=dict(_own.kwargs),
        )
