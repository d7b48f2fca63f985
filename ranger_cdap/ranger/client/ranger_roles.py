"""Client of Ranger Admin for roles: their names and members, and changes of both.

A role of Ranger belongs to all services. `service` in a call is the one whose administrators may make it as well; other
calls need a Ranger administrator. Members change by grant and revoke only, which keep all others: Ranger's
`addUsersAndGroups` drops every member that it is not given. Source: ranger-rest.md §6.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apache_ranger.client.ranger_client import RangerClient
from apache_ranger.utils import API

from ranger_cdap.errors import InvalidInput, NotFound, RequestRejected, UnexpectedAnswer
from ranger_cdap.ranger.client.http import AdminHttp, segment
from ranger_cdap.ranger_model.json_repair import without_any_null
from ranger_cdap.ranger_model.json_text import UNREADABLE, T, convert, decode
from ranger_cdap.ranger_model.role import Role

_ROLES_A_PAGE: Final = 10_000  # Ranger cuts lists at 200 silently by default
_TAKEN: Final = re.compile(r"role with name: .* already exists")
_UNKNOWN: Final = re.compile(r"(user|group|role) with name: (.*) does not exist", re.IGNORECASE)


class RoleRecord(Role):
    """A role as Ranger Admin keeps it, with its description."""

    description: str = ""


@dataclass(frozen=True, slots=True)
class RoleClient:
    """Roles of one Ranger Admin, with one account; `RangerAdmin.roles`.

    Every failure is a subclass of `RangerAdminError`.
    """

    _http: AdminHttp

    def names(self, service: str) -> tuple[str, ...]:
        """Return the names of all roles of Ranger, whichever service uses them."""
        return self._names(RangerClient.GET_ALL_ROLE_NAMES, {"serviceName": service})

    def all(self) -> list[RoleRecord]:
        """Return all roles with their members; Ranger refuses this to administrators of a service."""
        seen: dict[str, RoleRecord] = {}
        while True:
            page = {"pageSize": _ROLES_A_PAGE, "startIndex": len(seen)}
            rows = _decoded(RangerClient.FIND_ROLES, self._http.fetch(RangerClient.FIND_ROLES, page), list[RoleRecord])
            if not (new := {row.name: row for row in rows if row.name not in seen}):
                return list(seen.values())
            seen |= new

    def find(self, service: str, name: str) -> RoleRecord | None:
        """Return the role of that name with its members, None if there is none.

        Ranger refuses an unknown name and a forbidden one with the same words, so the names are read first.

        Raises:
            InvalidInput: Ranger Admin cannot look up that name by path.
        """
        api = RangerClient.GET_ROLE_BY_NAME.format_path({"name": segment(name)})
        if name not in self.names(service):
            return None
        return _decoded(api, self._http.fetch(api, {"serviceName": service}), RoleRecord)

    def of_user(self, user: str) -> tuple[str, ...] | None:
        """Return the names of a user's roles, by the user or a group, None for an unknown user.

        Ranger adds the roles *in* these roles, which the user does not have by them (`RoleREST.getUserRoles`).
        """
        try:
            return self._names(RangerClient.GET_USER_ROLES.format_path({"name": segment(user)}), {})
        except NotFound:
            return None

    def create(
        self,
        service: str,
        name: str,
        *,
        description: str = "",
        users: Sequence[str] = (),
        groups: Sequence[str] = (),
        roles: Sequence[str] = (),
        admins: Sequence[str] = (),
    ) -> bool:
        """Create a role with these members, of whom only the users `admins` are admins of it; false if it exists.

        Raises:
            InvalidInput: Ranger Admin could not look up that name by path afterwards.
            RequestRejected: Ranger does not know a member; the message names it.
        """
        segment(name)
        members = {"users": users, "groups": groups, "roles": roles}
        rows = {kind: [{"name": one, "isAdmin": False} for one in named] for kind, named in members.items()}
        rows["users"] += [{"name": one, "isAdmin": True} for one in admins]
        body = {"name": name, "description": description, **rows}
        try:
            self._change(RangerClient.CREATE_ROLE, body, {"serviceName": service})
        except RequestRejected as e:
            if _TAKEN.search(e.ranger_message):
                return False
            raise
        return True

    def delete(self, service: str, name: str, *, caller: str = "") -> None:
        """Delete a role, on behalf of a caller if one is named, whose rights then count.

        Raises:
            RequestRejected: a policy, another role or a zone names it, or it does not exist.
        """
        api = RangerClient.DELETE_ROLE_BY_NAME.format_path({"name": segment(name)})
        self._http.fetch(api, {"serviceName": service, **({"execUser": caller} if caller else {})})

    def grant(
        self,
        service: str,
        name: str,
        *,
        grantor: str,
        users: Sequence[str] = (),
        groups: Sequence[str] = (),
        roles: Sequence[str] = (),
        admin: bool = False,
    ) -> None:
        """Add members to a role on behalf of the grantor, with `admin` as admins of it; all others stay as they are.

        Raises:
            InvalidInput: no member is named.
            RequestRejected: the grantor may not, the role does not exist, or Ranger does not know a member.
        """
        body = _members_change(name, grantor, users, groups, roles, admin)
        self._change(RangerClient.GRANT_ROLE.format_path({"name": segment(service)}), body, {})

    def revoke(
        self,
        service: str,
        name: str,
        *,
        grantor: str,
        users: Sequence[str] = (),
        groups: Sequence[str] = (),
        roles: Sequence[str] = (),
        admin: bool = False,
    ) -> None:
        """Remove members from a role on behalf of the grantor; with `admin` they stay, and are no admins of it.

        Raises:
            InvalidInput: no member is named.
            RequestRejected: the grantor may not, or the role does not exist.
        """
        body = _members_change(name, grantor, users, groups, roles, admin)
        self._change(RangerClient.REVOKE_ROLE.format_path({"name": segment(service)}), body, {})

    def _names(self, api: API, query: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(_decoded(api, self._http.fetch(api, query), list[str]))

    def _change(self, api: API, body: Mapping[str, Any], query: Mapping[str, Any]) -> None:
        try:
            self._http.fetch(api, query, body)
        except RequestRejected as e:
            if unknown := _UNKNOWN.search(e.ranger_message):
                e.args = (
                    f"Ranger has no {unknown[1].lower()} `{unknown[2].strip()}`; create it in Ranger Admin, "
                    "or let user sync bring it, and try again",
                )
            raise


def _members_change(
    role: str, grantor: str, users: Sequence[str], groups: Sequence[str], roles: Sequence[str], admin: bool
) -> dict[str, Any]:
    if not (users or groups or roles):
        raise InvalidInput(f"no user, group or role is named whose membership in role `{role}` should change")
    return {
        "grantor": grantor,
        "grantorGroups": [],
        "targetRoles": [role],
        "users": list(users),
        "groups": list(groups),
        "roles": list(roles),
        "grantOption": admin,
    }


def _decoded(api: API, body: bytes | None, kind: type[T]) -> T:
    try:
        return convert(without_any_null(decode(body or b"")), kind)
    except UNREADABLE:
        raise UnexpectedAnswer(f"the answer to `GET /{api.path}` is not Ranger's form of roles") from None
