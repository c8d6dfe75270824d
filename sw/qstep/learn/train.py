"""`qstep.train`: train in a world with one call; the engine is selected as on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qstep._io import extras
from qstep.envs import make, table_size
from qstep.envs.catalogue import defaults
from qstep.errors import ConfigError, FileFormatError, NoTableError
from qstep.learn.agents import AgentsRun
from qstep.learn.host import HostRun, Plan
from qstep.learn.metrics import Metrics
from qstep.learn.plan import AgentsWorld, Budget, planned, usual_settings, world_of_agents
from qstep.learn.result import Result, read_results
from qstep.learn.run import Progress, Run, check_complete, finished
from qstep.learn.sweep_result import load_sweep
from qstep.learn.table_result import TableResult, load_table_result
from qstep.learn.tiled_env import TiledEnv
from qstep.mdp.world import name_of
from qstep.spec.agents import Algorithm
from qstep.spec.checks import shown
from qstep.spec.config import Config
from qstep.spec.epsilon import FALLING
from qstep.spec.fixed import COEFFICIENT_BITS, QFormat, Rounding
from qstep.spec.settings import AgentSettings, Hyperparameters
from qstep.spec.tiles import Tiles

if TYPE_CHECKING:
    import gymnasium as gym

__all__ = ["load", "train"]


def train(
    world: AgentsWorld | str | gym.Env[Any, Any],
    *,
    act: str | None = None,
    device: str = "model",
    steps: int | None = None,
    episodes: int | None = None,
    agents: int | None = None,
    algorithm: Algorithm | str = Algorithm.Q_LEARNING,
    shared_table: bool = False,
    settings: AgentSettings | Sequence[AgentSettings] | None = None,
    number_format: QFormat | str | None = None,
    rounding: Rounding | str | None = None,
    coefficient_bits: int | None = None,
    lanes: int | None = None,
    config: Config | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    tiles: Tiles | int | Sequence[int] | None = None,
    progress: Callable[[Progress], object] | None = None,
    metrics: Metrics | None = None,
) -> TableResult:
    """Train the Q-table of a world, as ``qstep train`` does: on the model, a simulation or a board.

    If the world has a transition table, agents act on the device, where their tables are. They also act
    there in ``CartPole-v1`` and ``MountainCar-v0``, by tile coding (docs/features.md). Otherwise, the
    host acts in the environment and streams the transitions to the device. Without `settings`, some
    worlds have specific defaults (``qstep train --help``).

    Parameters
    ----------
    world : World, str or gymnasium.Env
        A name as for :func:`qstep.envs.make`, the path of a map or a world file, an environment, or a
        world. If the device's world is a circuit, give the circuit's file, or a world that describes the
        circuit, so that results can be compared with the optimum. If the host acts, an environment must
        come from ``gymnasium.make``.
    act : {"device", "host"}, optional
        Whether the device or the host acts. Default: the device, if the world has a transition table.
    device : str
        As for :func:`qstep.open`.
    steps, episodes : int, optional
        How long every agent learns, in one of these units. Default: 2000 episodes. The episode count is
        checked only at evaluations, so agents may run a few more episodes. If episodes may never end,
        give `steps`.
    agents : int, optional
        Number of agents, 1..2048. Default: one per entry of `settings`, or 8.
    algorithm : Algorithm or str
        ``q-learning``, ``sarsa``, ``expected-sarsa`` or ``double-q``.
    shared_table : bool
        True if all agents learn one table; otherwise each agent learns a separate one.
    settings : AgentSettings or sequence of AgentSettings, optional
        Settings of all agents, or of each. Default: alpha is 0.5, gamma 0.9, and epsilon falls from 1 to
        0.05 over the first half of the run. If given, they replace every default of the world: an unset
        epsilon is then a constant 0.1, and an unset gamma 0.9.
    number_format : QFormat or str, optional
        Default: 16 bits, with as many fraction bits as possible (:func:`~qstep.fitting_format`).
    rounding : Rounding or str
    coefficient_bits : int, optional
        As in :class:`~qstep.Config`; default: 15.
    lanes : int, optional
        Lanes of the hardware, as in :class:`~qstep.Config`. Default: as few as the agents need.
    config : Config, optional
        Configuration of an existing device. It sets the parameters from `agents` to `lanes`, which must
        not contradict it.
    env_kwargs : mapping, optional
        Arguments of the environment if `world` is a name, such as ``{"is_slippery": False}``.
    tiles : Tiles, int or sequence of int, optional
        For a named environment with real-valued observations: tiles for tile coding, or a tile count for
        all or for each of its coordinates (docs/features.md). The host steps the environment, and agents
        of the model learn.
    progress : callable, optional
        Called with a :class:`~qstep.Progress` at each evaluation, or at each episode if the host acts.
    metrics : Metrics, optional
        Receives numbers by name at each evaluation, as ``qstep train --metrics`` does.

    Returns
    -------
    TableResult
        With agents, an :class:`~qstep.AgentsResult`.

    Raises
    ------
    ConfigError, WorldError, DeviceError
        A value is illegal, the world does not fit, the budget is in episodes that do not end, or the
        device fails.

    Warns
    -----
    PrecisionWarning
        The learned discount differs from gamma (``qstep.spec.discount``), no 16-bit format can
        represent the values, or updates saturated.

    Examples
    --------
    >>> result = train("gridworld", episodes=500)
    >>> result.table.shape
    (8, 25, 4)
    """
    if act is not None and not (isinstance(act, str) and act in ("device", "host")):
        raise ConfigError(f"act is {shown(act)}; it must be 'device' or 'host'")
    if env_kwargs is not None and not isinstance(world, str):
        raise ConfigError(
            f"env_kwargs are {shown(env_kwargs)}; they are only for a world given by name"
        )
    source: AgentsWorld | str | None = None
    if tiles is not None:
        if not isinstance(world, str):
            raise ConfigError(
                f"world is {shown(world)}; with tiles it must be the environment's id, such as "
                "'tank:Tank-v0', because each agent gets its own environment"
            )
        if act is not None:
            raise ConfigError(f"tiles are {shown(tiles)} and act is {act!r}; leave act out")
        source = TiledEnv.of(world, tiles, env_kwargs)
    elif act != "host":
        try:
            source = world_of_agents(world, env_kwargs)
        except NoTableError:
            if act == "device":
                raise
    own = defaults(name_of(world), source is None)
    if steps is None and episodes is None:
        steps = own.get("steps")
        episodes = None if steps else own.get("episodes", 2000)
    if source is None:
        chosen = Algorithm.parse(algorithm).value
        for what, value, usual in (
            ("steps", steps, None),
            ("agents", agents, None),
            ("lanes", lanes, None),
            ("algorithm", chosen, Algorithm.Q_LEARNING.value),
            ("shared_table", shared_table, False),
        ):
            if shown(value) != shown(usual):  # compared as text, because any object may be given
                why = "act is 'host'" if act else f"{name_of(world)} has no transition table"
                raise ConfigError(
                    f"{what} is {shown(value)}; it is for runs in which the device acts, but {why}"
                    + ("; give episodes" if what == "steps" else "")
                )
        assert episodes is not None  # `steps` was rejected above
        run: Run = _host_run(
            *(world, device, episodes, settings, number_format, rounding, coefficient_bits),
            *(config, env_kwargs),
        )
    else:
        if settings is None:
            settings = usual_settings(name_of(world))
        plan = planned(
            source,
            budget=Budget(steps, episodes),
            agents=agents,
            algorithm=algorithm,
            shared_table=shared_table,
            settings=settings,
            number_format=number_format,
            rounding=Rounding.NEAREST if rounding is None else rounding,
            coefficient_bits=coefficient_bits,
            lanes=lanes,
            config=config,
        )
        run = AgentsRun(name_of(world), device, plan, env_kwargs=env_kwargs)
    result = finished(run, progress, metrics)
    assert isinstance(result, TableResult)
    return result


def _host_run(
    world: AgentsWorld | str | gym.Env[Any, Any],
    device: str,
    episodes: int,
    settings: AgentSettings | Sequence[AgentSettings] | None,
    number_format: QFormat | str | None,
    rounding: Rounding | str | None,
    coefficient_bits: int | None,
    config: Config | None,
    env_kwargs: Mapping[str, Any] | None,
) -> HostRun:
    """Return a run in which the host acts; omitted settings take the world's defaults."""
    name = name_of(world)
    if not isinstance(world, str):
        spec = getattr(world, "spec", None)
        if spec is None:
            raise ConfigError(
                f"world is {shown(world)}; for the host to act, it must be a name, or an environment "
                "that gymnasium.make can create again"
            )
        env_kwargs = spec.kwargs
    own = defaults(name, True)
    mode = Rounding.parse(own.get("rounding", "nearest") if rounding is None else rounding)
    if settings is None:
        epsilon = replace(FALLING, end=own.get("epsilon_end", FALLING.end))
        hyper = Hyperparameters(own.get("alpha", 0.5), own.get("gamma", 0.9), mode)
    elif isinstance(settings, AgentSettings):
        epsilon = settings.epsilon.shared(episodes)
        hyper = Hyperparameters(settings.alpha, settings.gamma, mode, settings.seed)
    else:
        raise ConfigError(
            "settings has several entries; where the host acts, there is only one agent: call "
            "train once for each"
        )
    if config is None:
        config = Config(
            *table_size(make(name, 0, env_kwargs=env_kwargs)),
            number_format or QFormat(8, 8),
            mode,
            coefficient_bits=COEFFICIENT_BITS if coefficient_bits is None else coefficient_bits,
        )
    plan = {key: own[key] for key in ("evaluate_every", "num_envs", "sync_steps") if key in own}
    return HostRun(
        device,
        Plan(name, episodes, epsilon, env_kwargs=dict(env_kwargs or {}), **plan),
        hyper,
        config,
    )


def load(folder: str | Path) -> Result:
    """Load the result that :meth:`Result.save` or a training command wrote to a folder.

    Raises
    ------
    FileFormatError
        A file is absent or damaged, or was written by another version, which the message names.
    ToolMissingError
        The folder contains a network, and PyTorch is not installed.
    """
    if not isinstance(folder, str | Path):
        raise ConfigError(f"folder is {shown(folder)}; it must be a path")
    folder = Path(folder)
    if not folder.is_dir():
        raise FileFormatError(f"{folder}: is not a folder; give the folder of a run")
    if (folder / "network.safetensors").exists():
        loaded: Result = extras.load("qstep.deep.result", "torch").load_network(folder)
        return loaded
    check_complete(folder / "report.json")
    report, history = read_results(folder)
    if report.get("command") == "sweep":
        return load_sweep(folder, report, history)
    return load_table_result(folder, report, history)
