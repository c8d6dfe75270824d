"""Proves with yosys that blocks that sleep in a simulation would not have changed.

All registers that lose their clock are asserted to stay unchanged while the device is not awake. yosys
proves this by induction, with facts about the states that a device can reach.
"""

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from tb.generated import core_of

from qstep.spec.config import Config
from qstep_fpga import tools
from qstep_rtl import sources
from qstep_rtl.handler import known_type
from qstep_sim.build import as_simulated

__all__ = [
    "GREETED",
    "HAS_COUNTED_RESET",
    "READER",
    "link_facts",
    "prove",
    "type_of",
]

# Signals that have only a number: Amaranth numbers names that occur twice.
READER = "commands.reader"
_MINE, _HEADING = rf"{READER}.mine", rf"{READER}.heading"
GREETED, HAS_COUNTED_RESET = (
    rf"{READER}.session.greeted",
    rf"{READER}.session.counted_reset",
)
_ENCODER = "responder.encoder"

_LINK = (
    # The ring of the encoder: rows being read, then final ones, then those of the open block, then free
    # ones.
    f"{_ENCODER}.free == 9'({_ENCODER}.placeholder + {_ENCODER}.run)",
    f"{{1'b0, 9'({_ENCODER}.placeholder - {_ENCODER}.reader.read)}} + {_ENCODER}.run <= 10'd512",
    f"{_ENCODER}.run != 0 && ({_ENCODER}.busy || {_ENCODER}.run != 8'hff)",
    f"!{_ENCODER}.busy || {_ENCODER}.run == 8'hff || {_ENCODER}.closing || {_ENCODER}.delimiting",
    f"!{_ENCODER}.space || {_ENCODER}.reader.read != {_ENCODER}.free",
    f"!{_ENCODER}.reader.more || {_ENCODER}.reader.read != {_ENCODER}.placeholder",
    f"{_ENCODER}.reader.following == 9'({_ENCODER}.reader.read + 9'd1)",
    # The counters' walker sends totals in one state only; see `_module` for what it reads.
    "!counters.totals__valid || counters.fsm_state == 4",
    # The reader of requests: where the bytes go, and the clock in which the session decides.
    f"({READER}.fsm_state == 3 || !{_HEADING}) && ({READER}.fsm_state >= 3 || !{_MINE})",
    f"!{READER}.session.judge || ({READER}.fsm_state == 3 && {READER}.index == 7)",
    "!commands.discarding || commands.fsm_state == 2",
)


def type_of(config: Config) -> str:
    """Return the low bits of a request's type, enough to distinguish the types that a device knows."""
    return f"{READER}.request__payload[{(known_type(config).stop - 1).bit_length() - 1}:0]"


def link_facts(config: Config) -> tuple[str, ...]:
    """Return the invariants of a device, true in every reachable state."""
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

_BUS = "qs_agent_bus.sv"
_BUS_PROCESS = re.compile(
    r"^  always_ff @\(posedge clk_i iff \((?P<awake>.*)\)\)(?P<body> begin\n(?:    .*\n|\n)*  end\n)",
    re.MULTILINE,
)
_BUS_REGISTER = re.compile(r"\b(\w+_q)(?:\[\w+\])? +<= ")
_AROUND_BUS = {"qs_pkg", "qs_agents_pkg", "qs_agent_bus", "qs_agents", "qs_acting"}

_SCRIPT = (
    "read_slang --threads 1 --top qstep_device {left_out} {files}; "
    # Outputs of lane, agents and memories are arbitrary: nothing here depends on them.
    "proc; flatten; opt_clean; memory -nomap; delete t:$mem_v2 t:qs_* t:*design.agents*; "
    "async2sync; chformal -lower; setundef -undriven -anyseq; wreduce; opt -full; "
    "sat -tempinduct -tempinduct-inductonly -tempinduct-skip {before} -prove-asserts "
    "-maxsteps {steps} -verify; "
    "sat -tempinduct -tempinduct-baseonly -prove-asserts -maxsteps {steps} -verify"
)


def _watched(device: str) -> str:
    """Return a device that never sleeps, and asserts that all blocks that would sleep stand still."""
    return "".join(map(_module, _MODULE_END.split(device)))


