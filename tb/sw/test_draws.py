"""The agents' generator passes statistical tests that linear ones fail, and agents learn well."""

from collections.abc import Callable, Iterator
from itertools import combinations, islice

import numpy as np
import pytest
from numpy.typing import NDArray

from qstep.golden.agents_fast import FastActingModel
from qstep.golden.lane_fast import FastModel
from qstep.mdp.solve import solve
from qstep.mdp.transitions import Transitions
from qstep.mdp.world import World
from qstep.spec.config import Config
from qstep.spec.epsilon import Epsilon
from qstep.spec.fixed import QFormat
from qstep.spec.random import advanced, draw, first_word
from qstep.spec.settings import AgentSettings

COUNT = 1 << 16
AGENTS = 16
UNLIKELY = 5.5
"""Rejection threshold in standard deviations; it is high because a thousand statistics are tested."""

WIDTHS = (16, 16, 16, 16, 31, 1)
ACTION = 3
MAZE = "gridworld-16x16"
STEPS = 1 << 20
Parts = tuple[NDArray[np.uint64], ...]  # parts of many draws, in the order of `Draw`'s fields
Generator = Callable[..., Parts]


def words(first: int, following: Callable[[int], int], count: int) -> NDArray[np.uint64]:
    def all_of_them() -> Iterator[int]:
        word = first
        while True:
            word = following(word)
            yield word

    return np.fromiter(islice(all_of_them(), count), np.uint64, count)


def ours(agent: int, count: int = COUNT) -> Parts:
    return draw(words(first_word(2026, agent), advanced, count))  # type: ignore[arg-type, return-value]


def split(word: NDArray[np.uint64]) -> Parts:
    """Return the parts of a draw taken from the word itself, without cipher rounds."""
    parts = (word >> np.uint64(shift) & np.uint64(0xFFFF) for shift in (48, 32, 16, 0))
    return (*parts, word >> np.uint64(33), word & np.uint64(1))


def plain_xorshift(agent: int, count: int = COUNT) -> Parts:
    return split(words(first_word(2026, agent), advanced, count))


def shifted(word: int) -> int:
    """Shift a 64-bit register (taps 64, 63, 61 and 60 give the longest period)."""
    bit = (word >> 63 ^ word >> 62 ^ word >> 60 ^ word >> 59) & 1
    return (word << 1 | bit) & (1 << 64) - 1


def shift_register(agent: int, count: int = COUNT) -> Parts:
    return split(words(first_word(2026, agent), shifted, count))


def same_for_all(agent: int, count: int = COUNT) -> Parts:
    return ours(0, count)


def chi(cells: NDArray[np.uint64], bins: int) -> float:
    """Return by how many standard deviations the cell counts deviate from a uniform distribution."""
    expected = len(cells) / bins
    found = np.bincount(cells.astype(np.int64), minlength=bins)
    square = ((found - expected) ** 2).sum() / expected
    return float((square - (bins - 1)) / np.sqrt(2 * (bins - 1)))


def rank(rows: list[int]) -> int:
    """Return the rank of a matrix over GF(2)."""
    found = 0
    while rows:
        pivot = rows.pop()
        if pivot:
            found += 1
            lowest = pivot & -pivot
            rows = [row ^ pivot if row & lowest else row for row in rows]
    return found


