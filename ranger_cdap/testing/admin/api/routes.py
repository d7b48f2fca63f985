"""Routes of the REST interface: method, path, required access, handler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ranger_cdap.testing.admin.api import (
    definition_api,
    download_api,
    grant_api,
    group_api,
    plugin_api,
    policy_api,
    policy_search,
    role_api,
    role_grant_api,
    service_api,
    tag_api,
    user_api,
    zone_api,
)
from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.model.responses import ServerResponse


class Access(Enum):
    """Access that a route requires; handlers check further rights."""

    USER = "every authenticated user"
    ADMIN_PAGE = "Ranger administrators; others get Ranger's HTML page with 403"
    ADMIN = "Ranger administrators; others get 403 as JSON"
    UNSECURED = "no caller: paths without /secure/ are closed, with or without credentials"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of `ROUTES`; `code` is the `statusCode` in the rejection of an unsecured route."""

    method: str
    path: str
    access: Access
    handler: Callable[[AdminCall], ServerResponse] | None = None
    code: int = 400


_V2 = "/service/public/v2/api"
_PLUGINS = "/service/plugins"
_USERS = "/service/xusers"
_ROLES = "/service/roles/roles"
_ZONES = "/service/zones/zones"

ROUTES: tuple[Row, ...] = (
    Row("GET", f"{_V2}/servicedef", Access.USER, definition_api.list_definitions),
    Row("POST", f"{_V2}/servicedef", Access.ADMIN_PAGE, definition_api.create_definition),
    Row("GET", f"{_V2}/servicedef/{{id}}", Access.USER, definition_api.get_definition),
    Row("PUT", f"{_V2}/servicedef/{{id}}", Access.ADMIN_PAGE, definition_api.update_definition),
    Row("DELETE", f"{_V2}/servicedef/{{id}}", Access.ADMIN_PAGE, definition_api.delete_definition),
    Row("GET", f"{_V2}/servicedef/name/{{name}}", Access.USER, definition_api.get_definition),
    Row("PUT", f"{_V2}/servicedef/name/{{name}}", Access.ADMIN_PAGE, definition_api.update_definition),
    Row("DELETE", f"{_V2}/servicedef/name/{{name}}", Access.ADMIN_PAGE, definition_api.delete_definition),
    Row("GET", f"{_V2}/service", Access.ADMIN, service_api.list_services),
    Row("POST", f"{_V2}/service", Access.ADMIN, service_api.create_service),
    Row("GET", f"{_V2}/service/{{id}}", Access.ADMIN, service_api.get_service),
    Row("PUT", f"{_V2}/service/{{id}}", Access.ADMIN, service_api.update_service),
    Row("DELETE", f"{_V2}/service/{{id}}", Access.ADMIN, service_api.delete_service),
    Row("GET", f"{_V2}/service/name/{{name}}", Access.ADMIN, service_api.get_service),
    Row("PUT", f"{_V2}/service/name/{{name}}", Access.ADMIN, service_api.update_service),
    Row("DELETE", f"{_V2}/service/name/{{name}}", Access.ADMIN, service_api.delete_service),
    Row("GET", f"{_V2}/service/{{name}}/policy", Access.USER, policy_search.list_policies),
    Row("GET", f"{_V2}/service/{{name}}/policy/{{policy}}", Access.USER, policy_api.get_policy),
    Row("PUT", f"{_V2}/service/{{name}}/policy/{{policy}}", Access.USER, policy_api.update_policy),
    Row("GET", f"{_V2}/policy", Access.USER, policy_search.list_policies),
    Row("POST", f"{_V2}/policy", Access.USER, policy_api.create_policy),
    Row("DELETE", f"{_V2}/policy", Access.USER, policy_api.delete_policy_by_name),
    Row("GET", f"{_V2}/policy/{{id}}", Access.USER, policy_api.get_policy),
    Row("PUT", f"{_V2}/policy/{{id}}", Access.USER, policy_api.update_policy),
    Row("DELETE", f"{_V2}/policy/{{id}}", Access.USER, policy_api.delete_policy),
    Row("GET", f"{_V2}/policy/guid/{{guid}}", Access.USER, policy_api.get_policy_by_guid),
    Row("GET", f"{_PLUGINS}/definitions/name/{{name}}", Access.USER, definition_api.get_definition),
    Row("GET", f"{_PLUGINS}/services/name/{{name}}", Access.USER, service_api.get_service_for_plugins),
    Row("POST", f"{_PLUGINS}/services/lookupResource/{{name}}", Access.USER, service_api.look_up),
    Row("GET", f"{_V2}/plugins/info", Access.ADMIN_PAGE, plugin_api.list_plugins),
    Row("GET", f"{_PLUGINS}/plugins/info", Access.ADMIN_PAGE, plugin_api.list_plugins_in_envelope),
    Row("GET", f"{_V2}/roles", Access.USER, role_api.list_roles),
    Row("POST", f"{_V2}/roles", Access.USER, role_api.create_role),
    Row("GET", f"{_V2}/roles/names", Access.USER, role_api.list_role_names),
    Row("GET", f"{_V2}/roles/{{id}}", Access.USER, role_api.get_role),
    Row("PUT", f"{_V2}/roles/{{id}}", Access.USER, role_api.update_role),
    Row("DELETE", f"{_V2}/roles/{{id}}", Access.USER, role_api.delete_role),
    Row("GET", f"{_V2}/roles/name/{{name}}", Access.USER, role_api.get_role_by_name),
    Row("DELETE", f"{_V2}/roles/name/{{name}}", Access.USER, role_api.delete_role_by_name),
    Row("GET", f"{_V2}/roles/user/{{name}}", Access.USER, role_api.list_roles_of_user),
    Row("PUT", f"{_V2}/roles/grant/{{name}}", Access.USER, role_grant_api.grant_role),
    Row("PUT", f"{_V2}/roles/revoke/{{name}}", Access.USER, role_grant_api.revoke_role),
    Row("GET", f"{_V2}/zones", Access.USER, zone_api.list_zones),
    Row("POST", f"{_V2}/zones", Access.ADMIN, zone_api.create_zone),
    Row("GET", f"{_V2}/zones/{{id}}", Access.USER, zone_api.get_zone),
    Row("PUT", f"{_V2}/zones/{{id}}", Access.ADMIN, zone_api.update_zone),
    Row("DELETE", f"{_V2}/zones/{{id}}", Access.ADMIN, zone_api.delete_zone),
    Row("GET", f"{_V2}/zones/name/{{name}}", Access.USER, zone_api.get_zone),
    Row("DELETE", f"{_V2}/zones/name/{{name}}", Access.ADMIN, zone_api.delete_zone),
    Row("GET", f"{_V2}/service/{{name}}/tags", Access.ADMIN_PAGE, tag_api.export_service_tags),
    Row("PUT", f"{_V2}/service/{{name}}/tags", Access.ADMIN_PAGE, tag_api.import_service_tags),
    Row("GET", "/service/tags/types", Access.ADMIN, tag_api.list_tag_types),
    Row("GET", f"{_USERS}/users", Access.USER, user_api.list_users),
    Row("GET", f"{_USERS}/lookup/users", Access.USER, user_api.look_up_users),
    Row("GET", f"{_USERS}/lookup/groups", Access.USER, group_api.look_up_groups),
    Row("GET", f"{_USERS}/users/userName/{{name}}", Access.USER, user_api.get_user_by_name),
    Row("POST", f"{_USERS}/secure/users", Access.ADMIN_PAGE, user_api.create_user),
    Row("GET", f"{_USERS}/secure/users/{{id}}", Access.ADMIN_PAGE, user_api.get_user),
    Row("DELETE", f"{_USERS}/secure/users/{{name}}", Access.ADMIN_PAGE, user_api.delete_user),
    Row("DELETE", f"{_USERS}/users/{{id}}", Access.ADMIN_PAGE, user_api.delete_user),
    Row("GET", f"{_USERS}/groups", Access.USER, group_api.list_groups),
    Row("POST", f"{_USERS}/secure/groups", Access.ADMIN_PAGE, group_api.create_group),
    Row("GET", f"{_USERS}/secure/groups/{{id}}", Access.ADMIN_PAGE, group_api.get_group),
    Row("DELETE", f"{_USERS}/secure/groups/{{name}}", Access.ADMIN_PAGE, group_api.delete_group),
    Row("DELETE", f"{_USERS}/groups/{{id}}", Access.ADMIN_PAGE, group_api.delete_group),
    Row("GET", f"{_USERS}/groups/groupName/{{name}}", Access.ADMIN_PAGE, group_api.get_group),
    Row("GET", f"{_USERS}/groupusers", Access.USER, group_api.list_group_users),
    Row("GET", f"{_USERS}/groupusers/groupName/{{name}}", Access.ADMIN_PAGE, group_api.get_group_users),
    Row("DELETE", f"{_USERS}/groupusers/{{id}}", Access.ADMIN_PAGE, group_api.delete_group_user),
    Row("POST", f"{_USERS}/groupusers", Access.ADMIN_PAGE, group_api.add_group_user),
    Row("GET", f"{_PLUGINS}/secure/policies/download/{{name}}", Access.USER, download_api.download_policies),
    Row("GET", "/service/roles/secure/download/{name}", Access.USER, download_api.download_roles),
    Row("GET", "/service/tags/secure/download/{name}", Access.USER, download_api.download_tags),
    Row("GET", f"{_USERS}/secure/download/{{name}}", Access.USER, download_api.download_user_store),
    Row("POST", f"{_PLUGINS}/secure/services/grant/{{name}}", Access.USER, grant_api.grant),
    Row("POST", f"{_PLUGINS}/secure/services/revoke/{{name}}", Access.USER, grant_api.revoke),
    Row("GET", f"{_PLUGINS}/policies/download/{{name}}", Access.UNSECURED),
    Row("GET", "/service/roles/download/{name}", Access.UNSECURED),
    Row("GET", "/service/tags/download/{name}", Access.UNSECURED),
    Row("GET", f"{_USERS}/download/{{name}}", Access.UNSECURED),
    Row("POST", f"{_PLUGINS}/services/grant/{{name}}", Access.UNSECURED, code=1),
    Row("POST", f"{_PLUGINS}/services/revoke/{{name}}", Access.UNSECURED, code=1),
    # For the forms of Ranger's web UI; `public/v2` calls the same methods. After the paths with a fixed last part.
    Row("POST", f"{_PLUGINS}/policies", Access.USER, policy_api.create_policy),
    Row("GET", f"{_PLUGINS}/policies/{{id}}", Access.USER, policy_api.get_policy),
    Row("PUT", f"{_PLUGINS}/policies/{{id}}", Access.USER, policy_api.update_policy),
    Row("DELETE", f"{_PLUGINS}/policies/{{id}}", Access.USER, policy_api.delete_policy),
    Row("POST", f"{_PLUGINS}/services", Access.ADMIN, service_api.create_service),
    Row("GET", f"{_PLUGINS}/services/{{id}}", Access.USER, service_api.get_service_for_plugins),
    Row("PUT", f"{_PLUGINS}/services/{{id}}", Access.ADMIN, service_api.update_service),
    Row("DELETE", f"{_PLUGINS}/services/{{id}}", Access.ADMIN, service_api.delete_service),
    Row("GET", f"{_ROLES}", Access.USER, role_api.list_roles_in_envelope),
    Row("POST", f"{_ROLES}", Access.USER, role_api.create_role),
    Row("GET", f"{_ROLES}/{{id}}", Access.USER, role_api.get_role),
    Row("PUT", f"{_ROLES}/{{id}}", Access.USER, role_api.update_role),
    Row("DELETE", f"{_ROLES}/{{id}}", Access.USER, role_api.delete_role),
    Row("POST", f"{_ZONES}", Access.ADMIN, zone_api.create_zone),
    Row("GET", f"{_ZONES}/{{id}}", Access.USER, zone_api.get_zone),
    Row("PUT", f"{_ZONES}/{{id}}", Access.ADMIN, zone_api.update_zone),
    Row("DELETE", f"{_ZONES}/{{id}}", Access.ADMIN, zone_api.delete_zone),
)
