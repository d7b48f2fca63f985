"""The access review without Spark: what it is about, whose groups count, and that it answers as an `Authorizer`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

import servicedef
from ranger_cdap.authz.decision_context import DecisionContext
from ranger_cdap.authz.groups import GroupResolver
from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.cdap.inventory import read_entities
from ranger_cdap.cdap.profile import ACTIONS
from ranger_cdap.cli.main import main
from ranger_cdap.engine import EngineOptions
from ranger_cdap.errors import InvalidInput
from ranger_cdap.plugins.hookspecs import hookimpl
from ranger_cdap.plugins.manager import plugin_manager
from ranger_cdap.ranger.refresh.documents import Documents, PolicySet, compile_set
from ranger_cdap.ranger.refresh.ended import without_ended
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from ranger_cdap.tools.analysis.access_paths import Cell, CellFinder
from ranger_cdap.tools.analysis.subject import Subject
from spark_sync.review.answers import PEOPLE_AT_ONCE, Basis, answer, units
from spark_sync.review.people import ReviewedUser, named_users, people, read_users
from spark_sync.spark.sent_policies import SentPolicies
from tests.authz.fixtures import NOW, authorizer, policy
from tests.cli.fixtures import named
from tests.spark_sync.installed_conditions import INSTALLED

DATASET = entity_id("dataset", ["ns1", "a.b"])
STREAM = entity_id("stream", ["ns1", "clicks"])
ENTITIES = (
    entity_id("instance", []),
    entity_id("namespace", ["ns1"]),
    DATASET,
    entity_id("dataset", ["ns2", "a.b"]),
    STREAM,
    entity_id("artifact", ["ns1", "core"]),
    entity_id("program", ["ns1", "app", "workflow.W"]),
    entity_id("principal", ["svc/host@REALM"]),
)
VALID_LATER = [{"startTime": "2100/01/01 00:00:00", "endTime": "", "timeZone": "UTC"}]


def item(accesses: Sequence[str], **who: Sequence[str]) -> dict[str, Any]:
    return {"accesses": [{"type": access} for access in accesses], **who}


POLICIES = (
    policy(1, {"namespace": "ns1"}, ["alice"], ["read", "write"]),
    policy(
        2,
        {"namespace": "ns1", "dataset": "a.b"},
        ["alice", "bob"],
        ["read"],
        denyPolicyItems=[item(["read"], groups=["lent"])],
    ),
    policy(3, {"namespace": "*", "dataset": "a*"}, [], ["admin"], policyItems=[item(["admin"], groups=["staff"])]),
    policy(4, {"namespace": "ns1", "stream": "*"}, ["carol"], ["write"], validitySchedules=VALID_LATER),
    policy(5, {"namespace": "ns1", "artifact": "core"}, [], [], policyItems=[item(["read"], groups=["public"])]),
    policy(6, {"namespace": "ns1", "stream": "clicks"}, ["{USER}"], [], policyItems=[item(["read"], users=["{USER}"])]),
    policy(7, {"namespace": "ns2"}, [], [], policyItems=[item(["execute"], roles=["runners"])]),
    policy(8, {"namespace": "ns1", "artifact": "core"}, ["erin"], ["write"], isEnabled=False),
)
ROLES = [{"name": "runners", "users": [{"name": "rita"}], "groups": [{"name": "ops"}]}]
STORE = {"alice": ["staff"], "dave": ["staff"], "oscar": ["ops"], "quiet": []}


def documents(
    policies: Sequence[dict[str, Any]] = POLICIES, *, config: dict[str, str] | None = None, store: bool = True
) -> Documents:
    return Documents(
        msgspec.json.encode(
            {
                "serviceName": "cdapdev",
                "policyVersion": 9,
                "policies": policies,
                "serviceDef": servicedef.service_definition(),
                "serviceConfig": config or {},
            }
        ),
        msgspec.json.encode({"serviceName": "cdapdev", "roleVersion": 1, "rangerRoles": ROLES}),
        None,
        msgspec.json.encode({"userStoreVersion": 2, "userGroupMapping": STORE, "userAttrMapping": {"lonely": {}}})
        if store
        else None,
    )


class Directory:
    """A plugin that knows that bob was lent something, and cannot find out anything of `lost`."""

    @hookimpl
    def ranger_cdap_groups(self, user: str) -> Collection[str]:
        if user == "lost":
            raise ConnectionError
        return ["lent"] if user == "bob" else []


def asked(documents: Documents, found: tuple[ReviewedUser, ...]) -> Basis:
    now = int(NOW * 1000)
    return Basis("cdap", SentPolicies.of("cdapdev", without_ended(documents, now), INSTALLED), found, now)


def triples(basis: Basis, entities: Sequence[EntityId] = ENTITIES) -> dict[tuple[EntityId, str, str], tuple[Any, ...]]:
    """Allowed, policy id, conditional and depends of each entity, user and action."""
    found = {}
    for _, _, _, kind, parts, *lists in answer(basis, units(entities, len(basis.people))):
        for user, action, *decided in zip(*lists, strict=True):
            found[EntityId(kind, tuple(parts)), user, action] = tuple(decided)
    return found


def snapshot_of(policy_set: PolicySet) -> Snapshot:
    return Snapshot(policy_set.engine, PolicyState.FRESH, "", groups_of=policy_set.groups_of)


def test_it_answers_as_an_authorizer_does() -> None:
    plugins = plugin_manager(entry_points=False)
    plugins.register(Directory())
    policy_set = compile_set(documents(), "cdapdev", EngineOptions())
    passed = {"bob": frozenset({"staff"})}
    users = ("alice", "bob", "carol", "dave", "lost", "oscar", "rita", "svc", "nobody", "{USER}")
    hook = plugins.hook.ranger_cdap_groups
    found = triples(asked(documents(), people(users, passed, snapshot_of(policy_set), hook)))

    moment = DecisionContext(
        policy_set.engine, GroupResolver(passed, policy_set.groups_of, hook), "cdap", int(NOW * 1000)
    )
    for entity in ENTITIES:
        for user in users:
            for action in ACTIONS:
                decision = moment.ask(user, entity, action)
                *answer, conditional, depends = found[entity, user, action]
                assert answer == [decision.allowed and decision.determined, decision.policy_id]
                assert decision.conditional or not conditional
                assert conditional or not depends
    assert len(found) == len(ENTITIES) * len(users) * len(ACTIONS)

    compared = set()
    with authorizer(policy_set.engine, plugins=plugins, groups_of=policy_set.groups_of) as program:
        for operation in program.decider.config.profile.rows.values():
            for entity in ENTITIES:
                if entity.type != operation.entity:
                    continue
                for user in users:
                    needs = program.plan(user, operation.name, entity)
                    if [len(one) for one in needs] != [1] or len(needs[0][0].actions) != 1:
                        continue
                    if (needs[0][0].entity, needs[0][0].person) != (entity, user):
                        continue
                    (action,) = needs[0][0].actions
                    said = program.check(user, passed.get(user, ()), operation.name, entity).allowed
                    assert said == found[entity, user, action][0], (user, operation.name, entity)
                    compared.add((action, said))
    assert {(action, said) for action in ("READ", "WRITE") for said in (True, False)} <= compared


@pytest.mark.parametrize(
    ("user", "entity", "action", "expected"),
    [
        ("bob", DATASET, "READ", (False, 2)),  # a plugin knows the group that is denied
        ("lost", DATASET, "READ", (False, 2)),  # who may be in it counts as in it
        ("dave", DATASET, "ADMIN", (True, 3)),  # a group of Ranger's
        ("oscar", entity_id("namespace", ["ns2"]), "EXECUTE", (True, 7)),  # a group's role
        ("never seen", entity_id("artifact", ["ns1", "core"]), "READ", (True, 5)),
        ("never seen", DATASET, "READ", (False, -1)),
    ],
)
def test_groups_of_everywhere_count(user: str, entity: EntityId, action: str, expected: tuple[bool, int]) -> None:
    plugins = plugin_manager(entry_points=False)
    plugins.register(Directory())
    policy_set = compile_set(documents(), "cdapdev", EngineOptions())
    found = people([user], {}, snapshot_of(policy_set), plugins.hook.ranger_cdap_groups)
    assert triples(asked(documents(), found), [entity])[entity, user, action][:2] == expected


def test_what_depends_on_the_time_is_marked() -> None:
    found = triples(asked(documents(), (ReviewedUser("carol", frozenset(), True),)))
    assert found[STREAM, "carol", "WRITE"] == (False, -1, True, "if from 2100/01/01 00:00:00 UTC")
    assert found[DATASET, "carol", "READ"] == (False, -1, False, "")


names = st.text(min_size=1, max_size=6) | st.sampled_from(["{USER}", "{OWNER}", "public", "*", "a,b", "../x", "=1+1"])


@given(named=names, other=names)
def test_a_name_is_only_a_name(named: str, other: str) -> None:
    """Whatever a user is called, he has what Ranger's engine says of that name, and only he."""
    content = documents([policy(1, {"namespace": "ns1"}, [named], ["read"])])
    engine = compile_set(content, "cdapdev", EngineOptions()).engine
    found = triples(
        asked(content, people({named, other}, {}, Snapshot(None, PolicyState.FRESH, ""), None)), ENTITIES[1:2]
    )
    moment = DecisionContext(engine, GroupResolver({}, lambda _: frozenset()), "cdap", int(NOW * 1000))
    for user in (named, other):
        assert found[ENTITIES[1], user, "READ"][0] == moment.ask(user, ENTITIES[1], "READ").allowed
    if other != named and named not in ("{USER}", "{OWNER}"):
        assert not found[ENTITIES[1], other, "READ"][0]


