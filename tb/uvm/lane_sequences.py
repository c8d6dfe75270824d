"""Stimuli for the lane: batches that are all drawn from one seeded generator."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tb.uvm.lane_items import Batch

from qstep import Config, Hyperparameters, Rounding, Transitions
from qstep.spec.fixed import COEFFICIENT_BITS, COEFFICIENT_WIDTH, greatest_coefficient
from qstep_rtl.timing import write_stage

__all__ = [
    "corner_batches",
    "every_pair_batch",
    "hazard_batches",
    "independent_batch",
    "is_small",
    "random_batches",
    "random_hyper",
    "reset_batches",
    "saturation_batches",
    "tie_batches",
    "walker_batch",
]

Generator = np.random.Generator

_SMALL = 512
"""Entries of the largest table that is loaded and read back in every batch; each costs a clock."""


def is_small(config: Config) -> bool:
    return config.states * config.actions <= _SMALL


def _transitions(config: Config, **columns: Any) -> Transitions:
    """Build transitions from raw rewards; scalars are repeated."""
    columns["reward"] = config.format.to_float(columns.pop("reward_raw"))
    columns["terminated"] = np.asarray(columns["terminated"], np.bool_)
    n = max(np.size(column) for column in columns.values())
    return Transitions.from_arrays(
        config, **{name: np.broadcast_to(column, n) for name, column in columns.items()}
    )


def _alpha(config: Config, share: float) -> float:
    """Return this share, 0..1, of the largest alpha."""
    bits = config.coefficient_bits
    return share * greatest_coefficient(bits) / (1 << bits)


def random_hyper(rng: Generator, config: Config, mode: Rounding | None = None) -> Hyperparameters:
    """Draw a rounding mode, a seed, and coefficients that are often at the ends of their ranges."""
    most = greatest_coefficient(config.coefficient_bits)
    alpha = rng.choice([0, 1, -(-most // 2), most, int(rng.integers(most))])
    gamma = rng.choice([0.0, 1.0, rng.random()])
    modes = list(Rounding)
    return Hyperparameters(
        alpha=float(alpha / (1 << config.coefficient_bits)),
        gamma=float(gamma),
        rounding=mode if mode is not None else modes[rng.integers(len(modes))],
        seed=int(rng.integers(1 << 63)),
    )


def _learning_hyper(rng: Generator, config: Config) -> Hyperparameters:
    """Draw coefficients for which every operand matters."""
    modes = list(Rounding)
    return Hyperparameters(
        alpha=_alpha(config, float(rng.uniform(0.2, 0.8))),
        gamma=float(rng.uniform(0.5, 1.0)),
        rounding=modes[rng.integers(len(modes))],
        seed=int(rng.integers(1 << 63)),
    )


def _rewards(rng: Generator, config: Config, n: int) -> NDArray[np.int64]:
    """Draw raw rewards from the whole range, from small values, or from the corners of the range."""
    low, high = config.format.minimum, config.format.maximum
    kind = rng.integers(3)
    if kind == 0:
        return rng.integers(low, high + 1, n)
    if kind == 1:
        return rng.integers(-3, 4, n)
    return rng.choice([low, low + 1, -1, 0, 1, high - 1, high], n)


def random_table(rng: Generator, config: Config) -> NDArray[np.int32]:
    """Draw a table from the whole range, from few values (many ties), or from the range's corners."""
    shape = (config.states, config.actions)
    return _rewards(rng, config, config.states * config.actions).reshape(shape).astype(np.int32)


def random_batches(
    rng: Generator, config: Config, transitions: int, length: int = 5000
) -> Iterator[Batch]:
    """Yield random batches with few or many states and actions, for a total of `transitions`."""
    while transitions > 0:
        n = min(length, transitions)
        transitions -= n
        states = int(rng.choice([2, 3, 5, config.states]))
        actions = int(rng.choice([2, config.actions]))
        chosen = rng.integers(config.states, size=states)
        if states >= config.states:
            chosen = np.arange(config.states)
        gaps = rng.integers(0, 5, n) * (rng.random(n) < rng.choice([0.0, 0.05, 0.5]))
        yield Batch(
            f"random-{states}-states",
            _transitions(
                config,
                state=rng.choice(chosen, n),
                action=rng.choice(rng.integers(config.actions, size=actions), n)
                if actions < config.actions
                else rng.integers(config.actions, size=n),
                reward_raw=_rewards(rng, config, n),
                next_state=rng.choice(chosen, n),
                terminated=rng.random(n) < rng.choice([0.0, 0.1, 0.9]),
            ),
            hyper=random_hyper(rng, config),
            # A new table costs a clock per entry, so it is loaded only if the batch is long enough.
            table=random_table(rng, config) if 4 * config.states * config.actions <= n else None,
            gaps=gaps,
        )


