"""`/cdap/v1/enforce`, `visible` and `hello`: the checks that CDAP makes before it performs an operation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version

from ranger_cdap.authz.enforcer import Enforced
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.creations import ChangeKind
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.existence import Existence
from ranger_cdap.service.events.check_journal import Entry, journal_row_of
from ranger_cdap.service.events.events import Events
from ranger_cdap.service.http.metrics import CHECKS_JOURNALLED, CHECKS_NOT_JOURNALLED, HELLO_DIFFERENCES
from ranger_cdap.service.http.reply import Refused, Reply, json_reply
from ranger_cdap.service.http.turns import SLICE, give_way
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.service.state.handshake import Handshake, differences
from ranger_cdap.wire.cdap_wire import (
    EnforceReply,
    EnforceRequest,
    HelloReply,
    VisibleReply,
    VisibleRequest,
    WirePrincipal,
)

_USER = "USER"
_INSTANCE = "instance"


def enforce(call: HandlerCall) -> Reply:
    """Decide a check of CDAP; audited."""
    body: EnforceRequest = call.body
    state = call.state
    # Read before deciding: policies swapped in the meantime get a new generation with nothing cached under it.
    generation = state.generation.of(state.authorizer.snapshot)
    if body.check is not None:
        call.checks(body.check.id)
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
    enforced = state.enforcer.enforce(
        body.principal.name,
        check,
        client_ip=body.client_ip,
        final_check=journal.refusal,
        existence=journal.existence,
    )
    if not enforced.allowed:
        journal.refused()
    call.decided("cdap", enforced.allowed)
    return json_reply(
        EnforceReply(
            allowed=enforced.allowed,
            enforced=enforced.enforced,
            reason=state.reason(enforced.reason, enforced.answers),
            missing=[m.privilege for m in enforced.missing],
            cacheable=journal.entry is None and not journal.decided and _may_be_kept(call, enforced),
            generation=generation,
        )
    )


def may_wait(call: HandlerCall) -> bool:
    """Return true if the check may wait for a disk: the audit's or the journal's."""
    return audit_waits(call) or (call.state.events is not None and journal_row_of(call.body) is not None)


def audit_waits(call: HandlerCall) -> bool:
    """Return true if each answer waits until its audit record is on disk."""
    return call.state.authorizer.decider.audit_is_required


def may_be_long(call: HandlerCall) -> bool:
    """Return true if the check may take long, so that many delay others; all policies may be in an instance."""
    engine = call.state.authorizer.snapshot.engine
    return engine is not None and (engine.may_be_costly or call.body.entity.type.lower() == _INSTANCE)


def visible(call: HandlerCall) -> Reply:
    """Decide which of many entities a user sees; not audited."""
    body: VisibleRequest = call.body
    state = call.state
    if len(body.entities) > state.limits.batch:
        raise Refused(400, f"`entities` has more than {state.limits.batch}")
    generation = state.generation.of(state.authorizer.snapshot)
    if _no_user(body.principal):
        return json_reply(VisibleReply(visible=[False] * len(body.entities), cacheable=False, generation=generation))
    of_each: list[bool] = []
    cacheable = not state.authorizer.decider.has_decision_hooks
    # What lives at once is little: a garbage collection holds up all requests for it.
    for start in range(0, len(body.entities), SLICE):
        give_way(SLICE)
        entities = [(entity.type, entity.parts) for entity in body.entities[start : start + SLICE]]
        seen = state.enforcer.visible(body.principal.name, entities)
        of_each += seen.of_each
        cacheable = cacheable and seen.lasting
    return json_reply(VisibleReply(visible=of_each, cacheable=cacheable, generation=generation))


def hello(call: HandlerCall) -> Reply:
    """Perform the handshake: describe this service; CDAP's settings are compared and change nothing."""
    body: Handshake = call.body
    state = call.state
    config = state.authorizer.decider.config
    found = differences(body, config, state.settings.admin)
    state.settings_drift.update(found)
    if state.events is not None:
        state.events.store.records = body.records
    state.metrics.set(HELLO_DIFFERENCES, len(found))
    snapshot = state.authorizer.snapshot
    return json_reply(
        HelloReply(
            version=_version(),
            instance=config.instance,
            profile=config.profile.name,
            enforcement=str(config.enforcement),
            state=snapshot.state.value,
            grants=state.settings.service.grants.removesuffix("-with-roles"),
            differences=list(found),
            generation=state.generation.of(snapshot),
        )
    )


