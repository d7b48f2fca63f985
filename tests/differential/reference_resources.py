"""How a policy's resource lies to the requested one: hierarchies, elements, wildcards, macros, plainly written.

Part of the reference engine; numbers in brackets are sections of `ranger-semantics.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Any

Json = Mapping[str, Any]

SELF, SELF_AND_ALL_DESCENDANTS = "SELF", "SELF_AND_ALL_DESCENDANTS"
ANCESTOR, DESCENDANT, NONE = "ANCESTOR", "DESCENDANT", "NONE"


def hierarchies(service_def: Json) -> list[list[str]]:
    """Every path from a root to a leaf, and to what may be one; none at all if a leaf is said not to be one [§2.2]."""
    defs = {d["name"]: d for d in service_def["resources"]}
    parents = {d.get("parent") for d in defs.values()}
    sinks = [name for name in defs if name not in parents]
    if any(defs[name].get("isValidLeaf") is False for name in sinks):
        return []

    def path(name: str) -> list[str]:
        above = defs[name].get("parent")
        return [*(path(above) if above else ()), name]

    return [path(name) for name in defs if name in sinks or defs[name].get("isValidLeaf")]


def fits(keys: Iterable[str], hierarchy: Sequence[str]) -> bool:
    """All keys are levels of the hierarchy, and none is missing above another."""
    present = [name in set(keys) for name in hierarchy]
    return set(keys) <= set(hierarchy) and all(above or not below for above, below in pairwise(present))


def match(service_def: Json, resources: Json, request: Json, tokens: Json) -> str:
    """The match type of a policy's resource and a requested one [§5.4]."""
    asked = request["resource"]
    if not resources:
        return NONE if asked else SELF
    own = [hierarchy for hierarchy in hierarchies(service_def) if fits(resources, hierarchy)]
    common = own if len(own) == 1 else sorted((h for h in own if set(asked) <= set(h)), key=len)
    if not common or not fits(asked, common[0]):
        return NONE
    defs = {d["name"]: d for d in service_def["resources"]}
    levels = [Element(defs[name], resources[name]) for name in common[0] if name in resources]
    result = NONE if asked else SELF
    for name, level in zip_longest(common[0], levels):
        if level is None:
            result = ANCESTOR if name in asked else result
            break
        if name in asked or level.match_any:
            result = SELF if level.matches(asked.get(name), tokens) else NONE
            if result == NONE:
                break
    if result == SELF and len(asked) < len(resources):
        last = max((i for i, level in enumerate(levels) if not level.match_any), default=-1)
        return SELF_AND_ALL_DESCENDANTS if len(asked) > last else DESCENDANT
    return result


class Element:
    """One level of a policy's resource: the default matcher [§5.1]."""

    def __init__(self, resource_def: Json, resource: Json) -> None:
        options = {k: str(v).lower() == "true" for k, v in (resource_def.get("matcherOptions") or {}).items()}
        self.wildcard = options.get("wildCard", True)
        self.ignore_case = options.get("ignoreCase", True)
        self.replace_tokens = options.get("replaceTokens", True)
        self.values = [value for value in resource.get("values") or () if value]
        self.excludes = resource.get("isExcludes", False)
        self.match_any = not self.values or (self.wildcard and any(set(value) == {"*"} for value in self.values))

    def matches(self, asked: str | Sequence[str] | None, tokens: Json) -> bool:
        everything = asked is None or asked in ("", "*")
        if self.match_any:
            hit = True
        elif everything:
            hit = False
        else:
            texts = [asked] if isinstance(asked, str) else asked or ()
            hit = any(self.one(value, text, tokens) for value in self.values for text in texts)
        return hit if not self.excludes or (everything and not self.match_any) else not hit

    def one(self, value: str, text: str, tokens: Json) -> bool:
        """What the raw value looks like decides how its expansion is read: as a text, an end of one, or a pattern."""
        expanded = expand(value, tokens) if self.replace_tokens else value
        if self.ignore_case:
            expanded, text = expanded.lower(), text.lower()
        stars = re.findall(r"\*+", value) if self.wildcard else []
        if self.wildcard and ("?" in value or len(stars) > 1 or (stars and "*" not in (value[0], value[-1]))):
            return wildcard_match(expanded, text)
        if stars and value[0] == "*":
            return text.endswith(expanded.lstrip("*"))
        return text.startswith(expanded.rstrip("*")) if stars else text == expanded


def utf16_units(text: str) -> str:
    data = text.encode("utf-16-be", "surrogatepass")
    return "".join(chr(high * 256 + low) for high, low in zip(data[::2], data[1::2], strict=True))


def wildcard_match(pattern: str, text: str) -> bool:
    """`*` any text, `?` one UTF-16 unit, which takes away the meaning of stars right before it [§5.1.1]."""
    pattern, text = utf16_units(pattern), utf16_units(text)
    reached = {0}  # the places in the text to which the pattern has come
    for sign in re.sub(r"\*+(?=\?)", "", pattern):
        if sign == "*":
            reached = set(range(min(reached, default=len(text) + 1), len(text) + 1))
        else:
            reached = {place + 1 for place in reached if place < len(text) and sign in ("?", text[place])}
    return len(text) in reached


def expand(value: str, tokens: Json) -> str:
    """`{NAME}` by its meaning; unknown names stay; a backslash takes away the meaning of a brace [§5.2]."""
    if "\\" not in value and not ("{" in value and "}" in value):
        return value
    done, name = "", None
    characters = iter(re.findall(r"\\\\|\\\{|\\\}|.", value, re.DOTALL))
    for character in characters:
        if name is None:
            if character == "{":
                name = ""
            else:
                done += character[1] if character in ("\\\\", "\\{") else character
        elif character == "}":
            done, name = done + str(tokens.get(name, "{" + name + "}")), None
        else:
            name += character[1] if character in ("\\\\", "\\}") else character
    return done if name is None else done + "{" + name
