"""Operations with all that they involve: a service answers as an `Authorizer` with the same policies does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.authz.answer_documents import as_document
from ranger_cdap.authz.known_names import KnownNames
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cli.check_text import print_answer
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.client import ClientSettings, DecisionClient, Secret, answer_of, check
from ranger_cdap.errors import DecisionServiceForbidden, DecisionServiceRejected, InvalidInput
from ranger_cdap.service.api import operation_api
from tests.authz.fixtures import policy
from tests.client.both_clients import BOTH, Ask
from tests.service.fixtures import World, secret_of, serving

POLICIES = [
    policy(1, {"namespace": "ns1"}, ["alice", "bob"], ["read", "write"]),
    policy(2, {"namespace": "ns1", "dataset": "kv"}, ["alice", "bob"], ["read", "write", "admin"]),
    policy(3, {"namespace": "ns1", "dataset": "kv"}, [], ["write"], denyPolicyItems=[
        {"users": ["bob"], "accesses": [{"type": "write", "isAllowed": True}]}
    ]),
    policy(4, {"namespace": "ns1", "artifact": "*"}, ["alice"], ["read", "write", "admin"]),
    policy(5, {"namespace": "ns1", "application": "*"}, ["alice"], ["read", "write", "admin"]),
    policy(6, {"namespace": "ns1", "application": "*", "program": "*"}, ["alice", "cdap"], ["execute", "read"]),
    policy(7, {"namespace": "ns1", "dataset": "local*"}, ["alice", "etl"], ["read", "write", "admin"]),
]  # fmt: skip
KV = entity_id("dataset", ("ns1", "kv"))
SHOP = entity_id("application", ("ns1", "shop"))
RUN = entity_id("program", ("ns1", "shop", "workflow.W"))
ENTITIES = [KV, SHOP, RUN, entity_id("dataset", ("ns2", "kv")), entity_id("namespace", ("ns1",))]
ARTIFACT = entity_id("artifact", ("ns1", "lib"))
LOCAL = EntityPattern("dataset", ("ns1", "local*"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving(POLICIES, tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture(scope="module")
def client(world: World) -> Iterator[DecisionClient]:
    with DecisionClient(asking(world, "delegate")) as asked:
        yield asked


def asking(world: World, caller: str) -> ClientSettings:
    return ClientSettings(url=world.url, caller=caller, secret=Secret(secret_of(caller)), timeout=60)


def printed(answer: Any, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    print_answer(Invocation(), answer)
    return capsys.readouterr().out


def _answer_or_problem(decide: Callable[[], Answer]) -> Answer | str:
    try:
        return decide()
    except InvalidInput as e:
        return str(e)


contexts = st.builds(
    lambda related, impersonated: Context(related, impersonated),
    st.dictionaries(st.sampled_from(["artifact", "datasets", "local_datasets"]), st.nothing() | st.just(None)).map(
        lambda roles: {
            role: {"artifact": (ARTIFACT,), "datasets": (KV, LOCAL), "local_datasets": (LOCAL,)}[role] for role in roles
        }
    ),
    st.sampled_from([None, None, "etl", "alice", "bob"]),
)
VERBS = ("get", "create", "update", "delete", "deploy", "start", "list", "read_data")


@given(
    user=st.sampled_from(["alice", "bob", "mallory", "cdap"]),
    groups=st.lists(st.sampled_from(["etl", "public"]), max_size=2),
    verb=st.sampled_from(VERBS),
    entity=st.sampled_from(ENTITIES),
    context=contexts,
)
@settings(max_examples=80, deadline=None)
def test_a_service_answers_as_an_authorizer_with_the_same_policies(
    world: World, client: DecisionClient, user: str, groups: list[str], verb: str, entity: EntityId, context: Context
) -> None:
    operation = f"{entity.type}.{verb}"
    question = check(user, groups, operation, entity, context=context, names=True)
    here = _answer_or_problem(lambda: world.state.authorizer.check(user, groups, operation, entity, context=context))
    if isinstance(here, str):
        with pytest.raises(DecisionServiceRejected) as caught:
            client.ask(question)
        assert here.replace("`", "'")[:200] in str(caught.value)
        return
    reply = client.ask(question)
    authorizer = world.state.authorizer
    names = KnownNames.of(authorizer, PolicyIndex.of(authorizer.snapshot.documents))
    row = authorizer.decider.config.profile.operation(operation)
    unknown = names.unknown_in(row, user, groups, entity, context)
    there = as_document(answer_of(reply), unknown=reply.unknown)
    assert msgspec.json.decode(msgspec.json.encode(there)) == msgspec.json.decode(
        msgspec.json.encode(as_document(here, unknown=unknown))
    )
    assert bool(reply) is here.allowed


def test_delegates_that_ask_are_told_the_unknown_names(
    world: World, client: DecisionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are not: the nearest names may be of what they must not know of. Nor are names looked up in a crowd."""

    def told(caller: DecisionClient, who: str, **more: bool) -> list[str] | None:
        found = caller.ask(check(who, [], "dataset.get", entity_id("dataset", ("ns1", "kvs")), **more)).unknown
        return None if found is None else [f"{one.kind} {one.name}: {', '.join(one.nearest)}" for one in found]

    with DecisionClient(asking(world, "evaluate")) as other:
        assert {
            "asked": told(client, "alcie", names=True),
            "not asked": told(client, "alcie"),
            "another caller": told(other, "evaluate", names=True),
        } == {
            "asked": ["user alcie: alice", "dataset ns1.kvs: ns1.kv"],
            "not asked": None,
            "another caller": None,
        }
    monkeypatch.setattr(operation_api, "_MOST_POLICIES", len(POLICIES) - 1)
    assert told(client, "alcie", names=True) is None


@pytest.mark.parametrize("user", ["alice", "bob", "mallory"])
@pytest.mark.parametrize("verb", ["get", "update", "delete"])
def test_it_prints_as_the_answer_of_an_authorizer(
    user: str, verb: str, world: World, client: DecisionClient, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also which policy denies, and its version."""
    here = world.state.authorizer.check(user, [], f"dataset.{verb}", KV)
    there = answer_of(client.ask(check(user, [], f"dataset.{verb}", KV)))
    assert printed(there, capsys) == printed(here, capsys) != ""


@pytest.fixture(params=BOTH)
def ask(request: pytest.FixtureRequest) -> Ask:
    return BOTH[request.param]


@pytest.mark.parametrize(
    ("question", "may"),
    [
        (check("evaluate", [], "dataset.get", KV), True),
        (check("alice", [], "dataset.get", KV), False),
        (check("evaluate", ["etl"], "dataset.get", KV), False),
        (check("evaluate", [], "program.start", RUN, context=Context(impersonated="alice")), False),
        (check("evaluate", [], "program.start", RUN, context=Context(impersonated="evaluate")), True),
        (
            check(
                "evaluate", [], "program.start", RUN,
                context=Context({"principal": (entity_id("principal", ("alice/host@REALM",)),)}),
            ),
            False,
        ),
    ],
    ids=["itself", "another", "groups", "an impersonated user", "itself impersonated", "a principal"],
)  # fmt: skip
def test_a_caller_asks_about_itself_unless_it_is_a_delegate(question: Any, may: bool, world: World, ask: Ask) -> None:
    if may:
        assert not ask(asking(world, "evaluate"), question)
    else:
        with pytest.raises(DecisionServiceForbidden):
            ask(asking(world, "evaluate"), question)
    ask(asking(world, "delegate"), question)
