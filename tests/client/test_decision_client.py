"""The clients against a real service: its answers, its rejections, credentials and TLS."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.client import (
    ClientSettings,
    DecisionClient,
    Secret,
    enforce,
    evaluation,
    evaluations,
    live,
    operation,
    permissions,
    ready,
    resolve_secret,
    visible,
)
from ranger_cdap.errors import (
    ConfigError,
    DecisionServiceForbidden,
    DecisionServiceRejected,
    DecisionServiceUnreachable,
    InvalidInput,
    NotReady,
)
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from ranger_cdap.wire.authzen_wire import EvaluationsRequest
from ranger_cdap.wire.cdap_wire import EnforceRequest, VisibleRequest, WirePrincipal
from ranger_cdap.wire.pdp_wire import ResourceInfo, ResourcePermissionsRequest
from tests.certificates import Authority, put
from tests.client.both_clients import BOTH, Ask
from tests.client.questions import CONTEXT, KV, QUESTIONS, dataset, question, understood
from tests.service.fixtures import READ_AND_WRITE, World, secret_of, serving


@pytest.fixture(params=BOTH)
def ask(request: pytest.FixtureRequest) -> Ask:
    return BOTH[request.param]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving(READ_AND_WRITE, tmp_path_factory.mktemp("service")) as running:
        yield running


def client_of(url: str, name: str, **more: Any) -> ClientSettings:
    return ClientSettings(url=url, **{"caller": name, "secret": Secret(secret_of(name))} | more)


_ROLE = {"enforce": "enforce", "visible": "enforce", "stamped": "enforce"}
_ANSWERS = {
    "enforce": [True],
    "stamped": [True],
    "visible": [True, False],
    "evaluation": [True],
    "operation": [True],
    "check": [True],
    "evaluations": [True, False, False],
    "evaluations until a denial": [True, False],
    "authorize": [True],
    "authorize several": [True, False],
    "live": [True],
    "ready": [True],
}
"""alice may read and write kv, and nothing else in ns1."""


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_gets_the_services_own_answer(name: str, world: World, ask: Ask) -> None:
    asked = QUESTIONS[name]
    assert understood(ask(client_of(world.url, _ROLE.get(name, "delegate")), asked.request)) == _ANSWERS[name]


@pytest.mark.parametrize(("user", "allowed"), [("alice", True), ("bob", True), ("mallory", False)])
def test_a_decision_is_true_if_it_allows(user: str, allowed: bool, world: World, ask: Ask) -> None:
    enforcing, delegate = client_of(world.url, "enforce"), client_of(world.url, "delegate")
    check = EnforceRequest(WirePrincipal(user), dataset("kv"), ["STANDARD.GET"])
    assert bool(ask(enforcing, enforce(check))) is allowed
    assert bool(ask(delegate, evaluation(question("kv", user)))) is allowed
    assert bool(ask(delegate, operation(user, "dataset.get", KV))) is allowed


def test_permissions_are_those_of_the_resource(world: World, ask: Ask) -> None:
    asked = ResourcePermissionsRequest(resource=ResourceInfo(name="dataset:cdap/ns1/kv"), context=CONTEXT)
    assert set(ask(client_of(world.url, "delegate"), permissions(asked)).users or ()) == {"alice", "bob"}


@pytest.mark.parametrize(
    ("caller", "change", "error"),
    [
        ("enforce", {}, DecisionServiceForbidden),
        ("nobody", {}, DecisionServiceForbidden),
        ("delegate", {"secret": Secret("another-secret-0123456789")}, DecisionServiceForbidden),
        ("evaluate", {}, DecisionServiceForbidden),
        ("delegate", {"caller": "", "secret": Secret("")}, DecisionServiceForbidden),
    ],
    ids=["without the role", "unknown", "with a wrong secret", "about another user", "anonymous"],
)
def test_a_caller_that_may_not_ask_gets_an_error(
    caller: str, change: dict[str, Any], error: type[Exception], world: World, ask: Ask
) -> None:
    with pytest.raises(error) as caught:
        ask(client_of(world.url, caller, **change), evaluation(question("kv")))
    assert "secret-0123456789" not in str(caught.value)


def test_a_question_that_is_none_is_rejected_in_the_services_words(world: World, ask: Ask) -> None:
    with pytest.raises(DecisionServiceRejected, match=r"HTTP 400: `.*operation"):
        ask(client_of(world.url, "delegate"), operation("alice", "dataset.paint", KV))


def test_without_policies_nothing_is_decided(tmp_path: Path, ask: Ask) -> None:
    with serving(READ_AND_WRITE, tmp_path) as world:
        world.becomes(Snapshot(None, PolicyState.NOT_READY, "Ranger Admin was never reached"))
        delegate = client_of(world.url, "delegate")
        with pytest.raises(NotReady, match="never reached"):
            ask(delegate, operation("alice", "dataset.get", KV))
        assert not ask(delegate, ready())
        assert ask(delegate, live())


def test_a_secret_in_a_file_may_change(tmp_path: Path, world: World, ask: Ask) -> None:
    file = put(tmp_path / "secret", secret_of("delegate").encode() + b"\n")
    settings = client_of(world.url, "delegate", secret=resolve_secret(f"file:{file}"))
    assert ask(settings, evaluation(question("kv")))
    missing = client_of(world.url, "delegate", secret=resolve_secret(f"file:{tmp_path / 'none'}"))
    with pytest.raises(ConfigError, match="cannot be read"):
        ask(missing, evaluation(question("kv")))


@pytest.mark.parametrize("shows", ["its certificate", "no certificate", "one of another authority", "no authority"])
def test_both_sides_prove_who_they_are_by_certificates(shows: str, tmp_path: Path, ask: Ask) -> None:
    authority = Authority("everyone's")
    certificate, key = authority.server().put(tmp_path / "service.pem", tmp_path / "service.key")
    ca = put(tmp_path / "ca.pem", authority.pem)
    signer = Authority("other") if "another" in shows else authority
    own, own_key = signer.client().put(tmp_path / "client.pem", tmp_path / "client.key")
    shown = {} if shows == "no certificate" else {"cert_file": own, "key_file": own_key}
    trusted = {} if shows == "no authority" else {"ca_file": ca}
    with serving(READ_AND_WRITE, tmp_path, tls_certificate=certificate, tls_key=key, tls_client_ca=ca) as world:
        settings = client_of(world.url, "delegate", attempts=1, **shown, **trusted)
        if shows == "its certificate":
            assert ask(settings, evaluation(question("kv")))
        else:
            with pytest.raises(DecisionServiceUnreachable, match="is unavailable"):
                ask(settings, evaluation(question("kv")))


def test_threads_share_a_client_and_each_gets_its_own_answer(world: World) -> None:
    wrong: list[str] = []
    with DecisionClient(client_of(world.url, "enforce")) as client:

        def asks(user: str, allowed: bool) -> None:
            check = enforce(EnforceRequest(WirePrincipal(user), dataset("kv"), ["STANDARD.GET"]))
            wrong.extend(user for _ in range(25) if bool(client.ask(check)) is not allowed)

        threads = [
            threading.Thread(target=asks, args=(user, allowed))
            for user, allowed in [("alice", True), ("mallory", False)] * 4
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


_CALLER = {"caller": "a", "secret": Secret("s")}
_UNUSABLE: list[tuple[dict[str, Any], str]] = [
    ({"url": "decisions"}, "`url` must be an address"),
    ({"url": "http://decisions.example"}, "add `decisions.example` to `plain_hosts`"),
    ({"url": "http://a:b@decisions.example"}, "must not hold a user name or password"),
    ({"caller": "a"}, "`caller` and `secret` belong together"),
    ({"secret": Secret("s")}, "`caller` and `secret` belong together"),
    ({**_CALLER, "token": Secret("t")}, "`token` and `caller` are both set"),
    ({"caller": "a:b", "secret": Secret("s")}, "must not have a colon"),
    ({"caller": "a", "secret": "top-secret"}, "must be a `Secret`"),
    ({"key_file": Path("key.pem")}, "name the certificate of the key"),
    ({"timeout": 0}, "must be positive"),
    ({"timeout": float("nan")}, "must be positive"),
    ({"attempts": 0}, "must be positive"),
    ({"max_response": 0}, "must be positive"),
]


@pytest.mark.parametrize(("change", "words"), _UNUSABLE)
def test_settings_that_cannot_work_are_refused_at_once(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ClientSettings(**{"url": "https://decisions.example", **change})
    assert words in str(caught.value)
    assert "top-secret" not in str(caught.value)


@pytest.mark.parametrize("token", ["secret words", "one\r\nX-Evil: 1", "ä", "nul\0"])
def test_a_token_that_a_header_cannot_carry_is_not_sent(token: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ClientSettings(url="https://decisions.example", token=Secret(token)).authorization()
    assert token not in str(caught.value)


def test_settings_never_print_a_secret() -> None:
    assert "hidden" not in repr(ClientSettings(url="https://d.example", caller="a", secret=Secret("hidden")))


def test_no_questions_and_no_json_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(InvalidInput, match="is empty"):
        evaluations(EvaluationsRequest(evaluations=[]))
    with pytest.raises(InvalidInput, match="JSON cannot express"):
        visible(VisibleRequest(WirePrincipal("\ud800"), []))
