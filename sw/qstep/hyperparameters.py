"""`Hyperparameters`: the settings of an accelerator that can change at run time."""

from __future__ import annotations

import operator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from qstep.checks import shown
from qstep.config import Config, checked_config
from qstep.discount import learned_discount
from qstep.errors import ConfigError
from qstep.fixed import Coefficients, Rounding, coefficients
from qstep.noise import NoiseState

__all__ = ["Hyperparameters", "checked_hyper"]


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Settings for run time: learning rate, discount, rounding mode, seed of the rounding noise.

    Parameters
    ----------
    alpha : float
        Learning rate: 0, or 2^-16..1 (less would be rounded to 0).
    gamma : float
        Discount, 0..1.
    rounding : Rounding or str, optional
        Rounding mode; without one, that of the configuration (:meth:`rounding_for`).
    seed : int
        Seed of the noise of stochastic rounding, 0..2^64-1.

    Raises
    ------
    ConfigError
        A value is illegal; the message names it and the legal range.
    """

    alpha: float = 0.5
    gamma: float = 0.9
    rounding: Rounding | None = None
    seed: int = 0

    if TYPE_CHECKING:

        def __init__(
            self,
            alpha: float = ...,
            gamma: float = ...,
            rounding: Rounding | str | None = ...,
            seed: int = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        coefficients(self.alpha, self.gamma)
        for name in ("alpha", "gamma"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if self.rounding is not None:
            object.__setattr__(self, "rounding", Rounding.parse(self.rounding))
        NoiseState.from_seed(self.seed)
        object.__setattr__(self, "seed", operator.index(self.seed))

    @property
    def coefficients(self) -> Coefficients:
        """alpha, beta and kappa in the hardware's form."""
        return coefficients(self.alpha, self.gamma)

    @property
    def discount(self) -> float:
        """The discount that is learned: kappa / alpha, which is gamma up to their rounding."""
        return learned_discount(self.alpha, self.gamma)

    @property
    def noise(self) -> NoiseState:
        """The generator's registers before the first draw."""
        return NoiseState.from_seed(self.seed)

    def rounding_for(self, config: Config) -> Rounding:
        """Return the rounding mode that a device of `config` uses with these."""
        return checked_config(config).rounding if self.rounding is None else self.rounding

    def to_dict(self, config: Config) -> dict[str, Any]:
        """Return plain values only, with the rounding mode that a device of `config` uses."""
        return {**asdict(self), "rounding": self.rounding_for(config).value}


def checked_hyper(hyper: Hyperparameters) -> Hyperparameters:
    """Return `hyper` if they are Hyperparameters; otherwise raise ConfigError."""
    if not isinstance(hyper, Hyperparameters):
        raise ConfigError(f"hyperparameters are {shown(hyper)}; they must be Hyperparameters")
    return hyper
