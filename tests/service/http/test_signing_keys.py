"""The keys of a key server: rotation, outages, nonsense, and that no request waits for it."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import OKPAlgorithm, RSAAlgorithm

from ranger_cdap.config import CallerSettings, JwtSettings, RangerSettings, ServiceSettings, Settings
from ranger_cdap.errors import ConfigError
from ranger_cdap.service.decision_service import DecisionService
from ranger_cdap.service.http import signing_keys
from ranger_cdap.service.http.callers import CallerRole, Callers
from ranger_cdap.service.http.signing_keys import FetchedKeys, Keys, KeysUnavailable, published_keys
from ranger_cdap.service.http.tokens import Tokens
from tests.service.fixtures import basic, caller, secret_of
from tests.service.http.key_server import KeyServer
from tests.service.http.token_samples import (
    AUDIENCE,
    EC_KEY,
    ISSUER,
    OTHER_KEY,
    RSA_KEY,
    document,
    part,
    private_pem,
    row,
    signed,
)

ALL = ("RS256", "ES256", "EdDSA")
PATIENCE = 20.0


def jwt_settings(url: str, **more: Any) -> JwtSettings:
    return JwtSettings(**{"jwks_url": url, "issuer": ISSUER, "audience": AUDIENCE} | more)


def token(key: Any = RSA_KEY, key_id: str | None = "one", **more: Any) -> str:
    return signed(key, headers={"kid": key_id} if key_id is not None else None, **more)


def eventually(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE
    while not (found := holds()) and time.monotonic() < until:
        time.sleep(0.01)
    return found


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Script:
    """What a key server says each time; the last one again and again. An exception is raised."""

    def __init__(self, *answers: Keys | Exception) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self) -> Keys:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


AWAY = KeysUnavailable("away")
ONE: Keys = {("one", "RS256"): RSA_KEY.public_key()}
TWO: Keys = {("two", "RS256"): OTHER_KEY.public_key()}


def keys_of(script: Script, clock: Callable[[], float] = time.monotonic, **more: float) -> FetchedKeys:
    return FetchedKeys(script, clock=clock, **{"poll_interval": 300.0, "max_staleness": 86_400.0} | more)


@pytest.fixture
def running() -> Iterator[Callable[[FetchedKeys], FetchedKeys]]:
    started: list[FetchedKeys] = []

    def start(keys: FetchedKeys) -> FetchedKeys:
        started.append(keys)
        keys.start()
        return keys

    yield start
    for keys in started:
        keys.close()


# --- rotation -----------------------------------------------------------------------------------------------------


def test_a_rotation_is_noticed_by_the_first_token_of_the_new_key(running: Callable[[FetchedKeys], FetchedKeys]) -> None:
    """Long before the next look; and the key that is gone counts no more."""
    keys = running(keys_of(Script(ONE, TWO), pause=0.05))
    assert keys.find("one", "RS256")
    assert keys.find("two", "RS256") is None
    assert eventually(lambda: keys.find("two", "RS256") is not None)
    assert keys.find("one", "RS256") is None


def test_a_rotation_is_noticed_without_a_token_too(running: Callable[[FetchedKeys], FetchedKeys]) -> None:
    keys = running(keys_of(Script(ONE, TWO), pause=0.05, poll_interval=0.1))
    assert eventually(lambda: keys.find("one", "RS256") is None)


@pytest.mark.parametrize("answer", [ONE, AWAY], ids=["answering", "away"])
def test_tokens_with_random_key_ids_do_not_hammer_the_key_server(
    answer: Keys | Exception, running: Callable[[FetchedKeys], FetchedKeys]
) -> None:
    script, began = Script(answer), time.monotonic()
    keys = running(keys_of(script, pause=0.2))
    while time.monotonic() - began < 1.0:
        assert not [n for n in range(100) if keys.find(f"random-{n}", "RS256")]
        time.sleep(0.002)
    assert 2 <= script.asked <= 1 + (time.monotonic() - began) / 0.2


def test_a_token_without_a_key_id_asks_for_nothing(running: Callable[[FetchedKeys], FetchedKeys]) -> None:
    script = Script(ONE)
    keys = running(keys_of(script, pause=0.02))
    for _ in range(50):
        assert keys.find(None, "RS256") is None
        time.sleep(0.005)
    assert script.asked == 1


# --- outages ------------------------------------------------------------------------------------------------------


def test_keys_survive_an_outage_for_a_day_and_no_longer() -> None:
    clock, script = Clock(), Script(ONE, AWAY)
    keys = keys_of(script, clock)
    keys.refresh()
    for hours in range(1, 25):
        clock.now += 3600.0
        keys.refresh()
        assert keys.find("one", "RS256")
        assert keys.age == hours * 3600.0
    clock.now += 1.0
    assert keys.find("one", "RS256") is None
    script.answers = [ONE]
    keys.refresh()
    assert keys.find("one", "RS256")


def test_an_outage_is_one_warning_and_its_end_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ranger_cdap.service.http.signing_keys")
    keys = keys_of(Script(ONE, AWAY, AWAY, AWAY, ONE))
    for _ in range(5):
        keys.refresh()
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("INFO", "keys that sign tokens: 'one'"),
        ("WARNING", "away; the keys of its last answer count for 86400 s"),
        ("INFO", "the key server of tokens answers again"),
    ]


def test_what_nobody_foresaw_does_not_end_the_thread(running: Callable[[FetchedKeys], FetchedKeys]) -> None:
    keys = running(keys_of(Script(ONE, MemoryError("what?"), TWO), pause=0.02, poll_interval=0.02))
    assert eventually(lambda: keys.find("two", "RS256") is not None)


def test_a_key_that_is_withdrawn_counts_no_more_even_if_no_other_comes() -> None:
    keys = keys_of(Script(ONE, {}))
    keys.refresh()
    keys.refresh()
    assert keys.find("one", "RS256") is None


def test_it_ends_at_once_when_it_is_closed() -> None:
    keys = keys_of(Script(ONE), pause=60.0)
    keys.start()
    began = time.monotonic()
    keys.close()
    assert time.monotonic() - began < PATIENCE / 2
    assert "ranger-cdap-token-keys" not in [thread.name for thread in threading.enumerate()]


def callers(url: str, **more: Any) -> Callers:
    rows = (CallerSettings(name="enforce", roles=("enforce",)), caller("audit", CallerRole.AUDIT))
    return Callers.of(ServiceSettings(callers=rows, jwt=jwt_settings(url, **more)))


def admitted(callers: Callers, token: str) -> str | None:
    found = callers.admit({"authorization": f"Bearer {token}"}, "127.0.0.1")
    return found.name if found else None


def test_no_caller_waits_for_a_slow_key_server(running: Callable[[FetchedKeys], FetchedKeys]) -> None:
    with KeyServer(document(row(RSA_KEY, "one"))) as server:
        found = callers(server.url)
        assert found.fetched_keys
        found.fetched_keys.refresh()
        server.hold()
        asking = threading.Thread(target=found.fetched_keys.refresh)
        asking.start()
        assert eventually(lambda: server.asked == 2)
        for _ in range(20):
            assert admitted(found, token()) == "enforce"
            assert admitted(found, token(OTHER_KEY, "unknown")) is None
        assert asking.is_alive(), "it was answered meanwhile, so nothing is shown"
        server.release()
        asking.join(PATIENCE)


def test_a_service_starts_without_the_answer_of_a_slow_key_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing_keys, "_FIRST_ANSWER_SECONDS", 0.1)
    with KeyServer(document(row(RSA_KEY, "one"))) as server:
        server.hold()
        found = callers(server.url)
        assert found.fetched_keys
        found.fetched_keys.start()
        assert admitted(found, token()) is None
        server.release()
        assert eventually(lambda: admitted(found, token()) == "enforce")
        found.fetched_keys.close()


def test_after_a_start_during_an_outage_tokens_prove_nothing_and_secrets_go_on(tmp_path: Path) -> None:
    with KeyServer() as server:
        url = server.url
    rows = (CallerSettings(name="enforce", roles=("enforce",)), caller("team", CallerRole.ENFORCE))
    service = ServiceSettings(port=0, callers=rows, jwt=jwt_settings(url), events_dir=tmp_path / "events")
    settings = Settings(ranger=RangerSettings(url="http://127.0.0.1:9", attempts=1), service=service)
    plugin = msgspec.structs.replace(settings.plugin, cache_dir=tmp_path / "cache")
    settings = msgspec.structs.replace(settings, plugin=plugin)
    with DecisionService(settings) as running:
        assert "ranger_cdap_token_keys_age_seconds NaN" in _metrics(running.url)
        assert _hello(running.url, f"Bearer {token()}") == 401
        assert _hello(running.url, basic("team", secret_of("team"))) == 200
        keys = running.state.token_keys
        assert keys
        keys._fetch = Script(ONE)
        keys.refresh()
        assert _hello(running.url, f"Bearer {token()}") == 200
        assert "ranger_cdap_token_keys_age_seconds 0." in _metrics(running.url)
    assert "ranger-cdap-token-keys" not in [thread.name for thread in threading.enumerate()]


def _metrics(url: str) -> str:
    return requests.get(f"{url}/metrics", timeout=PATIENCE).text


def _hello(url: str, authorization: str) -> int:
    headers = {"Authorization": authorization}
    return requests.post(f"{url}/cdap/v1/hello", json={"extension": "x"}, headers=headers, timeout=PATIENCE).status_code


# --- what a key server can say ------------------------------------------------------------------------------------

NONSENSE: dict[str, dict[str, Any]] = {
    "nothing": {"body": b""},
    "a page": {"body": b"<html>sign in</html>"},
    "a list": {"body": b"[]"},
    "keys that are none": {"body": b'{"keys": {"a": 1}}'},
    "no keys": {"body": b'{"key": []}'},
    "deep": {"body": b'{"keys": ' + b"[" * 100_000},
    "no text": {"body": b"\xff\xfe{"},
    "too much": {"body": b'{"keys": [' + b" " * (1 << 20) + b"]}"},
    "an error": {"body": document(row(OTHER_KEY, "one")), "status": 500},
    "a redirect": {"body": document(row(OTHER_KEY, "one")), "status": 302, "headers": {"Location": "http://x.test/"}},
    "not modified": {"status": 304},
}


@pytest.mark.parametrize("case", NONSENSE)
def test_nonsense_of_the_key_server_changes_nothing(case: str) -> None:
    with KeyServer(document(row(RSA_KEY, "one"))) as server:
        found = callers(server.url)
        assert found.fetched_keys
        found.fetched_keys.refresh()
        for name, value in NONSENSE[case].items():
            setattr(server, name, value)
        found.fetched_keys.refresh()
        assert found.fetched_keys._problem
        assert admitted(found, token()) == "enforce"
        assert admitted(found, token(OTHER_KEY)) is None


SMALL_KEY = rsa.generate_private_key(65537, 1024)
ED_KEY = ed25519.Ed25519PrivateKey.generate()
WIDE_KEY = ec.generate_private_key(ec.SECP384R1())
ED_ROW = json.loads(OKPAlgorithm.to_jwk(ED_KEY.public_key())) | {"kid": "ed"}

LEFT_OUT: dict[str, list[Any]] = {
    "a shared secret": [{"kty": "oct", "kid": "a", "k": part(b"s" * 40)}],
    "a shared secret that says it is public": [{"kty": "oct", "kid": "a", "k": part(b"s" * 40), "alg": "RS256"}],
    "a public key for an algorithm of shared secrets": [row(RSA_KEY, "a", alg="HS256")],
    "for another algorithm": [row(RSA_KEY, "a", alg="RS512")],
    "for encryption": [row(RSA_KEY, "a", use="enc")],
    "not for verifying": [row(RSA_KEY, "a", key_ops=["encrypt"])],
    "operations that are none": [row(RSA_KEY, "a", key_ops="verify")],
    "a private key": [json.loads(RSAAlgorithm.to_jwk(RSA_KEY)) | {"kid": "a", "key_ops": ["verify"]}],
    "a short key": [row(SMALL_KEY, "a")],
    "a key of another curve": [row(WIDE_KEY, "a")],
    "a key that says another curve": [row(WIDE_KEY, "a", crv="P-256")],
    "a point beside the curve": [row(EC_KEY, "a", x=part(b"\1" * 32))],
    "half a key": [row(RSA_KEY, "a", n=...)],
    "a number for a text": [row(RSA_KEY, "a", n=5)],
    "no number": [row(RSA_KEY, "a", n="!")],
    "nothing for a number": [row(RSA_KEY, "a", n="", e="")],
    "without an id": [row(RSA_KEY, ...)],  # type: ignore[arg-type]
    "an empty id": [row(RSA_KEY, "")],
    "an endless id": [row(RSA_KEY, "a" * 1000)],
    "an id that is none": [row(RSA_KEY, ["a"])],  # type: ignore[arg-type]
    "lists for texts": [row(RSA_KEY, "a", kty=["RSA"], alg=["RS256"], use=["sig"])],
    "one id for two keys": [row(RSA_KEY, "a"), row(OTHER_KEY, "a")],
    "no objects": [None, 1, "a", [], [[]]],
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_what_may_not_verify_is_left_out_and_the_others_stay(case: str) -> None:
    good = [row(OTHER_KEY, "good", use=..., alg="RS256", key_ops=["verify"]), row(EC_KEY, "good"), ED_ROW]
    found = published_keys(document(*LEFT_OUT[case], *good))
    assert set(found) == {("good", "RS256"), ("good", "ES256"), ("ed", "EdDSA")}


def test_each_key_is_for_the_algorithm_of_its_kind_and_no_shared_one_is_a_key() -> None:
    rows = document(row(RSA_KEY, "a"), row(EC_KEY, "a"), ED_ROW, {"kty": "oct", "kid": "a", "k": part(b"s" * 40)})
    assert set(published_keys(rows)) == {("a", "RS256"), ("a", "ES256"), ("ed", "EdDSA")}


MEMBERS = {name: value for sample in (row(RSA_KEY, "a"), row(EC_KEY, "b"), ED_ROW) for name, value in sample.items()}
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.sampled_from([*MEMBERS.values(), "oct", "HS256"])
)


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from([*MEMBERS, "d", "k", "alg", "key_ops"]), VALUES | st.lists(VALUES, max_size=2), max_size=8
        ).map(lambda drawn: row(RSA_KEY, "drawn") | drawn),
        max_size=4,
    )
)
def test_whatever_is_published_no_key_is_one_that_can_sign(rows: list[dict[str, Any]]) -> None:
    for (key_id, algorithm), key in published_keys(document(*rows)).items():
        assert key_id
        assert algorithm in ALL
        assert hasattr(key, "verify")
        assert not hasattr(key, "private_bytes")


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_whatever_is_answered_it_is_keys_or_none(body: bytes) -> None:
    try:
        found = published_keys(body)
    except ValueError:
        return
    assert found == {}


# --- settings -----------------------------------------------------------------------------------------------------

REFUSED = {
    "two places": ({"key_file": Path("key.pem")}, "has `key_file` and `jwks_url`; set one of them"),
    "no issuer": ({"issuer": ""}, "needs `issuer`"),
    "no audience": ({"audience": ""}, "`audience`"),
    "plain http": ({"jwks_url": "http://issuer.example/keys"}, "others can read and change in transit: use https://$"),
    "a file of authorities that is none": ({"jwks_ca_file": "nowhere.pem"}, r"nowhere\.pem"),
    "no address": ({"jwks_url": "issuer.example"}, "`service.jwt.jwks_url` must be an address"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_settings_by_which_no_token_could_prove_anything_are_refused(case: str) -> None:
    changed, message = REFUSED[case]
    with pytest.raises(ConfigError, match=message):
        Tokens.of(
            jwt_settings("https://issuer.example/keys", **{k: v for k, v in changed.items() if k != "jwks_url"})
            if "jwks_url" not in changed
            else jwt_settings(str(changed["jwks_url"]))
        )


def test_nothing_is_fetched_before_it_is_started(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(private_pem(RSA_KEY))
    with KeyServer() as server:
        found = callers(server.url)
        assert admitted(found, token()) is None
        assert server.asked == 0
