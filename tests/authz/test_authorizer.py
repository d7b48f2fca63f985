"""`Authorizer`: CDAP operations decided by a real engine, with vetoes, audit and everything that must deny."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pluggy
import pytest

from ranger_cdap.authz.access_review import review_engine
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.entity import EntityId, entity_id, parse_entity
from ranger_cdap.engine import AccessEntry, Verdict
from ranger_cdap.errors import InvalidEntity, InvalidInput, NotReady, UnknownOperation
from ranger_cdap.plugins.hookspecs import hookimpl
from ranger_cdap.plugins.manager import plugin_manager
from tests.authz import fixtures as authorizer_world
from tests.authz.fixtures import Memory, policy

KV = entity_id("dataset", ["ns1", "kv"])
NS1 = entity_id("namespace", ["ns1"])
KEY = entity_id("secure_key", ["ns1", "key"])

POLICIES = [
    policy(1, {"namespace": "ns1"}, ["alice", "bob"], ["read"]),
    policy(2, {"namespace": "ns1", "dataset": "kv"}, ["alice"], ["read"]),
    policy(3, {"namespace": "ns2", "application": "app", "program": "*"}, ["alice"], ["execute"]),
    policy(4, {"namespace": "ns3", "dataset": "quiet"}, ["alice"], ["admin"], isAuditEnabled=False),
    policy(5, {"namespace": "ns1", "secure_key": "key"}, ["alice"], ["read"]),
]


def authorizer(
    memory: Memory | None = None, *, ready: bool = True, plugins: pluggy.PluginManager | None = None
) -> Authorizer:
    return authorizer_world.authorizer(POLICIES if ready else None, memory, plugins=plugins)


def test_an_operation_is_decided_by_the_policies_on_every_entity_it_needs() -> None:
    answer = authorizer().check("alice", (), "secure_key.get", KEY)

    assert answer.allowed
    assert answer.policy_ids == (5, 1)
    assert [(e.action, e.entity) for e in answer.decided_by] == [("READ", KEY), ("READ", NS1)]


def test_a_denial_names_what_is_missing() -> None:
    answer = authorizer().check("bob", (), "dataset.get", KV)

    assert not answer.allowed
    assert [str(m) for m in answer.missing] == ["bob needs READ on dataset:ns1.kv"]


def test_visible_is_what_one_has_any_privilege_on_or_below() -> None:
    asked = [parse_entity(text) for text in ("namespace:ns1", "namespace:ns2", "namespace:ns9", "application:ns2.app")]

    assert authorizer().visible("alice", (), asked) == [asked[0], asked[1], asked[3]]
    assert authorizer().visible("bob", (), asked) == [asked[0]]
    assert authorizer().visible("nobody", (), asked) == []


def test_without_policies_everything_is_denied_and_the_reason_says_not_ready() -> None:
    unready = authorizer(ready=False)

    answer = unready.check("alice", (), "dataset.get", KV)

    assert not answer.allowed
    assert not answer.ready
    assert answer.reason == "not ready: no policies yet"
    assert unready.visible("alice", (), [KV]) == []


class Veto:
    def __init__(self, says: Callable[[Answer], str | None]) -> None:
        self.says = says

    @hookimpl
    def ranger_cdap_veto(self, answer: Answer) -> str | None:
        return self.says(answer)


def boom(_: Answer) -> str | None:
    raise RuntimeError("plugin bug")


@pytest.mark.parametrize(
    ("user", "says", "allowed", "reason"),
    [
        ("alice", lambda _: None, True, "allowed"),
        ("alice", lambda _: "audit week", False, "vetoed: audit week"),
        ("alice", boom, False, "vetoed: a veto hook failed"),
        ("bob", lambda _: None, False, "bob needs READ on dataset:ns1.kv"),
    ],
)
def test_a_hook_can_only_turn_allow_into_deny_and_one_that_raises_denies(
    user: str, says: Callable[[Answer], str | None], allowed: bool, reason: str
) -> None:
    plugins = plugin_manager(entry_points=False)
    plugins.register(Veto(says))

    answer = authorizer(plugins=plugins).check(user, (), "dataset.get", KV)

    assert (answer.allowed, answer.reason) == (allowed, reason)
    assert authorizer(plugins=plugins).visible(user, (), [KV]) == ([KV] if allowed else [])


def test_one_record_for_each_entity_with_the_final_result_and_the_deciding_policy() -> None:
    memory = Memory()

    authorizer(memory).check("alice", (), "secure_key.get", KEY, client_ip="10.0.0.9")
    authorizer(memory).check("bob", (), "secure_key.get", KEY)

    seen = [(r.reqUser, r.resource, r.action, r.result, r.policy, r.policy_version) for r in memory.records]
    assert seen == [
        ("alice", "cdap/ns1/key", "read", 1, 5, 3),
        ("alice", "cdap/ns1", "read", 1, 1, 3),
        ("bob", "cdap/ns1/key", "read", 0, -1, -1),
        ("bob", "cdap/ns1", "read", 0, 1, 3),
    ]
    assert {(r.repo, r.access, r.cliIP, r.evtTime) for r in memory.records[:2]} == {
        ("cdapdev", "secure_key.get", "10.0.0.9", 1_800_000_000_000)
    }


def test_a_denial_without_policies_is_recorded_with_the_name_of_the_service() -> None:
    memory = Memory()

    authorizer(memory, ready=False).check("alice", (), "dataset.get", KV)

    assert {(r.repo, r.repoType, r.result, r.policy) for r in memory.records} == {("cdapdev", 0, 0, -1)}


def test_a_policy_without_audit_leaves_no_record_and_explaining_neither() -> None:
    memory = Memory()

    answer = authorizer(memory).check("alice", (), "dataset.drop", entity_id("dataset", ["ns3", "quiet"]))
    authorizer(memory).explain("alice", (), "dataset.get", KV)

    assert answer.allowed
    assert memory.records == []


@pytest.mark.parametrize(
    ("operation", "entity", "error"),
    [
        ("dataset.fly", KV, UnknownOperation),
        ("dataset.get", NS1, InvalidInput),
        ("dataset.get", EntityId("dataset", ("ns1", "*")), InvalidEntity),
        ("dataset.get", EntityId("dataset", ("ns1",)), InvalidEntity),
        ("dataset.get", EntityId("dataset", ("ns1", "k?")), InvalidEntity),
        ("dataset.get", EntityId("dataset", ("", "kv")), InvalidEntity),
    ],
)
def test_what_is_no_question_is_an_error_not_an_answer(
    operation: str, entity: EntityId, error: type[Exception]
) -> None:
    with pytest.raises(error):
        authorizer().check("alice", (), operation, entity)


def test_a_wildcard_is_never_visible() -> None:
    with pytest.raises(InvalidEntity):
        authorizer().visible("alice", (), [EntityId("namespace", ("*",))])


def test_many_questions_are_answered_as_each_alone_and_audited_together() -> None:
    questions = [("dataset.get", KV), ("dataset.drop", KV), ("namespace.get", NS1)]
    together, alone = Memory(), Memory()

    answers = authorizer(together).check_all("alice", (), questions)

    assert answers == [authorizer(alone).check("alice", (), *question) for question in questions]
    assert [a.allowed for a in answers] == [True, False, True]
    told = [[(r.resource, r.access, r.result, r.policy) for r in memory.records] for memory in (together, alone)]
    assert told[0] == told[1]
    assert authorizer(ready=False).check_all("alice", (), questions)[2].reason == "not ready: no policies yet"


def test_one_question_that_is_none_answers_nothing() -> None:
    memory = Memory()
    with pytest.raises(UnknownOperation):
        authorizer(memory).check_all("alice", (), [("dataset.get", KV), ("dataset.fly", KV)])
    assert memory.records == []


def test_who_can_do_what_on_an_entity() -> None:
    table = authorizer().who(KV)

    assert {user: {a: e.verdict for a, e in row.items()} for user, row in table.users.items()} == {
        "alice": {"read": Verdict.ALLOWED}
    }
    with pytest.raises(NotReady, match="no policies yet"):
        authorizer(ready=False).who(KV)
    with pytest.raises(InvalidEntity):
        authorizer().who(EntityId("dataset", ("ns1", "*")))


@pytest.mark.parametrize(
    ("validity", "status"),
    [
        ({"endTime": "2001/01/01 00:00:00"}, None),
        ({"endTime": "2901/01/01 00:00:00"}, Verdict.CONDITIONAL),
        ({"startTime": "2901/01/01 00:00:00"}, Verdict.CONDITIONAL),
    ],
)
def test_a_policy_that_has_ended_gives_nobody_access(
    validity: dict[str, str], status: Verdict | None, tmp_path: Path
) -> None:
    ends = policy(1, {"namespace": "ns1"}, ["alice"], ["read"], validitySchedules=[validity])
    (tmp_path / "policies.json").write_bytes(msgspec.json.encode(authorizer_world.document([ends])))

    with Authorizer.from_policies(tmp_path / "policies.json") as asked:
        users = asked.who(NS1).users

    assert users.get("alice", {}).get("read") == (status and AccessEntry(status, 1))


def test_the_engine_without_ended_policies_is_compiled_once_per_set_of_policies(tmp_path: Path) -> None:
    ended = policy(9, {"namespace": "ns9"}, ["eve"], ["read"], validitySchedules=[{"endTime": "2001/01/01 00:00:00"}])
    file, seen = tmp_path / "policies.json", []
    for user in ("alice", "bob", "alice"):
        of_user = policy(1, {"namespace": "ns1"}, [user], ["read"])
        file.write_bytes(msgspec.json.encode(authorizer_world.document([of_user, ended])))
        with Authorizer.from_policies(file) as asked:
            engine = review_engine(asked.snapshot, 1_700_000_000_000)
            assert engine is review_engine(asked.snapshot, 1_800_000_000_000)
            assert engine is not asked.snapshot.engine
            assert asked.who(NS1).users.keys() == {user}
            seen.append(engine)
    assert len(set(map(id, seen))) == len(seen)
