"""Programs of the whole grammar that a script may have: statements in blocks, declarations, functions, line breaks.

Names are few, so that one is declared twice in every pair of kinds and places. Now and then a word is lost or doubled.
"""

from __future__ import annotations

import re
from random import Random
from typing import Final

DEPTH: Final = 3
NAMES: Final = ("a", "b", "c", "f", "g", "ok", "why", "x", "y", "z")
PLAIN: Final = (
    "true", "true", "true", "false", "false", "null", "undefined", "1", "''", "'use strict'", "[]", "UGNAMES",
    "REQ.user",
    "IS_IN_GROUP('g1')", "IS_IN_GROUP('g9')", "REQ.user == 'alice'", "USER.nope", "USER.nope.x", "ctx.getResult()",
    "ctx.setResult(true)", "ctx.setResult(false)", "String", "RES.r1",
)  # fmt: skip
METHODS: Final = ("some", "every", "map", "filter", "find", "findIndex")
OPERATORS: Final = ("==", "!=", "===", "&&", "&&", "||", "||", "??", "??", "??", "+", "-", "*", "<", "in")
BREAKS: Final = (" ", "\n", ";")
SEPARATORS: Final = (";", ";", ";", ";", ";", ";\n", "\n", ";;", " ", "")
MEMBERS: Final = (".length", ".name", "[0]", "?.x", "?.[0]", ".prototype", ".at(0)", "?.()", ".toString()")
_WORD: Final = re.compile(r"'[^']*'|\w+|=>|===|!==|==|!=|&&|\|\||\?\?|\S|\s+")


class Program:
    """One program drawn from a number."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._pick = self._random.choice
        self._declared: list[str] = []
        self._functions = 0

    def text(self) -> str:
        """Return the program."""
        body = self._several(1, 5, DEPTH)
        result = self._pick(("", "", "ctx.setResult(true);", "ctx.setResult(false);"))
        text = f"{result}{body}"
        return self._damaged(text) if self._chance(3) else text

    def _chance(self, percent: int) -> bool:
        return self._random.randrange(100) < percent

    def _new_name(self) -> str:
        unused = tuple(name for name in NAMES if name not in self._declared)
        name = self._pick(unused) if unused and self._chance(75) else self._pick(NAMES)
        self._declared.append(name)
        return name

    def _several(self, least: int, most: int, depth: int) -> str:
        parts = []
        for _ in range(self._random.randint(least, most)):
            statement = self._statement(depth)
            parts += [statement, self._pick(SEPARATORS if statement.endswith("}") else SEPARATORS[:8])]
        return "".join(parts)

    def _statement(self, depth: int) -> str:
        anywhere = (self._expression, self._expression, self._if, self._small)
        declaring = (self._declaration, self._declaration, self._function)
        if depth <= 0:
            return self._expression(depth)
        # The gate refuses them there, so that nothing could be learnt from most programs.
        is_refused = depth < DEPTH and not self._functions and self._chance(60)
        return self._pick(anywhere if is_refused else (*anywhere, *declaring))(depth)

    def _small(self, depth: int) -> str:
        kind = self._random.randrange(5)
        if kind == 0:
            return f"{self._pick(self._names())}: {self._statement(depth - 1)}"
        if kind == 1:
            return f"({self._value(0)})\n{self._block(depth)}"
        if kind == 3 and self._chance(10):
            return f"{self._pick(('let', 'var', 'const', 'typeof let', 'let ==', 'if (true)'))}"
        if kind == 2 and self._functions:
            return f"return{self._pick(BREAKS)}{self._expression(depth - 1)}"
        return ""

    def _names(self) -> tuple[str, ...]:
        return tuple(self._declared) or ("true",)

    def _declaration(self, depth: int) -> str:
        kind = self._pick(("var", "var", "let", "const"))
        given = f" = {self._expression(depth - 1)}" if kind == "const" or self._chance(70) else ""
        more = f", {self._new_name()}" if self._chance(1) else ""
        return f"{kind} {self._new_name()}{more}{given}"

    def _function(self, depth: int) -> str:
        # Its name is declared where it is, whatever its parameters are called.
        return f"function {self._new_name()}({self._parameters()}) {self._body(depth)}"

    def _parameters(self) -> str:
        return ", ".join(self._new_name() for _ in range(self._pick((0, 0, 1, 1, 2))))

    def _body(self, depth: int) -> str:
        self._functions += 1
        ending = f"return {self._value(depth - 1)};" if self._chance(70) else ""
        body = f"{{ {self._several(0, 3, depth - 1)}{ending} }}"
        self._functions -= 1
        return body

    def _block(self, depth: int) -> str:
        return f"{{ {self._several(0, 3, depth - 1)} }}"

    def _if(self, depth: int) -> str:
        def branch() -> str:
            return self._block(depth) if self._chance(75) else f"{self._statement(depth - 1)};"

        otherwise = f" else {branch()}" if self._chance(45) else ""
        return f"if ({self._value(depth - 1)}) {branch()}{otherwise}"

    def _expression(self, depth: int) -> str:
        value = self._value(depth)
        return f"{value}, {self._value(depth)}" if self._chance(3) else value

    def _value(self, depth: int) -> str:
        kind = self._random.randrange(100)
        if depth <= 0 or kind < 45:
            return self._pick(PLAIN) if self._chance(70) else self._pick(self._names())
        if kind < 55:
            return f"{self._pick(self._names())}({self._value(0) if self._chance(50) else ''})"
        if kind < 65:
            return self._grouped(f"{self._value(depth - 1)} {self._pick(OPERATORS)} {self._value(depth - 1)}")
        if kind < 70:
            return f"{self._pick(('!', '!!', 'typeof ', '-'))}{self._value(depth - 1)}"
        if kind < 75:
            return self._grouped(f"{self._value(depth - 1)} ? {self._value(depth - 1)} : {self._value(depth - 1)}")
        if kind < 80:
            return f"{self._pick((*PLAIN, *self._names()))}{self._pick(MEMBERS)}"
        if kind < 88:
            return f"UGNAMES.{self._pick(METHODS)}({self._callable(depth)})"
        return self._grouped(self._callable(depth))

    def _grouped(self, value: str) -> str:
        return f"({value})" if self._chance(70) else value

    def _callable(self, depth: int) -> str:
        kind = self._random.randrange(5)
        if kind == 0:
            return f"{self._new_name()} => {self._value(depth - 1)}"
        if kind == 1:
            return f"({self._parameters()}) => {self._body(depth)}"
        if kind == 2:
            return f"{self._new_name()} => {self._body(depth)}"
        star = "*" if self._chance(3) else ""
        name = self._new_name() if kind == 3 else ""
        return f"function{star} {name}({self._parameters()}) {self._body(depth)}"

    def _damaged(self, text: str) -> str:
        words = _WORD.findall(text)
        at, other = self._random.randrange(len(words)), self._pick(tuple(words))
        words[at : at + 1] = self._pick(([], [words[at], words[at]], [other], [words[at], other]))
        return "".join(words)
