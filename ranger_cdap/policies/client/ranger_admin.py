"""Client of Ranger Admin: downloads for plugins, and definitions, services, policies and users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Final, Self

import msgspec
from apache_ranger.client.ranger_client import RangerClient
from apache_ranger.client.ranger_user_mgmt_client import RangerUserMgmtClient
from apache_ranger.utils import API

from ranger_cdap.cdap.grant import Grant
from ranger_cdap.config import RangerSettings, Secret
from ranger_cdap.engine.model.wire import Policy, decode_policy
from ranger_cdap.errors import NotFound, PolicySetError, UnexpectedAnswer
from ranger_cdap.policies.client import endpoints
from ranger_cdap.policies.client.downloader import Downloader
from ranger_cdap.policies.client.http import AdminHttp, is_addressable, segment
from ranger_cdap.policies.client.sign_in import Way

Json = dict[str, Any]

_POLICIES_A_PAGE: Final = 10_000  # Ranger cuts lists at 200 silently by default
_USERS_A_PAGE: Final = 200


class RangerAdmin:
    """One Ranger Admin, asked with one account.

    Built on the `apache-ranger` client's endpoint descriptors; answers are not put into its model classes, because
    those drop every field they do not know, and a definition or service read and sent back would lose it.
    Everything that is not there is None or False; every failure is a subclass of `RangerAdminError`.

    Raises:
        ConfigError: an address, the credentials or a file of certificates cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        username: str,
        password: Secret,
        auth: Way = "basic",
        ca_file: str | None = None,
        cert_file: str | None = None,
        key_file: str | None = None,
        connect_timeout: float = 5.0,
        read_timeout: float = 30.0,
        attempts: int = 3,
        allow_plain_http: bool = False,
    ) -> None:
        self._http = AdminHttp(
            url,
            username=username,
            password=password,
            auth=auth,
            ca_file=ca_file,
            cert_file=cert_file,
            key_file=key_file,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            attempts=attempts,
            allow_plain_http=allow_plain_http,
        )

    @property
    def url(self) -> str:
        """The address that is asked first now."""
        return self._http.url

    @classmethod
    def connect(cls, ranger: RangerSettings, username: str, password: Secret) -> Self:
        """A client for the Ranger Admin of the settings, with this account."""
        return cls(
            ranger.url,
            username=username,
            password=password,
            auth=ranger.auth,
            ca_file=ranger.ca_file,
            cert_file=ranger.cert_file,
            key_file=ranger.key_file,
            connect_timeout=ranger.connect_timeout,
            read_timeout=ranger.read_timeout,
            attempts=ranger.attempts,
            allow_plain_http=ranger.allow_plain_http,
        )

    def close(self) -> None:
        """Close the session."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # Downloads: the document as it came, or None when it still has the version last known (304).

    def download_policies(
        self, service: str, *, last_known_version: int, by: Downloader, deltas: bool = False
    ) -> bytes | None:
        """The policies of a service (`ServicePolicies`); -1 as last known version asks for them in any case.

        With `deltas` Ranger may answer with what has changed since that version (`policyDeltas`).
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
        """The roles a service may use (`RangerRoles`)."""
        return self._download(
            endpoints.DOWNLOAD_ROLES,
            service,
            {**by.query(by.activations.roles), "lastKnownRoleVersion": last_known_version},
        )

    def download_tags(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None:
        """The tags of a service's resources (`ServiceTags`)."""
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
        """Users and their groups (`UserStore`)."""
        return self._download(
            endpoints.DOWNLOAD_USER_STORE,
            service,
            {**by.query(by.activations.users), "lastKnownUserStoreVersion": last_known_version},
        )

    def _download(self, api: API, service: str, query: Mapping[str, Any]) -> bytes | None:
        return self._http.fetch(api.format_path({"service": segment(service)}), query)

    # Service definitions and services: JSON objects with Ranger's field names.

    def get_service_def(self, name: str) -> Json | None:
        """The service definition of that name."""
        return self._find(RangerClient.GET_SERVICEDEF_BY_NAME.format_path({"name": segment(name)}))

    def create_service_def(self, definition: Mapping[str, Any]) -> Json:
        """Register a definition; Ranger answers with its own additions (markers, `_expression`)."""
        return self._object(RangerClient.CREATE_SERVICEDEF, definition)

    def update_service_def(self, name: str, definition: Mapping[str, Any]) -> Json:
        """Replace a definition; its version and that of every service of the type go up, also without a change."""
        return self._object(RangerClient.UPDATE_SERVICEDEF_BY_NAME.format_path({"name": segment(name)}), definition)

    def get_service(self, name: str) -> Json | None:
        """The service of that name."""
        return self._find(RangerClient.GET_SERVICE_BY_NAME.format_path({"name": segment(name)}))

    def create_service(self, service: Mapping[str, Any]) -> Json:
        """Create a service; if its configuration names a user, Ranger makes policies that give that user everything."""
        return self._object(RangerClient.CREATE_SERVICE, service)

    def update_service(self, service_id: int, service: Mapping[str, Any]) -> Json:
        """Replace a service's settings."""
        return self._object(RangerClient.UPDATE_SERVICE_BY_ID.format_path({"id": service_id}), service)

    # Policies.

    def list_policies(self, service: str) -> list[Policy]:
        """All policies of a service, enabled or not, in the order of their ids.

        An account without rights in the service gets an empty list from Ranger, not an error.
        """
        api = RangerClient.GET_POLICIES_IN_SERVICE.format_path({"serviceName": segment(service)})
        return list(self._policies(api, {}))

    def policies_matching(self, service: str, resource: Mapping[str, str]) -> list[Policy]:
        """The policies of a service that have those values at those levels, by name or by a pattern of theirs."""
        api = RangerClient.GET_POLICIES_IN_SERVICE.format_path({"serviceName": segment(service)})
        return list(self._policies(api, {f"resource:{level}": value for level, value in resource.items()}))

    def policy_documents(self, service: str) -> list[Json]:
        """All policies of a service as Ranger has them, with every member; as `list_policies` otherwise."""
        api = RangerClient.GET_POLICIES_IN_SERVICE.format_path({"serviceName": segment(service)})
        return [json_object(raw) for raw, _ in self._pages(api, {})]

    def create_policy_document(self, policy: Mapping[str, Any]) -> Json:
        """As `create_policy`, with members this project does not know."""
        return self._object(RangerClient.CREATE_POLICY, policy)

    def update_policy_document(self, policy_id: int, policy: Mapping[str, Any]) -> Json:
        """As `update_policy`, with members this project does not know."""
        return self._object(RangerClient.UPDATE_POLICY_BY_ID.format_path({"id": policy_id}), policy)

    def policy_by_id(self, policy_id: int) -> Policy | None:
        """The policy with that id, of whatever service."""
        return self._find_policy(RangerClient.GET_POLICY_BY_ID.format_path({"id": policy_id}))

    def policy_by_guid(self, service: str, guid: str) -> Policy | None:
        """The policy of a service with that guid."""
        api = endpoints.GET_POLICY_BY_GUID.format_path({"guid": segment(guid)})
        return self._find_policy(api, {"serviceName": service})

    def policy_by_name(self, service: str, name: str) -> Policy | None:
        """The policy of a service with exactly that name.

        Ranger accepts names that it cannot find by path (`a/b`); those are searched for among the policies.
        """
        if not is_addressable(name):
            api = RangerClient.GET_POLICIES_IN_SERVICE.format_path({"serviceName": segment(service)})
            return next((p for p in self._policies(api, {"policyNamePartial": name}) if p.name == name), None)
        return self._find_policy(
            RangerClient.GET_POLICY_BY_NAME.format_path({"serviceName": segment(service), "policyName": segment(name)})
        )

    def create_policy(self, policy: Policy) -> Policy:
        """Create a policy; never changes one that is there.

        Raises:
            RequestRejected: with reason code 3006 the name is taken, with 3010 the resource.
        """
        return self._policy(self._http.fetch(RangerClient.CREATE_POLICY, body=policy))

    def update_policy(self, policy: Policy) -> Policy:
        """Replace the policy with that id; Ranger does not look whether somebody changed it since it was read.

        So compare the version of the answer with the version read: one more means that no one did.
        """
        api = RangerClient.UPDATE_POLICY_BY_ID.format_path({"id": policy.id})
        return self._policy(self._http.fetch(api, body=policy))

    def delete_policy(self, policy_id: int) -> None:
        """Delete a policy.

        Raises:
            NotFound: there is none with that id.
        """
        self._http.fetch(RangerClient.DELETE_POLICY_BY_ID.format_path({"id": policy_id}))

    # Grants: Ranger checks the grantor, and nothing of what is granted, so only what passed `grant_for` may be sent.

    def grant_access(self, service: str, grant: Grant, *, grantor: str) -> None:
        """Put a grant into the policy of exactly that resource, or into a new one, in the name of the grantor.

        Raises:
            AccessForbidden: the grantor may not delegate this, or Ranger does not know the grantor or the user.
        """
        self._http.fetch(endpoints.GRANT_ACCESS.format_path({"service": segment(service)}), body=_grant(grant, grantor))

    def revoke_access(self, service: str, grant: Grant, *, grantor: str) -> None:
        """Take a grant out of the policy of exactly that resource; where there is none, nothing happens.

        Raises:
            AccessForbidden: as `grant_access`.
        """
        self._http.fetch(
            endpoints.REVOKE_ACCESS.format_path({"service": segment(service)}), body=_grant(grant, grantor)
        )

    # Users.

    def user_exists(self, name: str) -> bool:
        """Whether Ranger has a user of exactly that name; names are case-sensitive."""
        seen: set[str] = set()
        while new := self._user_names(name, start=len(seen)) - seen:
            if name in new:
                return True
            seen |= new
        return False

    def create_user(self, name: str, password: Secret, first_name: str = "") -> None:
        """Create a user of Ranger with the role of an ordinary user.

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

    def _user_names(self, part: str, start: int) -> set[str]:
        # Ranger's filter matches parts of names, so the user asked for may stand on a later page.
        query = {"name": part, "startIndex": start, "pageSize": _USERS_A_PAGE}
        users = self._object(RangerUserMgmtClient.FIND_USERS, query=query).get("vXUsers")
        named = (user.get("name") for user in users if isinstance(user, dict)) if isinstance(users, list) else ()
        return {name for name in named if isinstance(name, str)}

    # Shapes of answers.

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
        """Page after page until one brings nothing new: Ranger may cut a page shorter than asked for."""
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
            raise UnexpectedAnswer(f"Ranger Admin answered with a policy that cannot be read: {e}") from None


def _grant(grant: Grant, grantor: str) -> Json:
    return {
        "grantor": grantor,
        "resource": dict(grant.resource),
        "users": [grant.user],
        "groups": [],
        "roles": [],
        "accessTypes": list(grant.accesses),
        "delegateAdmin": False,
        "enableAudit": True,
        "replaceExistingPermissions": False,
        "isRecursive": False,
    }


def json_object(raw: msgspec.Raw) -> Json:
    """A JSON object that was read as something else before."""
    return msgspec.json.decode(raw, type=dict[str, Any])


def _policy_list(body: bytes | None) -> list[msgspec.Raw]:
    try:
        return msgspec.json.decode(body or b"", type=list[msgspec.Raw])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise UnexpectedAnswer("Ranger Admin answered with something else than a list of policies") from None
