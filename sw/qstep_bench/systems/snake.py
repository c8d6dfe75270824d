"""Snake learned by networks, in plain and in fast code, measured in steps per second."""

from __future__ import annotations

from qstep.deep import torch_device
from qstep_bench.measure import Benchmark
from qstep_bench.training import Training

__all__ = ["benchmark"]


def benchmark(device: str) -> Benchmark:
    """Return the benchmark of DQN with 11 features and with flood fill, and of PQN with flood fill."""
    on = torch_device.choose(device)
    plain = Training("snake-features", "dqn plain", on)
    fast = Training("snake-features", "dqn", on)
    flood_plain, flood = (Training("snake", form, on) for form in ("dqn plain", "dqn"))
    pqn = Training("snake", "pqn", on)
    many = f"{fast.least} environments at once, a ring of arrays"
    each = plain.config.batch_size / plain.steps_per_update
    return Benchmark(
        "snake",
        f"learn Snake; DQN goes through every transition {each:g} times, with batches of "
        f"{plain.config.batch_size} (plain) and {fast.config.batch_size}; PyTorch on {on.type}",
        "steps",
        (
            plain.form("snake-plain", "one environment in Python, a deque, autograd", None),
            fast.form("snake", many, "snake-plain"),
            flood_plain.form(
                "snake-flood-plain", "as snake-plain, flood fill by a Python search", None
            ),
            flood.form("snake-flood", f"{many}, flood fill compiled", "snake-flood-plain"),
            pqn.form("snake-pqn", "as snake-flood, without replay", "snake-flood-plain"),
        ),
    )
