"""Transformation of the names in a request, before it is decided (ranger-semantics.md §4.1, steps 3 to 5).

Law: a name becomes what Ranger 2.9.0 makes of it, or the configuration or the name is refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

from ranger_cdap.engine.compiled.conditions import AttributeStore
from ranger_cdap.engine.compiled.options import EngineOptions
from ranger_cdap.errors import PolicySetError

CONF: Final = "ranger.plugins.conf."
HANDLER: Final = "org.apache.ranger.ugsyncutil.transform.RegEx"
MAX_LENGTH: Final = 255
"""Characters of a name that a mapping is applied to, so that no name takes long."""

_EMAIL: Final = "_emailAddress"
_SEPARATORS: Final = frozenset("/#,:;~!@%=_ ")
_LINE_ENDS: Final = frozenset("\n\r\x85\u2028\u2029")
_MOST_REPEATS: Final = 2
_ESCAPED: Final = r"\\[dDwWsS]|\\[!-/:-@\[-`{-~]"
_IN_SET: Final = rf"[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|{_ESCAPED}|[^\\\[\]^&-]"
_TOKEN: Final = re.compile(
    rf"(?P<structure>\((?:\?:)?|[)|^$])"
    rf"|(?:\[(?P<set>\^?(?:{_IN_SET})+-?)\]|(?P<one>{_ESCAPED}|\.|[^\\\[\](){{}}*+?|^$.]))"
    rf"(?P<repeat>(?:[*+?]|\{{[0-9]{{1,2}}(?:,(?:[0-9]{{1,2}})?)?\}})\??)?"
)

Rule = tuple[re.Pattern[str], tuple[str | int, ...]]
"""A pattern, and its replacement: texts and numbers of groups."""


class UncertainName(Exception):
    """A name of which it is not certain what Ranger makes; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class NameMapping:
    """Case conversion of the names of users, or of groups, and then rules by regular expressions."""

    convert: Callable[[str], str] | None = None
    rules: tuple[Rule, ...] = ()

    def of(self, name: str) -> str:
        """Return the name converted and mapped.

        Raises:
            UncertainName: Ranger may make another name of it.
        """
        if self.convert is not None:
            name = self.convert(name)
        for pattern, replacement in self.rules:
            if len(name) > MAX_LENGTH or any(c in _LINE_ENDS or c > "\uffff" for c in name):
                raise UncertainName(
                    f"names of more than {MAX_LENGTH} characters, with line breaks or with characters that Java"
                    " holds as two are not mapped"
                )
            name = _replaced(pattern, replacement, name)
        return name


_UNCHANGED: Final = NameMapping()


@dataclass(frozen=True, slots=True)
class NameTransformation:
    """Transformation of the names in requests; without arguments it changes none.

    `emails` maps addresses to users of the user store, None for an address of several; it is None itself where
    addresses are not converted. `stored_groups` says how the user store's groups are combined with those of a request.
    """

    users: NameMapping = _UNCHANGED
    members: NameMapping = _UNCHANGED
    emails: Mapping[str, str | None] | None = None
    stored_groups: Literal["added", "only", "ignored"] = "added"

    def user(self, name: str) -> str:
        """Return the user that a request of this name is decided for.

        Raises:
            UncertainName: Ranger may decide for another user.
        """
        name = self.users.of(name)
        local, at, _ = name.partition("@")
        if self.emails is None or not (local and at):
            return name
        found = self.emails.get(name, "")
        if found is None:
            raise UncertainName("several users of Ranger's user store have this e-mail address")
        return found if found.strip() else local

    def groups(self, names: frozenset[str]) -> tuple[frozenset[str], bool]:
        """Return the groups that a request with these is decided with, and whether each of them is certain."""
        if self.members == _UNCHANGED:
            return names, True
        found, certain = set(), True
        for name in names:
            try:
                found.add(self.members.of(name))
            except UncertainName:
                certain = False
        return frozenset(found), certain

    @property
    def changes(self) -> tuple[str, ...]:
        """Return what is changed, in words."""
        said = {
            "names of users": self.users != _UNCHANGED,
            "names of groups": self.members != _UNCHANGED,
            "e-mail addresses": self.emails is not None,
        }
        return tuple(text for text, is_changed in said.items() if is_changed)


AS_GIVEN: Final = NameTransformation()
"""The transformation that changes no name."""


def name_transformation(
    options: EngineOptions, config: Mapping[str, str], store: AttributeStore | None
) -> NameTransformation:
    """Return the transformation by the options, a service's configuration and the user store.

    Raises:
        PolicySetError: it is not certain to be Ranger's.
    """
    users = members = NameMapping()
    if options.transform_names:
        users, members = _mapping("user", config), _mapping("group", config)
        if members.convert is not None and f"{CONF}mapping.groupname.handler" not in config:
            raise PolicySetError(
                f"`{CONF}ldap.groupname.caseconversion` needs `{CONF}mapping.groupname.handler`, without which Ranger"
                " fails on each request with groups; set both in Ranger Admin, or `plugin.transform_names = false`"
            )
    emails = _emails(store) if options.email_to_user else None
    return NameTransformation(users, members, emails, options.stored_groups)


