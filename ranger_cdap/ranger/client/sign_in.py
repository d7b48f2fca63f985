"""Credentials for Ranger Admin."""

from __future__ import annotations

from enum import Enum
from importlib import import_module
from typing import Final, Literal

import requests
from requests.auth import AuthBase

from ranger_cdap.config import Secret
from ranger_cdap.errors import AuthenticationFailed, ConfigError
from ranger_cdap.net.exchange import BasicAuth

AuthMethod = Literal["basic", "bearer", "kerberos", "certificate"]


class AccountSource(Enum):
    """Where an account in Ranger Admin is configured: the names of its user and of its password."""

    PLUGIN = ("plugin.username", "plugin.password")
    SYNC = ("sync.username", "sync.password")
    BRIDGE = ("service.bridge_username", "service.bridge_password")
    ADMINISTRATOR = ("--ranger-user", "RANGER_CDAP_SETUP_PASSWORD")

    @property
    def username(self) -> str:
        """Name of the setting, or the option, with the user."""
        return self.value[0]

    @property
    def password(self) -> str:
        """Name of the setting, or the variable, with the password, token or its source."""
        return self.value[1]


def credentials(
    way: AuthMethod, username: str, password: Secret, source: AccountSource | None = None
) -> AuthBase | None:
    """Return the authentication of requests, sent preemptively because Ranger Admin never challenges; None: none.

    `basic` sends name and password, `bearer` the password as a token, `kerberos` a ticket of the user (without a name,
    of the owner of the ticket cache), `certificate` nothing: the client certificate authenticates. `source` names the
    account's settings in errors.

    Raises:
        ConfigError: the credentials are unreadable or unsuitable, or Kerberos support is not installed.
    """
    match way:
        case "basic":
            return _basic(username, password, source)
        case "bearer":
            return _Bearer(password, source)
        case "kerberos":
            return _kerberos(username, source)
        case "certificate":
            return None


class _Bearer(AuthBase):
    """A token; like `HTTPBasicAuth`, it must not be printed."""

    def __init__(self, token: Secret, source: AccountSource | None = None) -> None:
        text = token.reveal()
        if not text or not text.isascii() or not text.isprintable() or " " in text:
            setting = f"`{source.password}`" if source else "the account's password"
            raise ConfigError(f'with `ranger.auth = "bearer"`, {setting} is the token: one word of ASCII')
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token.reveal()}"
        return request


class _Ticket(AuthBase):
    """A Kerberos ticket per request; a missing ticket is reported as a failed login."""

    def __init__(self, ticket: AuthBase, no_ticket: type[Exception]) -> None:
        self._ticket = ticket
        self._no_ticket = no_ticket

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        try:
            return self._ticket(request)
        except self._no_ticket:
            raise AuthenticationFailed(
                "there is no Kerberos ticket for Ranger Admin, or it has expired: get one with kinit"
            ) from None


def _basic(username: str, password: Secret, source: AccountSource | None) -> AuthBase | None:
    if ":" in username:
        setting = f"`{source.username}`" if source else "the user name for Ranger Admin"
        raise ConfigError(f"{setting} is `{username}` and must not have a colon: Basic authentication cannot carry it")
    if not username:
        return None
    password.reveal()  # one that cannot be read ends the start, not the first request
    return BasicAuth(username, password)


_NO_KERBEROS: Final = (
    "`ranger.auth = \"kerberos\"` needs a package that is not installed: pip install 'ranger-cdap[kerberos]'"
)


def _kerberos(username: str, source: AccountSource | None) -> AuthBase:
    try:
        negotiation, gssapi = import_module("requests_gssapi"), import_module("gssapi")
    except ImportError:
        raise ConfigError(_NO_KERBEROS) from None
    try:
        name = gssapi.Name(username, gssapi.NameType.kerberos_principal) if username else None
        creds = gssapi.Credentials(name=name, usage="initiate") if name is not None else None
    except gssapi.exceptions.GSSError:
        configured = f" (`{source.username}`)" if source else ""
        raise ConfigError(
            f"there is no Kerberos ticket or key of `{username}`{configured}: get one with kinit"
        ) from None
    # Sent with the first request: Ranger Admin's 401 may lack a challenge.
    ticket = negotiation.HTTPSPNEGOAuth(
        creds=creds, opportunistic_auth=True, mutual_authentication=negotiation.OPTIONAL
    )
    return _Ticket(ticket, negotiation.exceptions.SPNEGOExchangeError)
