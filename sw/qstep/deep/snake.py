"""Snake learnt by networks: what each form is set to."""

from __future__ import annotations

from qstep.deep.dqn_config import DqnConfig
from qstep.learn.schedule import EpsilonSchedule

__all__ = ["BOARDS", "configuration"]

BOARDS = 256


def configuration(form: str, seed: int) -> DqnConfig:
    """Return what a form of DQN is set to: ``plain`` or ``fast``.

    The schedules go by frames, and `frames` is about what 5,000 episodes take with the 11 features.
    Exploration ends altogether: a single random move can end a long game.
    """
    if form == "plain":
        return DqnConfig(
            frames=700_000,
            hidden=(256,),
            variant="target",
            gamma=0.9,
            reward_scale=0.1,
            batch=32,
            updates_per_step=1,
            replay=100_000,
            warm_up=1_000,
            target_every=250,
            target_rate=1.0,
            rate=1e-3,
            last_rate=1e-4,
            epsilon=EpsilonSchedule(1.0, 0.0, 0.03),
            seed=seed,
        )
    return DqnConfig(
        frames=2_000_000,
        hidden=(256,),
        variant="target",
        gamma=0.95,
        reward_scale=0.1,
        batch=128,
        updates_per_step=16,
        replay=100_000,
        warm_up=2_048,
        target_every=8,
        target_rate=1.0,
        rate=1e-3,
        last_rate=1e-4,
        epsilon=EpsilonSchedule(1.0, 0.0, 0.015),
        seed=seed,
    )
