"""``qs_update`` in simulation against the golden model and its compiled form, many operands at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tb.fpga.bit_slices import Simulator, Words

from qstep.config import Config
from qstep.fast_model import FastModel
from qstep.fixed import COEFFICIENT_BITS, COEFFICIENT_ONE, QFormat, Rounding
from qstep.hyperparameters import Hyperparameters
from qstep.model import exact_value
from qstep.noise import NoiseState
from qstep.transitions import Transitions

__all__ = ["CLOCKS", "LANES", "Operands", "check", "every_operand", "random_operands", "stretches"]

LANES = 8192
CLOCKS = 64
"""Simulations side by side, and transitions one behind the other in each: half a million together."""

_SEEDS = 16
"""Of the noise of stochastic rounding; more would take longer than the simulation."""

_FORWARDED = ("take_far", "take_near", "join_far", "join_near")
_STEPS = (0.0, 1 / COEFFICIENT_ONE, 0.5, 1 - 1 / COEFFICIENT_ONE, 1.0)


@dataclass(frozen=True)
class Operands:
    """A stretch of transitions: arrays of shape (CLOCKS, LANES), with raw values or flags.

    The results in flight that a transition takes or joins are those of its own lane.
    """

    entry: NDArray[np.int32]
    reward: NDArray[np.int32]
    maximum: NDArray[np.int32]
    terminated: NDArray[np.bool_]
    take_far: NDArray[np.bool_]
    take_near: NDArray[np.bool_]
    join_far: NDArray[np.bool_]
    join_near: NDArray[np.bool_]


@dataclass(frozen=True)
class _Results:
    """The same for the outputs."""

    value: NDArray[np.int32]
    maximum: NDArray[np.int32]
    saturated: NDArray[np.bool_]


def every_operand(part: int) -> Operands:
    """Return the stretch `part` of all 2^24 entries, rewards and maxima of 8 bits."""
    number = np.arange(part * LANES * CLOCKS, (part + 1) * LANES * CLOCKS).reshape(CLOCKS, LANES)
    entry, reward, maximum = (
        (number >> shift).astype(np.int8).astype(np.int32) for shift in (0, 8, 16)
    )
    none = np.zeros(number.shape, np.bool_)
    return Operands(entry, reward, maximum, none, none, none, none, none)


def random_operands(rng: np.random.Generator, width: int, loop_depth: int) -> Operands:
    """Return a random stretch: corners alone in a quarter, small and large values in the rest.

    Each result in flight is taken or joined by a quarter of the transitions.
    """
    shape = (CLOCKS, LANES)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    corners = np.array([low, low + 1, -2, -1, 0, 1, 2, high - 1, high], np.int32)
    cornered = rng.random(shape, np.float32) < 0.25

    def numbers() -> NDArray[np.int32]:
        uniform = rng.integers(low, high, shape, np.int32, endpoint=True)
        kind = rng.integers(0, 256, shape, np.uint8)
        scaled = uniform >> np.where(kind < 128, kind % width, 0)
        return np.where(cornered, corners[kind % len(corners)], scaled).astype(np.int32)

    def forwarded() -> NDArray[np.bool_]:
        chosen: NDArray[np.bool_] = rng.integers(0, 4, shape, np.uint8) == 0
        chosen[: loop_depth + 1] = False  # nothing is in flight yet
        return chosen

    terminated = rng.integers(0, 8, shape, np.uint8) == 0
    flags = (terminated, forwarded(), forwarded(), forwarded(), forwarded())
    return Operands(numbers(), numbers(), numbers(), *flags)


def stretches(seed: int, width: int, loop_depth: int) -> Iterator[tuple[Hyperparameters, Operands]]:
    """Yield settings and random operands for ever; a third of the stretches each has a rounding."""
    rng = np.random.default_rng(seed)
    for number, rounding in enumerate(list(Rounding) * (1 << 16)):
        alpha, gamma = (rng.choice([*_STEPS, *rng.random(5)]) for _ in range(2))
        hyper = Hyperparameters(float(alpha), float(gamma), rounding, seed=number % _SEEDS)
        yield hyper, random_operands(rng, width, loop_depth)


def check(
    simulator: Simulator, width: int, loop_depth: int, hyper: Hyperparameters, given: Operands
) -> int:
    """Return how many transitions were compared: a stretch enters, one transition in each clock.

    Raises
    ------
    AssertionError
        A result differs; the message says the first.
    """
    seen = _simulated(simulator, width, loop_depth, hyper, given)
    expected = _expected(width, loop_depth, hyper, given)
    for field in fields(_Results):
        got, right = getattr(seen, field.name), getattr(expected, field.name)
        wrong = np.argwhere(got != right)
        if len(wrong):
            at = tuple(wrong[0])
            operands = {each.name: getattr(given, each.name)[at].item() for each in fields(given)}
            raise AssertionError(
                f"{field.name} is {got[at]}, not {right[at]}, with {hyper}, {operands}, lane {at[1]} "
                f"in clock {at[0]}; {len(wrong):,} of {got.size:,} are wrong"
            )
    return given.entry.size


def _simulated(
    simulator: Simulator, width: int, loop_depth: int, hyper: Hyperparameters, given: Operands
) -> _Results:
    """Return what the hardware computes; coefficients enter first, then the reward, then the others."""
    latency = loop_depth + 3
    biases = np.broadcast_to(_biases(hyper), given.entry.shape)
    late = {
        "entry_i": given.entry,
        "max_i": given.maximum,
        "terminated_i": given.terminated,
        "bias_i": biases,
        **{f"{name}_i": getattr(given, name) for name in _FORWARDED},
    }
    inputs: dict[str, Words | int] = {
        name: _padded(values, 2, loop_depth + 2) for name, values in late.items()
    }
    inputs["reward_i"] = _padded(given.reward, 1, loop_depth + 3)
    c = hyper.coefficients
    inputs |= {
        "rst_i": 0,
        "valid_i": (1 << (loop_depth + 2)) - 1,
        "alpha_i": c.alpha,
        "kappa_i": c.kappa,
    }
    # The lowest action wins a tie; the values are the same.
    inputs |= {"greedy_i": 2, "value_index_i": 1}
    found = simulator.run(len(given.entry) + latency + 1, inputs)
    results = {name: found[f"{name}_o"][latency:-1] for name in ("value", "not_value", "max")}
    value, maximum = (_signed(results[name], width) for name in ("value", "max"))
    assert np.array_equal(_signed(results["not_value"], width), ~value)
    return _Results(value, maximum, found["saturated_o"][latency:-1].astype(np.bool_))


def _expected(width: int, loop_depth: int, hyper: Hyperparameters, given: Operands) -> _Results:
    """Return what both models say, which must agree."""
    clocks, lanes = given.entry.shape
    model = FastModel(Config(states=2 * lanes, actions=2, format=QFormat(width, 0)))
    state = np.arange(lanes, dtype=np.int32)
    values, maxima = np.zeros((2, clocks, lanes), np.int32)
    saturated = np.zeros((clocks, lanes), np.bool_)
    table = np.empty((2 * lanes, 2), np.int32)
    biases: Any = _biases(hyper)
    wide: Any
    for clock in range(clocks):
        # Where nothing is in flight yet, nothing is taken.
        far, near = (values[clock - back] for back in (loop_depth + 1, loop_depth))
        entry = np.where(given.take_far[clock], far, given.entry[clock])
        entry = np.where(given.take_near[clock], near, entry)
        maximum = given.maximum[clock]
        for joined, value in ((given.join_far, far), (given.join_near, near)):
            maximum = np.where(joined[clock], np.maximum(maximum, value), maximum)
        table[:lanes], table[lanes:] = entry[:, None], maximum[:, None]
        model.load(table)
        model.configure(hyper)  # the noise begins anew in each clock
        model.apply(
            Transitions.from_arrays(
                model.config,
                state=state,
                action=np.zeros(lanes, np.int32),
                reward=given.reward[clock],
                next_state=state + lanes,
                terminated=given.terminated[clock],
            )
        )
        values[clock], maxima[clock] = model.table[:lanes, 0], maximum
        bootstrap = np.where(given.terminated[clock], 0, maximum)
        wide = [each.astype(np.int64) for each in (entry, given.reward[clock], bootstrap)]
        exact = exact_value(hyper.coefficients, wide[0], wide[1], wide[2], biases)
        limits = model.config.format
        assert np.array_equal(values[clock], np.clip(exact, limits.minimum, limits.maximum))
        saturated[clock] = exact != values[clock]
    return _Results(values, maxima, saturated)


def _padded(values: NDArray[Any], before: int, after: int) -> Words:
    return np.pad(values.astype(np.int32).view(np.uint32), ((before, after), (0, 0)))


def _signed(words: Words, width: int) -> NDArray[np.int32]:
    return (words << (32 - width)).view(np.int32) >> (32 - width)


def _biases(hyper: Hyperparameters) -> NDArray[np.int32]:
    """Return what rounding adds in each lane."""
    if hyper.rounding is Rounding.STOCHASTIC:
        return _draws(hyper.noise)
    half = (1 << (COEFFICIENT_BITS - 1)) * (hyper.rounding is Rounding.NEAREST)
    return np.full(LANES, half, np.int32)


@cache
def _draws(noise: NoiseState) -> NDArray[np.int32]:
    def states(state: NoiseState) -> Iterator[NoiseState]:
        while True:
            yield state
            state = state.advance()

    return np.array([state.draw for state in islice(states(noise), LANES)], np.int32)
