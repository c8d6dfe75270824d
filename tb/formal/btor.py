"""Converts a circuit from yosys' BTOR2 into Bitwuzla terms, clock by clock.

sby and its unroller, yosys-smtbmc, do the same through SMT-LIB. With terms, a single line of code
replaces a multiplier with an uninterpreted function of its operands, and a property can be assumed as
soon as it is proved.
"""

from dataclasses import dataclass, field

from bitwuzla import Kind, Sort, Term, TermManager

__all__ = ["Circuit", "Clock"]

_TERMS = {
    "add": Kind.BV_ADD,
    "and": Kind.BV_AND,
    "concat": Kind.BV_CONCAT,
    "mul": Kind.BV_MUL,
    "nand": Kind.BV_NAND,
    "neg": Kind.BV_NEG,
    "nor": Kind.BV_NOR,
    "not": Kind.BV_NOT,
    "or": Kind.BV_OR,
    "read": Kind.ARRAY_SELECT,
    "redand": Kind.BV_REDAND,
    "redor": Kind.BV_REDOR,
    "redxor": Kind.BV_REDXOR,
    "sll": Kind.BV_SHL,
    "sra": Kind.BV_ASHR,
    "srl": Kind.BV_SHR,
    "sub": Kind.BV_SUB,
    "write": Kind.ARRAY_STORE,
    "xnor": Kind.BV_XNOR,
    "xor": Kind.BV_XOR,
}
_COMPARES = {
    "eq": Kind.EQUAL,
    "neq": Kind.DISTINCT,
    "sgt": Kind.BV_SGT,
    "sgte": Kind.BV_SGE,
    "slt": Kind.BV_SLT,
    "slte": Kind.BV_SLE,
    "ugt": Kind.BV_UGT,
    "ugte": Kind.BV_UGE,
    "ult": Kind.BV_ULT,
    "ulte": Kind.BV_ULE,
}
_EXTENSIONS = {"sext": Kind.BV_SIGN_EXTEND, "uext": Kind.BV_ZERO_EXTEND}
_OPERANDS = {"neg": 1, "not": 1, "redand": 1, "redor": 1, "redxor": 1, "write": 3}
_NAMED = {"input": 1, "state": 1, "uext": 3}  # index of the optional word that is a name
_BASES = {"const": 2, "constd": 10, "consth": 16}
_OTHERS = {"input", "ite", "one", "ones", "slice", "state", "zero"}


@dataclass
class Clock:
    """All values in one clock: those of registers and memories, of inputs, and of every line.

    Two clocks can share `inputs`, to compare two circuits or two states of one circuit.
    """

    registers: dict[int, Term]
    values: dict[int, Term] = field(default_factory=dict)
    inputs: dict[int, Term] = field(default_factory=dict)


