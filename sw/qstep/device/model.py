"""The golden model as a device: exact, fast, and without hardware."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qstep.device.base import Device, Status
from qstep.device.link.records import extend_digest
from qstep.errors import ClosedError
from qstep.golden.lane_fast import FastModel
from qstep.mdp.transitions import Transitions
from qstep.spec.config import Config
from qstep.spec.discount import warn_of_discounts
from qstep.spec.random import NoiseState, checked_noise
from qstep.spec.settings import Hyperparameters, checked_hyper

__all__ = ["ModelDevice"]


class ModelDevice(Device):
    """The compiled golden model, with the same transition count and digest as the hardware.

    The table starts with zeros and the hyperparameters of :meth:`Hyperparameters.first_for`.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self._opened: FastModel | None = FastModel(config)
        self._applied = 0
        self._digest = 0

    @property
    def _model(self) -> FastModel:
        if self._opened is None:
            raise ClosedError("the model is closed; open another")
        return self._opened

    def configure(self, hyper: Hyperparameters) -> None:
        model = self._model
        pair = checked_hyper(hyper).alpha, hyper.gamma
        warn_of_discounts([pair], self.config.coefficient_bits)
        model.configure(hyper)

    def set_noise(self, noise: NoiseState) -> None:
        self._model.noise = checked_noise(noise)

    def clear(self) -> None:
        self._model.table.fill(0)

    def load(self, q_raw: NDArray[np.int32]) -> None:
        self._model.load(q_raw)

    def apply(self, transitions: Transitions) -> None:
        self._model.apply(transitions)
        self._applied += len(transitions)
        self._digest = extend_digest(self.config, transitions, self._digest)

    def read(self) -> NDArray[np.int32]:
        return self._model.table.copy()

    def status(self) -> Status:
        return Status(self._applied, self._digest, self._model.noise)

    def counters(self) -> None:
        """Return None: a model has no hardware counters."""

    def saturations(self) -> int:
        return self._model.saturations

    def close(self) -> None:
        self._opened = None