@pytest.mark.parametrize("count", [1, PEOPLE_AT_ONCE, PEOPLE_AT_ONCE + 1])
def test_everybody_is_asked_about_once_however_many_they_are(count: int) -> None:
    found = tuple(ReviewedUser(f"u{n:05}", frozenset(), True) for n in range(count))
    rows = list(answer(asked(documents(), found), units([DATASET], count)))
    told = [(user, action) for row in rows for user, action in zip(row[5], row[6], strict=True)]
    assert told == [(person.name, action) for person in found for action in ACTIONS]


def test_users_named_by_policies() -> None:
    """By name, in roles, as members of named groups and as super users; macros and `public` name nobody."""
    found = named_users(documents(config={"ranger.plugin.super.users": "root, "}))
    assert found == {"alice", "bob", "carol", "erin", "rita", "dave", "oscar", "root"}


def test_a_policy_that_cannot_be_read_hides_no_other() -> None:
    assert named_users(documents([{"id": 1, "policyItems": "x"}, POLICIES[0]], store=False)) == {"alice", "rita"}


ENDED = [{"endTime": "2020/01/01 00:00:00", "timeZone": "UTC"}]


@pytest.mark.parametrize(
    ("more", "conditional"),
    [
        ({"validitySchedules": ENDED}, False),
        ({"validitySchedules": VALID_LATER}, False),
        ({"validitySchedules": VALID_LATER, "denyPolicyItems": [item(["read"], users=["alice"])]}, True),
    ],
    ids=["an ended policy", "a later policy that gives the same", "a later deny"],
)
def test_an_answer_is_conditional_only_where_a_condition_decides(more: dict[str, Any], conditional: bool) -> None:
    kv = {"namespace": "ns1", "dataset": "kv"}
    held = [policy(1, kv, ["alice"], ["read"], **more), policy(2, kv, ["alice"], ["read"])]
    entity = EntityId("dataset", ("ns1", "kv"))
    found = triples(asked(documents(held), (ReviewedUser("alice", frozenset(), True),)), [entity])
    by = 'policy 1 "policy 1", deny item 1 (user alice)'
    depends = f"unless from 2100/01/01 00:00:00 UTC ({by})" if conditional else ""
    assert found[entity, "alice", "READ"] == (True, 2, conditional, depends)