class Circuit:
    """A circuit with its properties.

    Parameters
    ----------
    manager : TermManager
    text : str
        The circuit in BTOR2.
    products : dict of int to Term, optional
        If given, all multipliers of the same width become one uninterpreted function, stored here by
        width so that other circuits can share it. If None, products are exact.

    Attributes
    ----------
    properties : list of (str, int)
        Name and line of each value that must never be 1.
    assumptions : list of int
        Lines that are assumed to be always 1.
    outputs : list of int
        Lines that are outputs.
    names : dict of int to str
        Names of registers, inputs and outputs.
    nets : dict of str to int
        Lines of nets named in the source.
    """

    def __init__(
        self, manager: TermManager, text: str, *, products: dict[int, Term] | None = None
    ) -> None:
        self.manager = manager
        self.properties: list[tuple[str, int]] = []
        self.assumptions: list[int] = []
        self.outputs: list[int] = []
        self.names: dict[int, str] = {}
        self.nets: dict[str, int] = {}
        self._lines: dict[int, tuple[str, list[str]]] = {}
        self._sorts: dict[int, Sort] = {}
        self._first: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._products = products
        for line in text.splitlines():
            words = line.partition(";")[0].split()
            if words:
                self._read(int(words[0]), words[1], words[2:])

    def _read(self, number: int, kind: str, words: list[str]) -> None:
        match kind:
            case "sort" if words[0] == "array":
                index, element = (self._sorts[int(word)] for word in words[1:])
                self._sorts[number] = self.manager.mk_array_sort(index, element)
            case "sort":
                if words[1] != "0":  # yosys declares a sort of width 0 and never uses it
                    self._sorts[number] = self.manager.mk_bv_sort(int(words[1]))
            case "init":
                self._first[int(words[1])] = int(words[2])
            case "next":
                self._next[int(words[1])] = int(words[2])
            case "bad":
                self.properties.append((words[1] if len(words) > 1 else kind, int(words[0])))
            case "constraint":
                self.assumptions.append(int(words[0]))
            case "output":
                self.names[int(words[0])] = words[1]
                self.outputs.append(int(words[0]))
            case _:
                if kind in {"state", "input"}:
                    self.names[number] = words[1] if len(words) > 1 else f"${number}"
                elif kind not in {*_TERMS, *_COMPARES, *_EXTENSIONS, *_BASES, *_OTHERS}:
                    raise ValueError(
                        f"BTOR2 has {kind!r} in line {number}, which is not known here"
                    )
                if len(words) > _NAMED.get(kind, len(words)):
                    self.nets[words[-1]] = number
                self._lines[number] = (kind, words)

    def anything(self) -> Clock:
        """Return a clock in which registers and memories have arbitrary contents."""
        return Clock({number: self._any(number) for number in self._registers()})

    def first(self) -> Clock:
        """Return the first clock: registers and memories without an initial value are arbitrary."""
        clock = self.anything()
        for register, line in self._first.items():
            value, sort = self._value(line, clock), self._sort(register)
            clock.registers[register] = (
                self.manager.mk_const_array(sort, value) if sort.is_array() else value
            )
        return clock

    def after(self, clock: Clock) -> Clock:
        """Return the clock after `clock`, which must have been evaluated."""
        return Clock(
            {
                number: clock.values[self._next[number]]
                if number in self._next
                else self._any(number)
                for number in self._registers()
            }
        )

    def evaluate(self, clock: Clock) -> None:
        """Compute the values of a clock; inputs not set yet are arbitrary."""
        for number in self._lines:
            clock.values[number] = self._value(number, clock)

    @property
    def written(self) -> set[int]:
        """Registers and memories with a next value; all others are arbitrary in every clock."""
        return set(self._next)

    def is_one(self, term: Term) -> Term:
        """Return the Boolean term that is true if a bit is 1."""
        return self.manager.mk_term(Kind.EQUAL, [term, self._bit(1)])

    def _registers(self) -> list[int]:
        return [number for number, (kind, _) in self._lines.items() if kind == "state"]

    def _sort(self, number: int) -> Sort:
        return self._sorts[int(self._lines[number][1][0])]

    def _any(self, number: int) -> Term:
        return self.manager.mk_const(self._sort(number), self.names[number])

    def _bit(self, value: int) -> Term:
        return self.manager.mk_bv_value(self.manager.mk_bv_sort(1), value)

    def _value(self, number: int, clock: Clock) -> Term:
        make = self.manager.mk_term
        kind, words = self._lines[number]
        sort = self._sorts[int(words[0])]

        def operands(count: int) -> list[Term]:
            lines = [int(word) for word in words[1 : 1 + count]]
            values = [clock.values[abs(line)] for line in lines]
            return [
                make(Kind.BV_NOT, [value]) if line < 0 else value
                for line, value in zip(lines, values, strict=True)
            ]

        match kind:
            case "state":
                return clock.registers[number]
            case "input":
                if number not in clock.inputs:
                    clock.inputs[number] = self._any(number)
                return clock.inputs[number]
            case "zero":
                return self.manager.mk_bv_zero(sort)
            case "one":
                return self.manager.mk_bv_one(sort)
            case "ones":
                return self.manager.mk_bv_ones(sort)
            case "slice":
                return make(Kind.BV_EXTRACT, operands(1), [int(words[2]), int(words[3])])
            case "ite":
                condition, *values = operands(3)
                return make(Kind.ITE, [self.is_one(condition), *values])
            case "mul" if self._products is not None:
                return make(Kind.APPLY, [self._product(sort, self._products), *operands(2)])
        if kind in _BASES:
            return self.manager.mk_bv_value(sort, words[1], _BASES[kind])
        if kind in _EXTENSIONS:
            return make(_EXTENSIONS[kind], operands(1), [int(words[2])])
        if kind in _COMPARES:
            return make(Kind.ITE, [make(_COMPARES[kind], operands(2)), self._bit(1), self._bit(0)])
        return make(_TERMS[kind], operands(_OPERANDS.get(kind, 2)))

    def _product(self, sort: Sort, known: dict[int, Term]) -> Term:
        size = sort.bv_size()
        if size not in known:
            function = self.manager.mk_fun_sort([sort, sort], sort)
            known[size] = self.manager.mk_const(function, f"product{size}")
        return known[size]
