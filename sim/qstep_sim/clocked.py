"""Rewrites generated registers as plain clocked processes, for the simulation only.

The generator describes a register by one process that computes its next value in every clock, and a
second one that stores it. A Verilated model does exactly that: it copies and stores each register
in each clock. A single process with non-blocking assignments is equivalent and only does work when
something changes. ``tb/unit/test_rewritten.py`` proves the equivalence.
"""

from __future__ import annotations

import re

__all__ = ["clocked"]

_MODULE_END = re.compile(r"(?<=^endmodule\n)", re.MULTILINE)
_NEXT = r"\\\$\d+ "
_STORE = re.compile(rf"  always @\(posedge clk\)\n    (?P<register>\S+) +<= (?P<next>{_NEXT});\n")
_PROCESS = re.compile(
    r"  always @\* begin\n    if \(\S+ \) begin end\n(?P<body>(?:    .*\n)*)  end\n"
)
_ASSIGNMENT = re.compile(r"^(?P<indent> +)(?P<target>[^=*\n]+?) = ", re.MULTILINE)
_FIRST = re.compile(rf"    (?P<next>{_NEXT}) = ")


def clocked(verilog: str) -> str:
    """Return `verilog`, in Amaranth's form, with each register in one clocked process.

    A register stays as it is if its next value is also used elsewhere, or does not have its own process.
    """
    return "".join(_module(text) for text in _MODULE_END.split(verilog))


def _module(text: str) -> str:
    stores = {match["next"]: match for match in _STORE.finditer(text)}

    def merge(process: re.Match[str]) -> str:
        body = process["body"]
        first = _FIRST.match(body)
        store = stores.get(first["next"]) if first else None
        if first is None or store is None:
            return process[0]
        following = first["next"]
        register = store["register"] + " " * store["register"].startswith("\\")
        # Apart from its process, the next value has a declaration and is stored.
        if text.count(following) != body.count(following) + 2:
            return process[0]
        merged.append(following)

        def assign(match: re.Match[str]) -> str:
            target = f"{match['target']} ".replace(following, register)
            return f"{match['indent']}{target.rstrip()} <= "

        # The default comes first, usually the register itself. Such an assignment further down is not
        # redundant: it cancels one above it.
        statements = _ASSIGNMENT.sub(assign, body)
        statements = statements.removeprefix(f"    {register.rstrip()} <= {register};\n")
        return f"  always @(posedge clk) begin\n{statements}  end\n"

    merged: list[str] = []
    text = _PROCESS.sub(merge, text)
    for following in merged:
        text = text.replace(stores[following][0], "")
        text = re.sub(rf"^  reg (\[\S+\] )?{re.escape(following)};\n", "", text, flags=re.MULTILINE)
    return text
