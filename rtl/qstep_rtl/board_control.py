"""Board support for the device: a safe reset and a status LED.

Function    Holds the device in reset until the PLL has locked and while the button is pressed. The LED
            blinks once per second, and is inverted for 25 to 100 ms after a byte from the host.
Latency     Inputs pass through two registers; the reset ends 16 clocks after its last cause.
Throughput  none
Reset       All registers start at their initial values; this is also the power-on reset.
Hazards     `locked`, `button` and `receives` are asynchronous.
Invariants  none
"""

from __future__ import annotations

from amaranth.hdl import ClockDomain, Module, Mux, Signal
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import Component, In, Out

__all__ = ["BoardControl"]


class BoardControl(Component):
    """Reset and LED of a board.

    Parameters
    ----------
    clock_hz : int
        Frequency of `clk`, at least 80.

    Attributes
    ----------
    clk : In(1)
    locked, button : In(1), In(1)
        The PLL has locked; the reset button is pressed.
    receives : In(1)
        A byte arrives from the host.
    reset, led : Out(1), Out(1)
    """

    def __init__(self, clock_hz: int) -> None:
        self._clock_hz = clock_hz
        super().__init__(
            {
                "clk": In(1),
                "locked": In(1),
                "button": In(1),
                "receives": In(1),
                "reset": Out(1, init=1),
                "led": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = sync = ClockDomain(local=True, reset_less=True)
        sync.clk = self.clk

        stop = Signal()
        wait = Signal(4)
        m.submodules.stop_chain = FFSynchronizer(self.button | ~self.locked, stop, init=1)
        m.d.sync += [
            wait.eq(Mux(stop, 0, wait + ~wait.all())),
            self.reset.eq(~wait.all()),
        ]

        half_second = self._clock_hz // 2
        beat = Signal(range(half_second))
        tick = beat[: (self._clock_hz // 40 - 1).bit_length()]  # 25 to 50 ms
        level = Signal()
        active = Signal()
        flicker = Signal(2)  # ticks until the LED is no longer inverted
        m.submodules.active_chain = FFSynchronizer(self.receives, active)
        m.d.sync += [
            beat.eq(Mux(beat == half_second - 1, 0, beat + 1)),
            self.led.eq(level ^ flicker[0]),
        ]
        with m.If(beat == 0):
            m.d.sync += level.eq(~level)
        with m.If(active):
            m.d.sync += flicker.eq(0b11)
        with m.Elif(tick == 0):
            m.d.sync += flicker.eq(flicker >> 1)
        return m
