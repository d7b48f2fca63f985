"""Validation of `[groups]` and `[ldap]`: settings that find the wrong user, or show a password, are refused."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from ranger_cdap.config.address import can_be_plain, unencrypted
from ranger_cdap.config.groups import GroupSettings, LdapSettings
from ranger_cdap.errors import ConfigError, suggestion

SOURCES: Final = ("ldap", "posix")
USER: Final = "{user}"

_URL: Final = re.compile(r"(?P<scheme>ldaps?)://(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?/?")
_USER_CLAUSE: Final = re.compile(
    r"\((?P<attribute>[A-Za-z][\w;-]*)(:[\w.]+:)?=(?P<before>[^(){}*\\]*)\{user\}(?P<after>[^(){}*\\]*)\)"
)
_ATTRIBUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_DEFAULT_PORT: Final = {"ldap": 389, "ldaps": 636}
_DEEPEST: Final = 20
_LONGEST_WAIT: Final = 60.0

Problem = tuple[str, str]
"""A setting, and what is wrong with it."""


def ldap_server(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port of a server.

    Raises:
        ConfigError: it is not the address of one.
    """
    found = _URL.fullmatch(url)
    port = int((found and found["port"]) or 1)
    if found is None or not 0 < port <= 65_535:
        raise ConfigError(f"an address of `ldap.urls` must be like `ldaps://dc1.example`, not {url[:100]!a}")
    return found["scheme"], found["host"].strip("[]"), port if found["port"] else _DEFAULT_PORT[found["scheme"]]


def name_clauses(user_filter: str) -> tuple[tuple[str, str, str], ...]:
    """Return each comparison with the user: the attribute, and the text before and after the name."""
    return tuple((m["attribute"], m["before"], m["after"]) for m in _USER_CLAUSE.finditer(user_filter))


def group_problems(groups: GroupSettings, ldap: LdapSettings, plain_hosts: Collection[str]) -> Iterator[Problem]:
    """Yield what is wrong with the settings; those of the directory are checked if it is a source."""
    for name in groups.sources:
        if name not in SOURCES:
            hint = suggestion(name, SOURCES)
            yield "groups.sources", f"there is no source of groups `{name}`{hint}; there are {', '.join(SOURCES)}"
    if groups.deadline > _LONGEST_WAIT:
        yield "groups.deadline", f"`groups.deadline` must be at most {_LONGEST_WAIT:g}, as every decision waits for it"
    if "ldap" in groups.sources:
        yield from _servers(ldap, plain_hosts)
        yield from ((f"ldap.{key}", text) for is_wrong, key, text in _rules(ldap) if is_wrong)
        yield from _names(ldap)


def _servers(ldap: LdapSettings, plain_hosts: Collection[str]) -> Iterator[Problem]:
    if not ldap.urls:
        yield "groups.sources", "`groups.sources` has `ldap`, so `ldap.urls` must be set too"
    for url in ldap.urls:
        try:
            scheme, host, _ = ldap_server(url)
        except ConfigError as e:
            yield "ldap.urls", str(e)
            continue
        if scheme == "ldaps" and ldap.start_tls:
            yield "ldap.start_tls", f"`ldap.start_tls` is for `ldap://`; `{url}` is encrypted without it"
        elif scheme == "ldap" and not (ldap.start_tls or can_be_plain(host, plain_hosts)):
            yield "ldap.urls", unencrypted("ldap.urls", url, host, "ldaps:// or `ldap.start_tls = true`")


def _rules(ldap: LdapSettings) -> tuple[tuple[bool, str, str], ...]:
    """Return rules, each with whether it is broken, the setting that breaks it, and what to say then."""
    compared = len(name_clauses(ldap.user_filter))
    return (
        (
            bool(ldap.anonymous and ldap.bind_dn),
            "anonymous",
            "`ldap.anonymous` and `ldap.bind_dn` exclude each other; remove one",
        ),
        (
            not ldap.anonymous and not ldap.bind_dn,
            "bind_dn",
            "`ldap.bind_dn` is not set; name the account that searches, or set `ldap.anonymous`",
        ),
        (
            # A server takes a name without a password as anonymous, and reports success.
            bool(ldap.bind_dn) and not ldap.bind_password.is_set,
            "bind_password",
            "`ldap.bind_password` is empty; set the password of `ldap.bind_dn`",
        ),
        (
            not ldap.user_base,
            "user_base",
            "`ldap.user_base` is not set; name the entry below which users are, like `dc=example`",
        ),
        (
            compared != ldap.user_filter.count(USER) or compared == 0,
            "user_filter",
            "`ldap.user_filter` must compare an attribute with `{user}`, without wildcards, like `(uid={user})`",
        ),
        (
            "{" in ldap.group_filter,
            "group_filter",
            "`ldap.group_filter` is for all groups, so nothing in it is replaced; remove `{`",
        ),
        (
            ldap.member_value.lower() != "dn" and bool(ldap.nested_depth or ldap.in_chain),
            "member_value",
            "groups in groups are members by their `dn`, so `ldap.member_value` excludes `ldap.nested_depth` and"
            " `ldap.in_chain`; remove one",
        ),
        (
            not 0 <= ldap.nested_depth <= _DEEPEST,
            "nested_depth",
            f"`ldap.nested_depth` must be from 0 to {_DEEPEST}, not `{ldap.nested_depth}`",
        ),
    )


def _names(ldap: LdapSettings) -> Iterator[Problem]:
    for key in ("user_filter", "group_filter"):
        text = getattr(ldap, key)
        if not (text.startswith("(") and text.endswith(")") and _is_balanced(text)):
            yield f"ldap.{key}", f"`ldap.{key}` is not a filter: one pair of parentheses around it, and pairs inside"
    for key in ("member_attribute", "member_value", "name_attribute", "gid_attribute", "memberof_attribute"):
        text = getattr(ldap, key)
        if not _ATTRIBUTE.fullmatch(text) and (text or key not in ("gid_attribute", "memberof_attribute")):
            yield f"ldap.{key}", f"`ldap.{key}` must be the name of an attribute, not {text[:100]!a}"


def _is_balanced(text: str) -> bool:
    depth = 0
    for n, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0 or (depth == 0 and n < len(text) - 1):
            return False
    return depth == 0
