"""Small faults in a Python module, one at a time, in its syntax tree."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Fault", "faults"]

_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Fault:
    """One change of a module.

    Parameters
    ----------
    line : int
    text : str
        The statement's or expression's text before and after.
    source : str
        The whole module with it.
    """

    line: int
    text: str
    source: str


def faults(source: str) -> list[Fault]:
    """Return all faults for a module, in the order of its lines.

    Operators and comparisons become their neighbours, numbers grow by one, truth values, conditions and
    signs turn over, results become None, and statements disappear. Annotations, docstrings, imports and
    ``__all__`` stay.
    """
    tree = ast.parse(source)
    found = []
    for path, node in _walk(tree, ()):
        for change in _changes(node):
            mutated = copy.deepcopy(tree)
            parent = mutated
            for name, at in path[:-1]:
                parent = _child(parent, name, at)
            name, at = path[-1]
            if at is None:
                setattr(parent, name, change)
            else:
                getattr(parent, name)[at] = change
            ast.fix_missing_locations(mutated)
            text = f"{_short(node)} -> {_short(change)}"
            found.append(Fault(node.lineno, text, ast.unparse(mutated)))  # type: ignore[attr-defined]
    return found


_Path = tuple[tuple[str, int | None], ...]


def _child(node: ast.AST, name: str, at: int | None) -> ast.AST:
    value = getattr(node, name)
    return value if at is None else value[at]


def _walk(node: ast.AST, path: _Path) -> Iterator[tuple[_Path, ast.AST]]:
    if path and isinstance(node, ast.expr | ast.stmt):
        yield path, node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params", "format_spec"}:
            continue
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for at, child in children:
            if isinstance(child, ast.AST) and not _is_left_alone(child):
                yield from _walk(child, (*path, (name, at)))


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):  # a docstring
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
    return False


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator) | ast.AugAssign(op=operator):
            if swap := _SWAPS.get(type(operator)):
                yield _with(node, op=swap())
        case ast.Compare(ops=operators):
            for at, operator in enumerate(operators):
                if swap := _SWAPS.get(type(operator)):
                    yield _with(node, ops=[*operators[:at], swap(), *operators[at + 1 :]])
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield ast.Return(ast.Constant(None))
    if isinstance(node, ast.Expr | ast.Raise | ast.AugAssign):
        yield ast.Pass()


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _short(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0][:60]
