"""Asking a decision service whether an account may look at an entity: as CDAP's own check would be decided."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ranger_cdap.cdap.entity import parse_entity
from ranger_cdap.cdap.profile import load_profile, profile_names
from ranger_cdap.config import CallerSettings, ConfirmSettings, NetworkSettings, Secret, Settings, SyncSettings
from ranger_cdap.errors import ConfigError
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from spark_sync.reconcile.cdap_existence import existence_queries
from spark_sync.reconcile.evaluation_client import EvaluationClient
from tests.authz.fixtures import policy
from tests.certificates import Authority, put
from tests.net.scripted_server import answering
from tests.service.fixtures import World, secret_of, serving

READS_ALL = [
    policy(1, {}, ["reader"], ["read"]),
    policy(2, {"namespace": "*"}, ["reader"], ["read"]),
    policy(3, {"namespace": "*", "dataset": "*"}, ["reader"], ["read"]),
    policy(4, {"namespace": "*", "application": "*"}, ["reader"], ["read"]),
    policy(5, {"namespace": "ns1", "dataset": "kv"}, ["bob"], ["read"]),
    policy(6, {"namespace": "*", "application": "*", "schedule": "*"}, ["reader"], ["read"]),
]
KV = "dataset:ns1.kv"


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving(READS_ALL, tmp_path_factory.mktemp("service")) as running:
        yield running


def settings(url: str, user: str = "reader", caller: str = "delegate", secret: str = "") -> Settings:
    confirm = ConfirmSettings(
        url="https://cdap.example",
        user=user,
        decision_service=url,
        caller=caller,
        secret=Secret(secret or secret_of(caller)),
    )
    return Settings(sync=SyncSettings(confirm=confirm))


def may_get(settings: Settings, entity: str = KV) -> tuple[bool, str]:
    with EvaluationClient(settings) as client:
        return client.may_get(parse_entity(entity)), client.problem


@pytest.mark.parametrize(
    ("user", "entity", "allowed"),
    [
        ("reader", "namespace:ns1", True),
        ("reader", KV, True),
        ("reader", "dataset:ns1.a.b$c", True),
        ("reader", "application:ns1.shop", True),
        ("reader", "schedule:ns1.shop.daily", True),
        ("reader", "artifact:ns1.lib", False),
        ("reader", "secure_key:ns1.key", False),
        ("bob", KV, False),
        ("bob", "namespace:ns1", False),
        ("mallory", KV, False),
    ],
)
def test_the_decision_is_that_of_cdaps_own_check(readers: World, user: str, entity: str, allowed: bool) -> None:
    """Of the entity and all that it is in: bob may read the dataset, not the namespace."""
    assert may_get(settings(readers.url, user), entity) == (allowed, "")


@pytest.mark.parametrize("profile", profile_names())
@pytest.mark.parametrize("kind", existence_queries())
def test_every_profile_decides_get_of_every_type_that_is_asked_about(profile: str, kind: str) -> None:
    assert load_profile(profile).operation(f"{kind}.get").alternatives


def test_a_caller_that_is_named_like_the_account_needs_no_delegation(tmp_path: Path) -> None:
    reader = CallerSettings(name="reader", roles=("evaluate",), secret=Secret(secret_of("reader")))
    with serving(READS_ALL, tmp_path, callers=(reader,)) as world:
        assert may_get(settings(world.url, caller="reader")) == (True, "")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"caller": "evaluate"}, "HTTP 403"),
        ({"caller": "enforce"}, "HTTP 403"),
        ({"caller": "nobody"}, "HTTP 401"),
        ({"secret": "another-secret-0123456789"}, "HTTP 401"),
        ({"url": "http://127.0.0.1:9"}, "is unavailable: the connection was refused"),
    ],
)
def test_what_is_not_decided_is_not_allowed(readers: World, change: dict[str, str], problem: str) -> None:
    allowed, said = may_get(settings(**{"url": readers.url} | change))
    assert not allowed
    assert problem in said
    assert "secret" not in said


def test_a_service_without_policies_allows_nothing(tmp_path: Path) -> None:
    with serving(READS_ALL, tmp_path) as world:
        world.becomes(Snapshot(None, PolicyState.NOT_READY, ""))
        allowed, said = may_get(settings(world.url))
    assert not allowed
    assert said.startswith(f"the decision service at `{world.url}` answered HTTP 503")


@pytest.mark.parametrize("shows", ["a client certificate", "none", "one of another authority"])
def test_a_service_that_requires_client_certificates_is_shown_that_of_the_settings(shows: str, tmp_path: Path) -> None:
    authority = Authority("everyone's")
    certificate, key = authority.server().put(tmp_path / "service.pem", tmp_path / "service.key")
    ca = put(tmp_path / "ca.pem", authority.pem)
    signer = Authority("other") if "another" in shows else authority
    shown, shown_key = signer.client().put(tmp_path / "client.pem", tmp_path / "client.key")
    with serving(READS_ALL, tmp_path, tls_certificate=certificate, tls_key=key, tls_client_ca=ca) as world:
        asking = settings(world.url)
        sync = asking.sync
        if shows != "none":
            sync = msgspec.structs.replace(sync, cert_file=shown, key_file=shown_key)
        allowed, said = may_get(Settings(sync=sync, network=NetworkSettings(ca_file=str(ca))))
    right = shows == "a client certificate"
    assert (allowed, "`sync.cert_file` the certificate to show" in said) == (right, not right)


ALLOWED = {"decision": True}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b'{"evaluations":[]}',
        json.dumps({"evaluations": [ALLOWED]}).encode(),
        json.dumps({"evaluations": [ALLOWED] * 3}).encode(),
        json.dumps({"evaluations": [ALLOWED, {"decision": False}]}).encode(),
        json.dumps({"evaluations": [ALLOWED, {"decision": "true"}]}).encode(),
        json.dumps({"evaluations": [ALLOWED, {}]}).encode(),
    ],
)
def test_an_answer_that_does_not_allow_all_of_it_allows_nothing(body: bytes) -> None:
    assert not answered(body)


def test_an_answer_that_allows_all_of_it_does() -> None:
    assert answered(json.dumps({"evaluations": [ALLOWED] * 2}).encode())


def answered(body: bytes) -> bool:
    with answering(body) as url:
        return may_get(settings(url))[0]


@pytest.mark.parametrize("url", ["", "service", "http://user:pw@service.example"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError, match=r"`sync\.confirm\.decision_service` must"):
        EvaluationClient(settings(url))
