"""Policy deltas: the changes since the last download (ranger-semantics.md §17)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ranger_cdap.engine.compiled.load import PolicyEntries, load_policies
from ranger_cdap.engine.compiled.policy import PolicyCompiler
from ranger_cdap.engine.lookup.repository import PolicyRepository
from ranger_cdap.engine.model.problem import Problem
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.download import PolicyDelta
from ranger_cdap.ranger_model.json_repair import shown
from ranger_cdap.ranger_model.json_text import decode_or_none

_DELETE = 2
_CHANGE_TYPES = (0, 1, _DELETE)
_ACCESS_TYPES = (0, "0", None)


class _Head(msgspec.Struct, rename="camel"):
    """Head of a changed policy; the rest is skipped, because reading 100,000 items holds up decisions."""

    id: Any = None
    service_type: Any = None
    policy_type: Any = None

    @property
    def policy_id(self) -> int | None:
        return self.id if isinstance(self.id, int) and not isinstance(self.id, bool) else None

    @property
    def is_access(self) -> bool:
        return self.policy_type in _ACCESS_TYPES


# msgspec learns a type at its first use; threads that do so at once can end the process, so it is done on import.
_HEADS: Final = msgspec.json.Decoder(_Head)


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """Change of a policy: its new JSON, or None if deleted; `service_type` separates resource from tag policies.

    `is_access` is false for a policy that is changed, or deleted, as one of another type, such as a data mask.
    """

    policy_id: int
    service_type: str
    raw: msgspec.Raw | None
    is_access: bool


def read_changes(deltas: Iterable[PolicyDelta], service_types: Collection[str]) -> tuple[PolicyChange, ...]:
    """Return the changes of a delta download, the last one of each policy.

    Raises:
        PolicySetError: a delta has no policy id, an unknown change type, or another service type or none; two deltas
            of a policy are of different policy types.
    """
    changes: dict[int, PolicyChange] = {}
    for delta in deltas:
        policy = _head(delta.policy)
        id_ = policy.policy_id
        if id_ is None or delta.change_type not in _CHANGE_TYPES:
            raise PolicySetError("a policy delta has no policy id or an unknown change type: download all policies")
        if policy.service_type not in service_types:
            other = shown(str(policy.service_type))
            raise PolicySetError(f"the delta of policy {id_} is for services of type `{other}`: download all policies")
        deleted = delta.change_type == _DELETE
        earlier = changes.pop(id_, None)
        if earlier is not None and earlier.is_access is not policy.is_access:
            raise PolicySetError(f"the deltas of policy {id_} change its type: download all policies")
        changes[id_] = PolicyChange(
            policy_id=id_,
            service_type=policy.service_type,
            raw=None if deleted else delta.policy.copy(),  # a view would keep the whole download
            is_access=policy.is_access,
        )
    return tuple(changes.values())


def apply_changes(
    policies: PolicyRepository, changes: Sequence[PolicyChange], compiler: PolicyCompiler, problems: list[Problem]
) -> PolicyRepository:
    """Return the policies with the changes applied; the given ones are not modified.

    Raises:
        PolicySetError: an access policy becomes one of another type.
    """
    if not changes:
        return policies
    _refuse_other_types(changes, lambda id_: bool(policies.with_id(id_)) or id_ in policies.ineffective_ids)
    added: PolicyEntries = load_policies([c.raw for c in changes if c.raw is not None], compiler, problems)
    return policies.with_changes(frozenset(c.policy_id for c in changes), added)


def apply_to_list(raws: Iterable[msgspec.Raw], changes: Sequence[PolicyChange]) -> list[msgspec.Raw]:
    """Return a list of raw policies with the changes applied.

    Raises:
        PolicySetError: an access policy becomes one of another type.
    """
    before = [(raw, _head(raw)) for raw in raws]
    access = {known.policy_id for _, known in before if known.is_access}
    _refuse_other_types(changes, access.__contains__)
    changed = {c.policy_id for c in changes}
    kept = [raw for raw, known in before if known.policy_id not in changed]
    return [*kept, *(c.raw for c in changes if c.raw is not None)]


def _refuse_other_types(changes: Iterable[PolicyChange], is_access: Callable[[int], bool]) -> None:
    """Raise PolicySetError if an access policy becomes one of another type, where Ranger keeps the old one (§17).

    A policy without effect may be a disabled access policy, so it is taken for one.
    """
    for change in changes:
        if not change.is_access and is_access(change.policy_id):
            raise PolicySetError(f"the delta of policy {change.policy_id} changes its type: download all policies")


def _head(raw: msgspec.Raw) -> _Head:
    return decode_or_none(raw, _HEADS) or _Head()
