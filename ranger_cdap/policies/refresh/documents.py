"""The documents a plugin downloads, and the set they make together: what is compiled, cached and put into effect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from ranger_cdap.engine import EngineOptions, PolicyEngine
from ranger_cdap.engine.lookup.delta import read_changes
from ranger_cdap.engine.model.wire import decode_roles, decode_service_policies, decode_service_tags, decode_user_store
from ranger_cdap.errors import PolicySetError
from ranger_cdap.policies.client.versions import NO_VERSION, Versions
from ranger_cdap.policies.refresh.policy_text import PolicyText

_NULL: Final = msgspec.Raw(b"null")


@dataclass(frozen=True, slots=True)
class Documents:
    """The downloads as they came; `tags` is None where the service has no tag policies, `users` if not downloaded.

    Policies that deltas have changed are a `PolicyText`.
    """

    policies: bytes | PolicyText
    roles: bytes
    tags: bytes | None = None
    users: bytes | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PolicySet:
    """Documents of one service, compiled; immutable."""

    documents: Documents
    versions: Versions
    engine: PolicyEngine
    user_groups: Mapping[str, Sequence[str]] | None = None

    def groups_of(self, user: str) -> frozenset[str]:
        """The groups Ranger knows the user to be in; none where the user store was not asked for."""
        return frozenset(self.user_groups.get(user, ()) if self.user_groups is not None else ())


class _Envelope(msgspec.Struct):
    """The part of a policy download that decides which other downloads are needed; the rest is skipped, for speed."""

    policyDeltas: msgspec.Raw = _NULL  # noqa: N815 - Ranger's name
    tagPolicies: msgspec.Raw = _NULL  # noqa: N815


# msgspec learns a type at its first use; threads that do so at once can end the process, so it is done on import.
_decoder: Final = msgspec.json.Decoder(_Envelope)


def needs_tags(policies: bytes | PolicyText) -> bool:
    """Whether a download of policies carries tag policies, so that the tags decide too.

    Raises:
        PolicySetError: it cannot be read.
    """
    if isinstance(policies, PolicyText):
        return bytes(policies.members.get("tagPolicies", _NULL)) != bytes(_NULL)
    return bytes(_envelope(policies).tagPolicies) != bytes(_NULL)


def holds_deltas(policies: bytes) -> bool:
    """Whether a download of policies holds what has changed since the version asked with, instead of all policies.

    Raises:
        PolicySetError: it cannot be read.
    """
    if bytes(_envelope(policies).policyDeltas) == bytes(_NULL):
        return False
    return not decode_service_policies(policies).policies


def _envelope(policies: bytes) -> _Envelope:
    try:
        return _decoder.decode(policies)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise PolicySetError("the downloaded policies cannot be read: not a JSON object") from None


def pieces(content: bytes | PolicyText) -> Iterable[bytes]:
    """A document to be written."""
    return content.pieces() if isinstance(content, PolicyText) else (content,)


def no_users() -> bytes:
    """The document of a Ranger that knows no users."""
    return msgspec.json.encode({"userStoreVersion": NO_VERSION})


def no_tags(service: str) -> bytes:
    """The document of a service whose resources carry no tag."""
    return msgspec.json.encode({"serviceName": service, "tagVersion": NO_VERSION})


def compile_set(documents: Documents, service: str, options: EngineOptions) -> PolicySet:
    """The set these documents make; it is used whole or not at all.

    Raises:
        PolicySetError: one of them cannot be read or belongs to another service, or the engine cannot use them.
    """
    try:
        return _compile(documents, service, options)
    except PolicySetError:
        raise
    except Exception as e:
        # A document can be made to break any reader; whatever it breaks, it must not be used.
        raise PolicySetError(f"the policies of service `{service}` cannot be used: {type(e).__name__}") from e


def after_deltas(policy_set: PolicySet, policies: bytes, service: str) -> PolicySet | None:
    """The set after the deltas of a download; None where all policies have to be downloaded.

    That is so for deltas of zones and of tag policies, which are rare, and for deltas that cannot be applied.
    """
    try:
        document = decode_service_policies(policies)
        component = policy_set.engine.service_def.name
        changes = read_changes(document.policyDeltas or (), (component,))
        if document.securityZones or document.serviceName not in ("", service):
            return None
        engine = policy_set.engine.with_deltas(document)
        before = policy_set.documents.policies
        text = before if isinstance(before, PolicyText) else PolicyText.of(before)
    except PolicySetError:
        return None
    documents = replace(policy_set.documents, policies=text.changed(document.policyVersion, changes))
    versions = replace(policy_set.versions, policies=engine.policy_version)
    return replace(policy_set, documents=documents, versions=versions, engine=engine)


def with_users(policy_set: PolicySet, users: bytes | None) -> PolicySet:
    """The set with other users; the engine is the same.

    Raises:
        PolicySetError: the users cannot be read.
    """
    store = decode_user_store(users) if users is not None else None
    return replace(
        policy_set,
        documents=replace(policy_set.documents, users=users),
        versions=replace(policy_set.versions, users=NO_VERSION if store is None else store.userStoreVersion),
        user_groups=None if store is None else store.userGroupMapping,
    )


def _compile(documents: Documents, service: str, options: EngineOptions) -> PolicySet:
    whole = b"".join(pieces(documents.policies))
    policies = decode_service_policies(whole)
    if policies.policyDeltas is not None and not policies.policies:
        raise PolicySetError(f"the policies of service `{service}` are not whole, there are only changes to them")
    roles = decode_roles(documents.roles)
    tags = decode_service_tags(documents.tags) if documents.tags is not None else None
    users = decode_user_store(documents.users) if documents.users is not None else None
    _refuse_another_service("roles", roles.serviceName, service)
    _refuse_another_service("tags", tags.serviceName if tags is not None else "", service)
    engine = PolicyEngine.build(policies, service=service, roles=roles, tags=tags, options=options)
    versions = Versions(
        policies=engine.policy_version,
        roles=roles.roleVersion,
        tags=NO_VERSION if tags is None else tags.tagVersion,
        users=NO_VERSION if users is None else users.userStoreVersion,
    )
    return PolicySet(documents, versions, engine, None if users is None else users.userGroupMapping)


def _refuse_another_service(what: str, name: str, service: str) -> None:
    if name not in ("", service):
        raise PolicySetError(f"the {what} belong to service `{name}`, not to `{service}`")
