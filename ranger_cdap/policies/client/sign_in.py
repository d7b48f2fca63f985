"""How a client and Ranger Admin prove to each other who they are: credentials, certificates, trusted authorities."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal

import requests
from requests.adapters import DEFAULT_POOLSIZE, HTTPAdapter
from requests.auth import AuthBase, HTTPBasicAuth

from ranger_cdap.config import Secret, WatchedFiles
from ranger_cdap.errors import AuthenticationFailed, ConfigError

Way = Literal["basic", "bearer", "kerberos", "certificate"]


def credentials(way: Way, username: str, password: Secret) -> AuthBase | None:
    """What goes with every request from the first one on, because Ranger Admin never asks for it; None is nobody.

    `basic` sends name and password, `bearer` the password as a token, `kerberos` a ticket of the user (without a name,
    of whoever the ticket cache belongs to), `certificate` nothing: the client certificate says who it is.

    Raises:
        ConfigError: they cannot be read or sent that way, or Kerberos is wanted and not installed.
    """
    match way:
        case "basic":
            return _basic(username, password)
        case "bearer":
            return _Bearer(password)
        case "kerberos":
            return _kerberos(username)
        case "certificate":
            return None


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The files by which a client trusts and shows who it is, as `tls_context` takes them."""

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None

    def context(self) -> ssl.SSLContext:
        """A context of what the files hold now.

        Raises:
            ConfigError: one of the files cannot be used.
        """
        return tls_context(self.ca_file, self.cert_file, self.key_file)

    @property
    def names(self) -> tuple[str, ...]:
        """The files there are."""
        return tuple(filter(None, (self.ca_file, self.cert_file, self.key_file)))

    def watched(self) -> WatchedFiles:
        """Identify the current contents, to notice a change."""
        return WatchedFiles(self.names)


def tls_context(ca_file: str | None, cert_file: str | None, key_file: str | None) -> ssl.SSLContext:
    """Trusts the authorities of `ca_file` alone, or without one those of the system; shows `cert_file`.

    Raises:
        ConfigError: one of the files cannot be used.
    """
    context = ssl.create_default_context(cafile=_checked_ca_file(ca_file) if ca_file is not None else None)
    if cert_file is not None:
        show_certificate(context, cert_file, key_file)
    elif key_file is not None:
        raise ConfigError("`ranger.key_file` is set and `ranger.cert_file` is not: a key alone says nothing")
    return context


class VerifyingAdapter(HTTPAdapter):
    """HTTPS by one TLS context and by nothing else: neither the authorities nor the settings `requests` brings.

    The context may be replaced while others send: what is under way ends by the old one.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__()

    def replace_context(self, context: ssl.SSLContext) -> None:
        """Make new connections by this context."""
        self._context = context
        self.init_poolmanager(DEFAULT_POOLSIZE, DEFAULT_POOLSIZE)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Every connection gets the context."""
        super().init_poolmanager(*args, **options, ssl_context=self._context)

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """The context verifies; `requests` would add the authorities it brings to those trusted."""
        conn.cert_reqs = "CERT_REQUIRED"


class BasicAuth(AuthBase):
    """Name and password as they are when a request is sent."""

    def __init__(self, username: str, password: Secret) -> None:
        self._username = username
        self._password = password

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the header."""
        HTTPBasicAuth(self._username.encode(), self._password.reveal().encode())(request)
        return request


class _Bearer(AuthBase):
    """A token; like `HTTPBasicAuth`, it must not be printed."""

    def __init__(self, token: Secret) -> None:
        text = token.reveal()
        if not text or not text.isascii() or not text.isprintable() or " " in text:
            raise ConfigError('with `ranger.auth = "bearer"` the account\'s password is the token: one word of ASCII')
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token.reveal()}"
        return request


class _Ticket(AuthBase):
    """A Kerberos ticket for each request; where there is none, that is no failure of the network."""

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


def _basic(username: str, password: Secret) -> AuthBase | None:
    if ":" in username:
        raise ConfigError("the user name for Ranger Admin must not have a colon: Basic authentication cannot carry it")
    if not username:
        return None
    password.reveal()  # one that cannot be read ends the start, not the first request
    return BasicAuth(username, password)


_NO_KERBEROS: Final = (
    "`ranger.auth = \"kerberos\"` needs a package that is not installed: pip install 'ranger-cdap[kerberos]'"
)


def _kerberos(username: str) -> AuthBase:
    try:
        negotiation, gssapi = import_module("requests_gssapi"), import_module("gssapi")
    except ImportError:
        raise ConfigError(_NO_KERBEROS) from None
    try:
        name = gssapi.Name(username, gssapi.NameType.kerberos_principal) if username else None
        creds = gssapi.Credentials(name=name, usage="initiate") if name is not None else None
    except gssapi.exceptions.GSSError:
        raise ConfigError(f"there is no Kerberos ticket or key of `{username}`: get one with kinit") from None
    # Sent with the first request: Ranger Admin's 401 may come without saying what it wants.
    ticket = negotiation.HTTPSPNEGOAuth(
        creds=creds, opportunistic_auth=True, mutual_authentication=negotiation.OPTIONAL
    )
    return _Ticket(ticket, negotiation.exceptions.SPNEGOExchangeError)


def show_certificate(context: ssl.SSLContext, cert_file: str | Path, key_file: str | Path | None) -> None:
    """Have a context show a client certificate; without a file for its key, the key is in `cert_file`.

    Raises:
        ConfigError: one of the files cannot be used.
    """
    for path in (cert_file, key_file):
        if path is not None and not Path(path).is_file():
            raise ConfigError(f"client certificate or key `{path}` is not there")
    try:
        # The library would ask the terminal for the password of a key.
        context.load_cert_chain(cert_file, key_file, password=lambda: "")
    except (ssl.SSLError, OSError, ValueError):
        raise ConfigError(
            f"client certificate `{cert_file}` and its key cannot be used: both in PEM form, they must be a pair, "
            "and the key must not be encrypted"
        ) from None


def _checked_ca_file(path: str) -> str:
    if not Path(path).is_file():
        raise ConfigError(f"CA file `{path}` is not there")
    try:
        ssl.create_default_context(cafile=path)
    except (ssl.SSLError, OSError):
        raise ConfigError(f"CA file `{path}` holds no certificates in PEM form") from None
    return path
