"""What to try after a run that learned little."""

from __future__ import annotations

from qstep.mdp.world import World

__all__ = ["hint"]

_AVERAGING = 0.1
"""An alpha with which random outcomes are averaged well enough for a first success."""


def hint(
    name: str,
    world: World | None,
    *,
    success: float | None,
    optimal: bool,
    far: bool,
    alpha: float,
    gamma: float,
    longer: str,
) -> str | None:
    """Return a sentence about a run that did not learn its world; None about any other run.

    Parameters
    ----------
    name : str
        The world's, as typed.
    world : World or None
        None if it has no known table.
    success : float or None
        Share of the greedy episodes that reach the goal; None if there is no goal.
    optimal : bool
        The greedy policy is optimal for `gamma`.
    far : bool
        It is far below the optimum.
    alpha, gamma : float
    longer : str
        The option that makes the run longer.
    """
    sweep = f"; qstep sweep {name} compares alphas and gammas" if world is not None else ""
    if optimal and success == 0:
        return f"with gamma {gamma:g} the best policy misses the goal; try another --gamma{sweep}"
    if success != 0 and not far:
        return None
    has_chance = world is not None and world.has_chance
    averages = has_chance and alpha > _AVERAGING
    smaller = [f"--alpha {_AVERAGING} (outcomes are random)"] if averages else []
    tries = [longer, *smaller, "another --gamma", "a larger --epsilon-share"]
    missed = "the greedy policy misses the goal" if success == 0 else "far below the optimum"
    return f"not learned: {missed}; try {', '.join(tries[:-1])} or {tries[-1]}{sweep}"
