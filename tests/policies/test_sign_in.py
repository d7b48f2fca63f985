"""Signing in: what is sent by each way, what can't be, and that no secret shows."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import responses
from apache_ranger.utils import API, HttpMethod, HTTPStatus
from requests.auth import AuthBase

from ranger_cdap import errors
from ranger_cdap.config import Secret
from ranger_cdap.policies.http import AdminHttp
from ranger_cdap.policies.sign_in import Way, credentials

URL = "http://ranger.test:6080"
GET = API("service/thing", HttpMethod.GET, HTTPStatus.OK)
TOKEN = "eyJhbGciOi.J9-secret_token"


def sent_header(way: Way, username: str, password: str) -> str | None:
    """The Authorization header of the first request."""
    with responses.mock:
        responses.get(f"{URL}/service/thing", json={})
        AdminHttp(URL, username=username, password=Secret(password), auth=way).call_api(GET)
        header: str | None = responses.calls[0].request.headers.get("Authorization")
    responses.mock.reset()
    return header


@pytest.mark.parametrize(
    ("way", "username", "password", "header"),
    [
        ("basic", "svc", "pw", "Basic c3ZjOnB3"),
        ("basic", "", "", None),
        ("bearer", "", TOKEN, f"Bearer {TOKEN}"),
        ("bearer", "svc", TOKEN, f"Bearer {TOKEN}"),
    ],
)
def test_credentials_go_with_the_first_request(way: Way, username: str, password: str, header: str | None) -> None:
    assert sent_header(way, username, password) == header


@pytest.mark.parametrize("token", ["", "two words", "line\r\nX-Evil: 1", "tökén"])
def test_what_is_no_token_is_refused_unsent_and_not_repeated(token: str) -> None:
    with pytest.raises(errors.ConfigError, match="token") as caught:
        credentials("bearer", "svc", Secret(token))
    assert not token or token not in str(caught.value)


def test_credentials_do_not_print_their_secret() -> None:
    for way in ("basic", "bearer"):
        assert TOKEN not in repr(credentials(way, "svc", Secret(TOKEN)))  # type: ignore[arg-type]


def test_an_account_by_certificate_needs_a_certificate_and_tls(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match="cert_file"):
        AdminHttp("https://ranger.test", username="", password=Secret(""), auth="certificate")
    with pytest.raises(errors.ConfigError, match="https"):
        AdminHttp(URL, username="", password=Secret(""), auth="certificate", cert_file=str(tmp_path / "c.pem"))


def test_without_the_package_kerberos_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "requests_gssapi", None)
    with pytest.raises(errors.ConfigError, match=r"pip install 'ranger-cdap\[kerberos\]'"):
        credentials("kerberos", "svc@EXAMPLE.TEST", Secret(""))


class _Negotiation(AuthBase):
    """Stands for the package, which needs the Kerberos libraries of the system."""

    def __init__(self, **given: Any) -> None:
        self.given = given


@pytest.mark.parametrize(("username", "creds"), [("svc@EXAMPLE.TEST", "ticket of svc@EXAMPLE.TEST"), ("", None)])
def test_kerberos_sends_the_ticket_of_the_account_at_once(
    monkeypatch: pytest.MonkeyPatch, username: str, creds: str | None
) -> None:
    gssapi = SimpleNamespace(
        Name=lambda name, kind: name,
        NameType=SimpleNamespace(kerberos_principal="principal"),
        Credentials=lambda name, usage: f"ticket of {name}",
        exceptions=SimpleNamespace(GSSError=RuntimeError),
    )
    negotiation = SimpleNamespace(HTTPSPNEGOAuth=_Negotiation, OPTIONAL=3)
    monkeypatch.setitem(sys.modules, "gssapi", gssapi)
    monkeypatch.setitem(sys.modules, "requests_gssapi", negotiation)
    made = credentials("kerberos", username, Secret("not used"))
    assert isinstance(made, _Negotiation)
    assert made.given["creds"] == creds
    assert made.given["opportunistic_auth"] is True
