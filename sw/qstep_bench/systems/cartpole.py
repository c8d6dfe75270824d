"""CartPole learned by networks, in plain and in fast code, measured in steps per second."""

from __future__ import annotations

from qstep.deep import torch_device
from qstep_bench.measure import Benchmark
from qstep_bench.training import Training

__all__ = ["benchmark"]


def benchmark(device: str) -> Benchmark:
    """Return the benchmark of DQN and PQN on CartPole, with their networks on a device."""
    on = torch_device.choose(device)
    plain, fast, pqn = (Training("cartpole", form, on) for form in ("dqn plain", "dqn", "pqn"))
    return Benchmark(
        "cartpole",
        f"learn CartPole-v1; DQN with an update of {plain.config.batch_size} transitions every "
        f"{plain.steps_per_update:g} steps; PyTorch on {on.type}",
        "steps",
        (
            plain.form("dqn-plain", "one Gymnasium environment, a deque, autograd", None),
            fast.form(
                "dqn",
                f"{fast.least} environments at once, a ring of arrays, gradients by hand",
                "dqn-plain",
            ),
            pqn.form("pqn", "many environments at once, no replay, no target network", "dqn-plain"),
        ),
    )