def _emails(store: AttributeStore | None) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for user, attributes in (store.user_attr_mapping if store is not None else {}).items():
        if (address := attributes.get(_EMAIL)) is not None:
            found[address] = None if address in found else user
    return found


def _mapping(kind: str, config: Mapping[str, str]) -> NameMapping:
    """Return the mapping of the names of one kind."""
    convert = _CONVERSIONS.get(config.get(f"{CONF}ldap.{kind}name.caseconversion", "").lower())
    place = f"{CONF}mapping.{kind}name.handler"
    handler = config.get(place)
    if handler is None:
        return NameMapping(convert)
    if handler != HANDLER:
        raise PolicySetError(f"`{place}` is `{handler}`, which is Java; only `{HANDLER}` is supported")
    return NameMapping(convert, tuple(_rules(f"{CONF}mapping.{kind}name.regex", config)))


def _rules(base: str, config: Mapping[str, str]) -> Iterable[Rule]:
    texts, key = [], base
    while key in config:
        texts.append((key, config[key]))
        key = f"{base}.{len(texts)}"
    separator = config.get(f"{CONF}mapping.regex.separator", "")
    if any(text for _, text in texts) and separator not in _SEPARATORS:
        raise PolicySetError(f"`{CONF}mapping.regex.separator` is `{separator}`, not one of {' '.join(_SEPARATORS)}")
    found: dict[str, tuple[str, str]] = {}
    for key, text in texts:
        for m in re.finditer(f"s{separator}([^{separator}]*){separator}([^{separator}]*){separator}g?", text):
            if m[1]:
                found[m[1]] = (key, m[2])
    for text, (key, replacement) in found.items():
        pattern = _pattern(key, text)
        yield pattern, _replacement(key, replacement, pattern.groups)


def _pattern(key: str, text: str) -> re.Pattern[str]:
    """Return a pattern that finds what Java finds, in a name without line breaks."""
    at, repeats, parts = 0, 0, []
    while at < len(text) and (token := _TOKEN.match(text, at)):
        at = token.end()
        parts.append(token["structure"] or _single(token) + (token["repeat"] or ""))
        repeats += (token["repeat"] or "?")[0] != "?"
    with suppress(re.error):
        if at == len(text) and repeats <= _MOST_REPEATS:
            return re.compile("".join(parts), re.ASCII)
    raise PolicySetError(
        f"the regular expression `{text}` of `{key}` is not certain to mean the same as in Java; use letters, sets,"
        f" groups without a repetition, and at most {_MOST_REPEATS} repetitions"
    )


def _single(token: re.Match[str]) -> str:
    if token["set"] is None:
        one = token["one"]
        return one if len(one) > 1 or one == "." else re.escape(one)
    inside = token["set"].removeprefix("^")
    items = (m[0] if len(m[0]) > 1 else re.escape(m[0]) for m in re.finditer(f"{_IN_SET}|-", inside))
    return f"[{'^' if token['set'].startswith('^') else ''}{''.join(items)}]"


def _replacement(key: str, text: str, groups: int) -> tuple[str | int, ...]:
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        if text[at] in "\\$" and at + 1 == len(text):
            break
        if text[at] == "$":
            if not (number := _group_number(text[at + 1 :], groups)):
                break
            parts.append(int(number))
            at += 1 + len(number)
        else:
            at += text[at] == "\\"
            parts.append(text[at])
            at += 1
    else:
        return tuple(parts)
    raise PolicySetError(f"the replacement `{text}` of `{key}` names no group of its regular expression")


def _group_number(text: str, groups: int) -> str:
    """Return the longest number of a group that a text begins with; empty if there is none."""
    digits = re.match("[0-9]*", text)[0]  # type: ignore[index]
    return next((digits[:n] for n in range(len(digits), 0, -1) if int(digits[:n]) <= groups), "")


def _replaced(pattern: re.Pattern[str], replacement: tuple[str | int, ...], name: str) -> str:
    """Return the name with each match replaced; after an empty match the search goes on one character later."""
    parts, at, start = list[str](), 0, 0
    while start <= len(name) and (found := pattern.search(name, start)):
        parts.append(name[at : found.start()])
        parts += [part if isinstance(part, str) else found[part] or "" for part in replacement]
        at = found.end()
        start = at + (at == found.start())
    return "".join([*parts, name[at:]])


def _lower(name: str) -> str:
    _require_old_letters(name, "\u03a3")  # Java looks for the end of a word otherwise than Python
    return name.lower()


def _upper(name: str) -> str:
    _require_old_letters(name, "")
    return name.upper()


def _require_old_letters(name: str, uncertain: str) -> None:
    """Raise UncertainName for letters that not every Java and Python convert alike: those younger than Unicode 3.2."""
    if not name.isascii() and any(c in uncertain or unicodedata.ucd_3_2_0.category(c) == "Cn" for c in name):
        raise UncertainName("not every Java converts the case of all letters of this name alike")


_CONVERSIONS: Final[Mapping[str, Callable[[str], str]]] = {"lower": _lower, "upper": _upper}
