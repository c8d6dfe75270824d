"""The interface of request handlers: each handler receives its requests when they may be executed.

A handler is a component with a member ``request : In(HandlerSignature(config))`` and an attribute
``requests``, the types that it executes. :class:`qstep_rtl.commands.Commands` instantiates and connects
the handlers. Types and arguments of all requests are in :mod:`qstep.spec.protocol`.
"""

from __future__ import annotations

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, Signature

from qstep.spec.config import Config
from qstep.spec.protocol import StatusCode, arguments_of, max_payload, requests_of
from qstep_rtl.layout import struct_of

__all__ = ["HandlerSignature", "fields_of", "known_type", "payload_bits"]


def known_type(config: Config) -> range:
    """Return the shape of the low type bits that distinguish known types."""
    return range(max(requests_of(config)) + 1)


def fields_of(config: Config) -> data.UnionLayout:
    """Return the arguments of all requests as overlapping views of the same bytes.

    Bytes beyond a request's arguments still contain earlier arguments.
    """
    return data.UnionLayout(
        {kind.name.lower(): struct_of(layout) for kind, layout in arguments_of(config).items()}
    )


def payload_bits(config: Config) -> int:
    """Return the number of bits of a payload's length."""
    return max_payload(config.link.buffer_bytes).bit_length()


class HandlerSignature(Signature):
    """A request, as seen from the commands.

    Parameters
    ----------
    config : Config
        Its link limits the payload size.

    Attributes
    ----------
    type, fields : Out, Out(fields_of(config))
        The low bits of the request's type, which distinguish known types, and its arguments. The type is
        stable from `start` until the next header arrives, and the arguments until new arguments arrive.
    left, spent : Out, Out(1)
        Number of payload bytes left; 1 if no byte is left.
    start : Out(1)
        Execute the request. Session, type, length and number of arguments are valid; values are not
        checked yet.
    payload : Out(stream of 8)
        Bytes after the arguments; ready only while this handler's request is executed.
    busy : In(1)
        The request is being executed, from the clock after `start` on.
    status : In(StatusCode)
        The result: OK, or a refusal. Stable while `busy` is 0, until the next `start`. With OK, the
        whole payload has been consumed.
    data_bytes : In
        Bytes of the answer after its fixed part; valid like `status`.
    answered : Out(1)
        The answer, with status OK, has just begun.
    lingers : In(1)
        Work remains after the answer, before the next request; valid like `status`, until
        `answered`.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                "type": Out(known_type(config)),
                "fields": Out(fields_of(config)),
                "left": Out(payload_bits(config)),
                "spent": Out(1),
                "start": Out(1),
                "payload": Out(stream.Signature(8)),
                "busy": In(1),
                "status": In(StatusCode),
                "data_bytes": In(payload_bits(config)),
                "answered": Out(1),
                "lingers": In(1),
            }
        )
