"""In simulation, the processor in the SoC of ``examples/litex_soc.py`` learns with the lane."""

from dataclasses import replace
from pathlib import Path

import pytest
from tb.bench import BenchError, Run, run

pytestmark = [
    pytest.mark.flows,
    # LiteX contains invalid escape sequences, and Python warns about them when it compiles LiteX.
    pytest.mark.filterwarnings("ignore:.*invalid escape sequence"),
]


def test_a_litex_soc_learns_under_its_processor_and_another_discount_is_noticed(
    tmp_path: Path,
) -> None:
    from examples.litex_soc import write  # LiteX waits for two seconds when it is imported

    # `Run` adds the package itself. The Verilog from LiteX and for the processor causes warnings.
    sources = tuple(path for path in write(tmp_path) if path.name != "qs_pkg.sv")
    this = Run("soc", "tb.bus.litex_tests", sources=sources, build_args=("-Wno-fatal",))
    assert run(this).tests == 1
    with pytest.raises(BenchError, match="1 of 1 tests failed"):
        run(replace(this, module="tb.bus.wrong_litex"))
