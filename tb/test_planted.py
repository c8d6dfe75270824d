"""Every planted fault can still be applied, and the test or proof that must detect it exists."""

import re
from fnmatch import filter as matching
from functools import cache
from pathlib import Path

import pytest
from tb.bench import RTL, TB
from tb.formal.blocks import BLOCKS, block
from tb.formal.proofs import PROOFS
from tb.planted import Fault, plant_file, tables

from qstep.spec.planes import CPP_HEADER
from qstep_rtl import sources


@cache
def benches() -> str:
    """Return the Python source of all benches, which contains the names of the finders."""
    return "".join(path.read_text(encoding="utf-8") for path in TB.rglob("*.py"))


@cache
def source(file: str) -> Path:
    """Return a hardware, bench or C++ file by its name; a generated block is written first."""
    if file in BLOCKS:
        return block(file)
    return next(path for folder in (RTL, TB, CPP_HEADER.parent) for path in folder.rglob(file))


@pytest.mark.unit
@pytest.mark.parametrize("fault", tables(), ids=lambda fault: f"{fault.file}: {fault.name}")
def test_a_planted_fault_applies_and_has_a_finder(fault: Fault, tmp_path: Path) -> None:
    if fault.file != "qstep_device.v":  # depends on the configuration of the bench
        plant_file(tmp_path, source(fault.file), fault.old, fault.new)
    if isinstance(fault.seen, str):
        assert re.search(rf'"{fault.finder}"|def {fault.finder}\b', benches())
    else:
        assert matching(PROOFS, fault.finder)


@pytest.mark.unit
def test_a_planted_fault_that_no_longer_applies_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no longer holds 'not there' once"):
        plant_file(tmp_path, sources.source("qs_noise.sv"), "not there", "")
