"""Mutants of the rule for policies that people edit: each leaves out one clause, which a seed must show."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

from ranger_cdap.cdap.grant import FORMER_LABEL
from ranger_cdap.cdap.named_entities import exact_entity
from ranger_cdap.engine.view import UNZONED
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.tools.policies import change_plan
from ranger_cdap.tools.roles import role_plan
from spark_sync.grants import observe, push, rights_of_others, went_back, writer
from spark_sync.grants import zones as zones_module
from spark_sync.grants.grant_policy import content_of
from spark_sync.grants.own_right import OwnRight
from spark_sync.grants.plan import WITHOUT_GRANT
from spark_sync.grants.zones import Zones
from spark_sync.ledger.life import Life, State

Mutant = Callable[[], Any]

_as_copy = writer.as_copy
_observed = observe.observed
_rest = writer._rest
_placed = zones_module.placed
_by_entity = rights_of_others.by_entity


def _swap(owner: Any, name: str, new: Any) -> Mutant:
    return lambda: patch.object(owner, name, new)


def _everywhere(name: str, new: Any, *modules: Any) -> Mutant:
    def both() -> ExitStack:
        stack = ExitStack()
        for module in modules or (push, rights_of_others):
            stack.enter_context(patch.object(module, name, new))
        return stack

    return both


def _unedited_only(step: Any, ours: Any, written: Any) -> Any:
    return None if content_of(ours) in step.contents else ours


def _whole(step: Any, ours: Any, written: Any) -> Any:
    return None


def _without_items(self: Any, policy: Any) -> Any:
    return replaced(policy, policy_items=[])


def _given_again(life: Any, there: Any, planning: Any) -> Any:
    after = _observed(life, there, planning)
    return after.become(State.PENDING, taken="", copy=after.copy + 1, **WITHOUT_GRANT) if after.taken else after


def _first(policy: Any, life: Any, copy: int) -> Any:
    return _as_copy(policy, life, 0)


def _without_denials(policy: Any) -> Any:
    return replaced(policy, policy_items=[], deny_policy_items=[], deny_exceptions=[], is_enabled=False)


def _on_it(policy: Any, entity: Any, instance: Any) -> bool:
    return exact_entity(policy) == (instance, entity)


def _among_others(policy: Any, entity: Any, instance: Any) -> bool:
    return not policy.conditions and not any(item.conditions for item in policy.items())


def _nobodys(policy: Any) -> bool:
    return False


def _not_followed(life: Life, mine: Any, zones: Any) -> tuple[Life, Any]:
    return life, next((each for each in mine if each.zone_name == life.zone), None)


def _unplaced(life: Life, zones: Zones) -> Life:
    return life


def _outside_only(policies: Any, instance: str) -> Any:
    return _by_entity([policy for policy in policies if not policy.zone_name], instance)


def _unasked(life: Life, zones: Zones) -> Life:
    return _placed(life, replace(zones, follow=True))


def _renamed_is_new(life: Life, zones: Zones) -> Life:
    if life.zone in zones.names or not zones.follow:
        return _placed(life, zones)
    there = _placed(replace(life, zone=UNZONED), zones)
    return there if there.zone else _placed(life, zones)


def _unlabelled(step: Any, ours: Any, written: Any) -> Any:
    rest = _rest(step, ours, written)
    return rest and replaced(rest, policy_labels=[each for each in rest.policy_labels if each != FORMER_LABEL])


ZONES: Final = frozenset({"rezone", "zone_replaced", "zone_changed", "zone_deleted", "zone_made", "zone_renamed"})
EDITS: Final = frozenset(
    {"add_item", "condition", "deny", "move", "move_back", "narrow", "remove_access", "remove_name", "rename"}
    | {"share_and_delete", "split", "switch", "widen", "widen_resource", "zone_replaced"}
)
TAKING: Final = frozenset(
    {"condition", "deny", "remove_access", "remove_name", "remove_policy", "switch", "zone_replaced"}
)
GIVING: Final = frozenset(
    {"add_item", "apply_needed", "beforehand", "denied_beforehand", "grant_rest", "import_sentry", "limited"}
    | {"policies_apply", "roles_apply", "roles_remove", "share_and_delete", "widen"}
)

PEOPLE_MUTANTS: Final[dict[str, tuple[Mutant, Collection[str]]]] = {
    "a policy that was moved counts as ours": (_swap(observe, "covers", lambda *_: True), {"move"}),
    "an edited policy is left as it is at the end": (_swap(writer, "_rest", _unedited_only), EDITS),
    "an edited policy is deleted at the end": (_swap(writer, "_rest", _whole), EDITS),
    "items of people are written over": (_swap(OwnRight, "out_of", _without_items), EDITS),
    "what a person took is given again": (_swap(observe, "observed", _given_again), TAKING),
    "a policy that became a person's is written again": (
        _swap(writer, "as_copy", _first),
        {"doubt", "move", "retry"} | ZONES,
    ),
    "what a person took is not recorded before it is taken out": (
        _swap(writer, "_seen_before", lambda step, _: step.life),
        {"doubt"} | ZONES,
    ),
    "what is left of a policy is not labelled": (_swap(writer, "_rest", _unlabelled), {"doubt"}),
    "rights of others stay after the deletion": (_swap(push, "may_revoke", lambda *_: False), GIVING),
    "rights of others go although they are to stay": (_everywhere("may_revoke", lambda *_: True), GIVING),
    "a denial goes with the rights": (
        _swap(rights_of_others, "without_rights", _without_denials),
        {"denied_beforehand"},
    ),
    "a limit counts as a right": (_swap(rights_of_others, "_is_exact", _on_it), {"condition", "limited"}),
    "rights on several entities go": (
        _swap(rights_of_others, "_is_exact", _among_others),
        {"condition", "limited", "widen_resource"},
    ),
    "administrators' rights go by default": (
        _swap(rights_of_others, "_by_administrator", lambda *_: False),
        {"beforehand", "denied_beforehand"},
    ),
    "a right of the next entity goes": (_swap(rights_of_others, "changed", lambda _: 0), GIVING),
    "what stays is not said": (_swap(rights_of_others, "_sentence", lambda _: ""), GIVING),
    "files are applied to the job's policies": (
        _swap(change_plan, "is_creators_policy", _nobodys),
        {"policies_apply"},
    ),
    "roles are given in the job's policies": (
        _swap(role_plan, "is_creators_policy", _nobodys),
        {"roles_apply", "roles_remove", "import_sentry"},
    ),
    "a restore of Ranger is taken for edits of people": (_swap(observe, "went_back", lambda *_: None), {"restore"}),
    "a guid that is there again counts as one that never went": (
        _swap(went_back, "_is_there_again", lambda *_: False),
        {"restore"},
    ),
    "an older version counts as a newer one": (_swap(went_back, "_is_older", lambda *_: False), {"restore"}),
    "several policies that are gone count as deleted": (_swap(went_back, "_SEVERAL", 1_000), {"restore"}),
    "a right that a restore brought back may be a person's edit": (
        _swap(Life, "is_from_backup", False),
        {"restore"},
    ),
    "a grant is written outside of zones": (_everywhere("placed", _unplaced, push, zones_module), ZONES),
    "what went with its zone was taken": (_swap(observe, "followed", _not_followed), ZONES),
    "a zone over a grant changes nothing": (_swap(observe, "settled", lambda _, after, __: after), ZONES),
    "a zone over a grant moves it unasked": (_everywhere("placed", _unasked, push, zones_module), ZONES),
    "a renamed zone without its policy is a new one": (
        _everywhere("placed", _renamed_is_new, push, zones_module),
        ZONES,
    ),
    "rights of others in zones stay": (_everywhere("by_entity", _outside_only, rights_of_others, observe), ZONES),
    "a move leaves the old policy": (_swap(writer, "_moved", lambda life, *_: replace(life, moves=False)), ZONES),
    "a grant ends in its own zone only": (_swap(Zones, "places_of", lambda _, life: (life.zone,)), ZONES),
}
"""Each with the moves of which one is made in every seed that shows it."""
