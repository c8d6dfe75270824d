"""`PlanesConfig`: a learner with choose and learn requests, its presets and its C++ header.

Pythia (Bera et al., MICRO 2021), CHROME (Lu et al., HPCA 2024) and Athena (Bera et al., HPCA 2026) use
this learner: small tables indexed by hashes of features, whose values are combined to choose an action.
docs/learner.md describes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

from qstep.errors import ConfigError
from qstep.spec.checks import assign, boolean, integer, one_of, power_of_two, real, shown
from qstep.spec.epsilon import EPSILON_BITS, threshold
from qstep.spec.fixed import (
    COEFFICIENT_BITS,
    MOST_COEFFICIENT_BITS,
    Coefficients,
    QFormat,
    coefficients,
)
from qstep.spec.random import WEYL
from qstep.spec.tiles import MOST_PLANES, MOST_ROWS, hashed

__all__ = [
    "CPP_HEADER",
    "ERRORS",
    "KEY_BITS",
    "PRESETS",
    "QUEUE_ENTRIES",
    "PlanesConfig",
    "config_header",
]

ERRORS = ("own", "shared")
"""TD error that updates a plane: its own error, or the error of the sum of all planes."""

QUEUE_ENTRIES, KEY_BITS = 256, 20
"""Default size of the hardware's evaluation queue: Pythia's number of entries, and bits per key."""

CPP_HEADER = Path(__file__).parents[1] / "cpp" / "planes.hpp"
"""The C++17 header, whose results are identical to those of :class:`qstep.golden.planes.PlanesModel`."""

_FORMAT = QFormat(7, 9)
_MASK32 = (1 << 32) - 1
_MOST_WORD = (1 << 64) - 1


def _usual_constants(planes: int) -> tuple[int, ...]:
    """Return the default hash constants of a group."""
    return tuple(t * WEYL & _MASK32 for t in range(planes))


@dataclass(frozen=True, slots=True)
class PlanesConfig:
    """G groups of T planes, each a table of R rows and A actions.

    Group g has one feature, a 64-bit word, which each of its planes hashes to a row number. Planes are
    numbered group by group: plane t of group g has the number ``g T + t``.

    Parameters
    ----------
    groups : int
        G, the number of groups, 1..16. The value of an action is the maximum over groups of the sum over
        a group's planes.
    planes : int
        T, the number of planes per group, 1..16; the product G T is at most 16.
    rows : int
        R, the number of rows per plane: a power of two, 2..65536.
    actions : int
        A, the number of actions, 2..64; it need not be a power of two.
    format : QFormat
        Number format of weights and rewards, 8..32 bits wide; the default is Q7.9.
    error : str
        ``own``: every plane learns from its own TD error. ``shared``: all planes of the single group
        learn from the TD error of their sum.
    floor : bool
        Whether action 0 is chosen unless the value of an action is above 0.
    coefficient_bits : int
        f, the number of fractional bits of alpha and of alpha times gamma, 15..24. Both have a total of
        16 bits.
    alpha, gamma : float
        Learning rate of one plane and discount, 0..1.
    epsilon : float
        Probability, 0..1, that the learner takes a random action.
    start : float
        Value of every weight after reset; it must fit `format`.
    constants : sequence of int
        T hash constants, 0..2^32-1, one per plane of a group; the default is ``t * 0x9E3779B9 mod 2^32``
        for plane t. The defaults for another T are replaced by the defaults for T.

    Raises
    ------
    ConfigError
        A value is illegal; the message names it and the legal range.

    Examples
    --------
    >>> pythia = PRESETS["pythia"]
    >>> pythia.all_planes, pythia.start_raw, pythia.coefficients
    (6, 1154, Coefficients(alpha=27300, kappa=15187, bits=22))
    >>> pythia.rows_of([0x401234, 5])
    (105, 31, 42, 40, 76, 71)
    """

    groups: int
    planes: int
    rows: int
    actions: int
    format: QFormat = _FORMAT
    error: str = "own"
    floor: bool = False
    coefficient_bits: int = COEFFICIENT_BITS
    alpha: float = 0.5
    gamma: float = 0.9
    epsilon: float = 0.0
    start: float = 0.0
    constants: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        bits = COEFFICIENT_BITS, MOST_COEFFICIENT_BITS
        assign(
            self,
            groups=integer("groups", self.groups, 1, MOST_PLANES),
            planes=integer("planes", self.planes, 1, MOST_PLANES),
            rows=power_of_two("rows", self.rows, 2, MOST_ROWS),
            actions=integer("actions", self.actions, 2, 64),
            format=QFormat.parse(self.format),
            error=one_of("error", self.error, ERRORS),
            floor=boolean("floor", self.floor),
            coefficient_bits=integer("coefficient_bits", self.coefficient_bits, *bits),
            alpha=real("alpha", self.alpha),
            gamma=real("gamma", self.gamma),
            epsilon=real("epsilon", self.epsilon),
        )
        if self.all_planes > MOST_PLANES:
            raise ConfigError(
                f"{self.groups} groups of {self.planes} planes are {self.all_planes} planes; there must "
                f"be from 1 to {MOST_PLANES}"
            )
        if self.error == "shared" and self.groups > 1:
            raise ConfigError(f"groups is {self.groups}; it must be 1 where error is 'shared'")
        low, high = (
            self.format.resolution * raw for raw in (self.format.minimum, self.format.maximum)
        )
        if (
            isinstance(self.start, bool)
            or not isinstance(self.start, Real)
            or not low <= self.start <= high
        ):
            raise ConfigError(
                f"start is {shown(self.start)}; it must be from {low} to {high}, as {self.format} holds"
            )
        assign(self, start=float(self.start), constants=self._checked_constants())
        coefficients(self.alpha, self.gamma, self.coefficient_bits)  # raises if alpha does not fit

    def _checked_constants(self) -> tuple[int, ...]:
        found = tuple(
            integer(f"constants[{t}]", own, 0, _MASK32, "from 0 to 2^32-1")
            for t, own in enumerate(self.constants)
        )
        if found == _usual_constants(len(found)):
            return _usual_constants(self.planes)
        if len(found) != self.planes:
            raise ConfigError(
                f"constants has {len(found)} numbers; it must have {self.planes}, or none for the "
                "default"
            )
        return found

    @property
    def all_planes(self) -> int:
        """P = G T, the number of planes, 1..16."""
        return self.groups * self.planes

    @property
    def table_shape(self) -> tuple[int, int, int]:
        """Shape of all weights, (P, R, A)."""
        return self.all_planes, self.rows, self.actions

    @property
    def coefficients(self) -> Coefficients:
        """alpha, beta and kappa as the hardware uses them."""
        return coefficients(self.alpha, self.gamma, self.coefficient_bits)

    @property
    def start_raw(self) -> int:
        """Every weight's value after reset, in raw units."""
        return math.floor(self.start * (1 << self.format.fraction) + 0.5)

    @property
    def threshold(self) -> int:
        """Exploration threshold, 0..65536: the learner explores if a 16-bit draw is below it."""
        return threshold(math.floor(self.epsilon * (1 << EPSILON_BITS) + 0.5))

    @property
    def value_bits(self) -> int:
        """Bits of a signed sum over the planes of a group, W + ceil(log2(T))."""
        return self.format.width + (self.planes - 1).bit_length()

    def rows_of(self, words: Sequence[int]) -> tuple[int, ...]:
        """Return the row in each plane to which the features hash; this defines the hash front end.

        Parameters
        ----------
        words : sequence of int, length G
            One feature word per group, 0..2^64-1.

        Raises
        ------
        ConfigError
            The number of words is wrong, or a word is out of range.
        """
        if len(words) != self.groups:
            raise ConfigError(f"words has {len(words)} features; it must have {self.groups}")
        checked = [
            integer(f"words[{g}]", word, 0, _MOST_WORD, "from 0 to 2^64-1")
            for g, word in enumerate(words)
        ]
        return tuple(
            hashed(word, constant, self.rows) for word in checked for constant in self.constants
        )


