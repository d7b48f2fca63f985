"""The claims a caller may make: its own name alone, and everything with the role `delegate`.

Law: no caller gets an answer for claimed groups, attributes, an owner or another name unless it is a delegate; no
caller may claim roles, because Ranger's role definitions decide those.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ranger_cdap.service.http.callers import Caller, CallerRole
from ranger_cdap.service.http.reply import Refused

OWNER: Final = "OWNER"
"""Attribute of a resource that names its owner."""

_OF_SUBJECT: Final = "subject."
_OF_RESOURCE: Final = "resource."
_OF_DELEGATES: Final = (_OF_SUBJECT, _OF_RESOURCE, "token:")
"""Prefixes of context keys: attributes, and values of macros in policies."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Claims of a request: the user, attributes of the user and the resource, and the context."""

    user: str
    groups: Collection[str] | None = None
    roles: Collection[str] | None = None
    user_attributes: Mapping[str, Any] | None = None
    resource_attributes: Mapping[str, Any] | None = None
    circumstances: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrustedClaims:
    """Verified claims for a decision; attributes are in the context, as `subject.NAME` and `resource.NAME`."""

    user: str
    groups: frozenset[str]
    owner: str | None
    context: Mapping[str, str]


def verify_claims(caller: Caller, said: Claims) -> TrustedClaims:
    """Verify the claims of this caller.

    Raises:
        Refused: with 403 if a claim is for delegates only, with 400 if no caller may make it or the owner is not a
            name.
    """
    brings = bool(said.groups or said.roles or said.user_attributes)
    brings |= any(key.startswith(_OF_DELEGATES) for key in said.circumstances)
    if CallerRole.DELEGATE not in caller.roles and (brings or said.user != caller.name):
        raise _not_authorized(caller)
    if said.roles:
        raise Refused(400, "`roles` cannot be sent in a request; Ranger's role definitions determine them")
    context = _texts("", said.circumstances) | _texts(_OF_SUBJECT, said.user_attributes or {})
    return of_resource(
        caller, TrustedClaims(said.user, frozenset(said.groups or ()), None, context), said.resource_attributes
    )


def of_resource(caller: Caller, claims: TrustedClaims, attributes: Mapping[str, Any] | None) -> TrustedClaims:
    """Add the claims about one resource; without any, return the same object.

    Raises:
        Refused: as `verify_claims`.
    """
    if not attributes:
        return claims
    if CallerRole.DELEGATE not in caller.roles:
        raise _not_authorized(caller)
    owner = attributes.get(OWNER)
    if owner is not None and (not isinstance(owner, str) or not owner):
        raise Refused(400, f"the attribute `{OWNER}` must be the name of a user")
    context = {**claims.context, **_texts(_OF_RESOURCE, attributes)}
    return TrustedClaims(claims.user, claims.groups, owner, context)


def _not_authorized(caller: Caller) -> Refused:
    return Refused(403, f"{caller.name} is not authorized")


def _texts(prefix: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Return single values in the form of policies; lists and objects are dropped."""
    return {prefix + key: _text(value) for key, value in values.items() if isinstance(value, str | int | float)}


def _text(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
