"""`/cdap/v1/enforce`, `visible` and `hello`: what CDAP asks before it lets somebody do something."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

from ranger_cdap.authz.enforcer import Enforced
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.service.events.check_journal import Entry
from ranger_cdap.service.http.reply import Refused, Reply, json_reply
from ranger_cdap.service.state.call import Call
from ranger_cdap.service.state.handshake import Handshake, differences
from ranger_cdap.service.wire.cdap_wire import (
    EnforceReply,
    EnforceRequest,
    HelloReply,
    VisibleReply,
    VisibleRequest,
    WirePrincipal,
)

_USER = "USER"


def enforce(call: Call) -> Reply:
    """Whether somebody may do what CDAP asks about; audited."""
    body: EnforceRequest = call.body
    state = call.state
    # Read before deciding: policies that are swapped meanwhile get a name with nothing cached under it.
    generation = state.generation.of(state.authorizer.snapshot)
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
    journal = _Journalling(call)
    enforced = state.enforcer.enforce(body.principal.name, check, client_ip=body.client_ip, last_word=journal.refusal)
    if not enforced.allowed:
        journal.take_back()
    state.metrics.decided("cdap", enforced.allowed)
    return json_reply(
        EnforceReply(
            allowed=enforced.allowed,
            enforced=enforced.enforced,
            reason=state.reason(enforced.reason, enforced.answers),
            missing=[m.privilege for m in enforced.missing],
            cacheable=journal.entry is None and _may_be_kept(call, enforced),
            generation=generation,
        )
    )


def may_wait(call: Call) -> bool:
    """Whether the answer to the check waits for a disk: for that of the audit or, if it is allowed, of the journal."""
    return audit_waits(call) or _entry(call) is not None


def audit_waits(call: Call) -> bool:
    """Whether each answer waits until its audit record is on the disk."""
    return call.state.authorizer.decider.audit_is_required


def may_be_long(call: Call) -> bool:
    """Whether a policy may take long to match, so that many checks at once would hold up all others."""
    engine = call.state.authorizer.snapshot.engine
    return engine is not None and engine.may_be_costly


def visible(call: Call) -> Reply:
    """Which of many entities somebody sees; not audited."""
    body: VisibleRequest = call.body
    state = call.state
    if len(body.entities) > state.settings.service.max_batch:
        raise Refused(400, f"`entities` has more than {state.settings.service.max_batch} (`service.max_batch`)")
    generation = state.generation.of(state.authorizer.snapshot)
    if _no_user(body.principal):
        return json_reply(VisibleReply(visible=[False] * len(body.entities), cacheable=False, generation=generation))
    entities = [(entity.type, entity.parts) for entity in body.entities]
    seen = state.enforcer.visible(body.principal.name, entities)
    cacheable = seen.lasting and not state.authorizer.decider.has_decision_hooks
    return json_reply(VisibleReply(visible=seen.of_each, cacheable=cacheable, generation=generation))


def hello(call: Call) -> Reply:
    """Handshake: describe this service; the settings of CDAP are compared and change nothing."""
    body: Handshake = call.body
    state = call.state
    rules = state.authorizer.decider.rules
    found = differences(body, rules, state.settings.admin.users)
    state.hello.heard(found)
    if state.events is not None:
        state.events.store.records = body.records
    state.metrics.hello_differences.set(len(found))
    snapshot = state.authorizer.snapshot
    return json_reply(
        HelloReply(
            version=_version(),
            instance=rules.instance,
            profile=rules.profile.name,
            enforcement=str(rules.enforcement),
            state=snapshot.state.value,
            grants=state.settings.service.grants,
            differences=list(found),
            generation=state.generation.of(snapshot),
        )
    )


@cache
def _version() -> str:
    return version("ranger-cdap")


def _no_user(principal: WirePrincipal) -> str:
    """Why the principal may do nothing; empty if it is a user."""
    if principal.type.upper() != _USER:
        return f"CDAP asked for a {principal.type.lower()[:40]}, and privileges are decided for users only"
    if not principal.name:
        return "CDAP named no user"
    return ""


def _denied(reason: str, generation: str) -> EnforceReply:
    return EnforceReply(allowed=False, enforced=True, reason=reason, missing=[], cacheable=False, generation=generation)


def _entry(call: Call) -> Entry | None:
    events = call.state.events
    return events.journal.entry(call.caller, call.body) if events is not None else None


@dataclass(slots=True)
class _Journalling:
    """The entry of a check that the policies allow, once there is one."""

    call: Call
    entry: Entry | None = None

    def refusal(self) -> str:
        """Why the check is denied all the same; empty once its entry, if it needs one, is on the disk for good."""
        self.entry = _entry(self.call)
        return _journal(self.call, self.entry) if self.entry is not None else ""

    def take_back(self) -> None:
        """Nothing is created by a check that is denied after it was journalled."""
        events = self.call.state.events
        if events is not None and self.entry is not None:
            events.journal.open.close([self.entry.id])


def _journal(call: Call, entry: Entry) -> str:
    """Why the check is denied all the same; empty once its entry is on the disk for good."""
    events = call.state.events
    assert events is not None  # an entry is made for its journal
    if refusal := events.journal.refusal(entry):
        return refusal
    try:
        events.journal.write(entry, call.caller)
    except OSError as e:
        call.state.metrics.checks_not_journalled.inc()
        return (
            f"what creates or deletes is denied while it cannot be journalled ({e}); tell who runs the decision service"
        )
    call.state.metrics.checks_journalled.inc()
    return ""


def _may_be_kept(call: Call, enforced: Enforced) -> bool:
    """Only what policies alone allow, at any time and from anywhere: a denial ends with the grant that was missing."""
    return enforced.allowed and enforced.lasting and not call.state.authorizer.decider.has_decision_hooks
