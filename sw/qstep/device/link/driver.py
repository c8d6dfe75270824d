"""The base class of all drivers: a port, a session over it, and a check of the device's identity."""

from __future__ import annotations

from qstep.device.link.ports import Port
from qstep.device.link.session import PATIENCE, Session
from qstep.errors import ConfigMismatchError, LinkError, ProtocolVersionError
from qstep.golden.contract import Closing
from qstep.spec.config import Config
from qstep.spec.protocol import ANSWERS, PROTOCOL_VERSION, Request

__all__ = ["Driver", "checked_hello"]


class Driver(Closing):
    """Driver of a device at a port, with the protocol of ``docs/link.md``.

    The device must have been built from `config`. If `build` is given, the device must also have this
    build ID: the 16 hexadecimal digits in a bitstream's report, or 16 zeros for a simulation. Otherwise,
    connecting raises ProtocolVersionError or ConfigMismatchError, and nothing is written to the device.
    `patience` is the time in seconds to wait for an answer before the first retry, in addition to the
    transfer time. Closing the driver also closes the port.
    """

    config: Config

    def __init__(
        self, port: Port, config: Config, patience: float = PATIENCE, build: str | None = None
    ) -> None:
        self._port, self._expected_build = port, build
        self._session = Session(port, config, patience)
        try:
            self._begin()
        except BaseException:
            port.close()
            raise

    def _begin(self) -> None:
        """Open the first session, and initialise the device."""
        self.reconnect()

    def reconnect(self) -> None:
        """Open a new session after an error; the device's contents are kept, and any job continues."""
        self.build = checked_hello(self.config, self._session.open(), self._expected_build)

    def _command(self, kind: Request, payload: bytes = b"", seconds: float = 0.0) -> None:
        """Send a request and wait until it has been answered."""
        self._session.send(kind, payload, seconds=seconds)
        self._session.drain()

    def _ask(self, kind: Request, payload: bytes = b"") -> bytes:
        """Send a request, and return its answer, whose length depends only on `kind`."""
        return self._session.ask(kind, ANSWERS[kind].size, payload)

    def close(self) -> None:
        """Close the port; calling it twice is harmless. A running job continues."""
        self._session.report()
        self._port.close()


def checked_hello(config: Config, hello: bytes, expected_build: str | None) -> str:
    """Return the build of the device that answered HELLO, if it is the expected one.

    `hello` is the answer without its common part.
    """
    if hello[0] != PROTOCOL_VERSION:
        raise ProtocolVersionError(
            f"the device speaks version {hello[0]} of the link protocol; "
            f"this driver speaks version {PROTOCOL_VERSION}"
        )
    layout = ANSWERS[Request.HELLO]
    if len(hello) != layout.size:
        raise LinkError(f"the device answered HELLO with {len(hello)} bytes, not {layout.size}")
    device = layout.named(hello)
    size = f"{device['states']} x {device['actions']}"
    # The digest is compared last, because it differs whenever a more readable property does.
    for what, there, here in (
        ("geometry", size, f"{config.states} x {config.actions}"),
        ("format", f"Q{device['integer']}.{device['fraction']}", str(config.format)),
        ("buffer", f"{device['buffer_bytes']} bytes", f"{config.link.buffer_bytes} bytes"),
        ("configuration digest", _digits(device["digest"]), config.digest[:16]),
    ):
        if there != here:
            raise ConfigMismatchError(
                f"the device's {what} is {there}; this configuration has {here}"
            )
    build = _digits(device["build"])
    if expected_build not in (None, build):
        raise ConfigMismatchError(
            f"the device's build is {build}, not {expected_build}: "
            "program the device again, or expect its build"
        )
    return build


def _digits(number: int) -> str:
    """Return eight bytes of the answer as hexadecimal digits, in link order."""
    return number.to_bytes(8, "little").hex()
