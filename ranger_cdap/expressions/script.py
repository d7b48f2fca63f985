"""Reading a script as Ranger does: macros, double brackets, and then only the subset of JavaScript that is evaluated.

What the subset excludes either differs between JavaScript engines (regular expressions, dates, locales, objects of
Java), or would let a script do more than look at the request (assignment, `new`, loops).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ranger_cdap.expressions.grammar import declared_names
from ranger_cdap.expressions.language import NotInSubset, language, shown

MAX_LENGTH: Final = 8_192
"""Longest script, in characters."""

_DELIMITED: Final = re.compile(
    r"\[\[([}{$\"a-zA-Z0-9_.\[\]]+)(?:,['\"]([^'\"\\\[\],\r\n\u0085\u2028\u2029]+)['\"])?\]\]"
)
_WORD: Final = re.compile(
    r"""
    (?P<space>[ \t\r\n]+|//[^\r\n\u2028\u2029]*|/\*(?s:.*?)\*/)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<number>(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?(?![0-9A-Za-z_.$]))
  | (?P<text>'(?:[^'\\\r\n\u2028\u2029]|\\['"\\nrt])*'|"(?:[^"\\\r\n\u2028\u2029]|\\['"\\nrt])*")
  | (?P<sign>===|!==|==|!=|<=|>=|=>|&&|\|\||\?\?|\?\.(?![0-9])|--|\+\+|\*\*|\.\.\.|[-+*%/]=|[-()\[\]{}.,;:?!<>=+*%])
    """,
    re.VERBOSE,
)
_REFUSED_SIGNS: Final = frozenset({"--", "++", "**", "...", "-=", "+=", "*=", "%=", "/="})
_NAME_OF_USER: Final = re.compile(r"\b(?:USER|userAttributes)\._name\b")
_METHOD_OF_ATTRIBUTES: Final = re.compile(r"([uU]ser|[uU]g)Attr")
_NAMES_OF_VARIABLES: Final = re.compile(r"[a-z_][A-Za-z0-9_]{0,63}")


class MissingEngine(Exception):
    """Raised where scripts cannot be evaluated, because the extra `expressions` is not installed."""


@dataclass(frozen=True, slots=True)
class Script:
    """Script of the subset as JavaScript, and what it needs of the request.

    `has_intersects` is true if Ranger adds `intersects` to lists, `texts` are its string literals. One that `is_short`
    looks at each value a few times; any other may run until its limit.
    """

    text: str
    names: frozenset[str]
    methods: frozenset[str]
    has_intersects: bool
    texts: frozenset[str]
    is_short: bool = False

    @property
    def reads_resource(self) -> bool:
        """Return True if it may look at the requested resource."""
        return not self.names.isdisjoint(language()["names"]["resource"])

    @property
    def reads_attributes(self) -> bool:
        """Return True if it may look at attributes of users or groups besides their names."""
        holders, names = language()["attributes"]["holders"], language()["names"]["request"]
        words = set(re.findall(r"[A-Za-z]+", _NAME_OF_USER.sub("", self.text)))
        # A name of the request in quotes is a text; a field of REQ in quotes may be its name.
        found = words.intersection(holders) - (set(names) - self.names)
        return bool(found) or any(_METHOD_OF_ATTRIBUTES.search(method) for method in self.methods)


def read_script(values: Sequence[str], options: Mapping[str, Any], context_methods: frozenset[str]) -> Script:
    """Return the script of a condition; Ranger reads the first value only.

    Raises:
        NotInSubset: it is blank, or has a part that is not evaluated.
    """
    # Java's trim and Python's disagree on what a space is.
    script = (values[0] if values else "").strip(" \t\r\n")
    if not script:
        raise NotInSubset("it is empty")
    if len(script) > MAX_LENGTH:
        raise NotInSubset(f"it is longer than {MAX_LENGTH} characters")
    expanded = _expanded(script)
    text = _without_double_brackets(expanded)
    words = list(_words(text))
    names, methods = _checked(words, context_methods)
    given = names.intersection(language()["names"]["request"])
    if given and str(options.get("enableJsonCtx") or "true").lower() != "true":
        raise NotInSubset(f"`{min(given)}` is not there, because the condition's definition sets `enableJsonCtx`")
    texts = frozenset(word[1:-1] for kind, word in words if kind == "text" and "\\" not in word)
    return Script(text, names, methods, ".intersects(" in expanded, texts, _is_short(text, words))


def _expanded(script: str) -> str:
    """Return a script with its macros replaced; refused where the end of a word depends on a letter's script."""
    macros: Mapping[str, str] = language()["macros"]
    words = "|".join(sorted(macros, key=len, reverse=True))
    found = [re.sub(rf"\b({words})\b", lambda m: macros[m[1]], script, flags=flags) for flags in (re.ASCII, re.UNICODE)]
    if found[0] != found[1]:
        raise NotInSubset("a macro is next to a letter that is not ASCII")
    return found[0]


def _without_double_brackets(script: str) -> str:
    """Return a script with `[[x]]` replaced by `x.split(",")`, and `[[x,'|']]` by `x.split("|")`."""
    if "[[" not in script or "]]" not in script:
        return script
    replaced = script
    for found in _DELIMITED.finditer(script):
        replaced = replaced.replace(found[0], f'{found[1]}.split("{found[2] or ","}")')
    if "[[" in replaced and "]]" in replaced:
        raise NotInSubset("`[[` and `]]` hold something else than a name and a delimiter")
    return replaced


def _words(text: str) -> Iterator[tuple[str, str]]:
    at, before = 0, ""
    while at < len(text):
        found = _WORD.match(text, at)
        if found is None:
            raise NotInSubset(f"`{shown(text[at : at + 12])}` is not in the subset")
        kind = str(found.lastgroup)
        if kind == "sign" and found[0] in _REFUSED_SIGNS:
            raise NotInSubset(f"`{found[0]}` is not in the subset")
        if kind != "space":
            yield "member" if kind == "name" and before in (".", "?.") else kind, found[0]
            before = found[0]
        at = found.end()


def _checked(
    words: Sequence[tuple[str, str]], context_methods: frozenset[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the request and the methods of `ctx` that are used."""
    names, variables, methods = language()["names"], declared_names(words), set[str]()
    taken = {name for kind in names.values() for name in kind}
    for name in sorted(variables):
        if name in taken or not _NAMES_OF_VARIABLES.fullmatch(name):
            raise NotInSubset(f"a variable cannot have the name `{shown(name)}`")
    known = {*names["request"], *names["functions"], *names["constants"], *names["keywords"]}
    used = set[str]()
    for n, (kind, word) in enumerate(words):
        before = words[n - 1][1] if n else ""
        after = words[n + 1][1] if n + 1 < len(words) else ""
        if kind == "sign":
            _check_sign(word, before, words[n - 1][0] if n else "", words[n - 2][1] if n > 1 else "")
        if kind != "name":
            continue
        if word == "ctx":
            method = words[n + 2][1] if after == "." and n + 3 < len(words) and words[n + 3][1] == "(" else None
            if method is None:
                raise NotInSubset("`ctx` can only be used for calls of its methods")
            if method not in context_methods:
                raise NotInSubset(f"`ctx.{shown(method)}()` is not in the subset")
            methods.add(method)
        elif word in names["request"]:
            used.add(word)
        elif word not in known and word not in variables:
            raise NotInSubset(f"`{shown(word)}` is not in the subset")
    return frozenset(used), frozenset(methods)


def _is_short(text: str, words: Sequence[tuple[str, str]]) -> bool:
    """Return True if nothing is done again and again, and nothing grows: no variables, functions, joined lists."""
    short = language()["short"]
    known = {*short["calls"], *language()["names"]["functions"]}
    for n, (_, word) in enumerate(words):
        if n and word == "(":
            kind, called = words[n - 1]
            is_of_ctx = n > 2 and words[n - 3][1] == "ctx"
            if called == "?." or (kind in ("name", "member") and called not in known and not is_of_ctx):
                return False
    every = [word for _, word in words]
    is_plain = not {"=>", *short["repeating"]} & set(every)
    return is_plain and len(text) <= short["length"] and every.count("split") <= short["splits"]


def _check_sign(word: str, before: str, kind_before: str, before_that: str) -> None:
    """Refuse assignments other than of a new variable, literal objects, and calls of what has no name."""
    if word == "=" and not (kind_before == "name" and before_that in ("var", "let", "const")):
        raise NotInSubset("an assignment to something that exists is not in the subset; `==` compares")
    if word == "{" and before not in (")", "else", "=>"):
        raise NotInSubset("an object in braces is not in the subset")
    if word == "(" and before in (")", "]", "}"):
        raise NotInSubset("a call of something without a name is not in the subset")
