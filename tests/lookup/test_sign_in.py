"""The account of the look-up: how it signs in, where its password goes, and what Test Connection says of it."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from servicedef import service_definition
from tests.certificates import ELSEWHERE, Authority
from tests.lookup.ranger_service import RangerService, other_account
from tests.lookup.stub_cdap import PASSWORD, Asked, Reply, Server, World, configs, serving

pytestmark = pytest.mark.java

LABELS = {row["name"]: row["label"] for row in service_definition()["configs"]}
WORLD = World({"namespace": frozenset({("ns1",), ("ns2",)})})
ALGORITHMS = ("PBEWithMD5AndDES", "PBEWITHHMACSHA512ANDAES_128")


@pytest.fixture(scope="module")
def cdap() -> Iterator[Server]:
    with serving(WORLD.answer) as server:
        yield server


def sent(server: Server) -> str:
    """All that a server was sent."""
    return "\n".join(str(asked.headers) for asked in server.asked)


def basic(account: str, password: str = PASSWORD) -> str:
    return base64.b64encode(f"{account}:{password}".encode()).decode()


def failure(answer: Mapping[str, Any], field: str) -> str:
    """What is said about a setting, after its name."""
    text = answer["description"]
    assert not answer["connectivityStatus"]
    assert answer["fieldName"] == field
    assert answer["message"] == text
    assert text.startswith(f"{LABELS[field]} ({field}) ")
    return str(text.removeprefix(f"{LABELS[field]} ({field}) "))


def test_a_connection_that_works_is_described(ranger_service: RangerService, cdap: Server) -> None:
    account = other_account()

    answer = ranger_service.test_connection(configs(cdap, account))

    del answer["ms"]
    told = f"CDAP 6.11.1 shows 2 namespaces to {account}"
    assert answer == {
        "connectivityStatus": True, "message": told, "description": told, "objectId": None, "fieldName": None
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "field", "text"),
    [
        ({"cdap.instance.url": ""}, "cdap.instance.url", "is not set; set it to the address of CDAP"),
        ({"cdap.instance.url": "cdap.example.com"}, "cdap.instance.url", "is not an address like https://"),
        ({"cdap.instance.url": "http://u:p@cdap.example.com"}, "cdap.instance.url", "is not an address like https://"),
        ({"cdap.instance.url": "file:///etc/passwd"}, "cdap.instance.url", "is not an address like https://"),
        ({"cdap.instance.url": "https://cdap:99999"}, "cdap.instance.url", "is not an address like https://"),
        ({"cdap.instance.url": "http://cdap.example.com"}, "cdap.instance.url", "is plain http, so others on the way"),
        ({"cdap.instance.url": "http://localhost:1"}, "cdap.instance.url", "is plain http, so others on the way"),
        ({"cdap.instance.url": "http://127.0.0.1:1"}, "cdap.instance.url", "cannot be reached: no connection to http:"),
        ({"cdap.instance.url": "https://nowhere.invalid"}, "cdap.instance.url", "names an unknown host: https://"),
        ({"cdap.username": "a:b"}, "cdap.username", "must not contain a colon or a control character"),
        ({"cdap.username": "", "password": ""}, "cdap.username", "is not set, but CDAP requires a sign-in"),
        ({"cdap.username": ""}, "password", "is not accepted by CDAP as a bearer token"),
        ({"password": ""}, "password", "is not set, but cdap.username is"),
        ({"password": "wrong"}, "password", "or cdap.username is not accepted"),
        ({"cdap.signin.url": "x"}, "cdap.signin.url", "is not an address like https://"),
        ({"cdap.signin.url": "http://127.0.0.1:1/"}, "cdap.signin.url", "cannot be reached: no connection to http:"),
        ({"cdap.instance.name": "a b"}, "cdap.instance.name", "must consist of letters, digits, _ and -"),
        ({"cdap.lookup.timeout.ms": "1000"}, "cdap.lookup.timeout.ms", "must be a whole number from 50 to 900"),
        ({"cdap.test.timeout.ms": "ten"}, "cdap.test.timeout.ms", "must be a whole number from 100 to 9000"),
        (
            {"cdap.allow.plain.http": "yes", "cdap.instance.url": "http://cdap.example.com"},
            "cdap.allow.plain.http",
            "must be true or false",
        ),
        ({"cdap.ca.file": "/no/such/file", "cdap.instance.url": "https://127.0.0.1:1"}, "cdap.ca.file", "must be the"),
    ],
)
def test_a_failure_names_its_setting(
    ranger_service: RangerService, cdap: Server, changed: dict[str, str], field: str, text: str
) -> None:
    answer = ranger_service.test_connection(configs(cdap, other_account()) | changed)

    assert failure(answer, field).startswith(text)
    assert PASSWORD not in str(answer)


def test_an_account_that_sees_nothing_is_no_success(ranger_service: RangerService) -> None:
    with serving(World({}).answer) as empty:
        answer = ranger_service.test_connection(configs(empty, other_account()))

    assert failure(answer, "cdap.username").startswith("names an account that sees no namespace")


@pytest.mark.parametrize("reply", [Reply(body={}), Reply(body=[]), Reply(body={"version": "<b>"}), Reply(404)], ids=str)
def test_what_is_no_cdap_is_no_success(ranger_service: RangerService, reply: Reply) -> None:
    with serving(lambda asked: reply) as other:
        answer = ranger_service.test_connection(configs(other, other_account()))

    assert "is not the address of CDAP" in failure(answer, "cdap.instance.url")


def test_a_cdap_that_hangs_ends_the_test_before_ranger_does(ranger_service: RangerService) -> None:
    with serving(lambda asked: Reply(pieces=(b"",), pause=60)) as hung:
        answer = ranger_service.test_connection(configs(hung, other_account(), **{"cdap.test.timeout.ms": "200"}))

    assert failure(answer, "cdap.instance.url") == "gave no answer within 200 ms"
    assert answer["ms"] < 2_000


@pytest.mark.parametrize("password", [PASSWORD, "with,comma,1,2,3,4", "PBEWithMD5AndDES,a,b,1,x", "ünï", "x" * 200])
@pytest.mark.parametrize("algorithm", [None, *ALGORITHMS])
def test_the_password_is_clear_before_the_service_is_saved_and_encrypted_after(
    ranger_service: RangerService, algorithm: str | None, password: str
) -> None:
    account = other_account()
    kept = ranger_service.encrypted(password, algorithm) if algorithm else password
    with serving(lambda asked: Reply(401)) as server:
        ranger_service.test_connection(configs(server, account, password=kept))

    assert server.asked[-1].headers["Authorization"] == f"Basic {basic(account, password)}"


def test_other_credentials_are_not_shown_what_was_remembered(ranger_service: RangerService, cdap: Server) -> None:
    right = configs(cdap, other_account())
    assert ranger_service.names(right, "namespace") == ["ns1", "ns2"]

    wrong = ranger_service.look_up(right | {"password": "wrong"}, "namespace")

    assert wrong.names == []
    assert wrong.failure == "CDAP password (password) or cdap.username is not accepted"


def test_a_token_that_is_accepted_no_longer_is_replaced(ranger_service: RangerService) -> None:
    issued: list[str] = []

    def answer(asked: Asked) -> Reply:
        if asked.path == "/token":
            issued.append(f"token-{len(issued)}")
            return Reply(body={"access_token": issued[-1], "token_type": "Bearer"})
        known = asked.headers.get("Authorization") == f"Bearer {issued[-1]}" if issued else False
        return Reply(body=[{"name": asked.path.count("/") * "n"}]) if known else Reply(401, {"auth_uri": [sign_in]})

    with serving(answer) as server:
        sign_in = f"{server.url}/token"
        account = configs(server, other_account())
        assert ranger_service.names(account, "namespace") == ["nn", "nnn"]
        assert issued == ["token-0"]
        issued.append("revoked")
        assert ranger_service.names(account, "dataset", "", {"namespace": ["ns"]}) == ["n" * 5]
        assert issued == ["token-0", "revoked", "token-2"]


@pytest.mark.parametrize("announced", ["http://127.0.0.2:1/token", "https://evil.example/token", "HTTP://127.0.0.1/t"])
def test_a_password_goes_to_no_host_that_only_an_answer_names(ranger_service: RangerService, announced: str) -> None:
    with serving(lambda asked: Reply(401, {"auth_uri": [announced]})) as server:
        answer = ranger_service.test_connection(configs(server, other_account()))

    assert failure(answer, "cdap.signin.url").endswith(announced)
    assert "Authorization" not in sent(server)


@pytest.mark.parametrize("challenge", ['Basic realm="x"', 'Digest realm="x", nonce="y"', "Negotiate", "NTLM"])
@pytest.mark.parametrize("account", ["", "somebody"])
def test_no_challenge_makes_it_sign_in_as_the_jvm(ranger_service: RangerService, account: str, challenge: str) -> None:
    """The JVM of Ranger Admin may have credentials for whoever asks; CDAP would show names by them, or keep them."""
    with serving(lambda asked: Reply(401, headers={"WWW-Authenticate": challenge})) as server:
        answer = ranger_service.test_connection(configs(server, account, password=PASSWORD if account else ""))

    assert not answer["connectivityStatus"]
    assert {asked.headers.get("Authorization") for asked in server.asked} <= {None, f"Basic {basic(account)}"}
    assert len(server.asked) == (2 if account else 1)


def test_the_sign_in_server_of_the_settings_is_used_on_any_host(ranger_service: RangerService) -> None:
    account = other_account()
    with (
        serving(WORLD.answer) as tokens,
        serving(World(WORLD.entities, sign_in="http://x.example/token").answer) as server,
    ):
        known = configs(server, account, **{"cdap.signin.url": f"{tokens.url}/token"})

        assert ranger_service.names(known, "namespace") == ["ns1", "ns2"]

    assert basic(account) not in sent(server)
    assert basic(account) in sent(tokens)


def test_a_bearer_token_is_the_password_without_a_user(ranger_service: RangerService, cdap: Server) -> None:
    known = configs(cdap, "", password=f"token-of-{other_account()}")

    assert ranger_service.names(known, "namespace") == ["ns1", "ns2"]


@pytest.fixture
def files(tmp_path: Path) -> Iterator[tuple[Path, dict[str, Server]]]:
    """The file of an authority, and servers with certificates of it for this host and another, and of another one."""
    ours, others = Authority("ours"), Authority("others")
    (tmp_path / "ca.pem").write_bytes(ours.pem)
    contexts = {}
    for name, signed in {
        "good": ours.server(),
        "for another host": ours.server(ELSEWHERE),
        "of another authority": others.server(),
        "expired": ours.server(days=-1),
    }.items():
        paths = signed.put(tmp_path / f"{name}.pem", tmp_path / f"{name}.key")
        contexts[name] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        contexts[name].load_cert_chain(*paths)
    with (
        serving(WORLD.answer, tls=contexts["good"]) as good,
        serving(WORLD.answer, tls=contexts["for another host"]) as other_host,
        serving(WORLD.answer, tls=contexts["of another authority"]) as other_authority,
        serving(WORLD.answer, tls=contexts["expired"]) as expired,
    ):
        yield tmp_path / "ca.pem", dict(zip(contexts, (good, other_host, other_authority, expired), strict=True))


def test_the_certificate_must_be_of_the_authority_in_the_file_and_for_the_host(
    ranger_service: RangerService, files: tuple[Path, dict[str, Server]]
) -> None:
    path, servers = files
    answers = {
        name: ranger_service.test_connection(configs(server, other_account(), **{"cdap.ca.file": str(path)}))
        for name, server in servers.items()
    }
    without = ranger_service.test_connection(configs(servers["good"], other_account()))

    assert answers["good"]["connectivityStatus"]
    assert failure(answers["for another host"], "cdap.instance.url").startswith("names a host that the certificate of")
    for answer in (answers["of another authority"], answers["expired"], without):
        assert failure(answer, "cdap.ca.file").startswith("names no authority of the certificate of https://127.0.0.1:")
    assert all(PASSWORD not in sent(servers[name]) and not servers[name].asked for name in servers if name != "good")


@pytest.mark.parametrize(
    "content", [b"", b"no certificate", b"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----"]
)
def test_a_file_without_certificates_is_said(
    ranger_service: RangerService, tmp_path: Path, cdap: Server, content: bytes
) -> None:
    path = tmp_path / "ca.pem"
    path.write_bytes(content)
    changed = {"cdap.instance.url": "https://127.0.0.1:1", "cdap.ca.file": str(path)}

    answer = ranger_service.test_connection(configs(cdap, other_account(), **changed))

    assert failure(answer, "cdap.ca.file").endswith("it must hold certificates in PEM form")
