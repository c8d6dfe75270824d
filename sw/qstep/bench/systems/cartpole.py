"""CartPole learnt by networks, as people write it and fast: steps a second while they learn."""

from __future__ import annotations

from qstep import torch_device
from qstep.bench.learners import BenchLearner
from qstep.bench.pairs import Form, System

__all__ = ["system"]


def system(device: str) -> System:
    """Return DQN and PQN on CartPole, their networks on a device."""
    on = torch_device.choose(device)
    plain, fast, pqn = (BenchLearner("cartpole", form, on) for form in ("plain", "fast", "pqn"))
    return System(
        "cartpole",
        f"learn CartPole-v1; DQN with an update of {plain.config.batch_size} transitions every "
        f"{plain.steps_per_update:g} steps; PyTorch on {on.type}",
        "steps",
        (
            Form(
                "dqn-plain",
                "one Gymnasium environment, a deque, autograd",
                plain.run,
                plain.check,
                phases=plain.phases,
            ),
            Form(
                "dqn",
                f"{fast.least} environments at once, a ring of arrays, gradients by hand",
                fast.run,
                fast.check,
                base="dqn-plain",
                least=fast.least,
                phases=fast.phases,
            ),
            Form(
                "pqn",
                "many environments at once, no replay, no target network",
                pqn.run,
                pqn.check,
                base="dqn-plain",
                least=pqn.least,
                phases=pqn.phases,
            ),
        ),
    )
