"""Edge-case contexts (step counts at the limit, epsilon equal to a draw), and short runs from there."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from pyuvm import uvm_sequence_item
from tb.uvm.acting_items import Job, Setup

from qstep import Config
from qstep.spec.epsilon import Epsilon
from qstep.spec.random import advanced, draw
from qstep.spec.settings import AgentSettings, AgentState

__all__ = ["edges"]

_PATTERN = 0x5A96
"""A step limit minus 1; between this value and its complement, every bit is tested as both 0 and 1."""

_ONES = tuple(bit for bit in range(16) if _PATTERN >> bit & 1)
_ZEROS = tuple(bit for bit in range(16) if not _PATTERN >> bit & 1)

_LONG = 70_000
"""Duration, in steps, of the schedule with the longest period."""

_ALPHAS = 0x0555 / (1 << 15), 0x0AAA / (1 << 15)
"""Each of the lower 12 bits is 1 in one of these alphas."""

_AGENTS = 48
"""Number of contexts; enough to test each limit with every count that has one bit cleared."""


def edges(
    rng: np.random.Generator, config: Config, pairs: Sequence[tuple[int, int]]
) -> Iterator[uvm_sequence_item]:
    """Yield edge-case contexts and short runs.

    Parameters
    ----------
    rng : numpy.random.Generator
    config : Config
    pairs : sequence of (int, int)
        State-action pairs that an agent can reach.
    """
    acting = config.acting
    assert acting is not None
    turns = max(4, -(-_AGENTS // acting.agents))
    number = [0, 0]  # contexts so far with each limit
    for turn in range(turns):
        odd = turn % 2
        last = _PATTERN ^ 0xFFFF * odd
        bits = _ZEROS if odd else _ONES
        settings, states = [], []
        for agent in range(acting.agents):
            bit = number[odd] % (len(bits) + 2)
            number[odd] += 1
            steps = last ^ 1 << bits[bit] if bit < len(bits) else last
            own, state = _context(rng, (agent + turn) % 4, pairs)
            settings.append(own)
            state.episode_steps = steps
            states.append(state)
        yield Setup(f"contexts {turn}", settings, states=states, limit=last + 1)
        yield Job(f"the edges of contexts {turn}", 2, states_only=True)
    # The low bits of alpha and kappa, which are equal here, matter most if the maximum stays high. The
    # number of steps is a multiple of 32, so agents wait for their share, with values of the old table.
    settings = [AgentSettings(_ALPHAS[n % 2], 1.0, Epsilon(0.5)) for n in range(acting.agents)]
    states = [_context(rng, 0, pairs)[1] for _ in settings]
    most = config.format.maximum
    table = rng.integers(3 * most // 4, most + 1, config.table_shape).astype(np.int32)
    yield Setup("another table", settings, table, states=states)
    yield Job("a run with a high maximum", 1024)
    for limit in (0, 1, 2):
        # Limited episodes are so short that the next one often starts where the last step was taken.
        contexts = [_context(rng, 1, pairs) for _ in range(acting.agents)]
        settings, states = [one for one, _ in contexts], [state for _, state in contexts]
        if not limit:
            settings[0] = replace(settings[0], epsilon=Epsilon(1.0, 0.0, "linear", 1))
            states[0].epsilon = settings[0].epsilon.code.start
        yield Setup(f"a limit of {limit}", settings, states=states, limit=limit)
        yield Job(f"steps with a limit of {limit}", 20, states_only=limit < 2)


def _context(
    rng: np.random.Generator, kind: int, pairs: Sequence[tuple[int, int]]
) -> tuple[AgentSettings, AgentState]:
    """Return settings and a state whose next draw is either just below epsilon or equal to it."""
    word = int(rng.integers(1, 1 << 64, dtype=np.uint64))
    start = (draw(advanced(word)).explore + kind % 2) / (1 << 16)
    epsilon = Epsilon(start)
    if kind > 1:
        end = start * float(rng.choice([0, rng.random()]))
        over = int(rng.choice([1, 2, 3])) if kind == 2 else _LONG
        epsilon = Epsilon(start, end, "linear", over)
    own = AgentSettings(float(rng.random()), float(rng.random()), epsilon)
    state, action = pairs[int(rng.integers(len(pairs)))]
    explored = bool(rng.integers(2))
    code, begun = epsilon.code, bool(rng.random() < 0.8)
    if not begun:
        state, action, explored = 0, 0, False
    count = int(rng.choice([code.period - 1, int(rng.integers(code.period))]))
    return own, AgentState(word, code.start, count, begun, state, action, explored)
