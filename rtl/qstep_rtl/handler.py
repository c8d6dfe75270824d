"""What a handler of requests sees: those of one kind of work, once they may be carried out.

A handler is a component with a member ``request : In(HandlerSignature(config))`` and an attribute
``requests``, the types that it carries out. :class:`qstep_rtl.commands.Commands` lists the handlers: one
more family of requests is one more module, and a line there.
"""

from __future__ import annotations

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, Signature

from qstep.config import Config
from qstep.protocol import StatusCode, arguments_of, max_payload, requests_of
from qstep_rtl.layout import struct_of

__all__ = ["HandlerSignature", "fields_of", "known_type", "payload_bits"]


def known_type(config: Config) -> range:
    """Return of what the low bits of a type are that tell known types apart."""
    return range(max(requests_of(config)) + 1)


def fields_of(config: Config) -> data.UnionLayout:
    """Return what the same bytes mean to each request.

    Bytes that it has not are those of earlier requests.
    """
    return data.UnionLayout(
        {kind.name.lower(): struct_of(layout) for kind, layout in arguments_of(config).items()}
    )


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
    type, fields : Out, Out(fields_of(config))
        The low bits of its type, that tell known ones apart, and its arguments. The type is steady
        from `start` until the next header comes, the arguments until the next ones.
    left, spent : Out, Out(1)
        Bytes of the payload that have not been taken; there are none.
    start : Out(1)
        Carry it out. Session, type, length and arguments' number are right; values are not checked.
    payload : Out(stream of 8)
        What follows the arguments; ready only while this handler's request is carried out.
    busy : In(1)
        It is being carried out, from the clock after `start` on.
    status : In(StatusCode)
        How it ended: OK, or a refusal. Steady while not `busy`, until the next `start`.
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
