"""Executes CONFIGURE and NOISE: checks the lane's settings and sets them.

Function    ``docs/link.md``, "Requests", lists the ranges.
Latency     Two clocks for the check, and one more to set the registers.
Throughput  One request at a time.
Reset       alpha and kappa are 0, and rounding is to nearest.
Hazards     `start` may be asserted only while the lane is idle.
Invariants  kappa is at most alpha, which is at most 1.
"""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import Component, In, Out, Signature

from qstep.spec.config import Config
from qstep.spec.fixed import Rounding
from qstep.spec.protocol import Request, StatusCode
from qstep_rtl.handler import HandlerSignature
from qstep_rtl.invariants import invariant

__all__ = ["LaneSettings", "SettingsHandler"]


class LaneSettings(Signature):
    """The lane's settings, as seen from the handler.

    Attributes
    ----------
    alpha, kappa, rounding : Out(16), Out(16), Out(2)
        Coefficients and rounding mode; they change only while the lane is idle.
    noise_load, noise_x, noise_w : Out(1), Out(32), Out(32)
        Load the rounding-noise registers.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "alpha": Out(16),
                "kappa": Out(16),
                "rounding": Out(2),
                "noise_load": Out(1),
                "noise_x": Out(32),
                "noise_w": Out(32),
            }
        )


class SettingsHandler(Component):
    """The handler of the lane's settings.

    Attributes
    ----------
    request : In(HandlerSignature)
    settings : Out(LaneSettings)
    """

    requests: ClassVar = (Request.CONFIGURE, Request.NOISE)

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                "request": In(HandlerSignature(config)),
                "settings": Out(LaneSettings()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, settings = self.request, self.settings
        configure, noise = request.fields.configure, request.fields.noise
        is_noise = request.type == Request.NOISE
        one = 1 << self._config.coefficient_bits

        # Narrow comparisons, evaluated a clock later: two comparisons in one clock limited the clock
        # rate of the smallest chip.
        alpha_fits = Signal()
        kappa_fits = Signal()
        rounding_fits = Signal()
        x_fits = Signal()
        compared = Signal()
        in_range = Signal()
        configures = Signal()
        fits = Signal()
        m.d.comb += [
            fits.eq(Mux(is_noise, x_fits, alpha_fits & kappa_fits & rounding_fits)),
            settings.noise_x.eq(noise.x),
            settings.noise_w.eq(noise.w),
            request.busy.eq(compared),
            request.status.eq(Mux(in_range, StatusCode.OK, StatusCode.OUT_OF_RANGE)),
        ]
        m.d.sync += [compared.eq(request.start), configures.eq(0), settings.noise_load.eq(0)]
        with m.If(request.start):
            m.d.sync += [
                alpha_fits.eq(configure.alpha <= one),
                kappa_fits.eq(configure.kappa <= configure.alpha),
                rounding_fits.eq(configure.rounding < len(Rounding)),
                x_fits.eq(noise.x != 0),
            ]
        with m.If(compared):
            m.d.sync += [
                in_range.eq(fits),
                configures.eq(fits & ~is_noise),
                settings.noise_load.eq(fits & is_noise),
            ]
        in_order = (settings.kappa <= settings.alpha) & (settings.alpha <= one)
        invariant(m, platform, in_order, "kappa is above alpha, or alpha above 1")
        with m.If(configures):
            m.d.sync += [
                settings.alpha.eq(configure.alpha),
                settings.kappa.eq(configure.kappa),
                settings.rounding.eq(configure.rounding),
            ]
        return m
