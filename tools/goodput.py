"""Measure transitions per second over a line that flips bits: `python -m tools.goodput --plot FILE`.

The driver and the reference device communicate over a line in simulated time (:mod:`tb.sw.line`);
nothing is measured on hardware. Each table learned over the noisy line is checked against the model's.
"""

import math
from functools import partial
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import NamedTuple
from unittest.mock import patch

import click
import numpy as np
from matplotlib.figure import Figure
from tb.sw.line import SimulatedLine
from tb.sw.lossy_port import NoisyPort
from tb.sw.session_bench import expected_table, transitions

from qstep import Config, Hyperparameters, Link
from qstep._io.pictures import write_pictures
from qstep.device.lane import LinkDevice
from qstep.errors import DeviceError

__all__ = ["Point", "draw", "goodput", "measure"]

BAUD = 3_000_000
BUFFERS = (512, 2048)
PERIODS = (300, 500, 1000, 2000, 5000, 10_000, 100_000)
SEEDS = range(1, 6)
COUNT = 20_000

_COLOURS = {512: "#0072b2", 2048: "#e69f00"}  # Okabe and Ito
_MARKS = {512: "o", 2048: "s"}


class Point(NamedTuple):
    """Goodput with one flipped bit per `period` bytes: lowest, median, highest over several seeds."""

    period: float
    rates: tuple[float, float, float]


def goodput(config: Config, period: float, seed: int, count: int) -> float:
    """Return transitions per second of simulated line time; 0 if the driver raised a DeviceError.

    Raises
    ------
    AssertionError
        The table differs from the model's.
    """
    line = SimulatedLine(config)
    port = line if math.isinf(period) else NoisyPort(line, seed, int(period))
    batch = transitions(count, seed, config)
    # The driver's deadlines are measured in the line's simulated time.
    clock = SimpleNamespace(monotonic=lambda: line.now)
    with patch("qstep.device.link.session.time", clock):
        try:
            device = LinkDevice(port, config)
            began = line.now
            device.apply(batch)
            seconds = line.now - began
            table = device.read()
        except DeviceError:
            return 0.0
    assert np.array_equal(table, expected_table(batch, Hyperparameters(), config)), "another table"
    return count / seconds


def measure(config: Config) -> list[Point]:
    """Return the goodput at each period, and finally without noise."""
    points = []
    for period in (*PERIODS, math.inf):
        rates = [goodput(config, period, seed, COUNT) for seed in SEEDS]
        points.append(Point(period, (min(rates), median(rates), max(rates))))
    return points


def draw(found: dict[int, list[Point]]) -> Figure:
    """Plot the rate relative to a clean line against the period, with one curve per buffer size."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for buffer_bytes, (*points, clean) in found.items():
        rates = 100 * np.array([point.rates for point in points]) / clean.rates[1]
        below, above = rates[:, 1] - rates[:, 0], rates[:, 2] - rates[:, 1]
        axes.errorbar(
            [point.period for point in points],
            rates[:, 1],
            (below, above),
            color=_COLOURS[buffer_bytes],
            marker=_MARKS[buffer_bytes],
            capsize=3,
            label=f"receive buffer of {buffer_bytes} bytes, clean {clean.rates[1]:,.0f} transitions/s",
        )
    axes.set_xscale("log")
    axes.set_ylim(0, 105)
    axes.set_xlabel(f"bytes for each flipped bit, both ways, {BAUD / 1e6:g} Mbaud")
    axes.set_ylabel("transitions a second, % of a clean line")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize="small")
    return figure


@click.command()
@click.option("--plot", type=click.Path(path_type=Path), required=True, help="Picture to write.")
def main(plot: Path) -> None:
    """Measure, print and plot the goodput."""
    found = {}
    for buffer_bytes in BUFFERS:
        config = Config(64, 4, link=Link(baud=BAUD, buffer_bytes=buffer_bytes))
        found[buffer_bytes] = measure(config)
        for period, (low, middle, high) in found[buffer_bytes]:
            click.echo(f"{buffer_bytes} {period:>9g} {low:>9,.0f} {middle:>9,.0f} {high:>9,.0f}")
    write_pictures({plot: partial(draw, found)})


if __name__ == "__main__":
    main()
