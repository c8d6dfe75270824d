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

    `world` is None if its table is not known; `success` is the share of greedy episodes that reach the
    goal, None if there is no goal. The greedy policy is `optimal` for gamma, or `far` below the
    optimum. `longer` is the option that makes the run longer.
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
