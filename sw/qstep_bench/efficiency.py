"""Compares agents on boards with processor cores: updates per second, also per watt and per euro.

A board's rate is its bitstream's clock (nextpnr, post-route) times steps per clock. Power and prices are
assumptions, printed with all figures that use them. Nothing is measured on hardware.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qstep_bench.measure import Comparison

if TYPE_CHECKING:
    from qstep_fpga.report import BuildReport

__all__ = ["ASSUMPTIONS", "Efficiency", "efficiencies"]

_USB_WATTS = 2.5
_BOARD_EUROS = {
    "icebreaker": 80,
    "ulx3s-12f": 130,
    "ulx3s-85f": 180,
    "tang-nano-9k": 20,
    "tang-nano-20k": 30,
}
_CORES, _CHIP_WATTS, _CHIP_EUROS = 64, 280, 7890

ASSUMPTIONS = (
    f"Watts and euros are assumptions. A board: {_USB_WATTS} W, the most that a USB 2.0 port "
    "supplies (500 mA at 5 V), as an upper bound; approximate retail prices: "
    + ", ".join(f"{name} {euros}" for name, euros in _BOARD_EUROS.items())
    + f" euros. A core: 1/{_CORES} of an AMD EPYC 7763 ({_CHIP_WATTS} W, and {_CHIP_EUROS} dollars "
    "in the vendor's 2021 price list, with a dollar counted as a euro), without memory, mainboard "
    "and power supply. The rate of the whole chip is extrapolated linearly from the cores measured "
    "here."
)
"""The assumptions on which the figures are based, as one paragraph."""


@dataclass(frozen=True)
class Efficiency:
    """Speed, power and price of a chip or board.

    Attributes
    ----------
    name, how : str
    rate : float
        Updates/s.
    watts, euros : float
        Assumed values; see :data:`ASSUMPTIONS`.
    """

    name: str
    how: str
    rate: float
    watts: float
    euros: float

    @property
    def per_watt(self) -> float:
        """Updates/s per watt, that is, updates per joule."""
        return self.rate / self.watts

    @property
    def per_euro(self) -> float:
        """Updates/s per euro."""
        return self.rate / self.euros


def efficiencies(
    farm: Comparison, cores: int, builds: Sequence[BuildReport]
) -> tuple[Efficiency, ...]:
    """Return figures for this machine's cores, a chip full of such cores, and boards, fastest first.

    Parameters
    ----------
    farm : Comparison
        Timings of the system ``farm``; its vectorised C loop gives the speed of the cores.
    cores : int
        Cores of this machine.
    builds : sequence of qstep_fpga.report.BuildReport
        Build reports; those without agents, or for boards without a known price, are skipped.
    """
    found = []
    for form in farm.forms:
        if form.name == "farm-vector":
            share, rate = cores / _CORES, form.rate.median
            watts, euros = share * _CHIP_WATTS, share * _CHIP_EUROS
            found += [
                Efficiency(f"{cores} cores here", "vectorised C, timed", rate, watts, euros),
                Efficiency(
                    f"{_CORES} cores", "the same, scaled", rate / share, _CHIP_WATTS, _CHIP_EUROS
                ),
            ]
    for build in builds:
        price = _BOARD_EUROS.get(build.board.removesuffix("-agents").removesuffix("-farm"))
        if build.agents and price:
            how = f"{build.agents} agent{'s' * (build.agents > 1)}, {build.clock_mhz:g} MHz"
            how += f"; {build.stale}" * bool(build.stale)
            found.append(Efficiency(build.board, how, build.core_rate * 1e6, _USB_WATTS, price))
    return tuple(sorted(found, key=lambda entry: -entry.rate))