@cache
def _version() -> str:
    return version("ranger-cdap")


def _no_user(principal: WirePrincipal) -> str:
    """Return the reason why the principal may do nothing; empty if it is a user."""
    if principal.type.upper() != _USER:
        return f"CDAP sent a {principal.type.lower()[:40]}; only users have privileges"
    return "" if principal.name else "CDAP named no user"


def _denied(reason: str, generation: str) -> EnforceReply:
    return EnforceReply(allowed=False, enforced=True, reason=reason, missing=[], cacheable=False, generation=generation)


@dataclass(slots=True)
class _Journalling:
    """Pending journal entry of a check that the policies allow, and what was known of the entity it may replace."""

    call: HandlerCall
    entry: Entry | None = None
    decided: dict[EntityId, Existence] = field(default_factory=dict)

    def existence(self, entity: EntityId) -> Existence:
        """Return what is known of the entity."""
        events = self.call.state.events
        known = events.entities.existence(entity, self._creator) if events is not None else Existence.UNKNOWN
        self.decided[entity] = known
        return known

    def refusal(self) -> str:
        """Return the reason to deny the check; empty once its entry, if it needs one, is on disk."""
        events = self.call.state.events
        if events is None:
            return ""
        self.entry = events.journal.entry(self.call.caller, self.call.body)
        try:
            return self._replaced(events) or (_journal(self.call, events, self.entry) if self.entry else "")
        except OSError as e:
            self.call.state.metrics.count(CHECKS_NOT_JOURNALLED)
            return (
                f"creations and deletions are denied while they cannot be journalled ({e}); report this to the operator"
            )

    @property
    def _creator(self) -> str:
        """Return the user whose creation it is; empty for CDAP's master user, who acts for many."""
        user: str = self.call.body.principal.name
        return "" if user == self.call.state.settings.master.name else user

    def _replaced(self, events: Events) -> str:
        """Return the reason to deny a check that may create an entity; empty once it is remembered."""
        body: EnforceRequest = self.call.body
        if journal_row_of(body) is None:
            return ""
        check = body.check.id if body.check is not None else ""
        for entity, decided in self.decided.items():
            if not events.entities.allow(entity, self._creator, check, decided):
                return f"another request to create {entity} came in between; try again"
        return ""

    def refused(self) -> None:
        """Journal the refusal if it may end a deletion; a check denied after it was journalled creates nothing."""
        events = self.call.state.events
        if events is None:
            return
        if self.entry is not None:
            events.journal.open.close([self.entry.id])
            events.creations.remove_check(self.entry.check)
        elif entry := events.journal.entry(self.call.caller, self.call.body, allowed=False):
            try:
                events.journal.write(entry, self.call.caller)
            except OSError:
                self.call.state.metrics.count(CHECKS_NOT_JOURNALLED)


def _journal(call: HandlerCall, events: Events, entry: Entry) -> str:
    """Return the reason to deny the check; empty once its entry is on disk.

    Raises:
        OSError: it is not, or that is unknown.
    """
    if refusal := events.journal.refusal(entry):
        return refusal
    if entry.kind is ChangeKind.DELETE:
        events.entities.allow_deletion(entry.id)
    events.journal.write(entry, call.caller)
    call.state.metrics.count(CHECKS_JOURNALLED)
    if entry.creates and events.store.records is not False:
        events.creations.add_check(entry.check)
    return ""


def _may_be_kept(call: HandlerCall, enforced: Enforced) -> bool:
    """Return true if policies alone allow, at any time and from anywhere; a denial ends with the missing grant."""
    return enforced.allowed and enforced.lasting and not call.state.authorizer.decider.has_decision_hooks
