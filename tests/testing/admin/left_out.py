"""Deliberately unsupported endpoints, each with the reason; all of them return 404 or 405."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UnsupportedEndpoint:
    """Unsupported requests of Ranger's REST interface, one example path of each kind, with the reason."""

    reason: str
    requests: tuple[tuple[str, str], ...]


_V2 = "/service/public/v2/api"

UNSUPPORTED: tuple[UnsupportedEndpoint, ...] = (
    UnsupportedEndpoint(
        "zones are made and changed in their first form, by Ranger administrators only, which is stricter",
        (
            ("GET", f"{_V2}/zones-v2"),
            ("POST", f"{_V2}/zones-v2"),
            ("GET", f"{_V2}/zones-v2/1"),
            ("PUT", f"{_V2}/zones-v2/1"),
            ("PUT", f"{_V2}/zones-v2/1/partial"),
            ("GET", f"{_V2}/zones-v2/1/resources/cdapdev"),
            ("GET", f"{_V2}/zones-v2/name/z"),
            ("GET", f"{_V2}/zones-v2/name/z/resources/cdapdev"),
            ("GET", f"{_V2}/zone-headers"),
            ("GET", f"{_V2}/zones/1/service-headers"),
            ("GET", f"{_V2}/zone-names/cdapdev/resource"),
        ),
    ),
    UnsupportedEndpoint(
        "Basic authentication only: nothing here has a page, so nothing needs a session, a cookie or a form",
        (("GET", "/service/plugins/csrfconf"), ("POST", "/login"), ("GET", "/service/users/profile")),
    ),
    UnsupportedEndpoint(
        "audits go to files or Solr and are looked at there",
        (
            ("GET", "/service/assets/accessAudit"),
            ("GET", "/service/assets/report"),
            ("GET", "/service/xusers/authSessions"),
        ),
    ),
    UnsupportedEndpoint(
        "tags come in whole uploads, as Ranger's tagsync sends them, and go in whole downloads",
        (
            ("POST", "/service/tags/tags"),
            ("POST", "/service/tags/tagdefs"),
            ("POST", "/service/tags/resources"),
            ("POST", "/service/tags/tagresourcemaps"),
        ),
    ),
    UnsupportedEndpoint(
        "a regular expression of any caller; only Ranger Admin's own pages ask",
        (("GET", "/service/tags/lookup"),),
    ),
    UnsupportedEndpoint(
        "users and groups are deleted one by one; none is hidden or given a role by a directory",
        (
            ("POST", "/service/xusers/ugsync/users/visibility"),
            ("POST", "/service/xusers/ugsync/groups/visibility"),
            ("POST", "/service/xusers/users/roleassignments"),
            ("DELETE", "/service/xusers/delete/external/users"),
            ("DELETE", "/service/xusers/delete/external/groups"),
        ),
    ),
    UnsupportedEndpoint(
        "users and groups do not change: they are deleted and made again, memberships too",
        (
            ("PUT", "/service/xusers/secure/users/1"),
            ("PUT", "/service/xusers/secure/groups/1"),
            ("PUT", "/service/xusers/groupusers"),
        ),
    ),
    UnsupportedEndpoint(
        "for Ranger's own pages and for its user synchronization; no client sends these",
        (
            ("GET", "/service/plugins/policies/eventTime"),
            ("GET", "/service/plugins/policy/1/versionList"),
            ("GET", "/service/plugins/policy/1/version/1"),
            ("GET", "/service/plugins/policies/exportJson"),
            ("POST", "/service/plugins/policies/importPoliciesFromFile"),
            ("GET", "/service/plugins/policies/service/1"),
            ("GET", "/service/plugins/policies/cdap/for-resource"),
            ("GET", f"{_V2}/policies/cdap/for-resource"),
            ("DELETE", f"{_V2}/policies/bulk"),
            ("POST", "/service/plugins/services/validateConfig"),
            ("PUT", "/service/tags/importservicetags"),
            ("POST", "/service/xusers/users/external"),
            ("POST", "/service/xusers/ugsync/users"),
            ("GET", "/service/xusers/ugsync/groupusers"),
        ),
    ),
    UnsupportedEndpoint(
        "a second way to what `public/v2` does; the forms of Ranger's web UI do not use these",
        (
            ("POST", f"{_V2}/policy/apply"),
            ("PUT", "/service/roles/roles/grant/cdapdev"),
            ("GET", "/service/roles/roles/names"),
            ("GET", "/service/zones/zones"),
            ("GET", "/service/zones/zones/name/z"),
            ("GET", "/service/plugins/policies"),
            ("GET", "/service/plugins/services"),
        ),
    ),
    UnsupportedEndpoint(
        "the log of changes keeps its last entries by itself",
        (("DELETE", f"{_V2}/server/policydeltas"), ("DELETE", f"{_V2}/server/purge/records")),
    ),
    UnsupportedEndpoint(
        "the first form of the interface; clients of today use `public/v2`",
        (("GET", "/service/public/api/policy"), ("GET", "/service/public/api/repository")),
    ),
    UnsupportedEndpoint(
        "log levels of Ranger Admin's own Java classes, which apache-ranger 0.0.13 sets",
        (("POST", "/service/admin/set-logger-level"),),
    ),
    UnsupportedEndpoint(
        "Ranger 2.9.0 does not have it either",
        (("GET", "/service/gds/secure/download/cdapdev"), ("GET", f"{_V2}/server/version")),
    ),
)
