"""A creator who may delegate shares what is theirs: from CDAP, by Ranger's REST API for grants, and in its form."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import is_creators_policy
from ranger_cdap.service.decision_service import DecisionService
from tests.real_ranger.estate import Estate, Json
from tests.real_ranger.test_bridge import ask
from tests.real_ranger.ui_forms import POLICIES, item, new_policy, saved_policy
from tests.service.fixtures import CALLERS
from tests.service.grants.test_grants import DONE
from tests.spark_sync.grants.fixtures import MemoryLedger, gone, life, push_by

KV = {"namespace": "ns1", "dataset": "kv"}
LEVELS = {"instance": ["cdap"], "namespace": ["ns1"], "dataset": ["kv"]}


def created(estate: Estate) -> tuple[MemoryLedger, Any]:
    """The ledger and settings after alice created ns1.kv, which she may pass on."""
    estate.set_up()
    estate.user("bob")
    sync = msgspec.structs.replace(estate.settings.sync, delegate_admin=True)
    settings = msgspec.structs.replace(estate.settings, sync=sync)
    ledger = MemoryLedger([life(estate.user("alice"), EntityId("dataset", ("ns1", "kv")))])
    assert push_by(settings, ledger).error is None
    return ledger, settings


def ours(estate: Estate) -> Json:
    """The policy of the sync job, with its id and version."""
    (found,) = filter(is_creators_policy, estate.admin.policy_documents(estate.service))
    return found


def by_cdap(estate: Estate) -> None:
    service = msgspec.structs.replace(estate.settings.service, callers=CALLERS)
    settings = msgspec.structs.replace(estate.settings, service=service)
    with DecisionService(settings, refresh_in_background=False) as bridge:
        assert ask(estate, bridge, "grant", "alice") == DONE


def by_rest(estate: Estate) -> None:
    body = {
        "grantor": estate.name("alice"),
        "resource": {level: value for level, (value,) in LEVELS.items()},
        "users": [estate.name("bob")],
        "accessTypes": ["read"],
        "delegateAdmin": False,
        "enableAudit": True,
        "replaceExistingPermissions": False,
        "isRecursive": False,
    }
    estate.done("POST", f"/service/plugins/secure/services/grant/{estate.service}", body, by=estate.name("alice"))


def by_a_form(estate: Estate) -> None:
    form = new_policy(estate.service, "shared", LEVELS, policyItems=[item("read", users=[estate.name("bob")])])
    estate.done("POST", POLICIES, form, by=estate.name("alice"))


@pytest.mark.parametrize("share", [by_cdap, by_rest, by_a_form])
def test_what_a_creator_shares_is_in_a_policy_beside_theirs(estate: Estate, share: Any) -> None:
    ledger, settings = created(estate)
    before = ours(estate)
    share(estate)
    assert ours(estate)["version"] == before["version"]
    with estate.plugin() as plugin:
        bob = estate.name("bob")
        assert [estate.may(plugin, bob, access, **KV) for access in ("read", "write")] == [True, False]
    assert push_by(settings, MemoryLedger(map(gone, ledger.rows.values()))).error is None
    assert not any(map(is_creators_policy, estate.admin.policy_documents(estate.service)))


def test_what_a_creator_adds_to_their_own_policy_ends_with_the_entity(estate: Estate) -> None:
    ledger, settings = created(estate)
    read = ours(estate)
    rows = [*read["policyItems"], item("read", users=[estate.name("bob")])]
    form = saved_policy(estate.done("GET", f"{POLICIES}/{read['id']}"), policyItems=rows)
    estate.done("PUT", f"{POLICIES}/{read['id']}", form, by=estate.name("alice"))
    assert push_by(settings, MemoryLedger(map(gone, ledger.rows.values()))).error is None
    with estate.plugin() as plugin:
        alice, bob = estate.name("alice"), estate.name("bob")
        assert [estate.may(plugin, name, "read", **KV) for name in (alice, bob)] == [False, False]
