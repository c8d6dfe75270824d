"""The build report of an imaginary board, for the benchmark tests."""

from dataclasses import replace

from qstep.spec.config import Config
from qstep_bench.boards import load_reports
from qstep_fpga.report import BuildReport

__all__ = ["made_up_build"]


def made_up_build(config: Config) -> BuildReport:
    """Return the report of a 24 MHz board whose three seeds reached 30, 20 and 70 MHz."""
    return replace(
        load_reports([])[0],
        board="made-up",
        config=config.to_dict(),
        digest=config.digest,
        clock_mhz=24.0,
        fmax_mhz={"1": 30.0, "2": 20.0, "3": 70.0},
        seed=3,
    )
