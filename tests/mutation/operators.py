"""Mutants of a module: its code with one small fault each.

Code that decides nothing is left out: annotations, docstrings, decorators, heads of classes, f-strings, sentences and
what is raised.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from types import CodeType
from typing import Any, Final

SWAPS: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
"""Operators, and what stands in their place."""

NAMES: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
"""Functions, and what is called in their place."""

CONSTANTS: Final[dict[type, Callable[[Any], Any]]] = {
    bool: lambda value: not value,
    int: lambda value: value + 1,
    str: lambda value: "XX" + value,
}
"""Constants by type, and what stands in their place."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Another value for a field of a node; `shown` is the node whose code says where."""

    node: ast.AST
    field: str
    new: Any
    shown: ast.AST


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault, named without line numbers: `place` is `module:function`, `change` its text, numbered if it repeats."""

    module: str
    place: str
    change: str

    def __str__(self) -> str:
        return f"{self.place}: {self.change}"


def _without(values: Sequence[Any], n: int) -> list[Any]:
    return [*values[:n], *values[n + 1 :]]


def _compared(node: ast.Compare, _: ast.AST) -> Iterator[Edit]:
    for n, op in enumerate(node.ops):
        if new := SWAPS.get(type(op)):
            yield Edit(node, "ops", [*node.ops[:n], new(), *node.ops[n + 1 :]], node)


def _joined(node: ast.BoolOp, _: ast.AST) -> Iterator[Edit]:
    yield Edit(node, "op", SWAPS[type(node.op)](), node)
    for n in range(len(node.values)):
        yield Edit(node, "values", _without(node.values, n), node)


def _computed(node: ast.BinOp | ast.AugAssign, _: ast.AST) -> Iterator[Edit]:
    if new := SWAPS.get(type(node.op)):
        yield Edit(node, "op", new(), node)


def _negated(node: ast.UnaryOp, parent: ast.AST) -> Iterator[Edit]:
    if isinstance(node.op, ast.Not):
        # `not not x`: the truth of `x`, in place of its contrary.
        yield Edit(node, "operand", ast.UnaryOp(ast.Not(), node.operand), parent)


def _tested(node: ast.If | ast.IfExp | ast.While, _: ast.AST) -> Iterator[Edit]:
    # Comparisons and the like have operators of their own.
    if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
        yield Edit(node, "test", ast.UnaryOp(ast.Not(), node.test), node)


def _filtered(node: ast.comprehension, parent: ast.AST) -> Iterator[Edit]:
    for n in range(len(node.ifs)):
        yield Edit(node, "ifs", _without(node.ifs, n), parent)


def _called(node: ast.Call, _: ast.AST) -> Iterator[Edit]:
    for n in range(len(node.keywords)):
        yield Edit(node, "keywords", _without(node.keywords, n), node)


def _named(node: ast.Name, parent: ast.AST) -> Iterator[Edit]:
    if new := NAMES.get(node.id):
        yield Edit(node, "id", new, parent)


def _constant(node: ast.Constant, parent: ast.AST) -> Iterator[Edit]:
    change = CONSTANTS.get(type(node.value))
    if change and not (isinstance(node.value, str) and " " in node.value):
        yield Edit(node, "value", change(node.value), parent)


def _done(node: ast.Expr, _: ast.AST) -> Iterator[Edit]:
    if not isinstance(node.value, ast.Constant):
        yield Edit(node, "value", ast.Constant(None), node)


OPERATORS: Final[tuple[tuple[tuple[type[ast.AST], ...], Callable[[Any, ast.AST], Iterator[Edit]]], ...]] = (
    ((ast.Compare,), _compared),
    ((ast.BoolOp,), _joined),
    ((ast.BinOp, ast.AugAssign), _computed),
    ((ast.UnaryOp,), _negated),
    ((ast.If, ast.IfExp, ast.While), _tested),
    ((ast.comprehension,), _filtered),
    ((ast.Call,), _called),
    ((ast.Name,), _named),
    ((ast.Constant,), _constant),
    ((ast.Expr,), _done),
)
"""Nodes, and the faults they can have."""

LEFT_OUT: Final = {"annotation", "returns", "decorator_list", "bases", "pattern"}
"""Fields whose code decides nothing."""

AROUND: Final = 40
"""Characters of code on either side of a fault that its text has."""

BLOCKS: Final = ast.stmt | ast.comprehension | ast.excepthandler | ast.match_case
SCOPES: Final = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _walk(node: ast.AST, parent: ast.AST, scope: tuple[str, ...]) -> Iterator[tuple[ast.AST, ast.AST, str]]:
    """Yield nodes with their parent and the qualified name of the scope they are in."""
    if isinstance(node, ast.JoinedStr | ast.Raise | ast.Import | ast.ImportFrom) or _is_for_types(node):
        return
    yield node, parent, ".".join(scope)
    inner = (*scope, node.name) if isinstance(node, SCOPES) else scope
    for name, value in ast.iter_fields(node):
        if name in LEFT_OUT or (name == "keywords" and isinstance(node, ast.ClassDef)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child, node, inner)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _text(edit: Edit) -> str:
    """Return the code around an edit: of a statement with a block, only its head."""
    shown = edit.shown
    return ast.unparse(shown).splitlines()[0] if isinstance(shown, BLOCKS) else ast.unparse(shown)


class _Lone(ast.NodeTransformer):
    """`and` or `or` of one operand, which only text can have, is that operand."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        return node.values[0] if len(node.values) == 1 else node


def _change(before: str, after: str) -> str:
    """Return both texts, as much of them as shows where they differ."""
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    start, end = max(0, start - AROUND), max(0, end - AROUND)
    return " → ".join(
        f"{'…' if start else ''}{text[start : len(text) - end]}{'…' if end else ''}" for text in (before, after)
    )


def _common(one: str, other: str) -> int:
    """Return how long the beginning is that two texts share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def mutations(module: str, tree: ast.Module, place: str | None = None) -> Iterator[Mutant]:
    """Yield all mutants of a module, or of one place; while one is looked at, `tree` is its code."""
    seen: Counter[tuple[str, str]] = Counter()
    nodes = list(_walk(tree, tree, ()))
    for node, parent, scope in nodes:
        if place not in (None, f"{module}:{scope or 'module'}"):
            continue
        for kinds, operator in OPERATORS:
            for edit in operator(node, parent) if isinstance(node, kinds) else ():
                old, before = getattr(edit.node, edit.field), _text(edit)
                setattr(edit.node, edit.field, edit.new)
                change = _change(before, _text(edit))
                seen[scope, change] += 1
                repeated = seen[scope, change]
                numbered = f"{change} #{repeated}" if repeated > 1 else change
                yield Mutant(module, f"{module}:{scope or 'module'}", numbered)
                setattr(edit.node, edit.field, old)


def mutated(wanted: Mutant, source: str, path: str) -> CodeType:
    """Return the code of a mutant.

    Raises:
        LookupError: the source has no such place.
    """
    tree = ast.parse(source, path)
    for mutant in mutations(wanted.module, tree, wanted.place):
        if mutant == wanted:
            return compile(ast.fix_missing_locations(_Lone().visit(tree)), path, "exec")
    raise LookupError(f"no such mutant: {wanted}")
