"""Policies of several entities in the embedded Ranger Admin: few requests, nobody's edits lost, nothing left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import grant_for
from ranger_cdap.cdap.shared_policy import named_entities, read_shared
from ranger_cdap.errors import RequestRejected
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.refusals import RESOURCE_TAKEN
from spark_sync.ledger.life import State
from spark_sync.ledger.life_changes import restored
from tests.spark_sync.conftest import Ranger
from tests.spark_sync.grants.fixtures import (
    ALL,
    DATASET,
    MemoryLedger,
    Watched,
    datasets,
    foreign,
    gone,
    item,
    life,
    pushed,
    resource,
    states,
    wants,
)

FEW = 5


@pytest.fixture(autouse=True)
def few_entities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_sync.grants.places.MOST_ENTITIES", FEW)


def send(ranger: Ranger, ledger: MemoryLedger, by: Any = None, **sync: Any) -> list[State]:
    found = pushed(ranger, ledger, by, layout="creator", **sync)
    assert found.trouble == ""
    return states(found)


def entities(ranger: Ranger) -> list[set[str]]:
    """The last parts of the entities of each policy."""
    policies = sorted(ranger.policies(), key=lambda policy: policy.name)
    return [{entity.parts[-1] for entity in named_entities(policy, "cdap")} for policy in policies]


def edit(ranger: Ranger, number: int = 0, **fields: Any) -> Policy:
    """What a person makes of one of the policies."""
    policy = ranger.policies()[number]
    return ranger.admin.update_policy(replaced(policy, **fields))


def test_many_creations_by_one_user_are_one_request(ranger: Ranger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_sync.grants.places.MOST_ENTITIES", 100)
    watched = Watched(ranger.sync)
    ledger = MemoryLedger(datasets(60))
    assert send(ranger, ledger, watched) == [State.APPLIED] * 60
    assert watched.writes == ["create_policy"]
    assert len(watched.names) == 3
    assert entities(ranger) == [{f"d{n:03}" for n in range(60)}]
    version = ranger.policy_version()
    for applied in ledger.lives([State.APPLIED])[:30]:
        ledger.rows[applied.entity, 1] = gone(applied)
    watched.names.clear()
    assert send(ranger, ledger, watched) == [State.CLOSED] * 30
    assert (watched.writes, ranger.policy_version()) == (["update_policy"], version + 1)


def test_a_list_of_entities_that_is_refused_however_often_it_repeats_is_blocked(ranger: Ranger) -> None:
    def refuse(name: str, _: int) -> None:
        if name == "create_policy":
            raise RequestRejected("the resource is taken", status=400, reason_codes=(RESOURCE_TAKEN,))

    watched = Watched(ranger.sync, before=refuse)
    ledger = MemoryLedger(datasets(2))
    assert send(ranger, ledger, watched) == [State.BLOCKED] * 2
    assert watched.writes == ["create_policy"] * 5
    assert {found.reason for found in ledger.lives([State.BLOCKED])} == {
        f"a policy for this resource already exists; add {', '.join(ALL)} for `alice` to it"
    }


def test_a_full_policy_is_followed_by_the_next_one_and_room_is_used_again(ranger: Ranger) -> None:
    ledger = MemoryLedger(datasets(12))
    send(ranger, ledger)
    assert [len(each) for each in entities(ranger)] == [5, 5, 2]
    second = ledger.rows[EntityId("dataset", ("ns1", "d001")), 1]
    ledger.rows[second.entity, 1] = gone(second)
    send(ranger, ledger)
    ledger.rows |= {(DATASET, 1): life()}
    send(ranger, ledger)
    assert [len(each) for each in entities(ranger)] == [5, 5, 2]
    assert "kv" in entities(ranger)[0]


def test_users_types_namespaces_and_terms_have_policies_of_their_own(ranger: Ranger) -> None:
    lives = [
        life(),
        life(entity=EntityId("dataset", ("ns1", "kv2"))),
        life("bob", EntityId("dataset", ("ns1", "kv3"))),
        life(entity=EntityId("dataset", ("ns2", "kv"))),
        life(entity=EntityId("application", ("ns1", "shop"))),
        life(entity=EntityId("namespace", ("ns1",))),
        life(entity=EntityId("namespace", ("ns2",))),
        life(entity=EntityId("dataset", ("ns1", "kv4")), accesses=("read",)),
    ]
    assert send(ranger, MemoryLedger(lives)) == [State.APPLIED] * 8
    assert sorted(map(sorted, entities(ranger))) == [
        ["kv"],
        ["kv", "kv2"],
        ["kv3"],
        ["kv4"],
        ["ns1", "ns2"],
        ["shop"],
    ]


def test_the_first_entity_goes_and_the_last_takes_the_policy_with_it(ranger: Ranger) -> None:
    ledger = MemoryLedger(datasets(3))
    send(ranger, ledger)
    for left in ({"d001", "d002"}, {"d002"}):
        first = min(ledger.lives([State.APPLIED]), key=lambda each: each.entity)
        ledger.rows[first.entity, 1] = gone(first)
        assert send(ranger, ledger) == [State.CLOSED]
        assert entities(ranger) == [left]
        (policy,) = ranger.policies()
        assert read_shared(policy) is not None
    (last,) = ledger.lives([State.APPLIED])
    ledger.rows[last.entity, 1] = gone(last)
    assert send(ranger, ledger) == [State.CLOSED]
    assert ranger.policies() == []


EDITS: dict[str, Callable[[Policy], dict[str, Any]]] = {
    "another user": lambda policy: {"policy_items": [*policy.policy_items, item("bob", "read")]},
    "a denial": lambda policy: {"deny_policy_items": [item("alice", "write")]},
    "fewer accesses": lambda policy: {"policy_items": [item("alice", "read")]},
    "another entity": lambda policy: {
        "additional_resources": [*policy.additional_resources, resource(namespace="ns1", dataset="other")]
    },
    "a pattern": lambda policy: {"additional_resources": [resource(namespace="ns1", dataset="d*")]},
    "an entity less": lambda policy: {"additional_resources": policy.additional_resources[:1]},
    "another description": lambda policy: {"description": "ours"},
    "disabled": lambda policy: {"is_enabled": False},
    "a label": lambda policy: {"policy_labels": [*policy.policy_labels, "audited"]},
}


@pytest.mark.parametrize("what", EDITS)
def test_an_edited_policy_is_never_changed_and_new_grants_go_into_the_next(ranger: Ranger, what: str) -> None:
    ledger = MemoryLedger(datasets(3))
    send(ranger, ledger)
    edited = edit(ranger, **EDITS[what](ranger.policies()[0]))
    ledger.rows |= {(DATASET, 1): life()}
    first = ledger.rows[EntityId("dataset", ("ns1", "d000")), 1]
    ledger.rows[first.entity, 1] = gone(first)
    send(ranger, ledger)
    there, new = ranger.policies()
    assert there == edited
    assert named_entities(new, "cdap") == {DATASET}
    stuck = ledger.rows[first.entity, 1]
    assert stuck.state is State.CLOSING
    assert f"policy {edited.id} was changed manually" in stuck.reason


def test_a_policy_that_was_deleted_manually_is_not_written_again(ranger: Ranger) -> None:
    ledger = MemoryLedger(datasets(3))
    send(ranger, ledger)
    ranger.admin.delete_policy(ranger.policies()[0].id or 0)
    ledger.rows |= {(DATASET, 1): life()}
    first = ledger.rows[EntityId("dataset", ("ns1", "d000")), 1]
    ledger.rows[first.entity, 1] = gone(first)
    send(ranger, ledger)
    assert entities(ranger) == [{"kv"}]
    assert ledger.rows[first.entity, 1].state is State.CLOSED


@pytest.mark.parametrize("others", [0, 30])
def test_another_authors_policy_on_exactly_the_entity_stops_the_grant(ranger: Ranger, others: int) -> None:
    theirs = foreign(ranger)
    ledger = MemoryLedger([life(), *datasets(others)])
    send(ranger, ledger)
    blocked = ledger.rows[DATASET, 1]
    assert (blocked.state, blocked.places) == (State.BLOCKED, ())
    assert f"policy {theirs.id} (`theirs`) already exists" in blocked.reason
    assert ledger.states()[State.APPLIED] == others
    assert theirs in ranger.policies()


@pytest.mark.parametrize(
    "harmless",
    [
        {"is_enabled": False},
        {"policy_priority": 1},
        {"resources": resource(namespace="ns1", dataset="k*")},
        {"additional_resources": [resource(namespace="ns1", dataset="kv2")]},
    ],
)
def test_a_policy_that_ranger_allows_beside_ours_does_not(ranger: Ranger, harmless: dict[str, Any]) -> None:
    foreign(ranger, **harmless)
    assert send(ranger, MemoryLedger([life()])) == [State.APPLIED]


def test_a_grant_is_merged_as_in_the_other_layout(ranger: Ranger) -> None:
    theirs = foreign(ranger)
    ledger = MemoryLedger([life()])
    assert send(ranger, ledger, merge_into_foreign=True) == [State.APPLIED]
    assert ledger.rows[DATASET, 1].merged == ALL
    ledger.rows[DATASET, 1] = gone(ledger.rows[DATASET, 1])
    assert send(ranger, ledger, merge_into_foreign=True) == [State.CLOSED]
    assert [policy.policy_items for policy in ranger.policies()] == [theirs.policy_items]


def test_a_policy_of_a_killed_run_in_the_other_layout_stays_in_it(ranger: Ranger) -> None:
    pushed(ranger, MemoryLedger([life()]))
    ledger = MemoryLedger([life()])
    assert send(ranger, ledger) == [State.APPLIED]
    assert (len(ranger.policies()), ledger.rows[DATASET, 1].places) == (1, ())
    ledger.rows[DATASET, 1] = gone(ledger.rows[DATASET, 1])
    send(ranger, ledger)
    assert ranger.policies() == []


def test_a_closed_life_is_in_no_policy(ranger: Ranger) -> None:
    ledger = MemoryLedger(datasets(2))
    send(ranger, ledger)
    assert all(row.places for row in ledger.rows.values())
    (policy,) = ranger.policies()
    assert {(row.policy_id, row.policy_version) for row in ledger.rows.values()} == {(policy.id, policy.version)}
    ledger.rows |= {key: gone(row) for key, row in ledger.rows.items()}
    assert send(ranger, ledger) == [State.CLOSED, State.CLOSED]
    assert ({row.places for row in ledger.rows.values()}, ranger.policies()) == ({()}, [])


class Old(Watched):
    """A Ranger before 2.4, which knows no `additionalResources`."""

    def create_policy(self, policy: Policy) -> Policy:
        self.names.append("create_policy")
        return self._ranger.create_policy(replaced(policy, additional_resources=[]))


def test_a_ranger_without_additional_resources_is_noticed_at_the_first_grant(ranger: Ranger) -> None:
    ledger = MemoryLedger([life(), life("bob", EntityId("dataset", ("ns1", "other")))])
    found = pushed(ranger, ledger, Old(ranger.sync), layout="creator")
    assert 'set `sync.layout = "entity"`' in found.trouble
    assert (ranger.policies(), ledger.states()) == ([], {State.PENDING: 2})
    assert pushed(ranger, ledger, Old(ranger.sync), layout="entity").trouble == ""
    assert ledger.states() == {State.APPLIED: 2}
    assert {each.places for each in ledger.rows.values()} == {()}
    assert len(ranger.policies()) == 2


def test_an_edit_between_reading_and_writing_is_reported(ranger: Ranger) -> None:
    ledger = MemoryLedger(datasets(2))
    send(ranger, ledger)
    ledger.rows |= {(DATASET, 1): life()}

    def before(name: str, _: int) -> None:
        if name == "update_policy":
            edit(ranger, description="edited meanwhile")

    assert send(ranger, ledger, Watched(ranger.sync, before=before)) == [State.BLOCKED]
    assert "was changed manually while version 3 was written, which replaced version 2" in (
        ledger.rows[DATASET, 1].reason
    )


def test_a_revocation_succeeds_where_ranger_refuses_the_smaller_policy(ranger: Ranger) -> None:
    ledger = MemoryLedger(datasets(3))
    send(ranger, ledger)
    first = ledger.rows[EntityId("dataset", ("ns1", "d000")), 1]
    ledger.rows[first.entity, 1] = gone(first)

    def refuse(name: str, _: int) -> None:
        if name == "update_policy":
            raise RequestRejected("no", ranger_message="User name: alice ... does not exist in ranger admin.")

    send(ranger, ledger, Watched(ranger.sync, before=refuse))
    assert ledger.states() == {State.CLOSED: 1, State.APPLIED: 2}
    assert entities(ranger) == [{"d001", "d002"}]


def test_a_list_that_another_policy_has_is_written_with_a_repetition(ranger: Ranger) -> None:
    ledger = MemoryLedger(datasets(3))
    send(ranger, ledger)
    d001, d002 = (resource(namespace="ns1", dataset=name) for name in ("d001", "d002"))
    theirs = foreign(ranger, resources=d001, additional_resources=[d002])
    first = ledger.rows[EntityId("dataset", ("ns1", "d000")), 1]
    ledger.rows[first.entity, 1] = gone(first)
    assert send(ranger, ledger) == [State.CLOSED]
    assert theirs in ranger.policies()
    assert entities(ranger) == [{"d001", "d002"}] * 2
    ledger.rows |= {(DATASET, 1): life()}
    assert send(ranger, ledger) == [State.APPLIED]


def test_rangers_own_grant_on_an_entity_is_a_policy_of_its_own(ranger: Ranger) -> None:
    ledger = MemoryLedger([life()])
    send(ranger, ledger)
    (ours,) = ranger.policies()
    grant = grant_for(DATASET, "bob", "cdap", ["read"], non_creators=())
    ranger.sync.grant_access(ranger.service, grant, grantor="sync")
    assert ours in ranger.policies()
    assert len(ranger.policies()) == 2


def test_other_terms_are_another_policy_and_the_grant_moves_there(ranger: Ranger) -> None:
    ledger = MemoryLedger(datasets(2))
    send(ranger, ledger)
    first = ledger.rows[EntityId("dataset", ("ns1", "d000")), 1]
    ledger.rows[first.entity, 1] = wants(first, "read")
    watched = Watched(ranger.sync)
    assert send(ranger, ledger, watched) == [State.APPLIED]
    assert watched.writes == ["create_policy", "update_policy"]
    assert sorted(map(sorted, entities(ranger))) == [["d000"], ["d001"]]
    moved = ledger.rows[first.entity, 1]
    assert (len(moved.places), moved.applied) == (1, ("read",))


@pytest.mark.parametrize("layout", ["entity", "creator"])
@pytest.mark.parametrize("doubt", [State.SUSPENDED, State.CONTESTED])
def test_a_doubt_that_ends_does_not_save_a_grant_that_settings_no_longer_give(
    ranger: Ranger, layout: str, doubt: State
) -> None:
    ledger = MemoryLedger([life()])
    pushed(ranger, ledger, layout=layout)
    given = replace(ledger.rows[DATASET, 1], state=State.PENDING, accesses=())
    former = {"creator": None, "former": given.creator} if doubt is State.CONTESTED else {}
    ledger.rows[DATASET, 1] = restored(replace(given, state=doubt, revoke=True, **former))
    assert states(pushed(ranger, ledger, layout=layout)) == [State.KNOWN]
    assert ranger.policies() == []


@pytest.mark.parametrize("layout", ["entity", "creator"])
def test_a_doubt_that_ends_after_a_kill_gives_the_grant_back(ranger: Ranger, layout: str) -> None:
    """The policy that the killed run deleted counts as deleted by the job, not by a person."""
    ledger = MemoryLedger([life()])
    pushed(ranger, ledger, layout=layout)
    doubted = replace(ledger.rows[DATASET, 1], state=State.SUSPENDED, revoke=True)
    pushed(ranger, MemoryLedger([doubted]), layout=layout)
    assert ranger.policies() == []
    ledger.rows[DATASET, 1] = restored(doubted)
    assert states(pushed(ranger, ledger, layout=layout)) == [State.APPLIED]
    assert len(ranger.policies()) == 1
