"""Random requests for a pooled learner."""

import numpy as np

from qstep.golden.planes import NO_ACTION, Requests
from qstep.spec.planes import PlanesConfig


def random_requests(config: PlanesConfig, count: int, seed: int) -> Requests:
    """Return legal requests of all kinds, with repeated rows and rewards at the limits."""
    rng = np.random.default_rng(seed)
    learns = rng.random(count) < 0.6
    shape, number_format = (count, config.all_planes), config.format
    near = rng.integers(-3, 4, count) << number_format.fraction
    ends = rng.choice([number_format.minimum, number_format.maximum], count)
    explore = np.where(rng.random(count) < 0.8, NO_ACTION, rng.integers(0, config.actions, count))
    return Requests(
        learns=learns,
        rows=rng.integers(0, config.rows, shape, np.int32),
        action=np.where(learns, rng.integers(0, config.actions, count), explore),
        reward=np.where(rng.random(count) < 0.5, ends, near),
        next_rows=rng.integers(0, config.rows, shape, np.int32),
        next_action=rng.integers(0, config.actions, count, np.int32),
        terminated=rng.random(count) < 0.2,
    )