PRESETS = {
    "pythia": PlanesConfig(
        groups=2,
        planes=3,
        rows=128,
        actions=15,
        floor=True,
        coefficient_bits=22,
        alpha=0.006508802942367162,
        gamma=0.556300959940946,
        epsilon=0.0018228,
        start=1 / (1 - 0.556300959940946),
        constants=(0xACA081B9, 0x666A1C67, 0xC11D6A53),
    ),
    "chrome": PlanesConfig(
        groups=2,
        planes=4,
        rows=512,
        actions=4,
        coefficient_bits=20,
        alpha=0.0498,
        gamma=0.368,
        epsilon=0.001,
        start=1 / (1 - 0.368),
    ),
    "athena": PlanesConfig(
        groups=1,
        planes=10,
        rows=64,
        actions=4,
        coefficient_bits=16,
        alpha=0.6,
        gamma=0.5,
        epsilon=0.02,
    ),
}
"""The learners of three papers, by name, with 16-bit weights; see docs/learner.md."""


def config_header(name: str, config: PlanesConfig) -> str:
    """Return a C++ header that defines the struct ``qstep::<Name>`` for a configuration.

    Parameters
    ----------
    name : str
        A C++ identifier in lower case; the struct's name starts with a capital letter.
    """
    c, kind = config.coefficients, name.capitalize()
    constants = ", ".join(f"0x{own:08x}u" for own in config.constants)
    size = (
        f"{config.groups} x {config.planes} planes of {config.rows} rows x {config.actions} actions, "
        f"{config.format}"
    )
    return f"""\
// {name}: {size}
#ifndef QSTEP_{name.upper()}_HPP
#define QSTEP_{name.upper()}_HPP

#include "qstep/planes.hpp"

namespace qstep {{

struct {kind} {{
    static constexpr int groups = {config.groups};
    static constexpr int planes = {config.planes};  // of each group
    static constexpr int rows = {config.rows};
    static constexpr int actions = {config.actions};
    static constexpr int width = {config.format.width};  // bits of a weight
    static constexpr int fraction = {config.format.fraction};
    static constexpr bool shared_error = {str(config.error == "shared").lower()};
    static constexpr bool floor = {str(config.floor).lower()};
    static constexpr int coefficient_bits = {c.bits};
    static constexpr int64_t alpha_raw = {c.alpha};
    static constexpr int64_t kappa_raw = {c.kappa};
    static constexpr int64_t start_raw = {config.start_raw};
    static constexpr uint32_t threshold = {config.threshold};  // of 65536: explores
    static constexpr std::array<uint32_t, planes> constants = {{{constants}}};
    static constexpr double alpha = {config.alpha!r};
    static constexpr double gamma = {config.gamma!r};
    static constexpr double start = {config.start!r};
}};

}}  // namespace qstep

#endif
"""
