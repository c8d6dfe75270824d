"""Snake learnt by networks: the settings of each form.

In all of them exploration stops completely: a single random move can end a long game.
"""

from __future__ import annotations

from qstep.deep.dqn_config import DqnConfig
from qstep.deep.pqn_config import PqnConfig
from qstep.spec.epsilon import EpsilonSchedule

__all__ = ["EPISODES", "NUM_ENVS", "PQN", "configuration"]

NUM_ENVS = 256
EPISODES = 5_000

PQN = PqnConfig(
    total_timesteps=1_000_000,
    hidden=(256,),
    gamma=0.95,
    q_lambda=0.65,
    num_steps=16,
    update_epochs=2,
    num_minibatches=8,
    epsilon=EpsilonSchedule(1.0, 0.0, 0.05),
)


def configuration(form: str, seed: int) -> DqnConfig:
    """Return the settings of a form of DQN: ``plain`` or ``fast``.

    The schedules go by steps, and last about as long as 5,000 episodes with the flood fill.
    """
    fast = form == "fast"
    return DqnConfig(
        total_timesteps=2_000_000,
        hidden=(256,),
        variant="target",
        gamma=0.95,
        reward_scale=0.1,
        batch_size=128 if fast else 32,
        gradient_steps=16 if fast else 1,
        buffer_size=100_000,
        learning_starts=2_048,
        target_update_interval=8 if fast else 250,
        tau=1.0,
        learning_rate=1e-3,
        final_learning_rate=1e-4,
        epsilon=EpsilonSchedule(1.0, 0.0, 0.015),
        seed=seed,
    )
