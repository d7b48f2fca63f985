"""The names that a script declares, and the refusal of grammar that GraalJS and QuickJS read differently.

GraalJS loses the value of an `if` with a declaration in it, has its own rules for two declarations of one name, and in
some places does not compile `(a) ?? b`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ranger_cdap.expressions.language import NotInSubset, shown

Words = Sequence[tuple[str, str]]

_FUNCTION: Final = ("name", "function")
_DECLARING: Final = (_FUNCTION, ("name", "var"), ("name", "let"), ("name", "const"))
_CLOSES: Final = {")": "(", "]": "[", "}": "{"}
_AFTER_DECLARATIONS: Final = frozenset((";", ")", "]", "}", "var", "let", "const", "if", "else", "return"))
_OPERATORS: Final = ("in", "typeof", "return", "else")
_STARTS: Final = frozenset(("(", "[", "{", ",", ";", "=", "?", ":", "=>", "&&", "||"))
_BEFORE_STATEMENTS: Final = frozenset((";", ":", "{", "}", ")", "]"))


def declared_names(words: Words) -> frozenset[str]:
    """Return the names of variables, functions and parameters.

    Raises:
        NotInSubset: a declaration in an `if` outside of a function, of several variables, or of a name a second time;
            `??` next to a value in brackets.
    """
    partners = _partners(words)
    if any(word == ("sign", "??") and _is_at_brackets(words, n, partners) for n, word in enumerate(words)):
        raise NotInSubset("`??` next to a value in brackets is not in the subset")
    bodies = _parameters(words, partners)
    found = {name for names in bodies.values() for name in names}
    # Of the braces around a word: the names that their function has, and whether they are in a function.
    around = [(set[str](), False)]
    for n, word in enumerate(words):
        if word == ("sign", "{"):
            around.append((set(bodies[n]), True) if n in bodies else around[-1])
        elif word == ("sign", "}"):
            around.pop()
        elif word in _DECLARING and not _is_value(words, n):
            names, in_function = around[-1]
            if not in_function and (len(around) > 1 or _is_branch(words, n, partners)):
                raise NotInSubset(f"`{word[1]}` in an `if` outside of a function is not in the subset; write it before")
            kind, name = words[n + 1] if n + 1 < len(words) else ("", "")
            if kind != "name":
                raise NotInSubset(f"`{word[1]}` without a name is not in the subset")
            if name in names:
                raise NotInSubset(f"`{shown(name)}` is declared twice")
            names.add(name)
            found.add(name)
            if word != _FUNCTION and _has_comma(words, n, partners):
                raise NotInSubset("a declaration of several variables is not in the subset")
    return frozenset(found)


def _partners(words: Words) -> Mapping[int, int]:
    """Return the place of the other bracket, by the place of each bracket."""
    found, opened = dict[int, int](), list[int]()
    for n, (kind, word) in enumerate(words):
        if kind == "sign" and word in _CLOSES.values():
            opened.append(n)
        elif kind == "sign" and word in _CLOSES:
            if not opened or words[opened[-1]][1] != _CLOSES[word]:
                raise NotInSubset(f"`{word}` closes nothing")
            found[n] = opened.pop()
            found[found[n]] = n
    if opened:
        raise NotInSubset(f"`{words[opened[-1]][1]}` is not closed")
    return found


def _parameters(words: Words, partners: Mapping[int, int]) -> Mapping[int, list[str]]:
    """Return the parameters of each function by the place where its body begins, with its own name if it is a value."""
    found = dict[int, list[str]]()
    for n, word in enumerate(words):
        own, first = words[:0], n - 1
        if word == ("sign", "=>"):
            body, listed = n + 1, words[partners[first] + 1 : first] if first in partners else words[first:n]
        elif word == _FUNCTION:
            is_named = n + 1 < len(words) and words[n + 1][0] == "name"
            first = n + 2 if is_named else n + 1
            if words[first : first + 1] != [("sign", "(")]:
                raise NotInSubset("a function without a list of parameters is not in the subset")
            own = words[n + 1 : n + 2] if is_named and _is_value(words, n) else own
            body, listed = partners[first] + 1, words[first + 1 : partners[first]]
        else:
            continue
        if {kind for kind, _ in listed[::2]} - {"name"} or set(listed[1::2]) - {("sign", ",")}:
            raise NotInSubset("a parameter that is more than a name is not in the subset")
        found[body] = [name for _, name in (*listed[::2], *own)]
        if len(set(found[body])) < len(found[body]):
            raise NotInSubset("two parameters of one name are not in the subset")
    return found


def _is_value(words: Words, n: int) -> bool:
    """Return True for a function that is a value; all others are statements."""
    return words[n] == _FUNCTION and n > 0 and words[n - 1][0] == "sign" and words[n - 1][1] not in _BEFORE_STATEMENTS


def _is_branch(words: Words, n: int, partners: Mapping[int, int]) -> bool:
    """Return True for a statement that is a branch of an `if`, without braces, or has a label."""
    if n == 0 or words[n - 1] != ("sign", ")"):
        return n > 0 and words[n - 1] in (("name", "else"), ("sign", ":"))
    before = partners[n - 1] - 1
    return before >= 0 and words[before] == ("name", "if")


def _has_comma(words: Words, n: int, partners: Mapping[int, int]) -> bool:
    """Return True for a declaration that goes on after a comma."""
    at = n + 1
    while at < len(words) and (words[at][0] == "member" or words[at][1] not in _AFTER_DECLARATIONS):
        if words[at] == ("sign", ","):
            return True
        at = max(at, partners.get(at, at)) + 1
    return False


def _is_at_brackets(words: Words, n: int, partners: Mapping[int, int]) -> bool:
    """Return True if there are brackets, not of a call, on the left of `??`, or two at once on its right."""
    if words[n + 1 : n + 2] == [("sign", "(")] and words[n + 2] in (("sign", "("), _FUNCTION):
        return True
    at = n - 1
    while at >= 0 and words[at][1] not in _STARTS:
        at = partners.get(at, at)
        if words[at][1] in ("(", "{") and (at == 0 or words[at - 1][0] == "sign" or words[at - 1][1] in _OPERATORS):
            return True
        at -= 1
    return False