def test_a_dependence_is_found_once_for_users_whom_no_policy_tells_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked_about = []

    def counted(self: CellFinder, subject: Subject, *rest: Any) -> Cell:
        asked_about.append(subject.user)
        return cell(self, subject, *rest)

    cell = CellFinder.cell
    monkeypatch.setattr(CellFinder, "cell", counted)
    kv, group = {"namespace": "ns1", "dataset": "kv"}, item(["read"], groups=["staff"])
    held = [policy(1, kv, ["erin"], ["read"], policyItems=[group], validitySchedules=VALID_LATER)]
    crowd = tuple(ReviewedUser(f"user{n}", frozenset({"staff", f"group{n}"}), True) for n in range(50))
    found = triples(asked(documents(held), crowd), [EntityId("dataset", ("ns1", "kv"))])
    conditional = [answer for (_, _, action), answer in found.items() if action == "READ"]
    assert conditional == [(False, -1, True, "if from 2100/01/01 00:00:00 UTC")] * 50
    assert asked_about == ["user0"]


def test_users_of_zones_and_of_tags_are_named_too() -> None:
    content = msgspec.json.decode(documents(store=False).policies)
    within = [{"instance": ["cdap"], "namespace": ["z"]}]
    content["securityZones"] = {
        "z": {"resources": within, "policies": [policy(50, {"namespace": "z"}, ["zoe"], ["read"])]}
    }
    content["tagPolicies"] = {"policies": [policy(60, {}, ["tom"], ["read"])]}
    found = named_users(structs.replace(documents(store=False), policies=msgspec.json.encode(content)))
    assert {"zoe", "tom"} <= found


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("u.txt", "alice\r\n\n bob \nalice\n", {"alice": set(), "bob": set()}),
        ("u.txt", "=cmd|x\n../../etc\na,b\n", {"=cmd|x": set(), "../../etc": set(), "a,b": set()}),
        ("u.txt", "a\u2028b\n", {"a\u2028b": set()}),
        ("u.jsonl", '{"user":"alice","groups":["x"]}\n{"user":"alice","groups":["y"]}\n', {"alice": {"x", "y"}}),
        ("u.jsonl", '{"user":" a\\nb"}\n', {" a\nb": set()}),
    ],
)  # fmt: skip
def test_users_of_a_file(name: str, content: str, expected: dict[str, set[str]], tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content.encode())
    assert read_users(tmp_path / name) == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("u.txt", b"\n \n", "lists no users"),
        ("u.txt", b"\xff", "cannot be read"),
        ("u.jsonl", b"alice\n", "line 1"),
        ("u.jsonl", b'{"user":"a"}\n{"user":""}\n', "line 2: the user has no name"),
        ("u.jsonl", b'{"user":"a","group":["x"]}\n', "unknown field `group`"),
        ("u.jsonl", b'{"user":"\\ud800"}\n', "line 1"),
    ],
)
def test_a_bad_file_of_users_is_refused(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=message):
        read_users(tmp_path / name)


