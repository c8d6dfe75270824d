"""`qstep.train`: agents learn a world, in one call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from qstep.device.acting import open_agents
from qstep.errors import PrecisionWarning
from qstep.learn.agents import Budget, Training
from qstep.learn.metrics import Metrics
from qstep.learn.plan import planned
from qstep.learn.point import Point
from qstep.learn.result import TrainingResult
from qstep.mdp.world import World
from qstep.spec.agents import Algorithm
from qstep.spec.checks import check_callable
from qstep.spec.config import Config
from qstep.spec.fixed import QFormat, Rounding
from qstep.spec.settings import AgentSettings

if TYPE_CHECKING:
    import gymnasium as gym

__all__ = ["train"]


def train(
    world: World | str | gym.Env[Any, Any],
    *,
    device: str = "model",
    steps: int | None = None,
    episodes: int | None = None,
    agents: int | None = None,
    algorithm: Algorithm | str = Algorithm.Q_LEARNING,
    shared_table: bool = False,
    settings: AgentSettings | Sequence[AgentSettings] | None = None,
    number_format: QFormat | str | None = None,
    rounding: Rounding | str = Rounding.NEAREST,
    lanes: int | None = None,
    config: Config | None = None,
    progress: Callable[[Point], object] | None = None,
    metrics: Metrics | None = None,
) -> TrainingResult:
    """Let agents learn a world next to their tables: on the model, a simulation or a board.

    Parameters
    ----------
    world : World, str or gymnasium.Env
        A name is one for :meth:`World.named`, and an environment one for :meth:`World.from_env`. If the
        device's world is a circuit: its file, or a world that describes it, with which results are
        compared.
    device : str
        As for :func:`qstep.open`.
    steps, episodes : int, optional
        How long every agent learns; give one of them. Default: 2000 episodes. Episodes are counted at
        looks, so some agents make more. If episodes need not end, `steps` is needed.
    agents : int, optional
        P, 1..2048. Default: one for each of `settings`, or 8.
    algorithm : Algorithm or str
        ``q-learning``, ``sarsa``, ``expected-sarsa`` or ``double-q``.
    shared_table : bool
        All agents learn one table; otherwise each has its own.
    settings : AgentSettings or sequence of AgentSettings, optional
        For all agents, or for each. Default: alpha is 0.5, gamma 0.9, and epsilon falls from 1 to 0.05
        over the first half of the run.
    number_format : QFormat or str, optional
        Default: 16 bits with as many fraction bits as the world permits
        (:func:`qstep.learn.plan.fitting_format`).
    rounding : Rounding or str
    lanes : int, optional
        Lanes of the hardware, as in :class:`~qstep.Config`. Default: as few as the agents need.
    config : Config, optional
        That of an existing device; it sets what `agents` to `lanes` would set, and they must not
        contradict it.
    progress : callable, optional
        Called with each :class:`~qstep.learn.point.Point` of the run.
    metrics : Metrics, optional
        Receives the steps of each agent, and :attr:`~qstep.learn.point.Point.metrics`, at each point.

    Returns
    -------
    TrainingResult

    Raises
    ------
    ConfigError, WorldError, DeviceError
        A value is illegal, the world does not fit, episodes are counted and do not end, or the
        device fails.

    Warns
    -----
    PrecisionWarning
        The discount that is learned differs from gamma (``qstep.spec.discount``), no format of 16 bits
        holds the values, or updates saturated.

    Examples
    --------
    >>> result = train("gridworld", episodes=500)
    >>> result.table.shape
    (8, 25, 4)
    """
    for name, given in (("progress", progress), ("metrics", metrics)):
        check_callable(name, given)
    if steps is None and episodes is None:
        episodes = 2000
    plan = planned(
        world,
        budget=Budget(steps, episodes),
        agents=agents,
        algorithm=algorithm,
        shared_table=shared_table,
        settings=settings,
        number_format=number_format,
        rounding=rounding,
        lanes=lanes,
        config=config,
    )
    opened = open_agents(device, plan.config, plan.loaded, plan.settings)
    try:
        training = Training(
            opened, plan.world, [own.discount for own in plan.settings], plan.budget
        )
        for point in training:
            if progress is not None:
                progress(point)
            if metrics is not None:
                metrics(point.steps, point.metrics)
        result = TrainingResult.of(plan, training)
        if result.saturated is not None:
            warnings.warn(result.saturated, PrecisionWarning, stacklevel=2)
        return result
    finally:
        opened.close()
