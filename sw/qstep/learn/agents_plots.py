"""Pictures of what agents learnt: their curves as a median and a band, and a greedy policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Band", "band", "draw_agents"]


class Band(NamedTuple):
    """Curves of the values of many agents, at the looks at which any value is known.

    Attributes
    ----------
    steps : ndarray of int64
    median, low, high : ndarray of float64
        Over the agents whose value is known.
    """

    steps: NDArray[np.int64]
    median: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(cls, steps: NDArray[np.int64], values: NDArray[np.float64]) -> Band:
        """Return the band of values of shape (looks, agents), with NaN for unknown ones."""
        known = ~np.isnan(values).all(axis=1)
        values = values[known]
        return cls(
            steps[known],
            np.nanmedian(values, axis=1),
            np.nanmin(values, axis=1),
            np.nanmax(values, axis=1),
        )


def draw_agents(
    title: str, evaluations: Mapping[str, NDArray[Any]], optimum: float | None
) -> Figure:
    """Return a picture: the return of exploring episodes, and the exact value of greedy policies.

    If no episode of the run ended, the reward of a step is drawn instead of the return. Lines are
    medians over the agents, bands from the worst to the best.

    Parameters
    ----------
    title : str
    evaluations : dict of str to ndarray
        The columns of :attr:`qstep.learn.agents_result.AgentsResult.history`.
    optimum : float or None
        The optimal value, for comparison; None if values are not known.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    steps, returns = evaluations["steps"], evaluations["episode_return"]
    valued = optimum is not None
    agents = returns.shape[1]
    who = f", {agents} agents" if agents > 1 else ""
    figure = Figure(figsize=(8, 6 if valued else 3.5))
    # Margins by hand: Matplotlib would draw everything twice to find them.
    figure.subplots_adjust(
        0.1, 0.09 if valued else 0.15, 0.98, 0.93 if valued else 0.88, hspace=0.08
    )
    panels = figure.subplots(2 if valued else 1, 1, sharex=True, squeeze=False)[:, 0]
    ended = not np.isnan(returns).all()
    shown = returns if ended else evaluations["step_reward"]
    band(panels[0], steps, shown, "tab:blue", f"exploring{who}")
    panels[0].set_ylabel("return of an episode" if ended else "reward of a step")
    if optimum is not None:
        band(
            panels[1],
            steps,
            evaluations["greedy_value"],
            "tab:orange",
            f"greedy policy, exact{who}",
        )
        panels[1].axhline(optimum, color="tab:green", linestyle="--", label="optimum")
        panels[1].set_ylabel("value of the start")
    for axes in panels:
        # Ticks between the powers of ten would take as long as everything else.
        axes.set_xscale("log", subs=[])
        axes.grid(alpha=0.3)
        axes.legend(loc="lower right")
    panels[-1].set_xlabel("steps of each agent")
    panels[-1].xaxis.set_major_formatter(EngFormatter(sep=""))
    figure.suptitle(title)
    return figure


def band(
    axes: Axes, steps: NDArray[np.int64], values: NDArray[np.float64], colour: str, label: str
) -> None:
    """Draw the median and a band from least to greatest of values of shape (looks, agents).

    Nothing is drawn where no episode of any agent ended.
    """
    shown = Band.of(steps, values)
    marker = "o" if len(shown.steps) == 1 else None  # a line needs two points to be seen
    axes.plot(shown.steps, shown.median, color=colour, label=label, marker=marker)
    axes.fill_between(shown.steps, shown.low, shown.high, color=colour, alpha=0.25, linewidth=0)
