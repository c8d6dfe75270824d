"""The golden model: a plain interpreter that defines QStep's arithmetic and order of updates.

It is written to be read and checked by eye, not to be fast: it uses plain Python integers and applies
one transition at a time. The compiled version (:mod:`qstep.golden.lane_fast`), the RTL
(``rtl/lane/qs_lane.sv``) and every board must produce the same table bit for bit. The update is Watkins'
Q-learning (Watkins and Dayan, 1992; Sutton and Barto, 2018, eq. 6.8) in fixed point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qstep.mdp.transitions import Transitions, checked_transitions
from qstep.spec.config import Config, checked_config, checked_table
from qstep.spec.fixed import Coefficients, QFormat
from qstep.spec.settings import Hyperparameters, checked_hyper

__all__ = ["Model", "Update", "exact_value", "updated_value"]


def updated_value(
    number_format: QFormat, c: Coefficients, q: int, reward: int, maximum: int, bias: int
) -> int:
    """Return the new value of an entry: one exact sum, one rounding, one saturation.

    All values are raw. `maximum` is the maximum of the next row (0 if terminated); `bias` is the amount
    that rounding adds before the shift, 0..2^f-1 if coefficients have f fractional bits.
    """
    exact = exact_value(c, q, reward, maximum, bias)
    return max(number_format.minimum, min(number_format.maximum, exact))


def exact_value(c: Coefficients, q: int, reward: int, maximum: int, bias: int) -> int:
    """Return the new value of an entry before saturation; parameters as in :func:`updated_value`."""
    acc = (q << c.bits) + c.alpha * (reward - q) + c.kappa * maximum
    return (acc + bias) >> c.bits


class Update(NamedTuple):
    """The effect of one transition, as the lane reports it, in raw values.

    `maximum`, and the lowest action `greedy` that attains it, are read from row `next_state` just before
    the update, even if the transition terminated. `saturated` is True if the rounded sum did not fit, so
    that `value` is an end of the format's range.
    """

    value: int
    maximum: int
    greedy: int
    saturated: bool


class Model:
    """The sequential model of one accelerator, whose table starts at 0.

    `noise` is the generator of stochastic rounding. In that mode, it advances once per transition.
    """

    def __init__(self, config: Config) -> None:
        self.config = checked_config(config)
        self._q = [[0] * config.actions for _ in range(config.states)]
        self.configure(Hyperparameters.first_for(config))

    def configure(self, hyper: Hyperparameters) -> None:
        """Set coefficients and rounding mode, and restart the noise from its seed."""
        self._coefficients = checked_hyper(hyper).coefficients_for(self.config)
        self._rounding = hyper.rounding_for(self.config)
        self.noise = hyper.noise

    @property
    def table(self) -> NDArray[np.int32]:
        """A copy of the table in raw values, int32, shape (S, A)."""
        return np.array(self._q, dtype=np.int32)

    def load(self, q_raw: NDArray[np.int32]) -> None:
        """Replace the table; raise TableError if shape or values do not fit."""
        self._q = checked_table(self.config, q_raw).tolist()

    def update(
        self, state: int, action: int, reward_raw: int, next_state: int, terminated: bool
    ) -> Update:
        """Apply one transition and return its effect."""
        row = self._q[next_state]
        maximum = max(row)
        greedy = row.index(maximum)
        operands = (
            self._coefficients,
            self._q[state][action],
            reward_raw,
            0 if terminated else maximum,
            self._bias(),
        )
        value = updated_value(self.config.format, *operands)
        self._q[state][action] = value
        return Update(value, maximum, greedy, saturated=value != exact_value(*operands))

    def _bias(self) -> int:
        bits = self.config.coefficient_bits
        fixed = self._rounding.bias(bits)
        if fixed is not None:
            return fixed
        draw = self.noise.draw(bits)
        self.noise = self.noise.advance()
        return draw

    def apply(self, transitions: Transitions) -> None:
        """Apply transitions in order; raise TransitionError if they do not match the table's type."""
        columns = checked_transitions(self.config, transitions).columns
        for transition in zip(*(column.tolist() for column in columns), strict=True):
            self.update(*transition)
