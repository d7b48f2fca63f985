"""Signing in: what is sent by each way, what cannot be, and that no secret shows."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import requests
import responses
from apache_ranger.utils import API, HttpMethod, HTTPStatus
from requests.auth import AuthBase

from ranger_cdap import errors
from ranger_cdap.config import Secret, Settings
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.http import AdminHttp
from ranger_cdap.ranger.client.sign_in import AccountSource, AuthMethod, credentials

URL = "https://ranger.test:6182"
GET = API("service/thing", HttpMethod.GET, HTTPStatus.OK)
TOKEN = "eyJhbGciOi.J9-secret_token"


def sent_header(way: AuthMethod, username: str, password: str) -> str | None:
    """The Authorization header of the first request."""
    with responses.mock:
        responses.get(f"{URL}/service/thing", json={})
        AdminHttp(AdminConnection(URL, username=username, password=Secret(password), auth=way)).call_api(GET)
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
def test_credentials_go_with_the_first_request(
    way: AuthMethod, username: str, password: str, header: str | None
) -> None:
    assert sent_header(way, username, password) == header


@pytest.mark.parametrize("token", ["", "two words", "line\r\nX-Evil: 1", "tökén"])
def test_what_is_no_token_is_refused_unsent_and_not_repeated(token: str) -> None:
    with pytest.raises(errors.ConfigError, match="token") as caught:
        credentials("bearer", "svc", Secret(token))
    assert not token or token not in str(caught.value)


REJECTIONS = [
    ("basic", "svc", AccountSource.SYNC, "name and password of `svc` (`sync.username`, `sync.password`); check"),
    ("basic", "", AccountSource.PLUGIN, "requires an account, and `plugin.username` is not set; set it and"),
    ("bearer", "", AccountSource.BRIDGE, "rejected the token (`service.bridge_username`, `service.bridge_password`)"),
    ("kerberos", "svc@E", AccountSource.SYNC, "rejected the Kerberos ticket of `svc@E` (`sync.username`)"),
    ("certificate", "", AccountSource.PLUGIN, "rejected the client certificate of `ranger.cert_file`"),
    ("basic", "admin", AccountSource.ADMINISTRATOR, "of `admin` (`--ranger-user`, `RANGER_CDAP_SETUP_PASSWORD`)"),
    ("basic", "svc", None, "rejected the user name and password of `svc`; check them"),
]


@pytest.mark.parametrize(("way", "username", "source", "said"), REJECTIONS)
def test_a_rejected_account_is_named_with_its_settings(
    way: AuthMethod, username: str, source: AccountSource | None, said: str
) -> None:
    connection = AdminConnection("https://r", username=username, password=Secret(TOKEN), auth=way, source=source)
    assert said in connection.rejection
    assert TOKEN not in connection.rejection


def test_the_names_of_an_account_are_those_of_settings() -> None:
    settings = Settings()
    for source in set(AccountSource) - {AccountSource.ADMINISTRATOR}:
        for name in (source.username, source.password):
            table, key = name.split(".")
            assert hasattr(getattr(settings, table), key)


def test_a_credential_that_cannot_be_sent_is_named_by_its_setting() -> None:
    for way, username, token, said in (
        ("basic", "a:b", "x", "`plugin.username` is `a:b` and must not have a colon"),
        ("bearer", "", "two words", "`plugin.password` is the token: one word"),
    ):
        with pytest.raises(errors.ConfigError, match=said):
            credentials(way, username, Secret(token), AccountSource.PLUGIN)  # type: ignore[arg-type]


def test_credentials_do_not_print_their_secret() -> None:
    for way in ("basic", "bearer"):
        assert TOKEN not in repr(credentials(way, "svc", Secret(TOKEN)))  # type: ignore[arg-type]


def test_an_account_by_certificate_needs_a_certificate_and_tls(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match="cert_file"):
        AdminHttp(AdminConnection("https://ranger.test", username="", password=Secret(""), auth="certificate"))
    with pytest.raises(errors.ConfigError, match="https"):
        AdminHttp(
            AdminConnection(
                "http://127.0.0.1",
                username="",
                password=Secret(""),
                auth="certificate",
                cert_file=str(tmp_path / "c.pem"),
            )
        )


def test_without_the_package_kerberos_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "requests_gssapi", None)
    with pytest.raises(errors.ConfigError, match=r"pip install 'ranger-cdap\[kerberos\]'"):
        credentials("kerberos", "svc@EXAMPLE.TEST", Secret(""))


class _NoTicketError(requests.RequestException):
    """As the package's own, of which `requests` makes a kind of failing request."""


class _Negotiation(AuthBase):
    """Stands for the package, which needs the Kerberos libraries of the system."""

    def __init__(self, creds: str | None, opportunistic_auth: bool, mutual_authentication: object) -> None:
        self.creds = creds
        assert opportunistic_auth

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self.creds == "ticket of expired@EXAMPLE.TEST":
            raise _NoTicketError
        request.headers["Authorization"] = f"Negotiate {self.creds}"
        return request


@pytest.fixture
def kerberos(monkeypatch: pytest.MonkeyPatch) -> None:
    gssapi = SimpleNamespace(
        Name=lambda name, kind: name,
        NameType=SimpleNamespace(kerberos_principal="principal"),
        Credentials=lambda name, usage: f"ticket of {name}",
        exceptions=SimpleNamespace(GSSError=RuntimeError),
    )
    exceptions = SimpleNamespace(SPNEGOExchangeError=_NoTicketError)
    negotiation = SimpleNamespace(HTTPSPNEGOAuth=_Negotiation, OPTIONAL=2, exceptions=exceptions)
    monkeypatch.setitem(sys.modules, "gssapi", gssapi)
    monkeypatch.setitem(sys.modules, "requests_gssapi", negotiation)


@pytest.mark.usefixtures("kerberos")
@pytest.mark.parametrize(
    ("username", "header"), [("svc@EXAMPLE.TEST", "Negotiate ticket of svc@EXAMPLE.TEST"), ("", "Negotiate None")]
)
def test_kerberos_sends_the_ticket_of_the_account_at_once_and_no_password(username: str, header: str) -> None:
    assert sent_header("kerberos", username, "not used") == header


@pytest.mark.usefixtures("kerberos")
def test_without_a_ticket_nothing_is_sent_and_nothing_is_tried_again() -> None:
    http = AdminHttp(AdminConnection(URL, username="expired@EXAMPLE.TEST", password=Secret(""), auth="kerberos"))
    with responses.mock, pytest.raises(errors.AuthenticationFailed, match="kinit"):
        http.call_api(GET)
    assert len(responses.calls) == 0
