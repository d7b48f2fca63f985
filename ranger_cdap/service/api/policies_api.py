"""`/cdap/v1/policies` and `/cdap/v1/refresh`: the version of the policies in effect, and a request for newer ones.

Law: a request can only cause a download from Ranger Admin, and at most two per second, however many are sent. It
makes no decision differ from that of the policies Ranger Admin has.
"""

from __future__ import annotations

from typing import Final

from ranger_cdap.errors import RangerAdminError
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.service.http.reply import Refused, Reply, json_reply
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.wire.cdap_wire import PoliciesReply, RefreshRequest

QUERY: Final = {
    "at_least": "Answer when policies of this version (Ranger's `policyVersion`) or newer are in effect.",
    "timeout": "Most seconds to wait for them, 0 to 30; default 10.",
}
_LONGEST_WAIT: Final = 30
_DEFAULT_WAIT: Final = 10
_DIGITS: Final = 18


def policies(call: HandlerCall) -> Reply:
    """Return the version of the policies in effect; with `at_least`, once it is that one or newer."""
    if unknown := sorted(call.query.keys() - QUERY.keys()):
        raise Refused(400, f"there is no parameter `{unknown[0][:40]}`")
    version = _number(call, "at_least", 0)
    timeout = _number(call, "timeout", _DEFAULT_WAIT)
    if timeout > _LONGEST_WAIT:
        raise Refused(400, f"`timeout` is more than {_LONGEST_WAIT} seconds")
    authorizer = call.state.authorizer
    if not version:
        return json_reply(_reply(call, authorizer.snapshot))
    try:
        return json_reply(_reply(call, authorizer.refresh(at_least=version, timeout=timeout)))
    except RangerAdminError as e:
        # Its message may hold Ranger Admin's address, which is not for every caller.
        raise Refused(503, f"policies of version `{version}` are not in effect: the download failed ({e.code})") from e


def refresh(call: HandlerCall) -> Reply:
    """Request a download of newer policies, without waiting for it."""
    body: RefreshRequest = call.body
    return json_reply(_reply(call, call.state.authorizer.refresh(wait=False, at_least=body.at_least)))


def _reply(call: HandlerCall, snapshot: Snapshot) -> PoliciesReply:
    return PoliciesReply(
        service=call.state.settings.ranger.service, version=snapshot.versions.policies, state=snapshot.state.value
    )


def _number(call: HandlerCall, name: str, otherwise: int) -> int:
    text = call.query.get(name)
    if text is None:
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise Refused(400, f"`{name}` is not a whole number")
    return int(text)
