"""Compares a device's answer to HELLO with the driver's expectations."""

from __future__ import annotations

from qstep.errors import ConfigMismatchError, LinkError, ProtocolVersionError
from qstep.spec.config import Config
from qstep.spec.protocol import ANSWERS, PROTOCOL_VERSION, Request

__all__ = ["checked_hello"]


def checked_hello(config: Config, hello: bytes, expected_build: str | None) -> str:
    """Return the build of a device, 16 hexadecimal digits.

    Parameters
    ----------
    config : Config
        The configuration that the device must have been built from.
    hello : bytes
        The answer to HELLO after the common part.
    expected_build : str, optional
        The required build; by default any.

    Raises
    ------
    ProtocolVersionError
        The device speaks another version of the protocol.
    LinkError
        Its answer has another length.
    ConfigMismatchError
        It is another device: geometry, format, buffer, digest or build differ.
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
    # Understandable differences come first: the digest differs whenever anything does.
    for what, there, here in (
        (
            "geometry",
            f"{device['states']} x {device['actions']}",
            f"{config.states} x {config.actions}",
        ),
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
            "program it again, or expect the build that it is"
        )
    return build


def _digits(number: int) -> str:
    """Return eight bytes of the answer as hexadecimal digits, in the order of the link."""
    return number.to_bytes(8, "little").hex()
