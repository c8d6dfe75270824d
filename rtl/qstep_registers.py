"""FuseSoC generator for ``qstep.core``: PeakRDL's register block for the lane on AXI.

FuseSoC calls this script with a YAML file that names the core to write to the current folder.
"""

import sys
from pathlib import Path

import yaml

from qstep_rtl.bus.registers import LANE, write_block

request = yaml.safe_load(Path(sys.argv[1]).read_text(encoding="utf-8"))
files = [path.name for path in write_block(LANE, Path())]
core = {
    "name": request["vlnv"],
    "filesets": {"registers": {"file_type": "systemVerilogSource", "files": files}},
    "targets": {"default": {"filesets": ["registers"]}},
}
Path("registers.core").write_text("CAPI=2:\n" + yaml.safe_dump(core), encoding="utf-8")
