"""The report of a build: size, clock, rates, and tools."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from qstep._io import workers as processes
from qstep._io.files import json_text, write_atomically
from qstep.errors import BuildError, FileFormatError, QStepError
from qstep.golden.throughput import steps_per_clock
from qstep.spec.config import Config
from qstep.spec.protocol import BITS_PER_BYTE, RecordLayout
from qstep_fpga.board import Board, load
from qstep_fpga.chip import counted
from qstep_fpga.critical import describe
from qstep_fpga.netlist import identity, versions
from qstep_fpga.pins import led_out
from qstep_fpga.placement import Placement
from qstep_rtl.sources import RTL

__all__ = ["BuildReport", "LinkClock", "resources"]

_NO_REPORT = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""Errors that reading and checking raise for a file that is not a report."""

_RATES = "lanes", "agents", "updates_per_second"
"""Values in a file that are derived from a report's fields."""


@dataclass(frozen=True)
class LinkClock:
    """The link's clock from the PLL, and its Fmax for each seed, in MHz."""

    clock_mhz: float
    fmax_mhz: dict[str, float]


@dataclass(frozen=True)
class BuildReport:
    """A build's report. All figures are place-and-route estimates, not measurements.

    Attributes
    ----------
    board, part : str
    config : dict
        Configuration, from :meth:`qstep.Config.to_dict`.
    digest : str
        Digest of the configuration; its first 16 digits can be read from the device.
    build : str
        Identity of the build, which can also be read from the device; see :func:`.netlist.identity`.
    commit : str
        Commit of the sources, with ``+`` if they differed from it; empty if there was no Git checkout.
    clock_mhz : float
        Clock of the lanes, from the PLL.
    fmax_mhz : dict
        Highest possible clock of the lanes by seed.
    seed : int
        The bitstream's seed: the fastest of the seeds that meet the link's clock.
    resources : dict
        Used and available amount of each resource, by name.
    critical_path : str
    tools : dict
        Versions of the tools, by package.
    link : LinkClock, optional
        Clock of the link, if the lanes have a separate clock.
    """

    board: str
    part: str
    config: dict[str, Any]
    digest: str
    build: str
    clock_mhz: float
    fmax_mhz: dict[str, float]
    seed: int
    resources: dict[str, tuple[int, int]]
    critical_path: str
    tools: dict[str, str]
    link: LinkClock | None = None
    commit: str = ""

    @classmethod
    def of(cls, board: Board, config: Config, placements: list[Placement]) -> BuildReport:
        """Summarise the placements of one netlist."""
        link_mhz = config.link.clock_hz / 1e6

        def quality(placement: Placement) -> tuple[bool, float]:
            link_fmax = placement.link_fmax_mhz
            return link_fmax is None or link_fmax >= link_mhz, placement.fmax_mhz

        best = max(placements, key=quality)
        links = {
            str(p.seed): round(p.link_fmax_mhz, 2)
            for p in placements
            if p.link_fmax_mhz is not None
        }
        return cls(
            board=board.name,
            part=board.part,
            config=config.to_dict(),
            digest=config.digest,
            build=identity(board, config),
            clock_mhz=config.lane_clock_hz / 1e6,
            fmax_mhz={str(p.seed): round(p.fmax_mhz, 2) for p in placements},
            seed=best.seed,
            resources=resources(board, best),
            critical_path=describe(best.report),
            tools=versions(board),
            link=LinkClock(link_mhz, links) if links else None,
            commit=_commit(),
        )

    @cached_property
    def stale(self) -> str:
        """Reason why the report no longer describes a build of these sources; empty if it does.

        The tool versions are taken from the report, regardless of the installed versions.
        """
        config = Config.from_dict(self.config)
        try:
            board = led_out(load(self.board), config)
            is_same = identity(board, config, self.tools) == self.build
        except QStepError as cause:
            return f"stale: {cause}"
        return "" if is_same else f"stale: sources changed since {self.commit or 'it was built'}"

    @property
    def spread(self) -> tuple[float, float, float]:
        """Lowest, median and highest clock over the seeds, in MHz."""
        clocks = self.fmax_mhz.values()
        return min(clocks), statistics.median(clocks), max(clocks)

    @property
    def is_met(self) -> bool:
        """Whether the bitstream's placement meets the lanes' clock and the link's."""
        seed, link = str(self.seed), self.link
        link_is_met = link is None or link.fmax_mhz[seed] >= link.clock_mhz
        return self.fmax_mhz[seed] >= self.clock_mhz and link_is_met

    @property
    def agents(self) -> int:
        """Number of agents on the chip; 0 if the host acts and streams transitions."""
        acting = Config.from_dict(self.config).acting
        return acting.agents if acting else 0

    @property
    def core_rate(self) -> float:
        """Million updates/s of the lanes at their clock if no update waits for another."""
        return self.clock_mhz * self._updates_per_clock

    @property
    def updates_per_second(self) -> dict[str, float]:
        """Updates/s at the lowest, median and highest clock over the seeds: min, median and max."""
        rates = (round(clock * 1e6 * self._updates_per_clock) for clock in self.spread)
        return dict(zip(("min", "median", "max"), rates, strict=True))

    @property
    def _updates_per_clock(self) -> float:
        return steps_per_clock(Config.from_dict(self.config)) if self.agents else 1.0

    @property
    def link_rates(self) -> tuple[float, float]:
        """Million transitions/s on the serial line, for full records and for continuing records."""
        config = Config.from_dict(self.config)
        layout = RecordLayout.coded(config)
        bytes_per_second = config.link.baud / BITS_PER_BYTE / 1e6
        full, continuing = layout.size(full=True), layout.size(full=False)
        return bytes_per_second / full, bytes_per_second / continuing

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, with the derived rates."""
        tree = asdict(self)
        if self.link is None:
            del tree["link"]
        return {**tree, **self._rates}

    @property
    def _rates(self) -> dict[str, Any]:
        lanes = Config.from_dict(self.config).lanes
        updates = self.updates_per_second
        return {"lanes": lanes, "agents": self.agents, "updates_per_second": updates}

    def write(self, path: Path) -> None:
        """Write the report as JSON; raise FileFormatError if the file cannot be written."""
        write_atomically(path, f"{json_text(self.to_dict())}\n".encode())

    @classmethod
    def read(cls, path: Path) -> BuildReport:
        """Read a report that :meth:`write` wrote; raise FileFormatError if the file is not a report."""
        try:
            tree = json.loads(path.read_text(encoding="utf-8"))
            tree["resources"] = {name: tuple(pair) for name, pair in tree["resources"].items()}
            if "link" in tree:
                tree["link"] = LinkClock(**tree["link"])
            given = {name: tree.pop(name) for name in _RATES if name in tree}
            report = cls(**tree)
            report._check()
            if given and given != report._rates:
                raise ValueError(f"{', '.join(given)} do not match the other fields")
        except _NO_REPORT as cause:
            raise FileFormatError(f"{path}: is not a build report: {cause}") from cause
        return report

    def _check(self) -> None:
        """Raise one of the errors in `_NO_REPORT` for values that cannot be rendered."""
        for name in ("board", "part", "digest", "build", "commit", "critical_path"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name} is not text")
        Config.from_dict(self.config)
        own = LinkClock(self.clock_mhz, self.fmax_mhz)
        for clocks in (own,) if self.link is None else (own, self.link):
            for clock in (clocks.clock_mhz, *clocks.fmax_mhz.values()):
                if not clock > 0:
                    raise ValueError(f"a clock is {clock!r}")
            if str(self.seed) not in clocks.fmax_mhz:
                raise ValueError(f"fmax_mhz has no clock for seed {self.seed!r}")
        for name, (used, available) in self.resources.items():
            if not 0 <= used <= available:
                raise ValueError(f"{used!r} of {available!r} {name} are used")
        if not all(isinstance(version, str) for version in self.tools.values()):
            raise TypeError("a version in tools is not text")


def resources(board: Board, placement: Placement) -> dict[str, tuple[int, int]]:
    """Return the used and available amount of each resource."""
    used, there = (counted(board, placement.report, what) for what in ("used", "available"))
    return {label: (used[label], there[label]) for label in used}


def _commit() -> str:
    """Return the commit of the sources, with ``+`` if they differ from it; empty outside a checkout."""
    checkout = RTL.parent
    if not (checkout / ".git").exists():
        return ""
    git = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
    try:
        return processes.run(git, BuildError, checkout).strip()
    except (OSError, BuildError):
        return ""
