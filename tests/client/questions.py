"""Questions to a decision service, each with the reply that allows all of it and a reading of what a reply allows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.client import (
    EvaluationDecisions,
    ServiceRequest,
    VisibilityDecisions,
    authorize,
    authorize_multi,
    check,
    enforce,
    evaluation,
    evaluations,
    live,
    operation,
    ready,
    visible,
)
from ranger_cdap.client.service_request import AccessDecisions
from ranger_cdap.wire.authzen_wire import (
    AuthZenAction,
    AuthZenEntity,
    EvaluationOptions,
    EvaluationRequest,
    EvaluationsRequest,
)
from ranger_cdap.wire.cdap_wire import EnforceRequest, VisibleRequest, WireEntity, WirePrincipal, WireStamp
from ranger_cdap.wire.pdp_wire import (
    AccessContext,
    AccessInfo,
    AuthzRequest,
    MultiAuthzRequest,
    PdpDecision,
    ResourceInfo,
    UserInfo,
)

KV = entity_id("dataset", ("ns1", "kv"))
ALICE = WirePrincipal("alice")


def dataset(name: str) -> WireEntity:
    return WireEntity("DATASET", ["ns1", name])


def question(name: str, user: str = "alice") -> EvaluationRequest:
    return EvaluationRequest(
        subject=AuthZenEntity(type="user", id=user),
        action=AuthZenAction(name="read"),
        resource=AuthZenEntity(type="dataset", id=f"cdap/ns1/{name}"),
    )


def access(name: str, *permissions: str) -> AccessInfo:
    return AccessInfo(resource=ResourceInfo(name=f"dataset:cdap/ns1/{name}"), permissions=[*permissions])


def granted(permission: str, decision: str = "ALLOW") -> Any:
    return {"permission": permission, "access": {"decision": decision, "policy": {"id": 1, "version": 1}}}


def whole(*permissions: str) -> Any:
    return {"decision": "ALLOW", "permissions": {each: granted(each) for each in permissions}}


@dataclass(frozen=True)
class Asked:
    """A question: `allowing` allows everything asked; `said` is what a document allows, by position."""

    request: ServiceRequest[Any]
    allowing: Any
    said: Callable[[Any], list[bool]]
    count: int = 1

    @property
    def body(self) -> bytes:
        return json.dumps(self.allowing).encode()


def understood(reply: Any) -> list[bool]:
    """What a program takes from the client's reply, by position."""
    match reply:
        case VisibilityDecisions():
            return list(reply.visible)
        case EvaluationDecisions():
            return [each.decision for each in reply.evaluations]
        case AccessDecisions():
            return [each.decision is PdpDecision.ALLOW for each in reply.accesses]
        case _:
            return [bool(reply)]


def _granted(document: Any, *permissions: str) -> bool:
    found = document["permissions"]
    return (
        document["decision"] == "ALLOW"
        and set(found) == set(permissions)
        and all(
            one["permission"] == name and one["access"]["decision"] == "ALLOW" and not one.get("subResources")
            for name, one in found.items()
        )
    )


def _evaluated(document: Any) -> bool:
    return document["decision"] is True and (document.get("context") or {}).get("error") is None


def _those(documents: Any, count: int, one: Callable[[Any], bool], *, may_end: bool | None = None) -> list[bool]:
    """By position; a list of another length says nothing, unless the first `may_end` ended it."""
    found = [one(each) for each in documents]
    ended = may_end is not None and found and found[-1] is may_end and (not may_end) not in [not x for x in found[:-1]]
    return found if len(found) == count or (ended and len(found) < count) else []


CONTEXT = AccessContext(service_name="cdapdev")
ENFORCED = {
    "allowed": True, "enforced": True, "reason": "allowed", "missing": [], "cacheable": True, "generation": "g",
}  # fmt: skip
THREE = [question("kv"), question("other"), question("third")]
_ALLOWED = {"decision": True, "context": {"policy": {"id": 1, "version": 1}, "policy_version": 4}}

_KV_GET = ("alice", "dataset.get", {"type": "dataset", "parts": ["ns1", "kv"]})

QUESTIONS: dict[str, Asked] = {
    "enforce": Asked(
        enforce(EnforceRequest(ALICE, dataset("kv"), ["STANDARD.GET"])), ENFORCED, lambda d: [d["allowed"] is True]
    ),
    "stamped": Asked(
        enforce(EnforceRequest(ALICE, dataset("kv"), ["STANDARD.CREATE"], check=WireStamp("0" * 32, "1" * 32, 1))),
        ENFORCED,
        lambda d: [d["allowed"] is True],
    ),
    "visible": Asked(
        visible(VisibleRequest(ALICE, [dataset("kv"), dataset("other")])),
        {"visible": [True, True], "cacheable": True, "generation": "g"},
        lambda d: _those(d["visible"], 2, lambda x: x is True),
        2,
    ),
    "evaluation": Asked(evaluation(question("kv")), _ALLOWED, lambda d: [_evaluated(d)]),
    "operation": Asked(operation("alice", "dataset.get", KV), _ALLOWED, lambda d: [_evaluated(d)]),
    "check": Asked(
        check("alice", [], "dataset.get", KV),
        {
            "user": "alice", "asked": "dataset.get", "operation": "dataset.get",
            "entity": {"type": "dataset", "parts": ["ns1", "kv"]}, "allowed": True, "enforced": True,
            "reason": "allowed", "requirements": [], "missing": [], "decided_by": [],
        },
        lambda d: [d["allowed"] is True and (d["user"], d["asked"], d["entity"]) == _KV_GET],
    ),
    "evaluations": Asked(
        evaluations(EvaluationsRequest(evaluations=THREE)),
        {"evaluations": [_ALLOWED] * 3},
        lambda d: _those(d["evaluations"], 3, _evaluated),
        3,
    ),
    "evaluations until a denial": Asked(
        evaluations(
            EvaluationsRequest(evaluations=THREE, options=EvaluationOptions(evaluations_semantic="deny_on_first_deny"))
        ),
        {"evaluations": [_ALLOWED] * 3},
        lambda d: _those(d["evaluations"], 3, _evaluated, may_end=False),
        3,
    ),
    "authorize": Asked(
        authorize(
            AuthzRequest(request_id="7", user=UserInfo(name="alice"), access=access("kv", "read"), context=CONTEXT)
        ),
        whole("read") | {"requestId": "7"},
        lambda d: [d.get("requestId") == "7" and _granted(d, "read")],
    ),
    "authorize several": Asked(
        authorize_multi(
            MultiAuthzRequest(
                user=UserInfo(name="alice"),
                accesses=[access("kv", "read", "write"), access("other", "read")],
                context=CONTEXT,
            )
        ),
        {"decision": "ALLOW", "accesses": [whole("read", "write"), whole("read")]},
        lambda d: (
            [_granted(d["accesses"][0], "read", "write"), _granted(d["accesses"][1], "read")]
            if len(d["accesses"]) == 2 and not d.get("requestId")
            else []
        ),
        2,
    ),
    "live": Asked(live(), {"status": "UP", "service": "ranger-pdp", "live": True}, lambda d: [d["live"] is True]),
    "ready": Asked(
        ready(),
        {
            "status": "READY", "service": "ranger-pdp", "ready": True, "authorizerInitialized": True,
            "acceptingRequests": True, "loadedServicesCount": 1,
        },
        lambda d: [d["ready"] is True],
    ),
}  # fmt: skip
