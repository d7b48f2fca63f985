"""Names in LDAP: filters with a user's name in them, and the names of groups in distinguished names; pure.

Law: a name never changes the meaning of a filter, and an entry is only the user's if its name is exactly the user's.
The second half is needed as directories compare loosely, and policies do not: `ALICE` finds `alice`, whose denials do
not name `ALICE`; `jose` finds `José`, and a trailing blank is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ranger_cdap.config.group_checks import USER, name_clauses

IN_CHAIN: Final = "1.2.840.113556.1.4.1941"
"""Active Directory's rule that follows groups in groups."""
PRIMARY_GROUP: Final = "primaryGroupID"
SID: Final = "objectSid"
"""An attribute of bytes, which stand as hexadecimal digits among the texts of an entry."""

# Blanks, too: a parser of filters may strip them, and so find another name.
_SPECIAL: Final = re.compile(r"[\\*()\x00-\x1f\x7f\s]")
_AVA: Final = re.compile(
    r'\s*([A-Za-z][\w.-]*|[0-9.]+)\s*=\s*("(?:[^"\\]|\\.)*"|(?:[^\\,+;"]|\\.)*)\s*([+,;]|$)', re.DOTALL
)
_DOMAIN: Final = re.compile(r"(?<![^,\s])dc=[^,+]+(,\s*dc=[^,+]+)*$", re.IGNORECASE)
_SHORTEST_SID: Final = 8
_ESCAPED: Final = re.compile(rb"\\([0-9A-Fa-f]{2}|.)", re.DOTALL)
_ASCII_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def escaped(text: str) -> str:
    """Return the text as a value in a filter (RFC 4515)."""
    return _SPECIAL.sub(lambda found: "".join(f"\\{byte:02x}" for byte in found[0].encode()), text)


def user_filter(template: str, user: str) -> str:
    """Return the filter for one user."""
    return template.replace(USER, escaped(user))


def name_attributes(template: str) -> tuple[str, ...]:
    """Return the attributes of the user that the filter compares with the name."""
    return tuple(dict.fromkeys(attribute for attribute, _, _ in name_clauses(template)))


def is_of_user(template: str, user: str, attributes: Mapping[str, Sequence[str]]) -> bool:
    """Return whether an attribute that the filter compares is exactly the name; ASCII letters around it may differ."""
    values = {name.lower(): found for name, found in attributes.items()}
    return any(
        _lower(value) == _lower(before + user + after) and value[len(before) : len(before) + len(user)] == user
        for attribute, before, after in name_clauses(template)
        for value in values.get(attribute.lower(), ())
    )


def members_filter(group_filter: str, attribute: str, values: Iterable[str], *, in_chain: bool = False) -> str:
    """Return the filter for the groups that have any of the values as a member."""
    rule = f":{IN_CHAIN}:" if in_chain else ""
    clauses = "".join(f"({attribute}{rule}={escaped(value)})" for value in values)
    return f"(&{group_filter}(|{clauses}))"


def primary_group_filter(user_sid: str, rid: str) -> str | None:
    """Return the filter for Active Directory's primary group: its SID is the user's, with another last number.

    `user_sid` is in hexadecimal digits, `rid` in decimal ones. None if they are not.
    """
    try:
        sid = bytes.fromhex(user_sid)[:-4] + int(rid).to_bytes(4, "little")
    except (ValueError, OverflowError):
        return None
    value = "".join(f"\\{byte:02x}" for byte in sid)
    return f"({SID}={value})" if len(sid) > _SHORTEST_SID else None


def domain_of(dn: str) -> str:
    """Return the domain at the end of a distinguished name; empty if it has none."""
    found = _DOMAIN.search(dn)
    return found[0] if found else ""


def group_name(dn: str, attribute: str) -> str | None:
    """Return the attribute's value in the first component of a distinguished name (RFC 4514); None if it has none."""
    rest = dn
    while found := _AVA.match(rest):
        if found[1].lower() == attribute.lower():
            return _unescaped(found[2])
        if found[3] != "+":
            return None
        rest = rest[found.end() :]
    return None


def _unescaped(value: str) -> str | None:
    """Return the text of a value; None for one in hexadecimal form, or one that is not text."""
    if value.startswith('"'):
        value = value[1:-1]
    else:
        if value.startswith("#"):
            return None
        # An escaped blank at the end belongs to the value.
        value = value if re.search(r"\\ $", value) else value.rstrip(" ")
    try:
        return _ESCAPED.sub(_byte, value.encode()).decode() or None
    except UnicodeError:
        return None


def _byte(found: re.Match[bytes]) -> bytes:
    return bytes.fromhex(found[1].decode()) if len(found[1]) == 2 else found[1]


def _lower(text: str) -> str:
    return text.translate(_ASCII_LOWER)
