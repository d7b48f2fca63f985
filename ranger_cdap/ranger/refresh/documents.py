"""Downloaded documents of a service, and the compiled policy set of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from ranger_cdap.collector import gc_paused
from ranger_cdap.engine import EngineOptions, PolicyEngine
from ranger_cdap.engine.view import read_changes
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger.client.versions import NO_VERSION, Versions
from ranger_cdap.ranger.refresh.policy_text import PolicyText
from ranger_cdap.ranger_model.decode import (
    decode_roles,
    decode_service_policies,
    decode_service_tags,
    decode_user_store,
)
from ranger_cdap.ranger_model.json_text import decode

_NULL: Final = msgspec.Raw(b"null")


class Documents(msgspec.Struct, frozen=True):
    """Unchanged downloads; `tags` is None if the service has no tag policies, `users` if not downloaded.

    Policies changed by deltas are a `PolicyText`.
    """

    policies: bytes | PolicyText
    roles: bytes
    tags: bytes | None = None
    users: bytes | None = None

    def __repr__(self) -> str:
        return "Documents(...)"  # a log or a terminal does not get all policies and users


class PolicySet(msgspec.Struct, frozen=True, eq=False):
    """Documents of one service, compiled; immutable."""

    documents: Documents
    versions: Versions
    engine: PolicyEngine
    user_groups: Mapping[str, Sequence[str]] | None

    def __repr__(self) -> str:
        return f"PolicySet({self.versions!r})"

    def groups_of(self, user: str) -> frozenset[str]:
        """Return the user's groups in Ranger; none if the user store was not downloaded."""
        return frozenset(self.user_groups.get(user, ()) if self.user_groups is not None else ())


class _Envelope(msgspec.Struct, rename="camel"):
    """The part of a policy download that determines which other downloads are needed; the rest is skipped for speed."""

    policy_deltas: msgspec.Raw = _NULL
    tag_policies: msgspec.Raw = _NULL


# msgspec learns a type at its first use; threads that do so at once can end the process, so it is done on import.
_decoder: Final = msgspec.json.Decoder(_Envelope)


def needs_tags(policies: bytes | PolicyText) -> bool:
    """Return whether a policy download has tag policies, so that tags are needed.

    Raises:
        PolicySetError: it is unreadable.
    """
    if isinstance(policies, PolicyText):
        return bytes(policies.members.get("tagPolicies", _NULL)) != bytes(_NULL)
    return bytes(_envelope(policies).tag_policies) != bytes(_NULL)


def holds_deltas(policies: bytes) -> bool:
    """Return whether a policy download has deltas instead of all policies.

    Raises:
        PolicySetError: it is unreadable.
    """
    has_deltas = bytes(_envelope(policies).policy_deltas) != bytes(_NULL)
    return has_deltas and not decode_service_policies(policies).policies


def _envelope(policies: bytes) -> _Envelope:
    return decode(
        policies,
        _decoder,
        lambda _: PolicySetError("the downloaded policies cannot be read: not a JSON object"),
    )


def pieces(content: bytes | PolicyText) -> Iterable[bytes]:
    """Return a document in pieces, to be written."""
    return content.pieces() if isinstance(content, PolicyText) else (content,)


def no_users() -> bytes:
    """Return a user store without users."""
    return msgspec.json.encode({})


def no_tags(service: str) -> bytes:
    """Return a tag download without tags."""
    return msgspec.json.encode({"serviceName": service})


@gc_paused()
def compile_set(documents: Documents, service: str, options: EngineOptions) -> PolicySet:
    """Compile documents to a policy set, as a whole or not at all.

    Raises:
        MemoryError: as it is raised; the documents may be sound.
        PolicySetError: one of them is unreadable or belongs to another service, or the engine rejects them.
    """
    try:
        return _compile(documents, service, options)
    except (PolicySetError, MemoryError):
        raise
    except Exception as e:
        # A crafted document may raise any exception in a parser; it must not be used.
        raise PolicySetError(f"the policies of service `{service}` are unusable: {type(e).__name__}") from e


@gc_paused()
def after_deltas(policy_set: PolicySet, policies: bytes, service: str) -> PolicySet | None:
    """Apply the deltas of a download; None if all policies must be downloaded.

    These are deltas of zones and of tag policies, which are rare, and deltas that cannot be applied.
    """
    try:
        document = decode_service_policies(policies)
        component = policy_set.engine.service_def.name
        changes = read_changes(document.policy_deltas or (), (component,))
        if document.security_zones or document.service_name not in ("", service):
            return None
        engine = policy_set.engine.with_deltas(document)
        before = policy_set.documents.policies
        text = before if isinstance(before, PolicyText) else PolicyText.of(before)
    except PolicySetError:
        return None
    documents = replace(policy_set.documents, policies=text.changed(document.policy_version, changes))
    versions = replace(policy_set.versions, policies=engine.policy_version)
    return replace(policy_set, documents=documents, versions=versions, engine=engine)


def with_users(policy_set: PolicySet, users: bytes | None) -> PolicySet:
    """Return the set with other users and the same policies.

    Raises:
        PolicySetError: the users are unreadable.
    """
    store = decode_user_store(users) if users is not None else None
    return replace(
        policy_set,
        documents=replace(policy_set.documents, users=users),
        versions=replace(policy_set.versions, users=NO_VERSION if store is None else store.user_store_version),
        engine=policy_set.engine.with_attributes(store),
        user_groups=None if store is None else store.user_group_mapping,
    )


def _compile(documents: Documents, service: str, options: EngineOptions) -> PolicySet:
    policies = decode_service_policies(b"".join(pieces(documents.policies)))
    if policies.policy_deltas is not None and not policies.policies:
        raise PolicySetError(
            f"the policies of service `{service}` are incomplete: policy deltas without a full download"
        )
    roles = decode_roles(documents.roles)
    tags = decode_service_tags(documents.tags) if documents.tags is not None else None
    users = decode_user_store(documents.users) if documents.users is not None else None
    _refuse_another_service("roles", roles.service_name, service)
    _refuse_another_service("tags", tags.service_name if tags is not None else "", service)
    engine = PolicyEngine.build(policies, service=service, roles=roles, tags=tags, attributes=users, options=options)
    versions = Versions(
        policies=engine.policy_version,
        roles=roles.role_version,
        tags=NO_VERSION if tags is None else tags.tag_version,
        users=NO_VERSION if users is None else users.user_store_version,
    )
    return PolicySet(documents, versions, engine, None if users is None else users.user_group_mapping)


def _refuse_another_service(what: str, name: str, service: str) -> None:
    if name not in ("", service):
        raise PolicySetError(f"the {what} belong to service `{name}`, not to `{service}`")
