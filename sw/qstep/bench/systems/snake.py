"""Snake learnt by networks, as people write it and fast: steps a second while they learn."""

from __future__ import annotations

from qstep import torch_device
from qstep.bench.learners import BenchLearner
from qstep.bench.pairs import Form, System

__all__ = ["system"]


def system(device: str) -> System:
    """Return DQN on Snake with the 11 features, and with the flood fill; PQN with the flood fill."""
    on = torch_device.choose(device)
    plain = BenchLearner("snake-features", "plain", on)
    fast = BenchLearner("snake-features", "fast", on)
    flood_plain, flood = (BenchLearner("snake", form, on) for form in ("plain", "fast"))
    pqn = BenchLearner("snake", "pqn", on)
    many = f"{fast.least} environments at once, a ring of arrays"
    forms = (
        ("snake-plain", "one environment in Python, a deque, autograd", plain, None),
        ("snake", many, fast, "snake-plain"),
        ("snake-flood-plain", "as snake-plain, flood fill by a Python search", flood_plain, None),
        ("snake-flood", f"{many}, flood fill compiled", flood, "snake-flood-plain"),
        ("snake-pqn", "as snake-flood, without replay", pqn, "snake-flood-plain"),
    )
    each = plain.config.batch_size / plain.steps_per_update
    return System(
        "snake",
        f"learn Snake; DQN goes through every transition {each:g} times, with batches of "
        f"{plain.config.batch_size} (plain) and {fast.config.batch_size}; PyTorch on {on.type}",
        "steps",
        tuple(
            Form(
                name,
                what,
                learner.run,
                learner.check,
                base=base,
                least=learner.least,
                phases=learner.phases,
            )
            for name, what, learner, base in forms
        ),
    )