def _module(text: str) -> str:
    writes = _WRITE.search(text)

    def watch(process: re.Match[str]) -> str:
        number, body, awake = process.start(), process["body"], process["awake"]
        clock, was = "  always @(posedge clk)", f"was_{number}"
        if write := _WRITE.search(body):
            return f"{clock}{body}  always @* assert ({awake} || !({write['when']}));\n"
        if read := _READ.search(body):
            if "totals__valid" in text:
                # The counters' walker may sleep on another row than it would read; it reads again in the
                # clock in which it wakes, and nothing looks at the row before.
                anew = f"{read['when']} && !totals__valid"
                return f"{clock}{body}  always @* assert ({awake} || ({anew}));\n"
            # The same word is read as in the clock before.
            assert writes is not None
            holds = f"!({read['when']}) || (same_{number} && {was} == {read['row']})"
            same, value = f"{read['when']} && !({writes['when']})", read["row"]
            condition = f"{awake} || {holds}"
        else:
            register = _REGISTER.search(body)
            assert register is not None
            value = register[1] + " " * register[1].startswith("\\")
            same, condition = f"!({awake})", f"!same_{number} || {was} == {value}"
        return (
            f"{clock}{body}  logic same_{number} = 0; logic [$bits({value})-1:0] {was} = '0;\n"
            f"{clock} begin same_{number} <= {same}; {was} <= {value}; end\n"
            f"  always @* assert ({condition});\n"
        )

    return _PROCESS.sub(watch, text)


def _watched_bus(bus: str) -> str:
    """Return the same for the bus of agents."""
    watched: set[str] = set()

    def watch(process: re.Match[str]) -> str:
        number, clock = process.start(), "  always_ff @(posedge clk_i)"
        registers = set(_BUS_REGISTER.findall(process["body"]))
        watched.update(registers)
        value = f"{{{', '.join(sorted(registers))}}}"
        return (
            f"{clock}{process['body']}"
            f"  logic same_{number} = 0; logic [$bits({value})-1:0] was_{number} = '0;\n"
            f"{clock} begin same_{number} <= !({process['awake']}); was_{number} <= {value}; end\n"
            f"  always @* assert (!same_{number} || was_{number} == {value});\n"
        )

    text = _BUS_PROCESS.sub(watch, bus)
    assert watched == set(re.findall(r"\b\w+_q\b", bus))
    return text


def prove(
    config: Config,
    device: str,
    facts: Sequence[str],
    folder: Path,
    *,
    steps: int,
    bus_fault: tuple[str, str] = ("", ""),
) -> int:
    """Prove that everything that sleeps in a simulated device stands still, or raise BuildError.

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
        Length of the induction: an unreachable state that moves a register must contradict a fact within
        it.
    bus_fault : tuple of str
        A text in the sleeping bus of agents, and its replacement.

    Returns
    -------
    int
        The number of processes proved to stand still.
    """
    top = folder / "device.v"
    top.write_text(device, encoding="utf-8")
    files = as_simulated(config, top)
    watches: dict[Path, Callable[[str], str]] = {top: _watched}
    # If the bus does not sleep, the agents are behind a chain or in another clock, and all of it is left
    # out.
    left_out = [core_of(config) if config.acting is None else "qstep_device.design.agents"]
    if folder / _BUS in files:
        watches[folder / _BUS] = _watched_bus
        left_out = [path.stem for path in sources.rtl_files(config) if path.stem not in _AROUND_BUS]
        fault, asleep = bus_fault, (folder / _BUS).read_text(encoding="utf-8")
        assert fault[0] in asleep
        (folder / _BUS).write_text(asleep.replace(*fault), encoding="utf-8")
    processes = 0
    for path, watch in watches.items():
        asleep = path.read_text(encoding="utf-8")
        text = watch(asleep)
        assert text.count("assert (") == asleep.count(" iff ") > 1
        processes += asleep.count(" iff ")
        path.write_text(text, encoding="utf-8")
    added = "".join(f"  always @* assert ({fact} );\n" for fact in facts)
    text, places = _AWAKE.subn(lambda match: match[0] + added, top.read_text(encoding="utf-8"))
    assert places == 1
    top.write_text(text, encoding="utf-8")
    for path in (*files, *sources.includes()):
        if path.parent != folder:
            shutil.copy(path, folder)
    script = _SCRIPT.format(
        left_out=" ".join(f"--blackboxed-module {name}" for name in left_out),
        files=" ".join(path.name for path in files),
        steps=steps,
        before=steps - 1,
    )
    tools.yosys(script, folder)
    return processes
