"""Compares how fast this machine's devices multiply square float32 matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from matplotlib.figure import Figure
from torch import Tensor

from qstep.deep import torch_device
from qstep_bench import measure
from qstep_bench.checks import WrongTableError
from qstep_bench.machine import gpus, machine, today, versions
from qstep_bench.measure import Absent, Benchmark, Form, Spread

__all__ = ["MatmulReport", "Row", "compare", "draw"]

_GPUS = {"cuda": "NVIDIA GPU", "mps": "Apple GPU"}
_MARKS = {"cpu": ("#0072b2", "o"), "cuda": ("#009e73", "^"), "mps": ("#e69f00", "s")}


@dataclass(frozen=True)
class Row:
    """The speed of one device at one matrix size.

    Attributes
    ----------
    device : str
    size : int
        Rows and columns of both factors.
    gflops : Spread
        Billion additions and multiplications per second, 2 size^3 per product.
    rates : tuple of float
        GFLOP/s of each round.
    """

    device: str
    size: int
    gflops: Spread
    rates: tuple[float, ...]


@dataclass(frozen=True)
class MatmulReport:
    """The speed of all devices at all matrix sizes.

    Attributes
    ----------
    devices : dict
        Description of each device that is present.
    absent : tuple of Absent
    threads : int
        Number of PyTorch threads on the processor.
    """

    date: str
    rounds: int
    machine: dict[str, str | int]
    versions: dict[str, str]
    threads: int
    devices: dict[str, str]
    absent: tuple[Absent, ...]
    rows: tuple[Row, ...]


def compare(
    sizes: Sequence[int],
    rounds: int = 5,
    seconds: float = 0.1,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> MatmulReport:
    """Multiply matrices on every available device; the devices take turns.

    Parameters
    ----------
    sizes : sequence of int
        Rows and columns of the factors, each 1 or more.
    rounds : int
        Turns per device, 1 or more.
    seconds : float
        Approximate time per turn; each turn computes at least one product.
    progress : callable
        ``progress(what, done, total)``, called as work progresses.

    Raises
    ------
    WrongTableError
        A device gives a wrong product.
    """
    here = torch_device.present()[::-1]  # the processor first
    rows = []
    for size in sizes:
        forms = tuple(_form(device, size) for device in here)
        name = f"{size} x {size}"
        timed = measure.compare(
            Benchmark(name, "multiply matrices", "products", forms), rounds, seconds, progress
        )
        for form in timed.forms:
            rates = [2 * size**3 * turn.done / turn.seconds / 1e9 for turn in form.turns]
            rows.append(Row(form.name, size, Spread.of(rates), tuple(rates)))
    return MatmulReport(
        today(),
        rounds,
        machine(),
        versions(),
        torch.get_num_threads(),
        {device: _described(device) for device in here},
        tuple(
            Absent(name, what, f"PyTorch finds no {what} on this machine")
            for name, what in _GPUS.items()
            if name not in here
        ),
        tuple(rows),
    )


def _form(device: str, size: int) -> Form:
    """Return the implementation for a device, whose check uses the first row of the last product."""

    @cache
    def matrices() -> tuple[Tensor, Tensor, Tensor]:
        generator = torch.Generator().manual_seed(size)
        left, right = (torch.randn(size, size, generator=generator) for _ in range(2))
        return left.to(device), right.to(device), torch.empty(size, size, device=device)

    def run(amount: int) -> int:
        left, right, product = matrices()
        for _ in range(amount):
            torch.mm(left, right, out=product)
        torch_device.synchronise(torch.device(device))
        return amount

    def check() -> str:
        left, right, product = (matrix.cpu() for matrix in matrices())
        return _checked(product[0], left[0].double() @ right.double(), device)

    return Form(device, f"products on {device}", run, check)


def _checked(row: Tensor, expected: Tensor, device: str) -> str:
    # Entries are sums of `size` products. The bound, 1e-3 of their spread, far exceeds rounding errors.
    bound = 1e-3 * len(expected) ** 0.5
    error = float((row.double() - expected).abs().max())
    if not error <= bound:
        raise WrongTableError(
            f"{device} multiplies wrongly: the error is {error:g}; at most {bound:g} is allowed"
        )
    return f"off by {error:.1g}"


def _described(device: str) -> str:
    return str(machine()["cpu"]) if device == "cpu" else gpus()[device]


def draw(report: MatmulReport) -> Figure:
    """Plot GFLOP/s against size, one line per device, with a band from lowest to highest."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for device, what in report.devices.items():
        rows = [row for row in report.rows if row.device == device]
        sizes = [row.size for row in rows]
        colour, mark = _MARKS[device]
        axes.plot(
            sizes,
            [r.gflops.median for r in rows],
            marker=mark,
            color=colour,
            label=f"{device}: {what}",
        )
        axes.fill_between(
            sizes,
            [row.gflops.minimum for row in rows],
            [row.gflops.maximum for row in rows],
            color=colour,
            alpha=0.2,
            linewidth=0,
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sorted({row.size for row in report.rows}))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("rows and columns of the factors")
    axes.set_ylabel("GFLOP/s, float32")
    axes.grid(color="lightgray", linewidth=0.5)
    axes.legend(frameon=False)
    axes.set_title(
        f"Product of two matrices; median of {report.rounds} rounds; {report.date}",
        loc="left",
        fontsize="medium",
    )
    return figure
