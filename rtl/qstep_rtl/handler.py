"""What a handler of requests sees: those of one kind of work, once they may be carried out.

A handler is a component with a member ``request : In(HandlerSignature(config))`` and an attribute
``requests``, the types that it carries out. :class:`qstep_rtl.commands.Commands` lists the handlers: one
more family of requests is one more module, and a line there.
"""

from __future__ import annotations

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, Signature

from qstep.config import Config
from qstep.protocol import ARGUMENTS, Request, StatusCode, max_payload
from qstep_rtl.layout import struct_of

__all__ = ["FIELDS", "KNOWN_TYPE", "HandlerSignature", "payload_bits"]

KNOWN_TYPE = range(max(Request) + 1)
"""Of what the low bits of a type are that tell known types apart."""

FIELDS = data.UnionLayout(
    {request.name.lower(): struct_of(layout) for request, layout in ARGUMENTS.items()}
)
"""What the same bytes mean to each request; bytes that it has not are those of earlier requests."""


def payload_bits(config: Config) -> int:
    """Return the width of a number of bytes of a payload."""
    return max_payload(config.link.buffer_bytes).bit_length()


class HandlerSignature(Signature):
    """A request, seen from the commands.

    Parameters
    ----------
    config : Config
        Its link limits the bytes of a payload.

    Attributes
    ----------
    type, fields : Out(KNOWN_TYPE), Out(FIELDS)
        The request and its arguments; steady from `start` until the next request's arguments come.
    left, spent : Out, Out(1)
        Bytes of the payload that have not been taken; there are none.
    start : Out(1)
        Carry it out. Session, type, length and arguments' number are right; values are not checked.
    payload : Out(stream of 8)
        What follows the arguments; ready only while this handler's request is carried out.
    busy : In(1)
        It is being carried out, from the clock after `start` on.
    status : In(StatusCode)
        How it ended: OK or OUT_OF_RANGE or BAD_LENGTH. Steady while not `busy`, until the next `start`.
        With OK the whole payload has been taken.
    data_bytes : In
        Bytes that the answer has beside its fixed part; as `status`.
    answered : Out(1)
        Its answer, with status OK, has just begun.
    lingers : In(1)
        After that there is still something to do before the next request; as `status` until `answered`.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                "type": Out(KNOWN_TYPE),
                "fields": Out(FIELDS),
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
