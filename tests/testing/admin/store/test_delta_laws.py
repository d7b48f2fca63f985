"""The law of deltas: whatever was done, an older download with the changes since is the whole download of now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.testing.admin import Store
from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.bootstrap import prepare
from ranger_cdap.testing.admin.api.definition_api import create_definition
from ranger_cdap.testing.admin.api.download_api import download_policies
from ranger_cdap.testing.admin.api.grant_api import grant, revoke
from ranger_cdap.testing.admin.api.policy_api import (
    create_policy,
    delete_policy,
    update_policy,
)
from ranger_cdap.testing.admin.api.policy_search import list_policies
from ranger_cdap.testing.admin.api.role_api import create_role, update_role
from ranger_cdap.testing.admin.api.service_api import create_service
from ranger_cdap.testing.admin.api.user_api import delete_user
from ranger_cdap.testing.admin.model.documents import User
from ranger_cdap.testing.admin.model.responses import Refusal, ServerResponse
from ranger_cdap.testing.admin.store.change_log import DELETED
from ranger_cdap.testing.admin.store.principals import ADMIN_ROLE, Login
from servicedef import service_definition
from tests.testing.admin.caller import policy

ADMIN = Login("admin", "Admin", "", (ADMIN_ROLE,))
SERVICE = {"name": "cdapdev"}
USERS = ("alice", "bob", "carol")
NAMESPACES = ("ns1", "ns2", "ns3")
ACCESSES = ("read", "write")
Policies = dict[int, dict[str, Any]]


class Admin:
    """The handlers over an empty store, without HTTP: each call is a transaction a millisecond later."""

    def __init__(self) -> None:
        self._store = Store()
        self._clock = count(1_800_000_000_000)
        with self._store.transaction() as tables:
            prepare(tables, "", next(self._clock))
            for name in USERS:
                tables.principals.insert_user(User(name=name), None, None, next(self._clock))
        self(create_definition, service_definition())
        self(create_service, {"name": "cdapdev", "type": "cdap"})
        self.role_id = self(create_role, {"name": "devs", "users": [{"name": "alice"}]})["id"]

    def __call__(
        self,
        handler: Callable[[AdminCall], ServerResponse],
        body: Any = None,
        path: Mapping[str, str] = SERVICE,
        **query: str,
    ) -> Any:
        """What the handler answers; a refusal changes nothing and answers None."""
        content = b"" if body is None else msgspec.json.encode(body)
        try:
            with self._store.transaction() as tables:
                answer = handler(AdminCall(tables, ADMIN, path, query, content, next(self._clock), policy_deltas=True))
        except Refusal:
            return None
        return msgspec.json.decode(answer.body) if answer.body else None

    def download(self, known: int = -1) -> Any:
        return self(download_policies, lastKnownVersion=str(known), supportsPolicyDeltas="true")

    def ids(self) -> list[int]:
        return [row["id"] for row in self(list_policies, pageSize="1000")]

    def close(self) -> None:
        self._store.close()


def held(download: Any) -> Policies:
    """All policies of a whole download, those for tags too, by id."""
    return {row["id"]: row for row in (*download["policies"], *download["tagPolicies"]["policies"])}


def after(older: Policies, download: Any) -> Policies:
    """What a plugin that has older policies holds after a download."""
    if "policies" in download:
        return held(download)
    found = dict(older)
    for delta in download["policyDeltas"]:
        changed = delta["policy"]
        if delta["changeType"] == DELETED:
            found.pop(changed["id"])
        else:
            found[changed["id"]] = changed
    return found


def as_listed(policies: Policies) -> Policies:
    """Without authors, times and signature, which only a delta has."""
    stamp = {"createdBy", "updatedBy", "createTime", "updateTime", "resourceSignature"}
    return {number: {name: row[name] for name in row.keys() - stamp} for number, row in policies.items()}


namespace, user, access = st.sampled_from(NAMESPACES), st.sampled_from(USERS), st.sampled_from(ACCESSES)
any_policy = st.builds(
    lambda name, space, who, enabled, denies: policy(
        name, space, who, isEnabled=enabled, **({"denyPolicyItems": _items(denies)} if denies else {})
    ),
    st.sampled_from(("p", "q", "r")),
    namespace,
    user,
    st.booleans(),
    st.none() | user,
)


def _items(who: str) -> list[dict[str, Any]]:
    return [{"users": [who], "accesses": [{"type": "write"}]}]


request = st.builds(
    lambda space, who, types, delegates, replaces: {
        "grantor": "admin",
        "resource": {"instance": "cdap", "namespace": space},
        "users": [who],
        "accessTypes": types,
        "delegateAdmin": delegates,
        "replaceExistingPermissions": replaces,
    },
    namespace,
    user,
    st.lists(access, min_size=1, max_size=2, unique=True),
    st.booleans(),
    st.booleans(),
)
which = st.integers(0, 9)
Step = Callable[[Admin], object]


def _of(admin: Admin, number: int) -> dict[str, str]:
    ids = admin.ids()
    return {"id": str(ids[number % len(ids)] if ids else 0)}


changes_of_policies: st.SearchStrategy[Step] = st.one_of(
    st.builds(lambda body: lambda admin: admin(grant, body), request),
    st.builds(lambda body: lambda admin: admin(revoke, body), request),
    st.builds(lambda body: lambda admin: admin(create_policy, body), any_policy),
    st.builds(lambda body, n: lambda admin: admin(update_policy, body, _of(admin, n)), any_policy, which),
    st.builds(lambda n: lambda admin: admin(delete_policy, None, _of(admin, n)), which),
)
other_changes: st.SearchStrategy[Step] = st.one_of(
    st.builds(
        lambda name: lambda admin: admin(update_role, {"name": name}, {"id": str(admin.role_id)}),
        st.sampled_from(("devs", "ops")),
    ),
    st.just(lambda admin: admin(delete_user, None, {"name": "carol"})),
    st.just(
        lambda admin: admin(
            create_policy,
            policy("of a role", "ns9", policyItems=[{"roles": ["devs"], "accesses": [{"type": "read"}]}]),
        )
    ),
)


def check(steps: list[Step], *, only_deltas: bool) -> None:
    admin = Admin()
    try:
        downloads = [admin.download()]
        for step in steps:
            step(admin)
            downloads.append(admin.download())
        now = held(downloads[-1])
        for older in downloads:
            newer = admin.download(older["policyVersion"])
            if newer is None:
                assert older["policyVersion"] == downloads[-1]["policyVersion"]
                newer = older
            else:
                assert newer["policyVersion"] == downloads[-1]["policyVersion"]
                assert ("policyDeltas" in newer) or not only_deltas
            assert as_listed(after(held(older), newer)) == as_listed(now)
    finally:
        admin.close()


@settings(max_examples=60, deadline=None)
@given(st.lists(changes_of_policies, min_size=1, max_size=12))
def test_changes_of_policies_lead_any_older_download_to_the_whole_one_of_now(steps: list[Step]) -> None:
    check(steps, only_deltas=True)


@settings(max_examples=40, deadline=None)
@given(st.lists(changes_of_policies | other_changes, min_size=1, max_size=12))
def test_changes_of_roles_and_users_among_them_too(steps: list[Step]) -> None:
    check(steps, only_deltas=False)
