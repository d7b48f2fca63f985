"""A denial tells a creator that his grant is not in effect yet; it tells nobody else, and changes no decision."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.enforcement import Enforcement, UnenforcedMode
from ranger_cdap.cdap.entity import EntityId, entity_type, parse_entity
from ranger_cdap.config import CdapSettings, Settings, SourceSettings, SyncSettings
from ranger_cdap.service.api.cdap_api import enforce
from ranger_cdap.service.events.events import Events
from ranger_cdap.service.events.recent_creations import KEPT, LONGEST, UNREPORTED, Creators, RecentCreations
from ranger_cdap.service.http.callers import Caller, CallerRole
from ranger_cdap.service.state.app_state import AppState
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.wire.cdap_wire import EnforceRequest
from ranger_cdap.wire.event_wire import CHECK_VERSION, JournalledCheck, Record
from tests.authz.fixtures import NOW, Json, authorizer, policy
from tests.service.event_samples import record
from tests.service.fixtures import World, serving

AT: Final = int(NOW * 1000) - 12_000
"""Twelve seconds ago."""

DEFAULTS: Final = Settings()
KV, APP, NS1 = "dataset:ns1.kv", "application:ns1.App", "namespace:ns1"
WORKER = "program:ns1.App.worker.W"
URIS: Final = {
    "namespace": "/v3/namespaces/{}",
    "dataset": "/v3/namespaces/{}/data/datasets/{}",
    "application": "/v3/namespaces/{}/apps/{}",
}
Event = tuple[str, str, str, int]


def told(kind: str, user: str, entity: str, at: int = AT) -> Event:
    return (kind, user, entity, at)


def record_of(happened: Event) -> Record:
    """The record of a request that creates or deletes an entity."""
    kind, user, text, at = happened
    entity = parse_entity(text)
    uri = URIS[entity.type].format(*entity.parts)
    if kind == "DELETE" and entity.type == "namespace":
        uri = uri.replace("/v3/", "/v3/unrecoverable/")
    versions = ["-SNAPSHOT"] if entity.type == "application" else []
    made = record(
        method="DELETE" if kind == "DELETE" else "PUT",
        uri=uri,
        started=at,
        ended=at + 100,
        check_principal=user,
        check_type=entity_type(entity.type).cdap_names[0],
        check_parts=[*entity.parts, *versions],
        check_permissions=[f"STANDARD.{kind}"],
    )
    return msgspec.convert(made, Record)


def remembering(
    happened: Iterable[Event],
    settings: Settings = DEFAULTS,
    **more: Any,
) -> RecentCreations:
    creations = RecentCreations(Creators.of(settings), clock=lambda: NOW, **more)
    for one in happened:
        creations.add_record("audit", record_of(one))
    return creations


def said(creations: RecentCreations, user: str, operation: str, entity: str, policies: Iterable[Json] = ()) -> str:
    answer = authorizer(list(policies)).check(user, [], operation, parse_entity(entity))
    return creations.pending_grant([answer])


def sentence(user: str, entity: str, age: str = "12 s") -> str:
    return f"{user} created {entity} {age} ago, and the grant to its creator is not in effect yet"


CREATED = told("CREATE", "alice", KV)
TOLD = sentence("alice", KV)

# What happened, who then asks for what, and what his denial says more.
STORIES: dict[str, tuple[list[Event], tuple[str, str, str], str]] = {
    "the creator": ([CREATED], ("alice", "dataset.get", KV), TOLD),
    "the creator, told twice": ([CREATED, CREATED], ("alice", "dataset.get", KV), TOLD),
    "minutes ago": (
        [told("CREATE", "alice", KV, AT - 200_000)],
        ("alice", "dataset.get", KV),
        sentence("alice", KV, "3 min"),
    ),
    "somebody else": ([CREATED], ("bob", "dataset.get", KV), ""),
    "another entity": ([CREATED], ("alice", "dataset.get", "dataset:ns1.kv2"), ""),
    "an entity of another type": ([told("CREATE", "alice", APP)], ("alice", "dataset.get", "dataset:ns1.App"), ""),
    "nothing happened": ([], ("alice", "dataset.get", KV), ""),
    "who wrote into what exists": ([CREATED, told("CREATE", "bob", KV, AT + 500)], ("bob", "dataset.get", KV), ""),
    "the first of two": ([CREATED, told("CREATE", "bob", KV, AT + 500)], ("alice", "dataset.get", KV), TOLD),
    "the first of two, told last": (
        [told("CREATE", "bob", KV, AT + 500), CREATED],
        ("alice", "dataset.get", KV),
        TOLD,
    ),
    "deleted since": ([CREATED, told("DELETE", "bob", KV, AT + 500)], ("alice", "dataset.get", KV), ""),
    "deleted since, told first": ([told("DELETE", "bob", KV, AT + 500), CREATED], ("alice", "dataset.get", KV), ""),
    "deleted at the same time": ([CREATED, told("DELETE", "bob", KV, AT - 100)], ("alice", "dataset.get", KV), ""),
    "deleted before": ([told("DELETE", "bob", KV, AT - 500), CREATED], ("alice", "dataset.get", KV), TOLD),
    "deleted with its namespace": ([CREATED, told("DELETE", "bob", NS1, AT + 500)], ("alice", "dataset.get", KV), ""),
    "deleted between him and somebody before him, who is told of last": (
        [
            told("DELETE", "eve", KV, AT - 1_000),
            CREATED,
            told("CREATE", "bob", KV, AT - 2_000),
        ],
        ("alice", "dataset.get", KV),
        TOLD,
    ),
    "created again by another": (
        [CREATED, told("DELETE", "bob", KV, AT + 500), told("CREATE", "bob", KV, AT + 1_000)],
        ("alice", "dataset.get", KV),
        "",
    ),
    "an application": (
        [told("CREATE", "alice", APP)],
        ("alice", "application.get", APP),
        sentence("alice", APP),
    ),
    "a program of his application": (
        [told("CREATE", "alice", APP)],
        ("alice", "program.start", WORKER),
        sentence("alice", APP),
    ),
    "a program of an application that is gone": (
        [told("CREATE", "alice", APP), told("DELETE", "alice", APP, AT + 500)],
        ("alice", "program.start", WORKER),
        "",
    ),
    "what is in his namespace is not his": ([told("CREATE", "alice", NS1)], ("alice", "dataset.drop", KV), ""),
    "the namespace of his dataset is not his": ([CREATED], ("alice", "namespace.update", NS1), ""),
    "an hour ago": ([told("CREATE", "alice", KV, int(NOW * 1000) - KEPT)], ("alice", "dataset.get", KV), ""),
    "in twenty minutes": ([told("CREATE", "alice", KV, AT + 1_200_000)], ("alice", "dataset.get", KV), ""),
    "a name too long to be remembered": (
        [told("CREATE", "a" * (LONGEST + 1), KV)],
        ("a" * (LONGEST + 1), "dataset.get", KV),
        "",
    ),
    "whoever gets nothing for it": ([told("CREATE", "root", KV)], ("root", "dataset.get", KV), ""),
}  # fmt: skip


@pytest.mark.parametrize(("happened", "asked", "wanted"), STORIES.values(), ids=STORIES)
def test_who_is_told(happened: list[Event], asked: tuple[str, str, str], wanted: str) -> None:
    assert said(remembering(happened), *asked) == wanted


def in_ns1(user: str, *accesses: str) -> Json:
    return policy(1, {"namespace": "ns1"}, [user], [*accesses])


def on_kv(user: str, *accesses: str, **more: object) -> Json:
    return policy(2, {"namespace": "ns1", "dataset": "kv"}, [user], [*accesses], **more)


DENY_ADMIN = {"denyPolicyItems": [{"users": ["alice"], "accesses": [{"type": "admin"}]}]}

# The policies in effect, what alice asks of the dataset she created, and what her denial says more.
POLICIES: dict[str, tuple[list[Json], str, str]] = {
    "no policy": ([], "dataset.drop", TOLD),
    "one for somebody else": ([on_kv("bob", "read", "write", "admin", "execute")], "dataset.drop", TOLD),
    "hers, and something else is missing": (
        [on_kv("alice", "read", "write", "admin", "execute")],
        "dataset.get",
        "",
    ),
    "hers, and it is denied": ([on_kv("alice", "read", "admin", **DENY_ADMIN)], "dataset.drop", ""),
    "denied by another one before hers is there": ([on_kv("bob", "read", **DENY_ADMIN)], "dataset.drop", ""),
    "a part of it by another one": ([on_kv("alice", "read")], "dataset.drop", TOLD),
    "allowed": ([in_ns1("alice", "read"), on_kv("alice", "read")], "dataset.get", ""),
}


@pytest.mark.parametrize(("policies", "operation", "wanted"), POLICIES.values(), ids=POLICIES)
def test_nothing_is_said_where_a_policy_decides_already(policies: list[Json], operation: str, wanted: str) -> None:
    assert said(remembering([CREATED]), "alice", operation, KV, policies) == wanted


def with_sync(**sync: Any) -> Settings:
    return Settings(sync=SyncSettings(**sync))


def source(*callers: str) -> SourceSettings:
    return SourceSettings(name="s", kind="data-plane", callers=callers)


# The settings of the sync job, and whether its record of alice's creation makes this caller's word count for her.
BELIEVED: dict[str, tuple[Settings, str]] = {
    "no source is configured here": (Settings(), TOLD),
    "the source believes the caller": (with_sync(sources=(source("audit", "other"),)), TOLD),
    "the source believes another one": (with_sync(sources=(source("other"),)), ""),
    "the source believes nobody": (with_sync(sources=(source(),)), ""),
    "one of two sources believes the caller": (with_sync(sources=(source("other"), source("audit"))), TOLD),
    "the profile gives the creator ADMIN only": (Settings(cdap=CdapSettings(profile="001")), ""),
    "the profile gives the creator nothing": (Settings(cdap=CdapSettings(profile="004")), ""),
    "alice never gets anything": (with_sync(non_creators=("alice",)), ""),
    "alice stands for somebody else": (with_sync(mapped={"alice": "carol"}), ""),
}


@pytest.mark.parametrize(("settings", "wanted"), BELIEVED.values(), ids=BELIEVED)
def test_a_record_counts_as_it_does_for_the_sync_job(settings: Settings, wanted: str) -> None:
    assert said(remembering([CREATED], settings), "alice", "dataset.get", KV) == wanted


def test_who_hears_of_a_creation_in_anothers_name_is_a_setting() -> None:
    by = record_of(CREATED)
    asked_by_bob = msgspec.structs.replace(by.checks[0], principal="bob", permissions=["STANDARD.GET"])
    both = msgspec.structs.replace(by, checks=[by.checks[0], asked_by_bob])
    found = {}
    for impersonated in ("owner", "requester"):
        creations = RecentCreations(Creators.of(with_sync(impersonated=impersonated)), clock=lambda: NOW)
        creations.add_record("audit", both)
        found[impersonated] = [said(creations, user, "dataset.get", KV) for user in ("alice", "bob")]
    assert found == {"owner": [TOLD, ""], "requester": ["", sentence("bob", KV)]}


def check_of(user: str, entity: str, at: int = AT, kind: str = "CREATE") -> JournalledCheck:
    known = parse_entity(entity)
    return JournalledCheck(
        v=CHECK_VERSION,
        instance="cdap",
        process="p",
        at=at,
        principal=user,
        type=entity_type(known.type).cdap_names[0],
        parts=list(known.parts),
        permissions=[f"STANDARD.{kind}"],
        frame="",
    )


def waiting(user: str, entity: str, age: str = "12 s") -> str:
    return f"{user} asked CDAP to create {entity} {age} ago, and the grant to its creator waits for its report"


FAILED = msgspec.structs.replace(record_of(CREATED), code=409)
BEFORE, AFTER = (record_of(told("CREATE", "alice", KV, AT + later)) for later in (-60_000, 100))

# Checks that were journalled, records that came, who then asks for dataset:ns1.kv, and what their denial says more.
UNREPORTED_REQUESTS: dict[str, tuple[list[JournalledCheck], list[Record], str, str]] = {
    "the one who asked": ([check_of("alice", KV)], [], "alice", waiting("alice", KV)),
    "asked twice": ([check_of("alice", KV, AT - 9), check_of("alice", KV)], [], "alice", waiting("alice", KV)),
    "another user": ([check_of("alice", KV)], [], "bob", ""),
    "another entity": ([check_of("alice", "dataset:ns1.kv2")], [], "alice", ""),
    "a deletion": ([check_of("alice", KV, kind="DELETE")], [], "alice", ""),
    "reported": ([check_of("alice", KV)], [record_of(CREATED)], "alice", TOLD),
    "reported by a record without the check's time": (
        [check_of("alice", KV, AT + 50)],
        [record_of(CREATED)],
        "alice",
        TOLD,
    ),
    "failed": ([check_of("alice", KV)], [FAILED], "alice", ""),
    "an earlier request failed": (
        [check_of("alice", KV)],
        [msgspec.structs.replace(BEFORE, code=409)],
        "alice",
        waiting("alice", KV),
    ),
    "exists since bob created it": (
        [check_of("alice", KV)],
        [record_of(told("CREATE", "bob", KV, AT - 500))],
        "alice",
        "",
    ),
    "bob deleted it before": (
        [check_of("alice", KV)],
        [record_of(told("DELETE", "bob", KV, AT - 500))],
        "alice",
        waiting("alice", KV),
    ),
    "the master user": ([check_of(DEFAULTS.master.name, KV)], [], DEFAULTS.master.name, ""),
    "long ago": ([check_of("alice", KV, AT - UNREPORTED)], [], "alice", ""),
    "of tomorrow": ([check_of("alice", KV, AT + 86_400_000)], [], "alice", ""),
    "a name without end": ([check_of("a" * (LONGEST + 1), KV)], [], "a" * (LONGEST + 1), ""),
}


@pytest.mark.parametrize("case", UNREPORTED_REQUESTS.values(), ids=UNREPORTED_REQUESTS)
def test_a_request_that_cdap_has_not_reported_is_named(
    case: tuple[list[JournalledCheck], list[Record], str, str],
) -> None:
    checks, records, user, expected = case
    creations = remembering([])
    for check in checks:
        creations.add_check(check)
    for one in records:
        creations.add_record("audit", one)
    assert said(creations, user, "dataset.get", KV) == expected


def test_a_check_that_was_denied_after_all_is_no_request() -> None:
    creations = remembering([])
    creations.add_check(check_of("alice", KV))
    creations.remove_check(check_of("alice", KV))
    assert said(creations, "alice", "dataset.get", KV) == ""


def test_requests_whose_grants_go_to_an_unknown_requester_are_not_named() -> None:
    creations = RecentCreations(Creators.of(with_sync(impersonated="requester")), clock=lambda: NOW)
    creations.add_check(check_of("alice", KV))
    assert said(creations, "alice", "dataset.get", KV) == ""


def test_a_flood_of_requests_makes_the_memory_forget_and_not_grow() -> None:
    creations = remembering([], most=100)
    for n in range(1_000):
        creations.add_check(check_of("alice", f"dataset:ns1.d{n}"))
    last, before = (said(creations, "alice", "dataset.get", f"dataset:ns1.d{n}") for n in (900, 899))
    assert (last, before) == (waiting("alice", "dataset:ns1.d900"), "")


def test_a_flood_makes_the_memory_forget_and_not_grow() -> None:
    creations = remembering((told("CREATE", "alice", f"dataset:ns1.d{n}") for n in range(1_000)), most=100)
    last, before = (said(creations, "alice", "dataset.get", f"dataset:ns1.d{n}") for n in (900, 899))
    assert (last, before) == (sentence("alice", "dataset:ns1.d900"), "")
    for n in range(100):
        creations.add_record("audit", record_of(told("DELETE", "eve", f"dataset:ns1.e{n}")))
    assert said(creations, "alice", "dataset.get", "dataset:ns1.d999") == ""


def test_the_oldest_creation_is_evicted_first_and_old_ones_evict_nothing() -> None:
    a, b, c = (f"dataset:ns1.{name}" for name in "abc")
    old = told("CREATE", "eve", "dataset:ns1.old", AT - KEPT)
    creations = remembering([*(told("CREATE", "alice", entity) for entity in (a, b, a, c)), old], most=2)
    assert [bool(said(creations, "alice", "dataset.get", entity)) for entity in (a, b, c)] == [True, False, True]


def test_after_an_hour_a_creation_is_told_of_no_more() -> None:
    now = [NOW]
    creations = RecentCreations(Creators.of(DEFAULTS), clock=lambda: now[0])
    creations.add_record("audit", record_of(told("CREATE", "alice", KV, int(NOW * 1000))))
    found = []
    for later in (0, KEPT // 1000 - 1, KEPT // 1000):
        now[0] = NOW + later
        found.append(bool(said(creations, "alice", "dataset.get", KV)))
    assert found == [True, True, False]


def test_nobody_is_told_what_another_person_created_whom_cdap_impersonates_for_him() -> None:
    creations = remembering([told("CREATE", "svc", KV)])
    context = Context(related={"read_datasets": (parse_entity(KV),)}, impersonated="svc")
    asked = authorizer([policy(1, {"namespace": "ns1", "application": "App", "program": "*"}, ["alice"], ["execute"])])
    answer = asked.check("alice", [], "program.start", parse_entity(WORKER), context=context)
    assert "svc (the impersonated user) needs READ on dataset:ns1.kv" in answer.reason
    assert creations.pending_grant([answer]) == ""
    assert said(creations, "svc", "dataset.get", KV) == sentence("svc", KV)


def test_what_is_allowed_because_it_is_not_enforced_is_no_denial() -> None:
    asked = authorizer([], enforcement=Enforcement(operations=frozenset(), outside=UnenforcedMode.REPORT))
    answer = asked.check("alice", [], "dataset.get", parse_entity(KV))
    assert answer.allowed
    assert remembering([CREATED]).pending_grant([answer]) == ""


ODD = st.text(st.sampled_from("a.%2F*{}\u2028\0 -/"), max_size=6)
ODD_RECORDS = st.builds(
    record,
    method=st.sampled_from(["PUT", "POST", "DELETE", "GET"]),
    uri=st.builds(
        lambda template, parts: template.format(*parts),
        st.sampled_from([*URIS.values(), URIS["application"] + "/schedules/{}", "{}"]),
        st.lists(ODD, min_size=3, max_size=3),
    ),
    check_type=st.sampled_from(["DATASET", "APPLICATION", "NAMESPACE", "X"]),
    check_parts=st.lists(ODD | st.just("ns1"), max_size=4),
    check_permissions=st.lists(
        st.sampled_from(["STANDARD.CREATE", "STANDARD.DELETE", "APPLICATION.EXECUTE"]), max_size=3
    ),
    check_principal=ODD,
)


@given(ODD_RECORDS)
def test_whatever_is_stored_can_be_heard(odd: Json) -> None:
    remembering([]).add_record("audit", msgspec.convert(odd, Record))


# --- the law ------------------------------------------------------------------------------------------------------

USERS = st.sampled_from(["alice", "bob", "eve"])
ENTITIES = st.sampled_from([KV, "dataset:ns1.kv2", APP, NS1, "namespace:ns2", "dataset:ns2.kv"])
HAPPENED = st.lists(
    st.tuples(st.sampled_from(["CREATE", "DELETE"]), USERS, ENTITIES, st.integers(AT - 5_000, AT + 5_000)), max_size=8
)
CHECKS = st.lists(st.sampled_from(["STANDARD.GET", "STANDARD.UPDATE", "STANDARD.DELETE"]), min_size=1, max_size=2)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving(
        [in_ns1("alice", "read"), on_kv("bob", "read", "write")], Path(tmp_path_factory.mktemp("quiet"))
    ) as world:
        yield world


@given(
    happened=HAPPENED,
    journalled=st.lists(st.tuples(USERS, ENTITIES, st.integers(AT - 5_000, AT + 5_000)), max_size=4),
    asked=st.lists(st.tuples(USERS, ENTITIES, CHECKS), min_size=1, max_size=4),
)
def test_the_decision_is_the_same_with_and_without_the_memory(
    quiet: World,
    happened: list[Event],
    journalled: list[tuple[str, str, int]],
    asked: list[tuple[str, str, list[str]]],
) -> None:
    assert quiet.state.events is not None
    ours = quiet.state.events
    creations = remembering(happened)
    for who, what, at in journalled:
        creations.add_check(check_of(who, what, at))
    events = Events(ours.store, ours.intake, creations, ours.journal, ours.entities)
    heard = dataclasses.replace(quiet.state, events=events)
    for user, text, permissions in asked:
        entity = parse_entity(text)
        without, remembered = (reply(state, user, entity, permissions) for state in (quiet.state, heard))
        reason, more = without.pop("reason"), remembered.pop("reason")
        assert remembered == without
        added = more.removeprefix(reason).removeprefix("; ")
        true = [f"{user} created {what} " for kind, who, what, _ in happened if (kind, who) == ("CREATE", user)]
        true += [f"{user} asked CDAP to create {what} " for who, what, _ in journalled if who == user]
        assert added == "" or (not without["allowed"] and all(one.startswith(tuple(true)) for one in added.split("; ")))
        event("told" if added else "not told")


def reply(state: AppState, user: str, entity: EntityId, permissions: list[str]) -> Json:
    """What `/cdap/v1/enforce` answers."""
    about = {"type": entity_type(entity.type).cdap_names[0], "parts": [*entity.parts]}
    about["parts"] += ["-SNAPSHOT"] if entity.type == "application" else []
    body = {"principal": {"name": user}, "entity": about, "permissions": permissions}
    call = HandlerCall(
        state,
        Caller("enforce", frozenset({CallerRole.ENFORCE})),
        msgspec.convert(body, EnforceRequest),
        {"type": "http", "state": {}},
    )
    found: Json = msgspec.json.decode(enforce(call).body)
    return found


# --- over a socket ------------------------------------------------------------------------------------------------


def test_the_message_in_cdap_and_in_authzen(tmp_path: Path) -> None:
    now = int(time.time() * 1000)
    wanted = "alice created dataset:ns1.kv1 "
    asks = {"principal": {"name": "alice"}, "permissions": ["STANDARD.GET"]}
    asks["entity"] = {"type": "DATASET", "parts": ["ns1", "kv1"]}
    authzen = {
        "subject": {"type": "user", "id": "alice"},
        "action": {"name": "dataset.get"},
        "resource": {"type": "dataset", "id": "cdap/ns1/kv1"},
    }
    audited_there = policy(2, {"namespace": "ns1", "dataset": "kv1"}, ["carol"], ["read"])
    with serving([in_ns1("alice", "read"), audited_there], tmp_path) as world:

        def reasons() -> list[str]:
            return [
                world.ask("enforce", "POST", "/cdap/v1/enforce", asks).json["reason"],
                world.ask("delegate", "POST", "/access/v1/evaluation", authzen).json["context"]["reason_user"]["en"],
            ]

        assert not [reason for reason in reasons() if wanted in reason]
        sent = {"records": [record(1, started=now, ended=now)]}
        assert world.ask("enforce", "POST", "/cdap/v1/audit", sent).status == 403
        assert not [reason for reason in reasons() if wanted in reason]
        assert world.ask("audit", "POST", "/cdap/v1/audit", sent).json["stored"] == 1
        assert [wanted in reason for reason in reasons()] == [True] * 2
        assert world.memory.records
        assert not [audited for audited in world.memory.records if wanted in audited.reason]


def test_between_its_check_and_its_record_a_creation_is_named_to_its_user(tmp_path: Path) -> None:
    """As on a real CDAP, which hands its records over every few seconds."""
    entity = {"type": "DATASET", "parts": ["ns1", "soon"]}
    stamp = {"id": "c" * 32, "process": "d" * 32, "at": int(time.time() * 1000)}
    with serving([in_ns1("bob", "read", "write")], tmp_path) as world:

        def asked(permission: str, **more: Json) -> Json:
            body = {"principal": {"name": "bob"}, "entity": entity, "permissions": [permission], **more}
            found: Json = world.ask("enforce", "POST", "/cdap/v1/enforce", body).json
            return found

        assert "asked CDAP" not in asked("STANDARD.GET")["reason"]
        assert asked("STANDARD.CREATE", check=stamp)["allowed"]
        denied = asked("STANDARD.GET")
        assert not denied["allowed"]
        assert "; bob asked CDAP to create dataset:ns1.soon " in denied["reason"]
