"""`/cdap/v1/grant`, `revoke` and `grants`: disabled if `service.grants` is `refuse`."""

from __future__ import annotations

from ranger_cdap.cdap.checks.legacy_privileges import permissions_of
from ranger_cdap.errors import InvalidInput, PolicySetError
from ranger_cdap.service.grants.current_rights import NotDone
from ranger_cdap.service.grants.grant_forwarder import IN_RANGER, cdap_entity, is_masters_own
from ranger_cdap.service.http.reply import Reply, json_reply
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.wire.grant_wire import GrantedEntity, GrantReply, GrantRequest, GrantsReply, GrantsRequest

OFF = f"{IN_RANGER}: CDAP hands out no privileges here (`service.grants`)"


def changed(call: HandlerCall, what: str) -> Reply:
    """Grant or revoke permissions on behalf of a user of CDAP; `what` is `grant` or `revoke`."""
    body: GrantRequest = call.body
    if what == "grant" and is_masters_own(body, call.state.authorizer.decider.config.master):
        return json_reply(GrantReply(done=True, changed=False, reason=""))
    forwarder = call.state.grant_forwarder
    return json_reply(forwarder.change(body, what) if forwarder else GrantReply(done=False, changed=False, reason=OFF))


def grants(call: HandlerCall) -> Reply:
    """List the grants of a principal for a user of CDAP."""
    body: GrantsRequest = call.body
    forwarder = call.state.grant_forwarder
    if forwarder is None:
        return json_reply(GrantsReply(done=False, reason=OFF, grants=[]))
    try:
        held = forwarder.grants(body.caller, body.principal)
    except (NotDone, InvalidInput, PolicySetError) as e:
        return json_reply(GrantsReply(done=False, reason=str(e), grants=[]))
    rows = [GrantedEntity(entity=cdap_entity(e), permissions=list(permissions_of(held[e]))) for e in held]
    return json_reply(GrantsReply(done=True, reason="", grants=rows))
