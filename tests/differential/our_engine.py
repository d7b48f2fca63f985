"""The engine of this project, asked in the words of `ranger-cdap eval` and answering in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ranger_cdap.authz.groups import GroupResolver
from ranger_cdap.cli.evaluate import read_options
from ranger_cdap.engine import AccessRequest, Decision, EngineOptions, PolicyEngine
from ranger_cdap.engine.model.request import ElementScope, MatchingScope, RequestTag
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger.refresh.policy_refresher import no_groups
from ranger_cdap.ranger_model.decode import (
    decode_roles,
    decode_service_policies,
    decode_service_tags,
    decode_user_store,
)
from ranger_cdap.ranger_model.download import UserStore
from tests.differential.steps import steps

Json = Mapping[str, Any]
REFUSED: Json = {"refused": True}
AS_RANGER = EngineOptions(compatibility="ranger")


def decide(scenario: Json, options: EngineOptions = AS_RANGER) -> list[dict[str, Any]]:
    """Load a scenario, apply its deltas if it has any, and answer all its requests."""
    engine = load(scenario, options)
    return [evaluated(engine, request) for request in requests_of(scenario, engine)]


def load(scenario: Json, options: EngineOptions = AS_RANGER) -> PolicyEngine:
    """An engine of a scenario's policies and, where it has any, the keys of the plugin's configuration.

    Raises:
        PolicySetError: the set is refused, or the one document with changes.
    """
    if isinstance(scenario.get("deltas"), list) or scenario.get("laterTags"):
        return load_by_steps(scenario, options)[0]
    engine = built(scenario, scenario["policies"], scenario.get("tags"), options)
    for document, _ in steps(scenario):
        engine = engine.with_deltas(decode_service_policies(msgspec.json.encode(document)))
    return engine


def load_by_steps(scenario: Json, options: EngineOptions = AS_RANGER) -> tuple[PolicyEngine, list[bool]]:
    """An engine after all documents with changes, and which of them it took: for another it is given the full set.

    Raises:
        PolicySetError: a full set is refused.
    """
    now, taken = scenario["policies"], list[bool]()
    engine = built(scenario, now, scenario.get("tags"), options)
    for document, now in steps(scenario):
        try:
            engine = engine.with_deltas(decode_service_policies(msgspec.json.encode(document)))
            taken.append(True)
        except PolicySetError:
            engine = built(scenario, now, scenario.get("tags"), options)
            taken.append(False)
    return (built(scenario, now, scenario["laterTags"], options) if scenario.get("laterTags") else engine), taken


def built(scenario: Json, download: Json, tags: Json | None, options: EngineOptions) -> PolicyEngine:
    if scenario.get("conf"):
        options = read_options(scenario["conf"], options.compatibility)
    return PolicyEngine.build(
        decode_service_policies(msgspec.json.encode(download)),
        roles=decode_roles(msgspec.json.encode(scenario["roles"])) if scenario.get("roles") else None,
        tags=decode_service_tags(msgspec.json.encode(tags or {})),
        attributes=user_store(scenario),
        options=options,
    )


def user_store(scenario: Json) -> UserStore:
    return decode_user_store(msgspec.json.encode(scenario.get("userStore") or {}))


def requests_of(scenario: Json, engine: PolicyEngine) -> list[AccessRequest]:
    """The requests of a scenario, with the names and groups that they are decided by [§4.1]."""
    store = user_store(scenario)
    stored = store.groups_of if scenario.get("conf") else no_groups  # Java's default
    read = map(read_request, scenario["requests"])
    return [GroupResolver({each.user or "": each.groups}, stored, names=engine.names).completed(each) for each in read]


def read_request(json: Json) -> AccessRequest:
    resource = {k: tuple(v) if isinstance(v, list) else v for k, v in json["resource"].items()}
    return AccessRequest(
        resource=resource,
        access_type=json.get("accessType") or "",
        user=json.get("user"),
        groups=frozenset(json.get("groups") or ()),
        roles=frozenset(json["roles"]) if json.get("roles") else None,  # Java takes an empty set for none given
        owner=json.get("resourceOwner"),
        access_time=json.get("accessTime", 0),
        matching_scope=MatchingScope(json.get("matchingScope", "SELF")),
        client_ip=json.get("clientIP"),
        remote_ip=json.get("remoteIP"),
        forwarded=tuple(json.get("forwarded") or ()),
        action=json.get("action"),
        cluster_name=json.get("clusterName"),
        cluster_type=json.get("clusterType"),
        element_scopes={k: ElementScope(v) for k, v in (json.get("elementScopes") or {}).items()},
        ignore_descendant_deny=json.get("ignoreDescendantDeny", True),
        all_access_types=tuple(json.get("allAccessTypes") or ()),
        all_access_type_groups=tuple(frozenset(group) for group in json.get("allAccessTypeGroups") or ()),
        context=json.get("context") or {},
        tags=tuple(read_tag(tag) for tag in json.get("tags") or ()),
    )


def read_tag(json: Json) -> RequestTag:
    return RequestTag(
        type=json["type"], attributes=json.get("attributes") or {}, match_type=json.get("matchType", "SELF")
    )


def evaluated(engine: PolicyEngine, request: AccessRequest) -> dict[str, Any]:
    """What ours says to a request; one whose names are uncertain is refused."""
    return dict(REFUSED) if request.refused else answer(engine.evaluate(request))


def answer(decision: Decision) -> dict[str, Any]:
    return {
        "allowed": decision.allowed,
        "determined": decision.determined,
        "policyId": decision.policy_id,
        "audited": decision.audited,
        "auditPolicyId": decision.audit_policy_id,
        "zone": decision.zone,
    }
