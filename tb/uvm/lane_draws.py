"""Lane stimuli for stochastic rounding at the edge, whose results depend on every bit of the noise.

Random transitions do not expose the low bits of a draw: the lowest bit changes at most one result in
2^15. Here, each sum of products is chosen so that adding the draw either just causes a carry or just
fails to; every bit of the sum then matters. The first draw of a batch depends equally on all bits of
both noise registers, because the bits of their sum below the draw are all 0 or all 1.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from tb.uvm.lane_items import Batch

from qstep import Config, Hyperparameters, Rounding, Transitions
from qstep.spec.fixed import Coefficients
from qstep.spec.random import GOLDEN, MIX_A, MIX_B, NoiseState

__all__ = ["draw_batches"]

_BATCHES = 48
_LENGTH = 8
_FEW = 8
"""Number of states in a batch, so low that most transitions depend on one in flight."""

_MOST_ALPHA = 1 << 15
_MASK64 = (1 << 64) - 1

_Row = tuple[int, int, int, int]


def _unmixed(word: int) -> int:
    """Return the word from which the mixing in ``qstep.spec.random`` computes this one."""
    word ^= word >> 31 ^ word >> 62
    word = word * pow(MIX_B, -1, 1 << 64) & _MASK64
    word ^= word >> 27 ^ word >> 54
    word = word * pow(MIX_A, -1, 1 << 64) & _MASK64
    return word ^ word >> 30 ^ word >> 60


def _seed(rng: np.random.Generator, bits: int, *, ones: bool) -> int:
    """Return a seed for which the bits of x + w below a draw of `bits` bits are all 1, or all 0."""
    below = (1 << 32 - bits) - 1 if ones else 0
    x = int(rng.integers(1, 1 << 32))
    w = ((int(rng.integers(1 << bits)) << 32 - bits | below) - x) % (1 << 32)
    seed = (_unmixed(w << 32 | x) - GOLDEN) & _MASK64
    assert NoiseState.from_seed(seed) == NoiseState(x, w)
    return seed


def _at_the_edge(
    rng: np.random.Generator,
    config: Config,
    table: NDArray[np.int64],
    c: Coefficients,
    totals: Sequence[int],
    recent: Sequence[tuple[int, int]],
) -> _Row | None:
    """Return state, action, next state and reward for which the sum of products is one of the totals.

    Recently written entries and rows are preferred. Return None if no reward in range gives any of
    the totals.
    """
    # The axes are total, state, action and next state.
    wanted = np.array(totals)[:, np.newaxis, np.newaxis, np.newaxis]
    one = 1 << c.bits
    rest = (wanted - c.beta * table[:, :, np.newaxis] - c.kappa * table.max(axis=1)) % one
    reward = rest * pow(c.alpha, -1, one) % one
    reward[reward >= one // 2] -= one
    reached = (reward >= config.format.minimum) & (reward <= config.format.maximum)
    written = np.zeros_like(reached)
    for state, action in recent:
        written[:, state, action] = written[..., state] = True
    preferred = reached & written
    places = np.argwhere(preferred if preferred.any() and rng.random() < 0.8 else reached)
    if not len(places):
        return None
    place = tuple(map(int, rng.choice(places)))
    return place[1], place[2], place[3], int(reward[place])


def _rows(
    rng: np.random.Generator,
    config: Config,
    table: NDArray[np.int64],
    hyper: Hyperparameters,
    *,
    carries: bool,
) -> list[_Row] | None:
    """Return the rows of a batch, and apply them to the table.

    The first sum, including the bits below the draw, either just carries or just does not. Return None
    if the first two sums cannot be at the edge with these coefficients.
    """
    c, noise, missing = hyper.coefficients_for(config), hyper.noise, [0 if carries else 1]
    limits = config.format.minimum, config.format.maximum
    rows: list[_Row] = []
    for number in range(_LENGTH):
        draw = noise.draw(c.bits)
        totals = [-draw - one for one in missing]
        row = _at_the_edge(rng, config, table, c, totals, [row[:2] for row in rows[-3:]])
        if row is None and number < 2:
            return None
        if row is None:
            state, action, next_state = (int(n) for n in rng.integers((*table.shape, len(table))))
            row = state, action, next_state, int(rng.integers(limits[0], limits[1] + 1))
        state, action, next_state, reward = row
        entry, greatest = int(table[state, action]), int(table[next_state].max())
        total = c.alpha * reward + c.beta * entry + c.kappa * greatest + draw
        table[state, action] = min(max(total >> c.bits, limits[0]), limits[1])
        noise, missing = noise.advance(), [0, 1]
        rows.append(row)
    return rows


def _batch(
    rng: np.random.Generator, config: Config, table: NDArray[np.int64], *, carries: bool
) -> Batch:
    """Return a batch that starts from this table, and apply the batch to the table."""
    rows, bits = None, config.coefficient_bits
    while rows is None:
        hyper = Hyperparameters(
            alpha=float(2 * rng.integers(_MOST_ALPHA // 2) + 1) / (1 << bits),
            gamma=float(rng.random()),
            rounding=Rounding.STOCHASTIC,
            seed=_seed(rng, bits, ones=not carries),
        )
        tried = table.copy()
        rows = _rows(rng, config, tried, hyper, carries=carries)
    table[:] = tried
    state, action, next_state, reward = np.array(rows).T
    transitions = Transitions.from_arrays(
        config,
        state=state,
        action=action,
        reward=config.format.to_float(reward),
        next_state=next_state,
        terminated=np.zeros(_LENGTH, np.bool_),
    )
    gaps = rng.integers(0, 5, _LENGTH) * (rng.random(_LENGTH) < 0.2)
    gaps[1] = rng.choice([0, config.loop_depth])  # depends on a near result or a far one
    return Batch("draws", transitions, hyper=hyper, gaps=gaps)


def draw_batches(rng: np.random.Generator, config: Config) -> Iterator[Batch]:
    """Yield batches on the first rows of a table; a large table is loaded only once.

    At first, every second row has only negative values, so that some maxima are negative.
    """
    table = np.zeros((config.states, config.actions), np.int32)
    loads = _BATCHES if table.size <= 512 else 1
    for number in range(_BATCHES):
        few = table[:_FEW]
        if number < loads:
            few[:] = rng.integers(config.format.minimum, config.format.maximum + 1, few.shape)
            few[::2] = np.minimum(few[::2], ~few[::2])
            values = few.astype(np.int64)
        batch = _batch(rng, config, values, carries=number % 2 == 0)
        batch.table = table.copy() if number < loads else None
        yield batch
