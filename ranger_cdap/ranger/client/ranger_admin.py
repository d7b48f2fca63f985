"""Client of Ranger Admin: downloads for plugins, and definitions, services, policies and users."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Self

import msgspec
from apache_ranger.client.ranger_client import RangerClient
from apache_ranger.client.ranger_user_mgmt_client import RangerUserMgmtClient
from apache_ranger.utils import API

from ranger_cdap.cdap.grant import Grant, GranteeKind
from ranger_cdap.closing import Closing
from ranger_cdap.config import Secret, Settings
from ranger_cdap.errors import NotFound, PolicySetError, RequestRejected, UnexpectedAnswer
from ranger_cdap.ranger.client import endpoints
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.downloader import COMMANDS, Downloader
from ranger_cdap.ranger.client.features import require_resources
from ranger_cdap.ranger.client.http import AdminHttp, is_addressable, segment
from ranger_cdap.ranger.client.ranger_roles import RoleClient
from ranger_cdap.ranger.client.sign_in import AccountSource
from ranger_cdap.ranger_model.decode import decode_policy
from ranger_cdap.ranger_model.download import SecurityZone, SecurityZoneInfo, ServicePolicies
from ranger_cdap.ranger_model.json_text import decode
from ranger_cdap.ranger_model.policy import Policy

Json = dict[str, Any]

_POLICIES_A_PAGE: Final = 10_000  # Ranger cuts lists at 200 silently by default
_USERS_A_PAGE: Final = 200


class RangerAdmin(Closing):
    """Client of one Ranger Admin with one account.

    Built on the endpoint descriptors of the `apache-ranger` client, but not on its model classes, because those drop
    unknown fields, and a definition or service that is read and sent back would lose them. Missing objects are None or
    False; every failure is a subclass of `RangerAdminError`. `roles` are the methods for roles.

    Raises:
        ConfigError: an address, the credentials or a certificate file is unusable.
    """

    def __init__(self, connection: AdminConnection) -> None:
        self._http = AdminHttp(connection)
        self.roles = RoleClient(self._http)

    @property
    def url(self) -> str:
        """Address that is used first now."""
        return self._http.url

    @classmethod
    def connect(
        cls,
        settings: Settings,
        username: str,
        password: Secret,
        *,
        source: AccountSource | None = None,
    ) -> Self:
        """Return a client for the Ranger Admin of the settings, with this account; `source` names it in errors."""
        return cls(AdminConnection.of(settings, username, password, source=source))

    def close(self) -> None:
        """Close the session."""
        self._http.close()

    # Downloads: the unchanged document, or None if it still has the last known version (304).

    def download_policies(
        self, service: str, *, last_known_version: int, by: Downloader, deltas: bool = False
    ) -> bytes | None:
        """Download the policies of a service (`ServicePolicies`); -1 as last known version always downloads them.

        With `deltas`, Ranger may return only the changes since that version (`policyDeltas`).
        """
        return self._download(
            endpoints.DOWNLOAD_POLICIES,
            service,
            {
                **by.query(by.activations.policies),
                "lastKnownVersion": last_known_version,
                "supportsPolicyDeltas": "true" if deltas else "false",
            },
        )

    def download_roles(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None:
        """Download the roles for a service (`RangerRoles`)."""
        return self._download(
            endpoints.DOWNLOAD_ROLES,
            service,
            {**by.query(by.activations.roles), "lastKnownRoleVersion": last_known_version},
        )

    def download_tags(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None:
        """Download the tags of a service's resources (`ServiceTags`)."""
        return self._download(
            endpoints.DOWNLOAD_TAGS,
            service,
            {
                **by.query(by.activations.tags),
                "lastKnownVersion": last_known_version,
                "supportsTagDeltas": "false",
            },
        )

    def download_user_store(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None:
        """Download users and their groups (`UserStore`)."""
        return self._download(
            endpoints.DOWNLOAD_USER_STORE,
            service,
            {**by.query(by.activations.users), "lastKnownUserStoreVersion": last_known_version},
        )

    def _download(self, api: API, service: str, query: Mapping[str, Any]) -> bytes | None:
        return self._http.fetch(api.format_path({"service": segment(service)}), query)

    # Service definitions and services: JSON objects with Ranger's field names.

    def get_service_def(self, name: str) -> Json | None:
        """Return the service definition of that name."""
        return self._find(RangerClient.GET_SERVICEDEF_BY_NAME.format_path({"name": segment(name)}))

    def create_service_def(self, definition: Mapping[str, Any]) -> Json:
        """Register a definition and return it with Ranger's additions (markers, `_expression`)."""
        return self._object(RangerClient.CREATE_SERVICEDEF, definition)

    def update_service_def(self, name: str, definition: Mapping[str, Any]) -> Json:
        """Replace a definition; its version and those of all services of the type go up, even without a change."""
        return self._object(RangerClient.UPDATE_SERVICEDEF_BY_NAME.format_path({"name": segment(name)}), definition)

    def get_service(self, name: str) -> Json | None:
        """Return the service of that name."""
        return self._find(RangerClient.GET_SERVICE_BY_NAME.format_path({"name": segment(name)}))

    def create_service(self, service: Mapping[str, Any]) -> Json:
        """Create a service; if its configuration names a user, Ranger creates policies with all rights for them."""
        return self._object(RangerClient.CREATE_SERVICE, service)

    def update_service(self, service_id: int, service: Mapping[str, Any]) -> Json:
        """Replace a service's settings."""
        return self._object(RangerClient.UPDATE_SERVICE_BY_ID.format_path({"id": service_id}), service)

    def look_up(self, service: str, level: str, resources: Mapping[str, Sequence[str]], typed: str = "") -> list[str]:
        """Return the names that Ranger Admin offers for a level of a policy, after those resources were chosen.

        Without the class that the service definition names, Ranger offers none.

        Raises:
            RequestRejected: the class failed; `ranger_message` is its sentence, or empty if it was too slow.
        """
        api = endpoints.LOOK_UP.format_path({"service": segment(service)})
        context = {"resourceName": level, "userInput": typed, "resources": resources}
        names = self._http.call_api(api, request_data=context)
        if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise UnexpectedAnswer(f"the answer to `POST /{api.path}` is not a list of names")
        return names or []

    # Policies.

    def list_policies(self, service: str, zone: str = "") -> list[Policy]:
        """Return all policies of a service in a zone, or outside of all, enabled or not, by id.

        An account without rights in the service gets an empty list from Ranger, not an error.
        """
        api = RangerClient.GET_POLICIES_IN_SERVICE.format_path({"serviceName": segment(service)})
        return list(self._policies(api, {"zoneName": zone} if zone else {}))

    def policy_documents(self, service: str) -> list[Json]:
        """Return all policies of a service, those of its security zones too, as JSON with all members.

        Ranger lists the policies of a zone only if asked for that zone.
        """
        api = RangerClient.GET_POLICIES_IN_SERVICE.format_path({"serviceName": segment(service)})
        queries: list[Mapping[str, Any]] = [{}, *({"zoneName": name} for name in self.security_zones(service))]
        raws = {policy.id: raw for query in queries for raw, policy in self._pages(api, query)}
        return [decode(raw, dict[str, Any]) for raw in raws.values()]

    def security_zones(self, service: str) -> dict[str, SecurityZoneInfo]:
        """Return the security zones that a service has resources in, by name.

        Without Ranger's module *Security Zone* an account sees them in its download of policies only.
        """
        try:
            answer = self._http.fetch(RangerClient.FIND_ZONES, {})
        except RequestRejected:
            found = self.download_policies(service, last_known_version=-1, by=Downloader.here(COMMANDS, service))
            return decode(
                found or b"", ServicePolicies, lambda _: UnexpectedAnswer("the downloaded zones are unreadable")
            ).security_zones
        zones = decode(
            answer or b"", list[SecurityZone], lambda _: UnexpectedAnswer("Ranger Admin's zones are unreadable")
        )
        return {zone.name: zone.services[service] for zone in zones if service in zone.services}

    def create_policy_document(self, policy: Mapping[str, Any]) -> Json:
        """Create a policy from JSON, with members unknown to this project.

        Raises:
            RangerTooOld: an older Ranger dropped resources; so do the other methods that write a policy.
        """
        return _whole_document(policy, self._object(RangerClient.CREATE_POLICY, policy))

    def update_policy_document(self, policy_id: int, policy: Mapping[str, Any]) -> Json:
        """Replace a policy by JSON, with members unknown to this project."""
        answer = self._object(RangerClient.UPDATE_POLICY_BY_ID.format_path({"id": policy_id}), policy)
        return _whole_document(policy, answer)

    def policy_by_id(self, policy_id: int) -> Policy | None:
        """Return the policy with that id, of any service."""
        return self._find_policy(RangerClient.GET_POLICY_BY_ID.format_path({"id": policy_id}))

    def policy_by_guid(self, service: str, guid: str, zone: str = "") -> Policy | None:
        """Return the policy of a service with that guid in a zone, or outside of all."""
        api = endpoints.GET_POLICY_BY_GUID.format_path({"guid": segment(guid)})
        return self._find_policy(api, {"serviceName": service} | ({"ZoneName": zone} if zone else {}))

    def policy_by_name(self, service: str, name: str) -> Policy | None:
        """Return the policy of a service with exactly that name.

        Ranger accepts names that it cannot look up by path (`a/b`); those are searched for in the list of policies.
        """
        if not is_addressable(name):
            api = RangerClient.GET_POLICIES_IN_SERVICE.format_path({"serviceName": segment(service)})
            return next((p for p in self._policies(api, {"policyNamePartial": name}) if p.name == name), None)
        return self._find_policy(
            RangerClient.GET_POLICY_BY_NAME.format_path({"serviceName": segment(service), "policyName": segment(name)})
        )

    def create_policy(self, policy: Policy) -> Policy:
        """Create a policy; never changes an existing one.

        Raises:
            RequestRejected: the name is taken (reason code 3006), or the resource (3010).
        """
        return _whole_policy(policy, self._policy(self._http.fetch(RangerClient.CREATE_POLICY, body=policy)))

    def update_policy(self, policy: Policy) -> Policy:
        """Replace the policy with that id; Ranger does not detect concurrent modifications.

        Compare the returned version with the version read: one more means that there was none.
        """
        api = RangerClient.UPDATE_POLICY_BY_ID.format_path({"id": policy.id})
        return _whole_policy(policy, self._policy(self._http.fetch(api, body=policy)))

    def delete_policy(self, policy_id: int) -> None:
        """Delete a policy.

        Raises:
            NotFound: no policy has that id.
        """
        self._http.fetch(RangerClient.DELETE_POLICY_BY_ID.format_path({"id": policy_id}))

    # Grants: Ranger checks the grantor but not the content, so only results of `grant_for` may be sent.

    def grant_access(self, service: str, grant: Grant, *, grantor: str, to: GranteeKind = "users") -> None:
        """Add a grant to the policy of exactly that resource, or to a new one, on behalf of the grantor.

        Raises:
            AccessForbidden: the grantor may not delegate this, or Ranger does not know the grantor or the user.
        """
        self._http.fetch(
            endpoints.GRANT_ACCESS.format_path({"service": segment(service)}), body=_grant(grant, grantor, to)
        )

    def revoke_access(self, service: str, grant: Grant, *, grantor: str, to: GranteeKind = "users") -> None:
        """Remove a grant from the policy of exactly that resource; no effect if there is none.

        Raises:
            AccessForbidden: as `grant_access`.
        """
        api = endpoints.REVOKE_ACCESS.format_path({"service": segment(service)})
        self._http.fetch(api, body=_grant(grant, grantor, to))

    def revoke_nothing(self, service: str, account: str, zone: str = "") -> None:
        """Revoke from the account itself a right on a resource that no policy of a zone has, which changes nothing.

        Ranger's answer shows the rights of the account: only an administrator of the service gets none of the errors.

        Raises:
            AccessForbidden: `ranger_message` says if the account is in `policy.grantrevoke.auth.users`.
        """
        self._http.fetch(
            endpoints.REVOKE_ACCESS.format_path({"service": segment(service)}),
            body={
                "grantor": account,
                "ownerUser": account,
                "resource": {"instance": f"ranger-cdap-{uuid.uuid4()}"},
                "users": [account],
                "accessTypes": ["read"],
                "zoneName": zone,
            },
        )

    # Users.

    def user_exists(self, name: str) -> bool:
        """Return whether Ranger has a user of exactly that name, case-sensitive."""
        return self._has_named(endpoints.LOOK_UP_USERS, name)

    def group_exists(self, name: str) -> bool:
        """Return whether Ranger has a group of exactly that name, case-sensitive."""
        return self._has_named(endpoints.LOOK_UP_GROUPS, name)

    def create_user(self, name: str, password: Secret, first_name: str = "") -> None:
        """Create a Ranger user without administrator rights.

        Raises:
            RequestRejected: the name is taken, or the password is too simple for Ranger.
        """
        self._http.fetch(
            RangerUserMgmtClient.CREATE_USER,
            body={
                "name": name,
                "firstName": first_name or name,
                "lastName": "",
                "password": password.reveal(),
                "userRoleList": ["ROLE_USER"],
                "status": 1,
            },
            secrets=(password,),
        )

    def _has_named(self, api: API, name: str) -> bool:
        # Unlike its other lists, Ranger's look-ups answer every account in full. They match parts of names, so the row
        # may be on a later page.
        seen: set[str] = set()
        while True:
            query = {"name": name, "startIndex": len(seen), "pageSize": _USERS_A_PAGE}
            rows = self._object(api, query=query).get("vXStrings")
            named = (row.get("value") for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()
            new = {row for row in named if isinstance(row, str)} - seen
            if name in new or not new:
                return name in new
            seen |= new

    # Decoding of responses.

    def _find(self, api: API) -> Json | None:
        try:
            return self._object(api)
        except NotFound:
            return None

    def _object(
        self, api: API, body: Mapping[str, Any] | None = None, *, query: Mapping[str, Any] | None = None
    ) -> Json:
        value = self._http.call_api(api, query, body)
        if not isinstance(value, dict):
            raise UnexpectedAnswer(f"the answer to `{api.method.value} /{api.path}` is not a JSON object")
        return value

    def _find_policy(self, api: API, query: Mapping[str, Any] | None = None) -> Policy | None:
        try:
            return self._policy(self._http.fetch(api, query))
        except NotFound:
            return None

    def _policies(self, api: API, query: Mapping[str, Any]) -> Iterator[Policy]:
        return (policy for _, policy in self._pages(api, query))

    def _pages(self, api: API, query: Mapping[str, Any]) -> Iterator[tuple[msgspec.Raw, Policy]]:
        """Yield pages until one has nothing new: Ranger may return shorter pages than requested."""
        seen: set[int | None] = set()
        while True:
            page = {**query, "pageSize": _POLICIES_A_PAGE, "startIndex": len(seen), "sortBy": "policyId"}
            raws = _policy_list(self._http.fetch(api, page))
            new = [(raw, policy) for raw in raws if (policy := self._policy(raw)).id not in seen]
            if not new:
                return
            seen.update(policy.id for _, policy in new)
            yield from new

    def _policy(self, raw: bytes | msgspec.Raw | None) -> Policy:
        try:
            return decode_policy(raw or b"")
        except PolicySetError as e:
            raise UnexpectedAnswer(f"Ranger Admin returned an unreadable policy: {e}") from None


def _whole_policy(sent: Policy, answered: Policy) -> Policy:
    require_resources(sent.name, sent.additional_resources, answered.additional_resources)
    return answered


def _whole_document(sent: Mapping[str, Any], answered: Json) -> Json:
    sets = ((one.get("additionalResources") or ()) for one in (sent, answered))
    require_resources(str(sent.get("name")), *sets)
    return answered


def _grant(grant: Grant, grantor: str, to: GranteeKind) -> Json:
    return {
        "grantor": grantor,
        "resource": dict(grant.resource),
        "users": [],
        "groups": [],
        "roles": [],
        to: [grant.user],
        "accessTypes": list(grant.accesses),
        "delegateAdmin": False,
        "enableAudit": True,
        "replaceExistingPermissions": False,
        "isRecursive": False,
    }


def _policy_list(body: bytes | None) -> list[msgspec.Raw]:
    return decode(
        body or b"", list[msgspec.Raw], lambda _: UnexpectedAnswer("Ranger Admin did not return a list of policies")
    )
