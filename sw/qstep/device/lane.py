"""Driver of a device that is connected by a link: a board or a simulation, with the same protocol."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from qstep.device.base import Counters, Device, Status
from qstep.device.link.driver import Driver
from qstep.device.link.ports import Port, RatedPort
from qstep.device.link.records import RewardTable, encode_records, value_bytes, values_of
from qstep.device.link.session import PATIENCE
from qstep.errors import DeviceError, LinkError
from qstep.mdp.transitions import Transitions, checked_transitions
from qstep.spec.checks import shown
from qstep.spec.config import Config, checked_config, checked_table
from qstep.spec.discount import warn_of_discounts
from qstep.spec.protocol import ANSWERS, ARGUMENTS, COMMON, RecordLayout, Request
from qstep.spec.random import NoiseState, checked_noise
from qstep.spec.settings import Hyperparameters, checked_hyper

__all__ = ["LinkDevice"]

_log = logging.getLogger(__name__)

_BATCH_PER_BYTE = 16
"""Transitions encoded in one batch, per byte of a full payload: about fifty frames per batch."""

_SLOWEST_CLOCK_HZ = 1_000_000
"""Clock rate that deadlines assume for requests that take many clocks."""


class LinkDevice(Driver, Device):
    """The driver of a device without agents.

    Opening the device sets the hyperparameters to :meth:`Hyperparameters.first_for`. The table and the
    count of applied transitions are kept, so that an interrupted run can be resumed; if any transition
    has been applied, the rounding noise also continues. :meth:`configure` restarts the noise, and
    :meth:`clear` and :meth:`load` set the table. If the device does not answer, a break returns it and
    the port to the line rate of `config`.
    """

    def __init__(
        self, port: Port, config: Config, patience: float = PATIENCE, build: str | None = None
    ) -> None:
        self.config = checked_config(config)
        self._rewards = RewardTable()
        super().__init__(port, config, patience, build)

    def reconnect(self) -> None:
        """Open a new session after an error; as on opening, the device's contents are kept."""
        self._rewards.clear()
        super().reconnect()
        hyper = Hyperparameters.first_for(self.config)
        if self._session.applied:
            self._configure(hyper)
        else:
            self.configure(hyper)

    # Settings

    def configure(self, hyper: Hyperparameters) -> None:
        self._configure(hyper)
        self.set_noise(hyper.noise)

    def _configure(self, hyper: Hyperparameters) -> None:
        c = checked_hyper(hyper).coefficients_for(self.config)
        warn_of_discounts([(hyper.alpha, hyper.gamma)], c.bits)
        payload = ARGUMENTS[Request.CONFIGURE].pack(
            c.alpha, c.kappa, hyper.rounding_for(self.config).code
        )
        self._command(Request.CONFIGURE, payload)

    def set_noise(self, noise: NoiseState) -> None:
        state = checked_noise(noise)
        self._command(Request.NOISE, ARGUMENTS[Request.NOISE].pack(state.x, state.w))

    def set_baud(self, baud: int) -> None:
        """Change the line rate of the device and the port, and check that they still communicate.

        Raises ConfigError if the device's clock cannot generate this rate to within 2 %.
        """
        if not isinstance(self._port, RatedPort):
            raise LinkError(f"baud is {shown(baud)}, but this port has no line rate")
        divisor = replace(self.config.link, baud=baud).divisor
        self._session.change_baud(divisor, baud, self._port.set_baud)
        self.status()

    # The table

    def clear(self) -> None:
        clocks = self.config.states * self.config.actions
        self._command(Request.CLEAR, seconds=clocks / _SLOWEST_CLOCK_HZ)

    def load(self, q_raw: NDArray[np.int32]) -> None:
        values = checked_table(self.config, q_raw).reshape(-1)
        width = self.config.value_bytes
        place = ARGUMENTS[Request.LOAD]
        for first, end in self._parts(0, values.size, place.size):
            where = place.pack(*divmod(first, self.config.actions))
            self._session.send(Request.LOAD, where + value_bytes(values[first:end], width))
        self._session.drain()

    def read(self) -> NDArray[np.int32]:
        width = self.config.value_bytes
        size = self.config.states * self.config.actions
        data = bytearray()
        for first, end in self._parts(0, size, COMMON.size):
            where = divmod(first, self.config.actions)
            place = ARGUMENTS[Request.READ].pack(*where, end - first)
            data += self._session.ask(Request.READ, (end - first) * width, place)
        values = values_of(data, width)
        return values.reshape(self.config.states, self.config.actions)

    # Learning

    def apply(self, transitions: Transitions) -> None:
        """Apply transitions as :meth:`Device.apply` does; after a RefusedError, ``applied`` is exact.

        Up to 256 distinct rewards are sent as codes. If there are more, all rewards are sent in full.
        """
        rest = checked_transitions(self.config, transitions)
        before, began = self._session.applied, time.monotonic()
        try:
            while True:  # at least once, to load the compiled code
                count = _BATCH_PER_BYTE * self._session.limit
                self._send(rest[:count])
                if len(rest) <= count:
                    break
                rest = rest[count:]
            self._session.drain()
        except BaseException as error:
            # The codes of this batch may or may not have reached the device.
            self._rewards.clear()
            if isinstance(error, DeviceError):
                error.applied = self._session.applied - before
            raise
        seconds = max(time.monotonic() - began, 1e-9)
        count = len(transitions)
        _log.debug("%d transitions in %.3g s, %.3g/s", count, seconds, count / seconds)

    def _send(self, transitions: Transitions) -> None:
        reward: NDArray[np.integer] = transitions.reward_raw
        assigned = self._rewards.assign(transitions.reward_raw)
        if assigned is None:
            kind, layout = Request.APPLY_RAW, RecordLayout.raw(self.config)
        else:
            kind, layout = Request.APPLY_CODED, RecordLayout.coded(self.config)
            reward, first_new = assigned
            self._send_rewards(first_new)
        for payload, count in encode_records(layout, transitions, reward, self._session.limit):
            self._session.send(kind, payload, count)

    def _send_rewards(self, first: int) -> None:
        """Send the reward of each code from `first` on to the device."""
        width = self.config.value_bytes
        place = ARGUMENTS[Request.REWARDS]
        for start, end in self._parts(first, len(self._rewards), place.size):
            values = value_bytes(self._rewards.values[start:end], width)
            self._session.send(Request.REWARDS, place.pack(start) + values)

    def _parts(self, first: int, end: int, header_bytes: int) -> Iterator[tuple[int, int]]:
        """Split a range of values into parts, each within the current payload limit."""
        while first < end:
            count = (self._session.limit - header_bytes) // self.config.value_bytes
            yield first, min(first + count, end)
            first += count

    # Reports

    def status(self) -> Status:
        crc, x, w = ANSWERS[Request.STATUS].unpack(self._ask(Request.STATUS))
        return Status(self._session.applied, crc, NoiseState(x, w))

    def counters(self) -> Counters:
        return Counters(**ANSWERS[Request.COUNTERS].named(self._ask(Request.COUNTERS)))
