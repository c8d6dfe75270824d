"""The golden model matches hand-worked updates, and its compiled version agrees with it bit for bit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from qstep import Config, Hyperparameters, QFormat, Rounding, Transitions
from qstep.errors import TableError
from qstep.golden.lane import Model, Update, updated_value
from qstep.golden.lane_fast import FastModel
from qstep.spec.fixed import Coefficients, coefficients
from qstep.spec.random import NoiseState

Q8 = QFormat(4, 4)
MODELS = pytest.mark.parametrize("model_class", [Model, FastModel], ids=["interpreter", "compiled"])


def random_transitions(config: Config, count: int, seed: int) -> Transitions:
    """Return uniform transitions with rewards over the whole format, a tenth of them terminated."""
    rng = np.random.default_rng(seed)
    q = config.format
    return Transitions.from_arrays(
        config,
        rng.integers(config.states, size=count),
        rng.integers(config.actions, size=count),
        q.to_float(rng.integers(q.minimum, q.maximum, size=count, endpoint=True)),
        rng.integers(config.states, size=count),
        rng.random(count) < 0.1,
    )


@MODELS
def test_an_update_worked_by_hand(model_class: type[Model] | type[FastModel]) -> None:
    config = Config(3, 2)
    model = model_class(config)
    model.configure(Hyperparameters(alpha=0.5, gamma=0.9))
    model.load(np.array([[256, 0], [512, -256], [0, 0]], np.int32))
    # (16384 * 256 + 16384 * -256 + 14746 * 512 + 16384) >> 15 = 230
    model.apply(Transitions.from_arrays(config, [0], [0], [-1.0], [1], [False]))
    # If terminated: (16384 * 512 + 16384 * 256 + 16384) >> 15 = 384
    model.apply(Transitions.from_arrays(config, [1], [0], [1.0], [0], [True]))
    assert model.table.tolist() == [[230, 0], [384, -256], [0, 0]]


@MODELS
def test_a_fresh_model_has_the_defaults(model_class: type[Model] | type[FastModel]) -> None:
    config = Config(3, 2)
    fresh, told = model_class(config), model_class(config)
    told.configure(Hyperparameters())
    for model in (fresh, told):
        model.apply(random_transitions(config, 20, seed=1))
    assert fresh.table.any()
    assert np.array_equal(fresh.table, told.table)
    assert fresh.noise == told.noise


def test_an_update_tells_what_it_did() -> None:
    model = Model(Config(3, 3, Q8))
    model.configure(Hyperparameters(alpha=1.0, gamma=1.0))
    model.load(np.array([[0, 0, 0], [-5, 7, 7], [-9, -9, -8]], np.int32))
    assert model.update(0, 0, 100, 1, False) == Update(107, 7, 1, saturated=False)
    assert model.update(0, 1, 127, 1, False) == Update(127, 7, 1, saturated=True)
    # The maximum is reported even if it is unused. It is taken before the update, even in the same row.
    assert model.update(2, 0, -128, 2, True) == Update(-128, -8, 2, saturated=False)
    assert model.update(0, 2, -128, 2, False) == Update(-128, -8, 2, saturated=True)


@pytest.mark.parametrize(
    ("bias", "q", "expected"),
    [(1 << 14, 1, 1), (1 << 14, -1, 0), (0, 1, 0), (0, -1, -1), (16383, 1, 0), (16384, 1, 1)],
)
def test_half_a_unit_rounds_as_documented(bias: int, q: int, expected: int) -> None:
    # With alpha = 0.5, q = 1 or -1, and everything else 0, the exact result is 1/2 or -1/2.
    assert updated_value(Q8, Coefficients(16384, 0), q, 0, 0, bias) == expected


def test_results_saturate_and_never_wrap() -> None:
    c = coefficients(1.0, 1.0)
    assert updated_value(Q8, c, 0, 127, 127, 1 << 14) == 127
    assert updated_value(Q8, c, 0, -128, -128, 0) == -128


def contract(
    c: Coefficients,
    q: NDArray[np.int64],
    r: int,
    m: NDArray[np.int64],
    bias: int | NDArray[np.int64],
) -> NDArray[np.int64]:
    """Compute the arithmetic contract independently on whole 8-bit arrays, to check both models."""
    acc = c.beta * q + c.alpha * r + c.kappa * m
    return ((acc + bias) >> 15).clip(-128, 127)


@pytest.mark.parametrize("rounding", [Rounding.NEAREST, Rounding.FLOOR])
@pytest.mark.parametrize(("alpha", "gamma"), [(0.5, 0.9), (0.1, 0.99), (1.0, 1.0), (0.0, 0.5)])
def test_compiled_model_is_exact_in_8_bits(alpha: float, gamma: float, rounding: Rounding) -> None:
    # Rows 0..255 contain the 256 possible maxima; the 65,536 entries after them contain every value of q
    # for each maximum. One pass applies one reward to all pairs (q, m): 256 passes make 2^24 updates.
    config = Config(256 + 1024, 64, Q8)
    value = np.arange(-128, 128)
    table = np.zeros((1280, 64), np.int32)
    table[:256] = value[:, None]
    q, m = (grid.ravel() for grid in np.meshgrid(value, value))
    table[256:].flat[:] = q
    entry = np.arange(65536)
    columns = (256 + entry // 64, entry % 64)
    model = FastModel(config)
    hyper = Hyperparameters(alpha, gamma, rounding)
    model.configure(hyper)
    bias = (1 << 14) * (rounding is Rounding.NEAREST)
    for r in range(-128, 128):
        model.load(table)
        model.apply(
            Transitions.from_arrays(
                config, *columns, np.full(65536, r / 16), m + 128, np.zeros(65536, np.bool_)
            )
        )
        assert np.array_equal(
            model.table[256:].ravel(), contract(hyper.coefficients_for(config), q, r, m, bias)
        )


def draws(state: NoiseState, count: int) -> tuple[NDArray[np.int64], NoiseState]:
    """Compute noise and its next state independently: xorshift and Weyl as in ``qstep.spec.random``."""
    x, w, ones = state.x, state.w, 0xFFFFFFFF
    drawn = np.empty(count, np.int64)
    for i in range(count):
        drawn[i] = (x + w & ones) >> 17
        x ^= x << 13 & ones
        x ^= x >> 17
        x ^= x << 5 & ones
        w = w + 0x9E3779B9 & ones
    return drawn, NoiseState(x, w)


SOME_REWARDS = (-128, -127, -17, -1, 0, 1, 64, 127)


@MODELS
@pytest.mark.parametrize("rounding", list(Rounding))
@pytest.mark.parametrize(
    ("alpha", "gamma", "rewards"),
    [
        (0.3, 0.97, SOME_REWARDS),
        *((alpha, gamma, (-128, 127)) for alpha, gamma in [(0, 0), (1, 0), (1, 1), (2**-15, 1)]),
    ],
)
def test_models_are_exact_on_all_pairs_of_8_bits(
    model_class: type[Model] | type[FastModel],
    alpha: float,
    gamma: float,
    rewards: tuple[int, ...],
    rounding: Rounding,
) -> None:
    # Each model gets all 65,536 pairs (q, m) with some of the 256 rewards: one setting is tested with
    # eight rewards, and the corners of alpha and gamma with both extremes. Noise continues from reward
    # to reward.
    config = Config(256 + 32768, 2, Q8)
    value = np.arange(-128, 128)
    q, m = (grid.ravel() for grid in np.meshgrid(value, value))
    table = np.concatenate([np.repeat(value, 2), q]).reshape(-1, 2).astype(np.int32)
    entry = np.arange(65536)
    columns = (256 + entry // 2, entry % 2)
    hyper = Hyperparameters(alpha, gamma, rounding, seed=7)
    model = model_class(config)
    model.configure(hyper)
    noise = hyper.noise
    bias: NDArray[np.int64] = np.full(65536, (1 << 14) * (rounding is Rounding.NEAREST))
    for r in rewards:
        if rounding is Rounding.STOCHASTIC:
            bias, noise = draws(noise, 65536)
        model.load(table)
        model.apply(
            Transitions.from_arrays(
                config, *columns, np.full(65536, r / 16), m + 128, np.zeros(65536, np.bool_)
            )
        )
        found = model.table[256:].ravel()
        assert np.array_equal(found, contract(hyper.coefficients_for(config), q, r, m, bias))
    assert model.noise == noise


@settings(max_examples=60)
@given(
    states=st.integers(2, 40),
    actions=st.sampled_from([2, 3, 4, 6]),
    width=st.integers(8, 32),
    bits=st.integers(15, 24),
    rounding=st.sampled_from(list(Rounding)),
    alpha=st.just(0.0) | st.floats(2.0**-16, 1),
    gamma=st.floats(0, 1),
    seed=st.integers(0, 2**32),
)
def test_compiled_model_equals_the_interpreter(
    states: int,
    actions: int,
    width: int,
    bits: int,
    rounding: Rounding,
    alpha: float,
    gamma: float,
    seed: int,
) -> None:
    number_format = QFormat(width // 2, width - width // 2)
    config = Config(states, actions, number_format, coefficient_bits=bits)
    alpha *= min(1, (2**16 - 1) / 2**bits)
    hyper = Hyperparameters(alpha, gamma, rounding, seed)
    slow, fast = Model(config), FastModel(config)
    for part in (0, 1):  # the second part continues from the first one's table and noise
        stream = random_transitions(config, 200, seed + part)
        for model in (slow, fast):
            if part == 0:
                model.configure(hyper)
            model.apply(stream)
        assert np.array_equal(slow.table, fast.table)
        assert slow.noise == fast.noise


def referee(config: Config, hyper: Hyperparameters, moves: Transitions) -> NDArray[np.int64]:
    """Compute the table after these moves independently, with beta = 1 - alpha as a separate factor."""
    f, q = config.coefficient_bits, np.zeros((config.states, config.actions), np.int64)
    alpha = math.floor(hyper.alpha * 2**f + 0.5)
    kappa = math.floor(hyper.alpha * hyper.gamma * 2**f + 0.5)
    noise, low, high = hyper.noise, config.format.minimum, config.format.maximum
    for state, action, reward, next_state, terminated in zip(*moves.columns, strict=True):
        bias = 2 ** (f - 1) if hyper.rounding is Rounding.NEAREST else 0
        if hyper.rounding is Rounding.STOCHASTIC:
            bias = (noise.x + noise.w) % 2**32 // 2 ** (32 - f)
            noise = noise.advance()
        future = 0 if terminated else int(q[next_state].max())
        acc = (2**f - alpha) * int(q[state, action]) + alpha * int(reward) + kappa * future
        q[state, action] = min(max((acc + bias) // 2**f, low), high)
    return q


@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize(("bits", "number_format"), [(16, "Q4.4"), (22, "Q8.8"), (24, "Q16.16")])
def test_both_models_are_exact_with_more_fractional_bits(
    bits: int, number_format: str, rounding: Rounding
) -> None:
    config = Config(7, 3, number_format, coefficient_bits=bits)
    hyper = Hyperparameters(0.7 * 2.0 ** (16 - bits), 0.95, rounding, 5)
    moves = random_transitions(config, 20_000, 4)
    tables = []
    for model in (Model(config), FastModel(config)):
        model.configure(hyper)
        model.apply(moves)
        tables.append(model.table.tolist())
    assert tables[0] == tables[1] == referee(config, hyper, moves).tolist()


@MODELS
def test_noise_advances_in_stochastic_mode_only(model_class: type[Model] | type[FastModel]) -> None:
    config = Config(4, 2)
    for rounding in Rounding:
        model = model_class(config)
        hyper = Hyperparameters(rounding=rounding, seed=3)
        model.configure(hyper)
        model.apply(random_transitions(config, 5, 0))
        assert (model.noise != hyper.noise) == (rounding is Rounding.STOCHASTIC)


@MODELS
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            np.zeros((3, 2), np.int32),
            r"table has shape \(3, 2\); this configuration needs \(4, 2\)",
        ),
        (np.zeros((4, 2)), "table has dtype float64; raw values are integers"),
        (np.full((4, 2), 32768), r"table\[0, 0\] is 32768; Q8.8 holds -32768 to 32767"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(
    model_class: type[Model] | type[FastModel], table: NDArray[np.int32], message: str
) -> None:
    model = model_class(Config(4, 2))
    with pytest.raises(TableError, match=message):
        model.load(table)
    assert not model.table.any()