def hazard_batches(rng: Generator, config: Config, rounds: int = 2) -> Iterator[Batch]:
    """Yield, for every distance, pairs of transitions that share an entry, a row, or only a state.

    Each pair is followed by idle clocks, so that nothing else is in flight.
    """
    drain = write_stage(config) + config.loop_depth + 2
    distances = range(1, write_stage(config) + 2)
    for _ in range(rounds):
        columns: dict[str, list[int]] = {
            name: []
            for name in ("state", "action", "reward_raw", "next_state", "terminated", "gap")
        }

        def add(gap: int, *values: int, columns: dict[str, list[int]] = columns) -> None:
            for column, value in zip(columns.values(), (*values, gap), strict=True):
                column.append(value)

        rewards = iter(_rewards(rng, config, 16 * len(distances)).tolist())
        for distance in distances:
            s, t = (int(v) for v in rng.choice(config.states, 2, replace=False))
            a, b = (int(v) for v in rng.choice(config.actions, 2, replace=False))
            for second in ((s, a, t), (s, b, t), (t, a, s), (s, a, s), (s, b, s)):
                terminated = int(rng.random() < 0.2)
                add(drain, s, a, next(rewards), t, terminated)
                state, action, next_state = second
                terminated = int(rng.random() < 0.2)
                add(distance - 1, state, action, next(rewards), next_state, terminated)
        gaps = np.array(columns.pop("gap"))
        yield Batch(
            "hazards",
            _transitions(config, **columns),
            hyper=_learning_hyper(rng, config),
            table=random_table(rng, config) if is_small(config) else None,
            gaps=gaps,
        )


def tie_batches(
    rng: Generator, config: Config, densities: Iterable[float] = (0.1, 0.5, 0.9, 1.0), low: int = 0
) -> Iterator[Batch]:
    """Yield reads of rows with every kind of tie, including ties between table and results in flight.

    In most rows, each entry is `low`, or `low` + 1 with a probability from `densities`.
    """
    shape = (min(config.states, 256), config.actions)
    for density in densities:
        table = np.zeros((config.states, config.actions), np.int32)
        table[: shape[0]] = rng.random(shape) < density
        # For any number of actions, three rows have ties of all entries, of only the first and the last,
        # and of only the first two.
        table[:3] = 0
        table[1, [0, -1]] = 1
        table[2, :2] = 1
        n = 600
        # With alpha 0, the table does not change, and a result in flight repeats one of its values.
        yield Batch(
            "ties",
            _transitions(
                config,
                state=rng.integers(shape[0], size=n),
                action=rng.integers(config.actions, size=n),
                reward_raw=0,
                next_state=rng.integers(shape[0], size=n) * (rng.random(n) < 0.8),
                terminated=False,
            ),
            hyper=Hyperparameters(0.0, rounding=Rounding.NEAREST),
            table=table + np.int32(low) if is_small(config) or density == 0.5 else None,
        )


def corner_batches(rng: Generator, config: Config) -> Iterator[Batch]:
    """Yield every corner of the coefficients in every rounding mode, with corner values as rewards."""
    low, high = config.format.minimum, config.format.maximum
    corners = [low, low + 1, -2, -1, 0, 1, 2, high - 1, high]
    for mode in Rounding:
        least = 2.0**-config.coefficient_bits
        half, most = _alpha(config, 0.5), _alpha(config, 1.0)
        for alpha, gamma in ((0.0, 0.0), (least, 1.0), (half, 0.5), (half, 1.0), (most, 1.0)):
            n = 300
            few = min(config.states, 8)
            yield Batch(
                f"corners-{mode.value}",
                _transitions(
                    config,
                    state=rng.integers(few, size=n),
                    action=rng.integers(config.actions, size=n),
                    reward_raw=rng.choice(corners, n),
                    next_state=rng.integers(few, size=n),
                    terminated=rng.random(n) < 0.3,
                ),
                hyper=Hyperparameters(alpha, gamma, mode, seed=int(rng.integers(1 << 63))),
            )
        if config.coefficient_bits > COEFFICIENT_BITS:
            yield _half_batch(rng, config, mode)


def _half_batch(rng: Generator, config: Config, mode: Rounding) -> Batch:
    """Return updates from 0 to +1.5 or -1.5 raw units: ties that small alphas almost never produce."""
    state, action = (x.ravel() for x in np.indices((min(config.states, 4), config.actions)))
    alpha = 1 << (COEFFICIENT_WIDTH - 1)  # times 2^-f
    reward = 3 << (config.coefficient_bits - COEFFICIENT_WIDTH)
    return Batch(
        f"halves-{mode.value}",
        _transitions(
            config,
            state=state,
            action=action,
            reward_raw=rng.choice([-reward, reward], len(state)),
            next_state=state,
            terminated=True,
        ),
        hyper=Hyperparameters(alpha / (1 << config.coefficient_bits), 0.0, mode),
        table=np.zeros((config.states, config.actions), np.int32),
    )


