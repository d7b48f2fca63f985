"""Policy deltas: what changed since the last download (ranger-semantics.md §17)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from ranger_cdap.engine.compiled.load import Loaded, load_policies
from ranger_cdap.engine.compiled.policy import PolicyCompiler, decode_raw
from ranger_cdap.engine.lookup.repository import Policies, patch
from ranger_cdap.engine.model import wire
from ranger_cdap.engine.model.problem import Problem, name_and_id, shown
from ranger_cdap.errors import PolicySetError

_DELETE = 2
_CHANGE_TYPES = (0, 1, _DELETE)


@dataclass(frozen=True, slots=True)
class Change:
    """A changed policy: its new text, or None where it is gone; `service_type` tells resource from tag policies."""

    policy_id: int
    service_type: str
    raw: msgspec.Raw | None


def read_changes(deltas: Iterable[wire.PolicyDelta], service_types: Collection[str]) -> tuple[Change, ...]:
    """The changes of a delta download, the last one of each policy.

    Raises:
        PolicySetError: a delta does not say which policy of these types it changes, or how.
    """
    changes: dict[int, Change] = {}
    for delta in deltas:
        policy = decode_raw(delta.policy)
        _, id_ = name_and_id(policy)
        if id_ is None or delta.changeType not in _CHANGE_TYPES:
            raise PolicySetError("a policy delta does not say which policy it changes, or how: download all policies")
        service_type = policy.get("serviceType") or ""
        if service_type not in ("", *service_types):
            raise PolicySetError(
                f"the delta of policy {id_} is for services of type `{shown(str(service_type))}`: download all policies"
            )
        changes.pop(id_, None)
        changes[id_] = Change(
            policy_id=id_,
            service_type=service_type,
            raw=None if delta.changeType == _DELETE else delta.policy.copy(),  # else it would hold the whole download
        )
    return tuple(changes.values())


def apply_changes(
    policies: Policies, changes: Sequence[Change], compiler: PolicyCompiler, problems: list[Problem]
) -> Policies:
    """The policies after the changes; the ones before stay as they are."""
    if not changes:
        return policies
    added: Loaded = load_policies([c.raw for c in changes if c.raw is not None], compiler, problems)
    return patch(policies, frozenset(c.policy_id for c in changes), added, compiler.model)


def apply_to_list(raws: Iterable[msgspec.Raw], changes: Sequence[Change]) -> list[msgspec.Raw]:
    """A list of policies after the changes."""
    changed = {c.policy_id for c in changes}
    kept = [raw for raw in raws if _id_of(raw) not in changed]
    return [*kept, *(c.raw for c in changes if c.raw is not None)]


def _id_of(raw: msgspec.Raw) -> int | None:
    return name_and_id(decode_raw(raw))[1]
