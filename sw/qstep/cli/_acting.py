"""Options shared by the commands in which agents act on a device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from qstep.cli._options import (
    HYPER_OPTIONS,
    accelerator_option,
    coefficient_bits_option,
    config_from,
    device_option,
    env_kwargs_option,
    refuse,
    shared,
    typed,
)
from qstep.envs.catalogue import defaults
from qstep.errors import NoTableError
from qstep.spec.agents import Algorithm
from qstep.spec.config import Config
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import Rounding
from qstep.spec.integer_worlds import IntegerWorld
from qstep.spec.settings import AgentSettings, Hyperparameters

if TYPE_CHECKING:
    from qstep.learn.agents import AgentsRun
    from qstep.learn.host import HostRun
    from qstep.learn.plan import AgentsWorld, Budget

__all__ = ["ActingOptions", "acting_world"]

_AGENTS = ("agents", "lanes", "shared_table", "algorithm")
_DEVICE_ONLY = ("max_episode_steps", *_AGENTS, "trace")
_HOST_ONLY = ("evaluate_every", "num_envs", "sync_steps")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActingOptions:
    """The options as typed; options that were not given take the world's defaults."""

    env_kwargs: dict[str, Any] = shared(env_kwargs_option)
    url: str = shared(device_option)
    agents: int | None = typed(
        "--agents", "Number of agents on the device, 1..2048.  [default: 8]", type=int
    )
    max_episode_steps: int | None = typed(
        "--max-episode-steps",
        "Steps after which an episode is truncated, 0 for no limit.  [default: the world's]",
        type=int,
    )
    lanes: int | None = typed(
        "--lanes",
        "Lanes of a simulation or a board, each for up to 16 agents.  "
        "[default: as few as the agents need]",
        type=int,
    )
    shared_table: bool = typed(
        "--shared-table", "All agents on the device learn one table.", is_flag=True
    )
    algorithm: str = typed(
        "--algorithm",
        "Algorithm of agents on the device.",
        type=click.Choice([algorithm.value for algorithm in Algorithm]),
        default=Algorithm.Q_LEARNING.value,
    )
    alpha: float = shared(HYPER_OPTIONS["alpha"])
    gamma: float = shared(HYPER_OPTIONS["gamma"])
    rounding: str | None = shared(HYPER_OPTIONS["rounding"])
    seed: int = shared(HYPER_OPTIONS["seed"])
    config_file: Path | None = shared(accelerator_option)
    number_format: str | None = typed(
        "--format",
        "Number format.  [default: on the device, 16 bits that fit the world; otherwise Q8.8]",
        "number_format",
        metavar="Qm.F",
    )
    coefficient_bits: int | None = shared(coefficient_bits_option)
    num_envs: int
    sync_steps: int

    def agents_run(
        self, name: str, world: AgentsWorld | str, budget: Budget, epsilon: Epsilon, **more: Any
    ) -> AgentsRun:
        """Return a run in which agents act on the device; `more` is passed on to AgentsRun."""
        from qstep.learn.agents import AgentsRun
        from qstep.learn.plan import planned

        plan = planned(
            world,
            budget=budget,
            agents=self.agents,
            algorithm=self.algorithm,
            shared_table=self.shared_table,
            settings=AgentSettings(self.alpha, self.gamma, epsilon, self.seed),
            number_format=self.number_format,
            rounding=self.rounding or Rounding.NEAREST,
            coefficient_bits=self.coefficient_bits,
            lanes=self.lanes,
            config=self._file_config,
        )
        return AgentsRun(name, self.url, plan, env_kwargs=self.env_kwargs, **more)

    def host_run(self, name: str, epsilon: Epsilon, **more: Any) -> HostRun:
        """Return a run in which the host acts; `more` is passed on to Plan.

        Without a configuration file, the accelerator gets a table of the environment's size.
        """
        from qstep.envs import make, table_size
        from qstep.learn.host import HostRun, Plan

        plan = Plan(
            name,
            epsilon=epsilon,
            sync_steps=self.sync_steps,
            num_envs=self.num_envs,
            env_kwargs=self.env_kwargs,
            **more,
        )
        hyper = Hyperparameters(self.alpha, self.gamma, self.rounding, self.seed)
        config = self._file_config
        if config is None:
            states, actions = table_size(make(name, 0, env_kwargs=self.env_kwargs))
            own = {"states": states, "actions": actions, "rounding": self.rounding}
            bits = self.coefficient_bits
            config = config_from(None, self.number_format, **own, coefficient_bits=bits)
        return HostRun(self.url, plan, hyper, config)

    @property
    def _file_config(self) -> Config | None:
        if self.config_file is None:
            return None
        return config_from(
            self.config_file, self.number_format, coefficient_bits=self.coefficient_bits
        )


def acting_world(
    name: str, options: dict[str, Any], act: str | None = None
) -> AgentsWorld | str | None:
    """Return the world in which agents act, or the name of a circuit; None if the host acts.

    Options that were not given take the world's defaults. Raises UsageError if an option was given that
    has no effect in this run.
    """
    # Gymnasium and Numba take a second to load, so they are imported only when needed.
    from qstep.learn.plan import world_of_agents
    from qstep.mdp.world import World

    world: AgentsWorld | str | None = None
    tiles = options.get("tiles")
    if tiles is not None:
        from qstep.learn.tiled_env import TiledEnv

        refuse(
            ("act", "lanes", "max_episode_steps"), "is not for --tiles: the host steps the world"
        )
        world = TiledEnv.of(name, tiles, options["env_kwargs"])
    elif act != "host":
        try:
            world = world_of_agents(name, options["env_kwargs"])
        except NoTableError:
            if act == "device":
                raise
    if world is None:
        why = "--act is host" if act else f"{name} has no transition table"
        refuse(["steps"], f"is for runs in which the device acts, but {why}; give --episodes")
        refuse(_DEVICE_ONLY, f"is for runs in which the device acts, but {why}")
    else:
        refuse(_HOST_ONLY, "is for runs in which the host acts")
        if (file := options["config_file"]) is not None:
            refuse(("algorithm", "shared_table", "rounding"), f"is given by --config {file}")
    ctx = click.get_current_context()
    own = dict(defaults(name, world is None))
    if ctx.get_parameter_source("episodes") is ParameterSource.COMMANDLINE:
        own.pop("steps", None)  # `steps` is only a default here, so it does not conflict
    for option, value in own.items():
        if ctx.get_parameter_source(option) in (None, ParameterSource.DEFAULT):
            options[option] = value
    if (limit := options["max_episode_steps"]) is not None:
        if not isinstance(world, World | IntegerWorld):
            raise click.UsageError("--max-episode-steps is for worlds with a transition table")
        world = world.limited(limit)
    return world