def saturation_batches(rng: Generator, config: Config) -> Iterator[Batch]:
    """Yield updates that overflow the format at either end, in every rounding mode.

    A maximum at the lower end needs a whole row of such values, which random draws almost never produce.
    """
    few = min(config.states, 4)
    state, action = (x.ravel() for x in np.indices((few, config.actions)))
    for mode in Rounding:
        for end in (config.format.minimum, config.format.maximum):
            name = f"saturation-{mode.value}-{end}"
            # If the largest alpha is below 1, rewards alone cannot move a row to the end.
            table = np.full((config.states, config.actions), end, np.int32)
            rows = {
                "state": state,
                "action": action,
                "next_state": state[::-1],
                "terminated": False,
            }
            yield Batch(
                name,
                _transitions(config, **rows, reward_raw=end),
                hyper=Hyperparameters(_alpha(config, 1.0), 0.0, mode),
                table=None if _alpha(config, 1.0) == 1 else table,
            )
            near_end = np.where(rng.random(len(state)) < 0.5, end, end // 2)
            yield Batch(
                name,
                _transitions(config, **rows, reward_raw=near_end),
                hyper=Hyperparameters(_alpha(config, 0.5), 1.0, mode, int(rng.integers(1 << 63))),
            )


def every_pair_batch(rng: Generator, config: Config) -> Batch:
    """Return, in random order, a transition for each entry of a small table or corner of a large one."""
    if is_small(config):
        state, action = (x.ravel() for x in np.indices((config.states, config.actions)))
    else:
        state, action = (
            x.ravel() for x in np.meshgrid([0, config.states - 1], [0, config.actions - 1])
        )
    order = rng.permutation(len(state))
    return Batch(
        "every pair",
        _transitions(
            config,
            state=state[order],
            action=action[order],
            reward_raw=_rewards(rng, config, len(order)),
            next_state=state[rng.permutation(len(state))],
            terminated=False,
        ),
        hyper=_learning_hyper(rng, config),
    )


def walker_batch(rng: Generator, config: Config, n: int) -> Batch:
    """Return a random walk on a square grid: each next state is the next transition's state.

    From the goal, the walker jumps to a random state. With fewer than four states, the grid is a
    corridor.
    """
    rows = min(8, int(config.states**0.5))
    columns = rows if rows > 1 else config.states
    goal = rows * columns - 1
    moves = np.array([(0, -1), (1, 0), (0, 1), (-1, 0)])
    actions = rng.integers(min(config.actions, 4), size=n)
    state = np.zeros(n, np.int64)
    next_state = np.zeros(n, np.int64)
    x = y = 0
    for i, (dx, dy) in enumerate(moves[actions].tolist()):
        state[i] = columns * y + x
        x, y = min(max(x + dx, 0), columns - 1), min(max(y + dy, 0), rows - 1)
        next_state[i] = columns * y + x
        if next_state[i] == goal:
            x, y = (int(v) for v in rng.integers([columns, rows]))
    terminated = next_state == goal
    return Batch(
        "walker",
        _transitions(
            config,
            state=state,
            action=actions,
            reward_raw=np.where(terminated, 100, -1),
            next_state=next_state,
            terminated=terminated,
        ),
        hyper=Hyperparameters(_alpha(config, 0.5), 0.9, Rounding.NEAREST),
    )


def independent_batch(rng: Generator, config: Config, n: int) -> Batch:
    """Return transitions that never depend on one in flight: states cycle, next states are disjoint."""
    window = write_stage(config)
    ring = config.states // 2
    assert ring > window, f"{config.states} states are too few for {window} transitions in flight"
    return Batch(
        "independent",
        _transitions(
            config,
            state=np.arange(n) % ring,
            action=rng.integers(config.actions, size=n),
            reward_raw=_rewards(rng, config, n),
            next_state=ring + rng.integers(config.states - ring, size=n),
            terminated=False,
        ),
        hyper=_learning_hyper(rng, config),
    )


def reset_batches(rng: Generator, config: Config) -> Iterator[Batch]:
    """Yield a reset at each clock of an operation, from the first offer until the pipeline is full."""
    few = min(config.states, 4)
    for clocks in range(2 * write_stage(config)):
        n = clocks + 2
        yield Batch(
            f"reset-after-{clocks}",
            _transitions(
                config,
                state=rng.integers(few, size=n),
                action=rng.integers(config.actions, size=n),
                reward_raw=_rewards(rng, config, n),
                next_state=rng.integers(few, size=n),
                terminated=rng.random(n) < 0.2,
            ),
            hyper=_learning_hyper(rng, config),
            reset_after=clocks,
        )