def failures(generator: Generator) -> set[str]:
    """Return the names of the statistics that a generator fails."""
    parts = generator(0)
    found = set()

    def note(name: str, deviations: float) -> None:
        if abs(deviations) > UNLIKELY:
            found.add(name)

    # Bins are the upper bits, then the lower bits.
    def ends(part: NDArray[np.uint64], width: int, bits: int) -> Iterator[NDArray[np.uint64]]:
        yield part >> np.uint64(max(width - bits, 0))
        if width > bits:
            yield part & np.uint64((1 << bits) - 1)

    for part, width in zip(parts, WIDTHS, strict=True):
        for cells in ends(part, width, 8):
            note("uniform", chi(cells, 1 << min(width, 8)))
        bits = min(width, 5)
        for cells in ends(part, width, bits):
            pairs = cells[:-1] << np.uint64(bits) | cells[1:]
            note("pairs", chi(pairs[::2], 1 << 2 * bits))
        centred = part - (2.0**width - 1) / 2
        for lag in range(1, 65):
            product = (centred[:-lag] * centred[lag:]).mean() / (centred**2).mean()
            note("correlation", product * np.sqrt(COUNT))
        for place in range(width):
            stream = (part[:256] >> np.uint64(place) & np.uint64(1)).tolist()
            number = int("".join(map(str, stream)), 2)
            hankel = [number >> k & (1 << 128) - 1 for k in range(128)]
            if rank(hankel) < 118:  # random bits do this once in 10^30 cases
                found.add("linear")
    for one, other in combinations(range(6), 2):
        upper = [next(ends(parts[k], WIDTHS[k], 5)) for k in (one, other)]
        sizes = [min(WIDTHS[k], 5) for k in (one, other)]
        note("parts", chi(upper[0] << np.uint64(sizes[1]) | upper[1], 1 << sum(sizes)))
    agents = [generator(agent) for agent in range(AGENTS)]
    for pair in combinations(agents, 2):
        for k in range(4):
            first, second = (agent[k] >> np.uint64(12) for agent in pair)
            note("agents", chi(first << np.uint64(4) | second, 256))
    return found


def test_generator_passes() -> None:
    assert failures(ours) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("generator", "failed"),
    [
        (plain_xorshift, {"linear"}),
        (shift_register, {"linear", "pairs", "correlation", "parts"}),
        (same_for_all, {"agents"}),
    ],
)
def test_a_weak_generator_is_caught(generator: Generator, failed: set[str]) -> None:
    assert failures(generator) >= failed


def share_not_optimal(q: NDArray[np.int32]) -> float:
    """Return the share of the maze's reachable states whose greedy action is not optimal."""
    world = World.named(MAZE)
    optimal = solve(world, 0.9).optimal
    reached = world.visited(np.ones_like(optimal))
    return float(1 - optimal[np.arange(len(q)), q.argmax(axis=1)][reached].mean())


def walked(generator: Generator, steps: int) -> NDArray[np.int32]:
    """Return the table learned from a random walk through the maze with actions from a generator."""
    world = World.named(MAZE)  # deterministic: one row per state and action
    shape = world.states, world.actions
    following, terminated = world.next_state.reshape(shape), world.terminated.reshape(shape)
    action = (generator(0, steps)[ACTION] * np.uint64(4) >> np.uint64(16)).astype(np.int32)
    moves = np.where(terminated, world.start_state[0], following).tolist()
    state = np.empty(steps, np.int32)
    here = int(world.start_state[0])
    for step, taken in enumerate(action.tolist()):
        state[step] = here
        here = moves[here][taken]
    config = Config(*shape, QFormat.parse("Q8.10"))
    taught = FastModel(config)
    columns = (each[state, action] for each in (world.reward.reshape(shape), following, terminated))
    taught.apply(Transitions.from_arrays(config, state, action, *columns))
    return taught.table


@pytest.mark.slow
@pytest.mark.parametrize("number_format", ["Q8.10", "Q8.16"])
def test_random_agent_learns_every_state_of_a_maze(number_format: str) -> None:
    world = World.named(MAZE)
    config = Config(world.states, world.actions, number_format, acting=world.acting())
    model = FastActingModel(config, world.table(config), [AgentSettings(epsilon=Epsilon(1))])
    model.run(1 << 23)
    assert share_not_optimal(model.table) == 0


@pytest.mark.slow
def test_shift_register_leaves_much_of_the_maze_unlearnt() -> None:
    assert share_not_optimal(walked(ours, STEPS)) < 0.1
    assert share_not_optimal(walked(shift_register, STEPS)) > 0.3
