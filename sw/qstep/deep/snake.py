"""Snake learnt by networks: what each form is set to.

Exploration ends altogether in all of them: a single random move can end a long game.
"""

from __future__ import annotations

from qstep.deep.dqn_config import DqnConfig
from qstep.deep.pqn_config import PqnConfig
from qstep.learn.schedule import EpsilonSchedule

__all__ = ["BOARDS", "EPISODES", "PQN", "configuration"]

BOARDS = 256
EPISODES = 5_000

PQN = PqnConfig(
    frames=1_000_000,
    hidden=(256,),
    gamma=0.95,
    decay=0.65,
    horizon=16,
    epochs=2,
    minibatches=8,
    epsilon=EpsilonSchedule(1.0, 0.0, 0.05),
)


def configuration(form: str, seed: int) -> DqnConfig:
    """Return what a form of DQN is set to: ``plain`` or ``fast``.

    The schedules go by frames, and are about what 5,000 episodes take with the flood fill.
    """
    fast = form == "fast"
    return DqnConfig(
        frames=2_000_000,
        hidden=(256,),
        variant="target",
        gamma=0.95,
        reward_scale=0.1,
        batch=128 if fast else 32,
        updates_per_step=16 if fast else 1,
        replay=100_000,
        warm_up=2_048,
        target_every=8 if fast else 250,
        target_rate=1.0,
        rate=1e-3,
        last_rate=1e-4,
        epsilon=EpsilonSchedule(1.0, 0.0, 0.015),
        seed=seed,
    )
