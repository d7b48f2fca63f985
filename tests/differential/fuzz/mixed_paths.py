"""Paths and URLs of a mixed scenario: few names, and around them everything that their grammar has.

Left out: a requested value that is empty where only children are asked for, because Java then fails with an exception.
"""

from __future__ import annotations

from typing import Any

from tests.differential.fuzz.die import Die

Json = dict[str, Any]

PACKAGE = "org.apache.ranger.plugin.resourcematcher."
PATH, URL = f"{PACKAGE}RangerPathResourceMatcher", f"{PACKAGE}RangerURLResourceMatcher"
MATCHERS = (f"{PACKAGE}RangerDefaultResourceMatcher",) * 9 + (PATH, PATH, URL)
SEPARATORS = (".", ":", "|")

PARTS = ("a", "b", "ab", "A", "aab", "axb", "a", "b", "ab", ".", "..", "", "\U0001f600", "\xe4", "\u212a", "a b", "s")
SCHEMES = ("s3a://", "s3a://", "s3a://", "S3A://", "hdfs://", "a:", "a:b://", "s3a:///", "://", "")
INSERTED = ("*", "*", "?", "**", "*?", "?*", "{USER}", "{USER}", "{team}", "{NOBODY}", "{a*}", "..", "\\", "{", "$")


def separator_of(level: Json) -> str:
    return str(level.get("matcherOptions", {}).get("pathSeparatorChar", "/"))


def is_path(level: Json) -> bool:
    return level.get("matcher") in (PATH, URL)


def separators(definition: Json) -> dict[str, str]:
    """The separator of each level of paths or URLs."""
    return {level["name"]: separator_of(level) for level in definition["resources"] if is_path(level)}


def path_names(die: Die, level: Json, *, missed: tuple[str, ...]) -> list[str]:
    """Two paths or URLs and some below them; `missed`: letters that may be among their parts."""
    separator = separator_of(level)
    names: list[str] = []
    for _ in range(2):
        roots = SCHEMES if level["matcher"] == URL else (separator, separator, separator, "", separator * 2)
        parts = [die.one((*PARTS, *missed)) for _ in range(die.between(1, 3))]
        names.append(die.one(roots) + separator.join(parts) or separator)
    return [*names, *(below(die, name, separator) for name in names)]


def below(die: Die, path: str, separator: str) -> str:
    return path + separator * die.one((1, 1, 1, 2)) + die.one(PARTS)


def policy_value(die: Die, path: str, separator: str) -> str:
    """A path, an ancestor of it, or one with something inserted, taken away or appended."""
    value = ancestor(die, path, separator) if die.chance(50) else path
    for _ in range(die.one((0, 0, 1, 2))):
        at = die.between(0, len(value))
        kind = die.between(1, 8)
        if kind <= 3:
            value = value[:at] + die.one(INSERTED) + value[at:]
        elif kind <= 5:
            value = value[:at] + die.one(("*", "?", "")) + value[at + 1 :]
        else:
            last = "" if value.endswith(separator) else separator
            value += last + die.one(("", "*", "*", "**", "{USER}", "{USER}", "?", f"*{separator}a", separator, "a*"))
    return value or separator


def requested_value(die: Die, path: str, separator: str) -> str:
    """A path, one above or below it, or with separators doubled, taken away or appended, or in another case."""
    kind = die.between(1, 12)
    if kind <= 5:
        return path
    if kind <= 7:
        return below(die, path, separator)
    if kind <= 8:
        return ancestor(die, path, separator)
    if kind == 9:
        return path + separator * die.between(1, 2)
    if kind == 10:
        return path.replace(separator, separator * 2) if die.chance(70) else path.replace(separator, "", 1)
    cut = path[: die.between(0, len(path))]
    return die.one((path.swapcase(), path.upper(), f" {path}", f"{path}\t", cut, separator))


def ancestor(die: Die, path: str, separator: str) -> str:
    """What ends before some separator, or with it; the path itself if it has none."""
    places = [n for n, c in enumerate(path) if c == separator]
    return path[: die.one(places) + die.one((0, 0, 1))] if places else path
