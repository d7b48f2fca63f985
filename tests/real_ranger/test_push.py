"""Policies pushed from files by `policies apply` and `import`, and grants by the sync job; a second time in vain."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec.structs import replace as replaced

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.life import Life, State
from tests.real_ranger.estate import V2, Estate, Json
from tests.real_ranger.ui_forms import POLICIES, item, new_policy, saved_policy
from tests.spark_sync.grants.fixtures import ALL, MemoryLedger, gone, life, push_by

ENTITIES = (
    EntityId("dataset", ("ns1", "kv.v1")),
    EntityId("application", ("ns1", "App")),
    EntityId("namespace", ("ns2",)),
)
LEVELS = ("namespace", "dataset", "application", "program")


def write(directory: Path, estate: Estate, **namespaces: str) -> None:
    """A directory of policies: a user of the flow reads each namespace."""
    (directory / "policies").mkdir(parents=True, exist_ok=True)
    for namespace, user in namespaces.items():
        policy = {
            "name": f"readers of {namespace}",
            "resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": [namespace]}},
            "policyItems": [{"users": [estate.user(user)], "accesses": [{"type": "read"}]}],
            "policyLabels": ["of files"],
        }
        (directory / "policies" / f"{namespace}.json").write_text(json.dumps(policy))
    if not (directory / "service.json").exists():
        (directory / "service.json").write_text(json.dumps({"service": estate.service}))


def test_apply_makes_ranger_as_the_files_once_and_takes_away_what_they_lack(estate: Estate) -> None:
    estate.set_up()
    files = estate.directory / "policies"
    write(estate.directory / "kept", estate, kept="alice")
    assert estate.run("policies", "apply", str(estate.directory / "kept"), "--yes") == 0
    assert estate.run("policies", "export", "--directory", str(files)) == 0
    before = estate.policies()
    write(files, estate, ns1="alice", ns2="bob")
    assert estate.run("policies", "apply", "--dry-run", str(files)) == 2
    assert estate.policies() == before
    assert estate.run("policies", "apply", str(files), "--yes") == 0
    with estate.plugin() as plugin:
        assert estate.may(plugin, estate.name("alice"), "read", namespace="ns1")
        assert not estate.may(plugin, estate.name("alice"), "read", namespace="ns2")
    versions = estate.versions()
    for words in (("apply", "--dry-run"), ("apply", "--yes")):
        assert estate.run("policies", *words, str(files)) == 0
    assert estate.versions() == versions
    (files / "policies" / "ns1.json").unlink()
    (files / "policies" / "ns2.json").unlink()
    assert estate.run("policies", "apply", "--delete", str(files), "--yes") == 0
    assert estate.policies() == before


def test_import_creates_and_updates_and_leaves_the_others(estate: Estate) -> None:
    estate.set_up()
    files = estate.directory / "policies"
    write(files, estate, ns1="alice")
    before = estate.policies()
    assert estate.run("policies", "apply", str(files), "--yes") == 0
    write(files, estate, ns1="bob")
    assert estate.run("policies", "apply", str(files), "--yes") == 0
    after = estate.policies()
    assert after.keys() - before.keys() == {"readers of ns1"}
    assert [item["users"] for item in after["readers of ns1"]["policyItems"]] == [[estate.name("bob")]]
    assert {name: after[name] for name in before} == before


def grants(estate: Estate, before: dict[str, Json]) -> dict[str, tuple[list[str], set[str]]]:
    """User and accesses of each new policy, by the values of its resource below the instance; Ranger orders levels."""
    found = {}
    for name, policy in estate.policies().items():
        if name not in before:
            (item,) = policy["policyItems"]
            there = policy["resources"]
            where = " ".join(value for level in LEVELS if level in there for value in there[level]["values"])
            found[where] = (item["users"], {access["type"] for access in item["accesses"]})
    return found


def test_the_sync_job_s_grants_are_pushed_once_and_revoked(estate: Estate) -> None:
    estate.set_up()
    alice, before = estate.user("alice"), estate.policies()
    lives: list[Life] = [life(alice, entity) for entity in ENTITIES]
    ledger = MemoryLedger(lives)
    assert push_by(estate.settings, ledger).error is None
    everything = ([alice], set(ALL))
    assert grants(estate, before) == {"ns1 kv.v1": everything, "ns1 App *": everything, "ns2": everything}
    versions = estate.versions()
    push_by(estate.settings, MemoryLedger(lives))  # as after a kill before the record
    assert estate.versions() == versions
    with estate.plugin() as plugin:
        assert estate.may(plugin, alice, "admin", namespace="ns1", dataset="kv.v1")
        assert not estate.may(plugin, estate.user("bob"), "read", namespace="ns1", dataset="kv.v1")
    closing = MemoryLedger([gone(applied) for applied in ledger.rows.values()])
    assert push_by(estate.settings, closing).error is None
    assert (set(closing.states()), estate.policies()) == ({State.CLOSED}, before)


def test_what_a_creator_gave_before_the_deletion_goes_with_the_entity(estate: Estate) -> None:
    """A creator who can delegate edits our policy and writes one of their own; an administrator's denial stays."""
    estate.set_up()
    alice, bob, before = estate.user("alice"), estate.user("bob"), set(estate.policies())
    settings = replaced(estate.settings, sync=replaced(estate.settings.sync, delegate_admin=True))
    entity = ENTITIES[0]
    ledger = MemoryLedger([life(alice, entity)])
    assert push_by(settings, ledger).error is None
    (name,) = set(estate.policies()) - before
    ours = estate.policies()[name]
    read = estate.done("GET", f"{POLICIES}/{ours['id']}")
    shared = item("read", "write", users=[alice, bob], delegateAdmin=True)
    edited = saved_policy(read, policyItems=[*read["policyItems"], shared])
    estate.done("PUT", f"{POLICIES}/{ours['id']}", edited, by=alice)
    on_it = {level: one["values"] for level, one in read["resources"].items()}
    own = new_policy(estate.service, "own", on_it, policyItems=[shared])
    denying = new_policy(
        estate.service,
        "denying",
        on_it,
        on_it,
        on_it,
        policyItems=[item("read", users=[bob])],
        denyPolicyItems=[item("write", users=[bob])],
    )
    made = [estate.done("POST", POLICIES, own, by=alice), estate.done("POST", POLICIES, denying)]
    closing = MemoryLedger([gone(ledger.rows[entity, 1])])
    assert push_by(settings, closing).error is None
    assert closing.states() == {State.CLOSED: 1}
    left = [estate.done("GET", f"{POLICIES}/{each['id']}") for each in (ours, *made)]
    assert [each["isEnabled"] for each in left] == [False, False, True]
    assert [bool(each.get("policyItems")) for each in left] == [False, False, True]
    assert [len(each.get("denyPolicyItems", ())) for each in left] == [0, 0, 1]
    authors = [(each["createdBy"], each["updatedBy"]) for each in left]
    account = settings.sync.username
    assert authors == [(account, account), (alice, account), ("Admin", "Admin")]
    assert all("createdBy" not in each for each in estate.done("GET", f"{V2}/service/{estate.service}/policy"))
    assert "`denying`" in closing.rows[entity, 1].reason
