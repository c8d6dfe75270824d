"""A run in which the host acts and the device learns, watched and steered meanwhile."""

from __future__ import annotations

from dataclasses import replace

from qstep.device import Device
from qstep.learn.host import Learner, Plan
from qstep.learn.plan import Budget
from qstep.learn.point import Point
from qstep.live.recent import Recent
from qstep.live.view import WatchedView, changed
from qstep.spec.epsilon import Epsilon, EpsilonSchedule
from qstep.spec.protocol import MOST_STEPS
from qstep.spec.settings import AgentCounters, AgentSettings, Hyperparameters

__all__ = ["HostRun"]


class HostRun:
    """A run on a device, in steps of any requested number; for the controller it is one agent.

    It equals the run of :class:`~qstep.learn.host.Learner`, whatever the pieces, without
    evaluations. A step is one of any of its environments.

    Parameters
    ----------
    device : Device
        Must be used only by this run from now on.
    plan : Plan
        `env_id`, `num_envs`, `sync_steps`; its length does not count.
    hyper : Hyperparameters
    epsilon : float
        How much to explore, 0..1.

    Raises
    ------
    ConfigError
        A value is illegal.
    EnvironmentSpaceError
        The environment does not fit the device's table.
    """

    def __init__(self, device: Device, plan: Plan, hyper: Hyperparameters, epsilon: float) -> None:
        self._device, self._hyper = device, hyper
        self._first = AgentSettings(hyper.alpha, hyper.gamma, Epsilon(epsilon), hyper.seed)
        self._plan = replace(plan, epsilon=_constant(self._first))
        self._budget = Budget(MOST_STEPS)
        self.reset()

    def reset(self) -> None:
        """As :meth:`Watched.reset <qstep.live.view.Watched.reset>`."""
        self._settings = self._first
        self._learner = Learner(self._device, self._plan, self._hyper)
        self._counters = AgentCounters()
        self._saturations_before = self._device.saturations()
        self._points: list[Point] = []
        self._returns: list[float] = []
        self._recent, self._sampled = Recent(), 0
        self._recent_returns: list[float] = []
        self._left = self._budget.piece(0)

    def advance(self, steps: int) -> int:
        """As :meth:`Watched.advance <qstep.live.view.Watched.advance>`.

        Fewer are made when the device gets collected transitions, an episode ends or a point is due.
        """
        steps = min(steps, self._left)
        columns, episodes = self._learner.stretch(steps, steps)
        made = len(columns[0])
        terminated = sum(episode.terminated for episode in episodes)
        own = self._counters
        self._counters = replace(
            own,
            steps=own.steps + made,
            terminations=own.terminations + terminated,
            truncations=own.truncations + len(episodes) - terminated,
        )
        totals = [episode.total for episode in episodes]
        self._returns += totals
        self._recent_returns += totals
        self._left -= made
        if not self._left:
            self._look()
        return made

    def _look(self) -> None:
        self._points.append(self._point(self._returns))
        self._returns = []
        self._left = self._budget.piece(self._counters.steps)

    def _point(self, returns: list[float]) -> Point:
        own = self._counters
        mean = sum(returns) / len(returns) if returns else float("nan")
        return Point(own.steps, (own.episodes,), (mean,), ())

    def configure(
        self,
        *,
        alpha: float | None = None,
        gamma: float | None = None,
        epsilon: float | None = None,
    ) -> None:
        """As :meth:`Watched.configure <qstep.live.view.Watched.configure>`."""
        own = changed(self._settings, alpha, gamma, epsilon)
        hyper = replace(self._hyper, alpha=own.alpha, gamma=own.gamma)
        self._learner.configure(hyper, _constant(own))
        self._recent.mark(self._counters.steps, self._settings, own)
        self._settings = own

    def view(self, sample: bool = False) -> WatchedView:
        """As :meth:`Watched.view <qstep.live.view.Watched.view>`."""
        if sample and self._counters.steps > self._sampled:
            self._recent.add(self._point(self._recent_returns))
            self._sampled, self._recent_returns = self._counters.steps, []
        number_format = self._device.config.format
        q = number_format.to_float(self._learner.table)[None]
        return WatchedView(
            self._settings,
            (),
            (self._counters,),
            self._device.saturations() - self._saturations_before,
            q,
            tuple(self._points),
            self._recent.points,
            self._recent.optima,
            self._recent.marks,
            None,
            None,
        )


def _constant(settings: AgentSettings) -> EpsilonSchedule:
    return EpsilonSchedule(settings.epsilon.start, settings.epsilon.start, 0.0)
