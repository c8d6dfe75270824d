"""While awake, the simulated device equals Amaranth's Verilog: yosys proves it by signal."""

import re
import shutil
from pathlib import Path

import pytest
from tb.generated import core_of, generated

from qstep.errors import BuildError
from qstep.spec.agents import Acting
from qstep.spec.config import Config
from qstep_fpga import tools
from qstep_rtl import sources
from qstep_sim.clocked import clocked
from qstep_sim.sleep import sleeping

pytestmark = [pytest.mark.formal, pytest.mark.slow]

# Lane or agents are the same text in both, so they are left out: their inputs are compared, their
# outputs arbitrary.
_READ = "read_slang --threads 1 --top {top} --blackboxed-module {core} {own} {file}.v"
_SIDE = f"{_READ}; proc; flatten; opt_clean; memory -nomap; opt_clean; rename {{top}} {{file}}"
_PROOF = (
    "design -copy-from gold -as gold gold; design -copy-from gate -as gate gate; "
    "equiv_make gold gate equiv; hierarchy -top equiv; opt_clean; equiv_struct; "
    "equiv_simple -undef; tee -o proof.txt equiv_status -assert"
)


def prove(config: Config, top: str, written: str, simulated: str, folder: Path) -> int:
    """Prove two devices equivalent; return the number of signals compared, or raise BuildError."""
    for path in (*sources.rtl_files(config), *sources.includes()):
        shutil.copy(path, folder)
    own = " ".join(path.name for path in sources.rtl_files(config))
    script = []
    for file, text in (("gold", written), ("gate", simulated)):
        (folder / f"{file}.v").write_text(text, encoding="utf-8")
        side = _SIDE.format(top=top, core=core_of(config), own=own, file=file)
        script += [side, f"design -stash {file}"]
    tools.yosys("; ".join([*script, _PROOF]), folder)
    report = (folder / "proof.txt").read_text(encoding="utf-8")
    proved = re.search(r"(\d+) are proven and 0 are unproven", report)
    assert proved is not None, report
    return int(proved[1])


def devices(top: str, config: Config) -> tuple[str, str]:
    """Return a device as Amaranth writes it, and as it is simulated if it never sleeps."""
    written = generated(config)[top]
    asleep = sleeping(clocked(written))
    awake = re.sub(r" iff \S.*awake\)", ")", asleep)
    assert awake != asleep
    assert " iff " not in awake
    return written, awake


# The device with its serial line around it: `qstep_device` is inside, under another name.
@pytest.mark.parametrize(
    "config",
    [
        Config(states=25, actions=3, format="Q10.10", loop_depth=3),
        Config(states=9, actions=3, acting=Acting(agents=2, world="live")),
    ],
    ids=["lane", "agents"],
)
def test_the_simulated_device_is_the_generated_one(tmp_path: Path, config: Config) -> None:
    written, awake = devices("qstep_top", config)
    assert prove(config, "qstep_top", written, awake, tmp_path) > 2000


def test_a_wrong_rewrite_is_no_proof(tmp_path: Path) -> None:
    config = Config(states=64, actions=4)
    written, awake = devices("qstep_device", config)
    # A register that would be 0 unless a case says otherwise keeps its value instead.
    wrong, count = re.subn(r"( begin\n)    \S+ <= 1'h0;\n", r"\1", awake, count=1)
    assert count == 1
    with pytest.raises(BuildError, match="unproven"):
        prove(config, "qstep_device", written, wrong, tmp_path)
