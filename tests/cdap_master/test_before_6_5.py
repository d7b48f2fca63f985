"""CDAP before 6.5 asks for actions: its own loader and enforcer, our jar and the service, all as they are.

The law: CDAP goes on exactly if Ranger's policies give the user that action on the entity itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from ranger_cdap.engine import AccessRequest
from tests.authz.fixtures import Json, engine, policy
from tests.cdap_master.earlier_cdap import RELEASES, Authorizer, missing_part
from tests.extension.driver import User, entity
from tests.extension.scripted_service import ALLOWED, DENIED, ScriptedService, impatient
from tests.extension.secrets_in_text import SECRETS, secret_file
from tests.extension.test_faults import SAID, UNUSABLE
from tests.service.fixtures import World, secret_of, serving

ACTIONS = ("READ", "WRITE", "EXECUTE", "ADMIN")
ALICE, BOB, EVE = User("alice"), User("bob"), User("eve")

# CDAP's type and idParts; the entity in Ranger's policies
ENTITIES = [
    (("INSTANCE", "cdap"), {}),
    (("NAMESPACE", "ns1"), {"namespace": "ns1"}),
    (("ARTIFACT", "ns1", "shop", "1.0.0"), {"namespace": "ns1", "artifact": "shop"}),
    (("APPLICATION", "ns1", "Shop", "-SNAPSHOT"), {"namespace": "ns1", "application": "Shop"}),
    (
        ("PROGRAM", "ns1", "Shop", "-SNAPSHOT", "Workflow", "W"),
        {"namespace": "ns1", "application": "Shop", "program": "workflow.W"},
    ),
    (
        ("SCHEDULE", "ns1", "Shop", "-SNAPSHOT", "nightly"),
        {"namespace": "ns1", "application": "Shop", "schedule": "nightly"},
    ),
    (("DATASET", "ns1", "kv"), {"namespace": "ns1", "dataset": "kv"}),
    (("DATASET_MODULE", "ns1", "a.B"), {"namespace": "ns1", "dataset_module": "a.B"}),
    (("DATASET_TYPE", "ns1", "a.B"), {"namespace": "ns1", "dataset_type": "a.B"}),
    (("SECUREKEY", "ns1", "key1"), {"namespace": "ns1", "secure_key": "key1"}),
    (("KERBEROSPRINCIPAL", "svc/host@EXAMPLE.COM"), {"principal": "svc/host@EXAMPLE.COM"}),
]
STREAM = (("STREAM", "ns1", "clicks"), {"namespace": "ns1", "stream": "clicks"})


def some_privileges() -> Iterator[Json]:
    """Policies with one or two actions on each entity, others for alice than for bob; one on what is in ns2."""
    for number, (_, resource) in enumerate([*ENTITIES, STREAM], start=1):
        of_bob = dict.fromkeys([ACTIONS[(number + 1) % 4], ACTIONS[(number + 3) % 4]])
        yield policy(number, resource, ["alice"], [ACTIONS[number % 4].lower()])
        yield policy(100 + number, resource, ["bob"], [action.lower() for action in of_bob])
    yield policy(200, {"namespace": "ns2", "dataset": "?*"}, ["bob"], ["read"])


POLICIES = list(some_privileges())


@pytest.fixture(scope="module", params=RELEASES, ids=lambda release: release.cdap)
def cdap(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authorizer]:
    """Each release in turn; what it logs never holds a secret."""
    if sentence := missing_part():
        pytest.skip(sentence)
    with Authorizer(request.param, tmp_path_factory.mktemp("cdap")) as cdap:
        yield cdap
        assert not [secret for secret in (*SECRETS.values(), secret_of("enforce")) if secret in cdap.log]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving(POLICIES, tmp_path_factory.mktemp("service")) as world:
        yield world


@pytest.fixture
def asking(cdap: Authorizer, world: World, tmp_path: Path) -> Authorizer:
    """A CDAP that asks the service of this module."""
    file = tmp_path / "secret"
    file.write_text(secret_of("enforce"))
    file.chmod(0o600)
    started = cdap.start({"url": world.url, "enforce.name": "enforce", "enforce.secret.file": str(file)})
    assert started == {"interface": f"{cdap.release.package}.security.spi.authorization.Authorizer"}
    return cdap


@pytest.fixture
def service() -> Iterator[ScriptedService]:
    with ScriptedService() as service:
        yield service


@pytest.fixture
def properties(service: ScriptedService, tmp_path: Path) -> dict[str, str]:
    secret = str(secret_file(tmp_path, "enforce"))
    return {"url": service.url, "enforce.secret.file": secret, "cache.seconds": "0", "read.timeout.ms": "20000"}


def test_an_action_is_that_privilege_on_the_entity_itself(asking: Authorizer) -> None:
    policies = engine(POLICIES)
    entities = [*ENTITIES, STREAM] if asking.release.cdap.startswith("5.") else ENTITIES
    answers = set()
    for (of, resource), user, action in product(entities, (ALICE, BOB, EVE), ACTIONS):
        request = AccessRequest(
            resource={"instance": "cdap", **resource}, access_type=action.lower(), user=user.name or "", access_time=1
        )
        expected = policies.evaluate(request).allowed
        seen = asking.enforce(user, entity(*of), [action])
        assert seen.get("allowed", False) is expected, (of, user, action, seen)
        assert seen.get("status") == (None if expected else 403)
        answers.add(expected)
    assert answers == {True, False}


def test_a_denial_names_the_missing_privilege(asking: Authorizer) -> None:
    seen = asking.enforce(EVE, entity("DATASET", "ns1", "kv"), ["WRITE"])
    assert seen == {
        "error": "UnauthorizedException",
        "status": 403,
        "text": "Principal 'eve' is not authorized to perform actions '[WRITE]' on entity 'dataset:ns1.kv': "
        "eve needs WRITE on dataset:ns1.kv",
    }


def test_all_of_several_actions_are_needed(asking: Authorizer) -> None:
    for (of, _), user in product(ENTITIES, (ALICE, BOB, EVE)):
        each = [asking.enforce(user, entity(*of), [action]).get("allowed", False) for action in ACTIONS]
        for n, m in product(range(4), repeat=2):
            both = asking.enforce(user, entity(*of), list(dict.fromkeys([ACTIONS[n], ACTIONS[m]])))
            assert both.get("allowed", False) is (each[n] and each[m]), (of, user, n, m)


UNPLACED = {
    "6.1.4": [("QUERY", "q1")],
    "5.1.2": [("FLOWLET", "ns1", "Shop", "-SNAPSHOT", "F", "f"), ("NOTIFICATION_FEED", "ns1", "stream", "x")],
}


def test_what_has_no_place_in_policies_is_denied_too(asking: Authorizer) -> None:
    for of, action in product(UNPLACED[asking.release.cdap], ACTIONS):
        assert asking.enforce(EVE, entity(*of), [action])["status"] == 403, (of, action)


def test_a_list_shows_what_the_user_has_a_privilege_on(asking: Authorizer) -> None:
    entities = [entity(*of) for of, _ in ENTITIES[1:]] + [entity("DATASET", "ns2", "any"), entity("NAMESPACE", "ns3")]
    assert asking.visible(EVE, entities) == {"visible": [False] * len(entities)}
    shown = asking.visible(BOB, entities)["visible"]
    assert shown[-2:] == [True, False]
    assert any(shown[:-2])
    assert asking.visible(BOB, []) == {"visible": []}


HANDING_OUT = {
    "grant": "edit policies in Ranger: this version of CDAP does not say who asks",
    "revoke": "edit policies in Ranger: this version of CDAP does not say who asks",
    "revoke all": "edit policies in Ranger: this version of CDAP does not say who asks",
    "list privileges": "edit policies in Ranger: this version of CDAP does not say who asks",
    "create role": "roles are kept in Ranger",
    "drop role": "roles are kept in Ranger",
    "add role": "roles are kept in Ranger",
    "remove role": "roles are kept in Ranger",
    "list roles": "roles are kept in Ranger",
    "list all roles": "roles are kept in Ranger",
}


@pytest.mark.parametrize("command", HANDING_OUT)
def test_cdap_hands_out_nothing(command: str, cdap: Authorizer, properties: dict[str, str]) -> None:
    cdap.start(properties)
    assert cdap.command(command, principal=ALICE.as_json()) == {
        "error": "Refusal",
        "status": 403,
        "text": HANDING_OUT[command],
    }


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_answer_denies_and_shows_nothing(
    name: str, cdap: Authorizer, service: ScriptedService, properties: dict[str, str]
) -> None:
    reply, why = UNUSABLE[name]
    of = entity("NAMESPACE", "ns1")
    cdap.start(impatient(properties, reply))
    service.answers(*[reply] * 6)

    denied = cdap.enforce(ALICE, of, ["READ"])
    hidden = cdap.visible(ALICE, [of])
    contained = cdap.enforce(ALICE, of, ["READ"], "enforce for a container")

    assert (denied["error"], denied["status"]) == ("UnauthorizedException", 403)
    assert denied["text"].endswith(SAID.format(why))
    # No empty list, and no denial that a container would keep: not known now.
    assert (hidden["status"], contained["status"]) == (503, 503)


def test_what_the_service_is_asked(cdap: Authorizer, service: ScriptedService, properties: dict[str, str]) -> None:
    cdap.start(properties)
    service.answers(ALLOWED, DENIED, ALLOWED)

    assert cdap.enforce(User("alice", kerberos="alice@R"), entity("DATASET", "ns1", "kv"), ["READ"])["allowed"]
    assert "status" in cdap.enforce(ALICE, entity("DATASET", "ns1", "kv"), ["WRITE"])
    cdap.enforce(ALICE, entity("NAMESPACE", "ns1"), ["ADMIN"], "enforce for a container")

    first, second, third = (asked.body for asked in service.asked)
    assert first["principal"] == {"name": "alice", "type": "USER", "kerberos": "alice@R"}
    assert (first["entity"], first["permissions"]) == ({"type": "DATASET", "parts": ["ns1", "kv"]}, ["ACTION.READ"])
    assert second["permissions"] == ["ACTION.WRITE"]
    assert ("from_container" in first, third["from_container"]) == (False, True)
    (hello,) = service.hellos
    assert (hello.body["records"], hello.body["cdap"]) == (False, cdap.release.cdap)


def test_a_group_or_a_role_as_principal_may_nothing(asking: Authorizer) -> None:
    for (of, _), kind in product(ENTITIES, ("GROUP", "ROLE")):
        assert asking.enforce(User("alice", type=kind), entity(*of), ["READ"])["status"] == 403


def test_cdap_does_not_start_without_the_settings(cdap: Authorizer, tmp_path: Path) -> None:
    assert "enforce.secret.file is missing" in cdap.start({})["cause"]
    missing = cdap.start({"url": "http://127.0.0.1:1", "enforce.secret.file": str(tmp_path / "no")})
    assert "enforce.secret.file does not name a file" in missing["cause"]
