"""`/cdap/v1/role/…` and `/cdap/v1/roles`: disabled unless `service.grants` is `bridge-with-roles`."""

from __future__ import annotations

from ranger_cdap.errors import InvalidInput, PolicySetError
from ranger_cdap.service.grants.current_rights import NotDone
from ranger_cdap.service.grants.role_forwarder import IN_RANGER
from ranger_cdap.service.http.reply import Reply, json_reply
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.wire.role_wire import RoleFailure, RoleReply, RolesReply, RolesRequest

OFF = f"{IN_RANGER}: roles are kept in Ranger, and CDAP changes none here (`service.grants`)"


def changed(call: HandlerCall, what: str) -> Reply:
    """Change a role on behalf of a user of CDAP: `create`, `drop`, `add` or `remove`."""
    forwarder = call.state.role_forwarder
    return (
        json_reply(forwarder.change(call.body, what))
        if forwarder is not None
        else json_reply(RoleReply(done=False, changed=False, failure=RoleFailure.REFUSED, reason=OFF))
    )


def roles(call: HandlerCall) -> Reply:
    """List roles for a user of CDAP."""
    body: RolesRequest = call.body
    forwarder = call.state.role_forwarder
    if forwarder is None:
        return json_reply(RolesReply(done=False, reason=OFF, roles=[]))
    try:
        names = forwarder.names(body.caller, body.principal)
    except (NotDone, InvalidInput, PolicySetError) as e:
        return json_reply(RolesReply(done=False, reason=str(e), roles=[]))
    return json_reply(RolesReply(done=True, reason="", roles=list(names)))
