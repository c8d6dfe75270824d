"""Number formats, quantisation of rewards, coefficients and rounding noise."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from qstep.errors import ConfigError, TransitionError
from qstep.spec.fixed import QFormat, Rounding, coefficients
from qstep.spec.random import NoiseState


@given(st.floats(-127.9, 127.9))
def test_a_reward_is_quantised_half_up(x: float) -> None:
    assert QFormat(8, 8).quantise([x]).tolist() == [math.floor(x * 256 + 0.5)]


@given(
    st.integers(8, 32).flatmap(lambda w: st.tuples(st.just(w), st.integers(0, w - 1))), st.data()
)
def test_raw_values_survive_floats(shape: tuple[int, int], data: st.DataObject) -> None:
    width, fraction = shape
    q = QFormat(width - fraction, fraction)
    raw = np.array(data.draw(st.lists(st.integers(q.minimum, q.maximum), min_size=1)), np.int32)
    assert np.array_equal(q.quantise(q.to_float(raw)), raw)


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.array(0.5)], ids=repr)
def test_a_single_number_is_quantised_too(value: float) -> None:
    raw = QFormat(8, 8).quantise(value)
    assert (raw.shape, raw.dtype.name, int(raw)) == ((), "int32", 128)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.0, 128.0], r"reward\[1\] is 128.0; Q8.8 holds -128.0 to 127.99609375"),
        ([-128.0, 200.0], r"reward\[1\] is 200.0; Q8.8 holds"),
        ([127.99609375, 200.0], r"reward\[1\] is 200.0; Q8.8 holds"),
        ([-128.01], r"reward\[0\] is -128.01; Q8.8 holds"),
        ([1.0, math.nan], r"reward\[1\] is nan; Q8.8 holds"),
        ([-math.inf], r"reward\[0\] is -inf; Q8.8 holds"),
        (["one"], "reward has dtype <U3; it must be real numbers"),
        (500.0, r"reward is 500.0; Q8.8 holds"),
        ([[0.0, 0.0], [0.0, -300]], r"reward\[1, 1\] is -300.0; Q8.8 holds"),
        ([[1.0], [2.0, 3.0]], "reward is not an array of real numbers: .* inhomogeneous"),
    ],
)
def test_a_reward_that_does_not_fit_is_refused(values: list[object], message: str) -> None:
    with pytest.raises(TransitionError, match=message):
        QFormat(8, 8).quantise(values)  # type: ignore[arg-type]


BITS = st.integers(15, 24)


@given(st.floats(0, 1), st.floats(0, 1), BITS)
def test_coefficients_keep_the_accumulator_in_range(share: float, gamma: float, bits: int) -> None:
    alpha = share * min(1, (2**16 - 1) / 2**bits)
    alpha *= alpha >= 0.5 / 2**bits
    c = coefficients(alpha, gamma, bits)
    assert c.alpha + c.beta == 1 << bits
    assert 0 <= c.kappa <= c.alpha <= min(1 << bits, 2**16 - 1)


@given(st.integers(0, 1000), st.integers(0, 1000), BITS)
def test_coefficients_round_the_real_numbers_half_up(a: int, g: int, bits: int) -> None:
    alpha, gamma, one = a / (1000 << (bits - 15)), g / 1000, 1 << 15
    assume(round(a * one / 1000) < 2**16)
    c = coefficients(alpha, gamma, bits)
    assert c.alpha == math.floor(Fraction(a, 1000) * one + Fraction(1, 2))
    assert c.kappa == math.floor(Fraction(a * g, 10**6) * one + Fraction(1, 2))


def test_greatest_alpha_is_the_one_that_the_message_names() -> None:
    assert coefficients((2**16 - 1) / 2**24, 1.0, 24).alpha == 2**16 - 1
    with pytest.raises(
        ConfigError, match=r"of which 24 are fractional; it must be 0 to 0\.00390619"
    ):
        coefficients(2**-8, 1.0, 24)


def test_rounding_codes_are_those_of_the_link() -> None:
    assert [mode.code for mode in Rounding] == [0, 1, 2]


def test_noise_draws_are_uniform_and_differ_between_seeds() -> None:
    state = NoiseState.from_seed(1)
    draws = []
    for _ in range(32768):
        draws.append(state.draw(15))
        state = state.advance()
    counts = np.bincount(np.array(draws) >> 10, minlength=32)
    # Each of the 32 bins expects 1024 draws, and its count is within 5 binomial standard deviations.
    assert np.all(np.abs(counts - 1024) < 5 * math.sqrt(1024))
    assert NoiseState.from_seed(2) != NoiseState.from_seed(1)


@pytest.mark.parametrize("number", [int, np.int64])
def test_noise_follows_its_documented_recurrence(number: Any) -> None:
    # Worked by hand: x = 1 gives 1 ^ 1<<13 = 0x2001, >>17 nothing, ^ <<5 = 0x42021.
    state = NoiseState(number(1), number(0xFFFFFFFF))
    assert state.draw(32) == 0
    top = NoiseState(number(1), number(0xFFFFFF7E))
    assert [top.draw(bits) for bits in (15, 24)] == [(1 << 15) - 1, (1 << 24) - 1]
    assert state.advance() == NoiseState(0x42021, 0x9E3779B8)
    assert type(state.x) is type(state.advance().x) is int


def test_a_format_is_text_with_either_letter() -> None:
    assert QFormat.parse("q4.12") == QFormat.parse("Q4.12") == QFormat(4, 12)
    with pytest.raises(ConfigError, match=r"format is 8\.8; write it as Qm\.F"):
        QFormat.parse(8.8)  # type: ignore[arg-type]


@pytest.mark.parametrize(("x", "w"), [(0, 0), (1 << 32, 0), (1, -1), (1, 1 << 32), ("1", 0)])
def test_a_noise_state_out_of_range_is_refused(x: Any, w: int) -> None:
    said = f"is x={x}, w={w}; x must be 1" if x != "1" else "x is '1'; it must be an integer from 0"
    with pytest.raises(ConfigError, match=f"noise state {said}"):
        NoiseState(x, w)
