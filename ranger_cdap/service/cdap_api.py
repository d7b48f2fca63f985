"""`/cdap/v1/enforce`, `visible` and `hello`: what CDAP asks before it lets somebody do something."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

from ranger_cdap.cdap.checks import CdapCheck
from ranger_cdap.enforcer import Enforced
from ranger_cdap.service.call import Call
from ranger_cdap.service.cdap_wire import (
    EnforceReply,
    EnforceRequest,
    HelloReply,
    VisibleReply,
    VisibleRequest,
    WirePrincipal,
)
from ranger_cdap.service.hello import Hello, differences
from ranger_cdap.service.reply import Refused, Reply, json_reply

_USER = "USER"


def enforce(call: Call) -> Reply:
    """Whether somebody may do what CDAP asks about; audited."""
    body: EnforceRequest = call.body
    desk = call.desk
    # Read before deciding: policies that are swapped meanwhile get a name nobody has kept anything under.
    generation = desk.generation.of(desk.authorizer.snapshot)
    if problem := _no_user(body.principal):
        return json_reply(_denied(problem, generation))
    check = CdapCheck(
        entity_type=body.entity.type,
        id_parts=tuple(body.entity.parts),
        permissions=tuple(body.permissions),
        child_type=body.child_type,
        hint=body.hint,
        from_container=body.from_container,
    )
    enforced = desk.enforcer.enforce(body.principal.name, check, client_ip=body.client_ip)
    desk.metrics.decided("cdap", enforced.allowed)
    return json_reply(
        EnforceReply(
            allowed=enforced.allowed,
            enforced=enforced.enforced,
            reason=desk.reason(enforced.reason, enforced.answers),
            missing=[m.privilege for m in enforced.missing],
            cacheable=_may_be_kept(call, enforced),
            generation=generation,
        )
    )


def visible(call: Call) -> Reply:
    """Which of many entities somebody sees; not audited."""
    body: VisibleRequest = call.body
    desk = call.desk
    if len(body.entities) > desk.settings.service.max_batch:
        raise Refused(400, f"`entities` has more than {desk.settings.service.max_batch} (`service.max_batch`)")
    generation = desk.generation.of(desk.authorizer.snapshot)
    if _no_user(body.principal):
        return json_reply(VisibleReply(visible=[False] * len(body.entities), cacheable=False, generation=generation))
    entities = [(entity.type, entity.parts) for entity in body.entities]
    seen = desk.enforcer.visible(body.principal.name, entities)
    cacheable = seen.lasting and not desk.authorizer.asks_hooks
    return json_reply(VisibleReply(visible=seen.of_each, cacheable=cacheable, generation=generation))


def hello(call: Call) -> Reply:
    """What this service is; what the extension says of its CDAP is compared and changes nothing."""
    body: Hello = call.body
    desk = call.desk
    rules = desk.authorizer.rules
    found = differences(body, rules, desk.settings.admin.users)
    desk.hello.heard(found)
    desk.metrics.hello_differences.set(len(found))
    snapshot = desk.authorizer.snapshot
    return json_reply(
        HelloReply(
            version=_version(),
            instance=rules.instance,
            profile=rules.profile.name,
            enforcement=str(rules.enforcement),
            state=snapshot.state.value,
            grants=desk.settings.service.grants,
            differences=list(found),
            generation=desk.generation.of(snapshot),
        )
    )


@cache
def _version() -> str:
    return version("ranger-cdap")


def _no_user(principal: WirePrincipal) -> str:
    """Why the principal is nobody who may do anything; empty if he is a user."""
    if principal.type.upper() != _USER:
        return f"CDAP asked for a {principal.type.lower()[:40]}, and privileges are decided for users only"
    if not principal.name:
        return "CDAP named no user"
    return ""


def _denied(reason: str, generation: str) -> EnforceReply:
    return EnforceReply(allowed=False, enforced=True, reason=reason, missing=[], cacheable=False, generation=generation)


def _may_be_kept(call: Call, enforced: Enforced) -> bool:
    """Only what policies alone allow, at any time and from anywhere: a denial ends with the grant that was missing."""
    return enforced.allowed and enforced.lasting and not call.desk.authorizer.asks_hooks
