"""Drivers and monitors for Amaranth blocks in Amaranth's simulator."""

import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest
from amaranth import ClockDomain, Module, Signal
from amaranth.lib.wiring import Component
from amaranth.sim import Simulator

__all__ = [
    "PACES",
    "begin",
    "collect",
    "collect_pulses",
    "make_simulator",
    "pulse_bytes",
    "send",
    "simulate",
]

PACES = [pytest.param(0.0, 0.0, id="full-speed"), pytest.param(0.3, 0.6, id="idle-and-stall")]
"""Probabilities per clock that the sender pauses, and that the receiver stalls."""

_CLOCK_SECONDS = 1e-6

Bench = Callable[[Any], Awaitable[None]]


def make_simulator(block: Component, reset: Signal) -> Simulator:
    """Return a simulator of a block whose reset signal is `reset`."""
    module = Module()
    module.domains.sync = domain = ClockDomain()
    module.d.comb += domain.rst.eq(reset)
    module.submodules.block = block
    return Simulator(module)


def simulate(block: Component, bench: Bench, *watchers: Bench, reset: Signal | None = None) -> None:
    """Run until `bench` ends, with `watchers` in the background. The bench may drive `reset`."""
    simulator = make_simulator(block, Signal() if reset is None else reset)
    simulator.add_clock(_CLOCK_SECONDS)
    simulator.add_testbench(bench)
    for watcher in watchers:
        simulator.add_testbench(watcher, background=True)
    simulator.run()


async def send(
    ctx: Any, stream: Any, payloads: Iterable[Any], rng: random.Random, idle: float
) -> None:
    """Offer each payload until it is accepted; pause before it with probability `idle` per clock."""
    for payload in payloads:
        while rng.random() < idle:
            await ctx.tick()
        ctx.set(stream.payload, payload)
        ctx.set(stream.valid, 1)
        await ctx.tick().until(stream.ready)
        ctx.set(stream.valid, 0)


async def begin(ctx: Any, port: Any, kind: int, payload: bytes = b"") -> None:
    """Start a request at a handler's port."""
    ctx.set(port.type, kind)
    ctx.set(port.fields.as_value(), int.from_bytes(payload, "little"))
    ctx.set(port.start, 1)
    await ctx.tick()
    ctx.set(port.start, 0)


def collect(stream: Any, rng: random.Random, stall: float, into: list[Any]) -> Bench:
    """Collect a stream's payloads; `stall` is the probability per clock of not being ready.

    An offered payload must stay unchanged until it is accepted.
    """

    async def watch(ctx: Any) -> None:
        waiting = None
        while True:
            ctx.set(stream.ready, rng.random() >= stall)
            _, _, valid, ready, payload = await ctx.tick().sample(
                stream.valid, stream.ready, stream.payload
            )
            assert waiting is None or (valid and payload == waiting), "an offer was withdrawn"
            if valid and ready:
                into.append(payload)
            waiting = payload if valid and not ready else None

    return watch


async def pulse_bytes(
    ctx: Any, valid: Any, data: Any, values: bytes, rng: random.Random, idle: float
) -> None:
    """Send one byte per clock without back-pressure, with random pauses in which the data is random."""
    for value in values:
        while rng.random() < idle:
            ctx.set(data, rng.getrandbits(8))
            await ctx.tick()
        ctx.set(valid, 1)
        ctx.set(data, value)
        await ctx.tick()
        ctx.set(valid, 0)


def collect_pulses(valid: Any, values: tuple[Any, ...], into: list[Any]) -> Bench:
    """Record `values` in every clock in which `valid` is 1."""

    async def watch(ctx: Any) -> None:
        while True:
            _, _, now, *seen = await ctx.tick().sample(valid, *values)
            if now:
                into.append(tuple(int(value) for value in seen))

    return watch
