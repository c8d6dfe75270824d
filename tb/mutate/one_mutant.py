"""Simplifies a BTOR2 netlist to one active mutant, removing all traces of the others.

When the input ``mutant`` is constant, most lines added for mutants are constant or equal to an operand.
The simplified circuit has the same words as the original, so two copies differ only where a mutant
changes something.
"""

import re

__all__ = ["with_mutant"]

_INPUT = re.compile(r"^(\d+) input (\d+) mutant\b.*$", re.MULTILINE)
_BASES = {"const": 2, "constd": 10, "consth": 16}
_BITWISE = {"and", "nand", "nor", "or", "xnor", "xor"}
_INVERTED = {"nand": "and", "nor": "or", "xnor": "xor"}
_UNARY = {"neg", "not", "redand", "redor", "redxor", "sext", "slice", "uext"}
_OTHERS = {"bad": (0,), "constraint": (0,), "init": (1, 2), "next": (1, 2), "output": (0,)}
_ROOTS = {*_OTHERS, "input", "sort", "state"}
_LEAVES = {"input", "one", "ones", "sort", "state", "zero", *_BASES}


def _places(kind: str) -> tuple[int, ...]:
    """Return the positions of the words that refer to other lines, except for the sort."""
    if kind in _LEAVES:
        return ()
    more = (1,) if kind in _UNARY else (1, 2, 3) if kind in {"ite", "write"} else (1, 2)
    return _OTHERS.get(kind, more)


def with_mutant(text: str, number: int) -> str:
    """Return the circuit with one active mutant, or with none if `number` is 0.

    Every line keeps its number, and every output keeps its line.

    Raises
    ------
    ValueError
        The circuit has no input ``mutant``.
    """
    if not _INPUT.search(text):
        raise ValueError("the netlist has no input for mutants")
    folded = _Folded()
    for line in _INPUT.sub(rf"\1 constd \2 {number}", text).splitlines():
        words = line.partition(";")[0].split()
        if words:
            folded.add(int(words[0]), words[1], words[2:])
    return folded.text()


class _Folded:
    def __init__(self) -> None:
        self._widths: dict[int, int] = {}  # by sort; 0 for arrays
        self._lines: dict[int, tuple[str, list[str]]] = {}
        self._values: dict[int, int] = {}
        self._slices: dict[int, tuple[int, int, int]] = {}  # sliced line, upper and lower bit

    def add(self, number: int, kind: str, words: list[str]) -> None:
        if kind == "sort":
            self._widths[number] = int(words[1]) if words[0] == "bitvec" else 0
        lines = [int(words[place]) for place in _places(kind)]
        if kind != "output":  # outputs are identified by their lines
            lines = [self._root(line) for line in lines]
        words = list(words)
        for place, line in zip(_places(kind), lines, strict=True):
            words[place] = str(line)
        self._lines[number] = kind, words
        if kind in _BASES:
            self._values[number] = int(words[1], _BASES[kind]) & self._ones(number)
        elif kind in {"zero", "one", "ones"}:
            self._values[number] = {"zero": 0, "one": 1, "ones": self._ones(number)}[kind]
        elif kind == "slice":
            self._slice(number, lines[0], int(words[2]), int(words[3]))
        elif kind in {"concat", "eq", "ite", "neq", "not", "uext", *_BITWISE}:
            self._fold(number, kind, lines)

    def text(self) -> str:
        """Return the lines that outputs, registers and assumptions depend on."""
        needed: set[int] = set()
        for number in sorted(self._lines, reverse=True):
            kind, words = self._lines[number]
            if kind in _ROOTS or number in needed:
                needed.add(number)
                needed |= {abs(int(words[place])) for place in _places(kind)}
        lines = ((n, *line) for n, line in self._lines.items() if n in needed)
        return "".join(f"{n} {kind} {' '.join(words)}\n" for n, kind, words in lines)

    def _root(self, line: int) -> int:
        of, upper, lower = self._slices.get(abs(line), (0, 0, 0))
        if of and not lower and upper + 1 == self._width(of):
            return of if line > 0 else -of
        return line

    def _width(self, line: int) -> int:
        return self._widths[int(self._lines[abs(line)][1][0])]

    def _ones(self, line: int) -> int:
        return (1 << self._width(line)) - 1

    def _value(self, line: int) -> int | None:
        value = self._values.get(abs(line))
        return value if value is None or line > 0 else value ^ self._ones(line)

    def _is_constant(self, number: int, value: int) -> None:
        self._values[number] = value & self._ones(number)
        sort = self._lines[number][1][0]
        self._lines[number] = "constd", [sort, str(self._values[number])]

    def _slice(self, number: int, of: int, upper: int, lower: int) -> None:
        value = self._value(of)
        if value is not None:
            self._is_constant(number, value >> lower)
        elif of > 0:
            within = self._slices.get(of)
            if within:
                of, upper, lower = within[0], within[2] + upper, within[2] + lower
            self._slices[number] = of, upper, lower
            sort = self._lines[number][1][0]
            self._lines[number] = "slice", [sort, str(of), str(upper), str(lower)]

    def _is_same(self, number: int, line: int) -> None:
        if self._value(line) is not None:
            self._is_constant(number, self._value(line) or 0)
        elif self._width(line):
            if line < 0:
                self._lines[number] = "not", [self._lines[number][1][0], str(-line)]
            else:
                self._slice(number, line, self._width(line) - 1, 0)

    def _fold(self, number: int, kind: str, lines: list[int]) -> None:
        values = [self._value(line) for line in lines]
        ones = self._ones(number)
        if kind == "ite":
            if values[0] is not None:
                self._is_same(number, lines[1] if values[0] else lines[2])
            elif lines[1] == lines[2]:
                self._is_same(number, lines[1])
        elif kind == "uext":
            if values[0] is not None:
                self._is_constant(number, values[0])
        elif kind == "not":
            if values[0] is not None:
                self._is_constant(number, values[0] ^ ones)
        elif None not in values:
            self._is_constant(number, self._result(kind, lines, values[0] or 0, values[1] or 0))
        elif kind == "concat":
            self._concat(number, *lines)
        elif kind in _BITWISE and values != [None, None]:
            value = values[0] if values[1] is None else values[1]
            self._bitwise(number, kind, lines[0 if values[0] is None else 1], value or 0)

    def _result(self, kind: str, lines: list[int], one: int, other: int) -> int:
        if kind == "concat":
            return one << self._width(lines[1]) | other
        if kind in {"eq", "neq"}:
            return int((one == other) == (kind == "eq"))
        plain = _INVERTED.get(kind, kind)
        result = one & other if plain == "and" else one | other if plain == "or" else one ^ other
        return result if plain == kind else ~result

    def _concat(self, number: int, high: int, low: int) -> None:
        one, other = self._part(high), self._part(low)
        if one and other and one[0] == other[0] and one[2] == other[1] + 1:
            self._slice(number, one[0], one[1], other[2])

    def _part(self, line: int) -> tuple[int, int, int] | None:
        if line < 0:
            return None
        return self._slices.get(line, (line, self._width(line) - 1, 0))

    def _bitwise(self, number: int, kind: str, line: int, value: int) -> None:
        ones, plain = self._ones(number), _INVERTED.get(kind, kind)
        inverts = plain != kind
        if (plain == "and" and value == 0) or (plain == "or" and value == ones):
            self._is_constant(number, value ^ (ones if inverts else 0))
        elif plain == "xor" and value == ones:
            self._is_same(number, line if inverts else -line)
        elif value == (ones if plain == "and" else 0):
            self._is_same(number, -line if inverts else line)