def line(entity: EntityId) -> str:
    return json.dumps({"type": entity.type, "parts": entity.parts}) + "\n"


HEADER = '{"v":1,"instance":"cdap","taken":"2026-11-21T04:00:00Z"}\n'


def test_entities_of_an_inventory(tmp_path: Path) -> None:
    path = tmp_path / "entities.jsonl"
    path.write_text(HEADER + "".join(map(line, (*ENTITIES, DATASET))), encoding="utf-8")
    assert read_entities(path, instance="cdap", now=1_900_000_000_000) == ENTITIES


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        (HEADER, "lists no entities"),
        (HEADER + '{"type":"dataset","parts":["ns1","a*"]}\n', "line 2: `a\\*` is not a name"),
        (HEADER + '{"type":"datset","parts":["ns1","a"]}\n', "line 2: .*did you mean `dataset`"),
        (HEADER + "garbage\n", "line 2"),
        (line(DATASET), "line 1: not the header of an inventory"),
        (HEADER.replace('"cdap"', '"other"') + line(DATASET), "of instance `other`"),
        (HEADER.replace('"v":1', '"v":2') + line(DATASET), "version 2"),
    ],
)
def test_a_bad_file_of_entities_is_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "entities.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match=message):
        read_entities(path, instance="cdap", now=1_900_000_000_000)


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "e.jsonl").write_text(HEADER + line(DATASET), encoding="utf-8")
    (tmp_path / "u.txt").write_text("alice\n", encoding="utf-8")
    config = tmp_path / "c.toml"
    config.write_text(f'[plugin]\ncache_dir = "{tmp_path / "cache"}"\n', encoding="utf-8")
    out = str(tmp_path / "out")
    words = ["--config", str(config), "access", "--format", "parquet", *named(tmp_path)]
    return [*words, "--inventory", str(tmp_path / "e.jsonl"), "--out", out]


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--users", "nowhere.txt"], 3, "cannot be read"),
        (["--inventory", "nowhere.jsonl"], 3, "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_first(
    command: list[str], more: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, *more]) == code
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_few_answers_need_no_pyspark(command: list[str], tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['pyspark'] = None\nfrom ranger_cdap.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    line = [sys.executable, "-c", program, *command, "--users", str(tmp_path / "u.txt")]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert pq.read_table(tmp_path / "out" / "answers").num_rows == 4 * len({"alice"})


def test_policies_of_a_file_are_of_the_service_that_it_names(command: list[str], tmp_path: Path) -> None:
    assert main(["--set", "ranger.service=another", *command]) == 0
    assert (tmp_path / "out" / "summary").is_dir()


def test_many_answers_need_pyspark(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("spark_sync.cli.review.FEW_ANSWERS", 0)
    monkeypatch.setattr("spark_sync.spark.session.find_spec", lambda _: None)
    assert main(command) == 1
    assert "PySpark; install it with `pip install 'ranger-cdap[spark]'`" in capsys.readouterr().err
