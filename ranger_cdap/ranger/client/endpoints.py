"""Endpoints of Ranger Admin missing in the `apache-ranger` client, as its API descriptors.

Only the `/secure/` download paths check credentials. Source: ranger-rest.md §1.1, §9.1.
"""

from __future__ import annotations

from typing import Final

from apache_ranger.utils import API, HttpMethod, HTTPStatus

DOWNLOAD_POLICIES: Final = API(
    "service/plugins/secure/policies/download/{service}", HttpMethod.GET, HTTPStatus.OK
)  # lastKnownVersion
DOWNLOAD_ROLES: Final = API(
    "service/roles/secure/download/{service}", HttpMethod.GET, HTTPStatus.OK
)  # lastKnownRoleVersion
DOWNLOAD_TAGS: Final = API("service/tags/secure/download/{service}", HttpMethod.GET, HTTPStatus.OK)  # lastKnownVersion
DOWNLOAD_USER_STORE: Final = API(
    "service/xusers/secure/download/{service}", HttpMethod.GET, HTTPStatus.OK
)  # lastKnownUserStoreVersion
GRANT_ACCESS: Final = API("service/plugins/secure/services/grant/{service}", HttpMethod.POST, HTTPStatus.OK)
REVOKE_ACCESS: Final = API("service/plugins/secure/services/revoke/{service}", HttpMethod.POST, HTTPStatus.OK)
LOOK_UP: Final = API("service/plugins/services/lookupResource/{service}", HttpMethod.POST, HTTPStatus.OK)
GET_POLICY_BY_GUID: Final = API("service/public/v2/api/policy/guid/{guid}", HttpMethod.GET, HTTPStatus.OK)
LOOK_UP_USERS: Final = API("service/xusers/lookup/users", HttpMethod.GET, HTTPStatus.OK)
LOOK_UP_GROUPS: Final = API("service/xusers/lookup/groups", HttpMethod.GET, HTTPStatus.OK)
