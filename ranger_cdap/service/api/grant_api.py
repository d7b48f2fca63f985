"""`/cdap/v1/grant`, `revoke` and `grants`: off unless `service.grants` is `bridge`."""

from __future__ import annotations

from ranger_cdap.cdap.checks.legacy_privileges import permissions_of
from ranger_cdap.errors import InvalidInput
from ranger_cdap.service.grants.grant_forwarder import IN_RANGER, NotDone, cdap_entity, is_masters_own
from ranger_cdap.service.http.reply import Reply, json_reply
from ranger_cdap.service.state.call import Call
from ranger_cdap.service.wire.grant_wire import GrantedEntity, GrantReply, GrantRequest, GrantsReply, GrantsRequest

OFF = f"{IN_RANGER}: CDAP hands out no privileges here (`service.grants`)"


def grant(call: Call) -> Reply:
    """Grant permissions in the name of a user of CDAP."""
    body: GrantRequest = call.body
    if is_masters_own(body, call.state.authorizer.decider.rules.master):
        return json_reply(GrantReply(done=True, changed=False, reason=""))
    bridge = call.state.bridge
    return json_reply(bridge.grant(body) if bridge else GrantReply(done=False, changed=False, reason=OFF))


def revoke(call: Call) -> Reply:
    """Somebody in CDAP takes permissions away."""
    bridge = call.state.bridge
    return json_reply(bridge.revoke(call.body) if bridge else GrantReply(done=False, changed=False, reason=OFF))


def grants(call: Call) -> Reply:
    """Somebody in CDAP asks what a principal was given."""
    body: GrantsRequest = call.body
    bridge = call.state.bridge
    if bridge is None:
        return json_reply(GrantsReply(done=False, reason=OFF, grants=[]))
    try:
        held = bridge.grants(body.caller, body.principal)
    except (NotDone, InvalidInput) as e:
        return json_reply(GrantsReply(done=False, reason=str(e), grants=[]))
    rows = [GrantedEntity(entity=cdap_entity(e), permissions=list(permissions_of(held[e]))) for e in held]
    return json_reply(GrantsReply(done=True, reason="", grants=rows))
