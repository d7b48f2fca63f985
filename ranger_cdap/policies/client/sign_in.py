"""Mutual authentication of client and Ranger Admin: credentials, certificates, trusted authorities."""

from __future__ import annotations

import ssl
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal, Self

import msgspec
import requests
from requests.adapters import DEFAULT_POOLSIZE, HTTPAdapter
from requests.auth import AuthBase, HTTPBasicAuth

from ranger_cdap.config import Secret, WatchedFiles
from ranger_cdap.config.named_file import opened_for_library
from ranger_cdap.errors import AuthenticationFailed, ConfigError, reason

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


class TlsFiles(msgspec.Struct, frozen=True):
    """Certificate files of a client: trusted authorities, own certificate and key."""

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None

    @classmethod
    def of(cls, *files: Path | str | None) -> Self:
        """Return the files, in the order of the fields."""
        return cls(*(str(file) if file else None for file in files))

    def context(self) -> ssl.SSLContext:
        """Create a context from the current contents of the files.

        Raises:
            ConfigError: one of the files is unusable.
        """
        return tls_context(self.ca_file, self.cert_file, self.key_file)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the configured files."""
        return tuple(filter(None, (self.ca_file, self.cert_file, self.key_file)))

    def watched(self) -> WatchedFiles:
        """Identify the current contents, to notice a change."""
        return WatchedFiles(self.names)


def tls_context(ca_file: str | None, cert_file: str | None, key_file: str | None) -> ssl.SSLContext:
    """Create a context that trusts only `ca_file`, or without one the system's authorities, and presents `cert_file`.

    Raises:
        ConfigError: one of the files is unusable.
    """
    context = trusting(ca_file)
    if cert_file is not None:
        show_certificate(context, cert_file, key_file)
    elif key_file is not None:
        raise ConfigError("`ranger.key_file` is set and `ranger.cert_file` is not: a key alone says nothing")
    return context


class VerifyingAdapter(HTTPAdapter):
    """HTTPS adapter with one TLS context, without the authorities and settings bundled with `requests`.

    The context may be replaced during requests: pending ones finish with the old one.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__()

    def replace_context(self, context: ssl.SSLContext) -> None:
        """Use this context for new connections."""
        self._context = context
        self.init_poolmanager(DEFAULT_POOLSIZE, DEFAULT_POOLSIZE)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Give every connection the context."""
        super().init_poolmanager(*args, **options, ssl_context=self._context)

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Leave verification to the context; `requests` would also trust its bundled authorities."""
        conn.cert_reqs = "CERT_REQUIRED"


class BasicAuth(AuthBase):
    """Basic authentication with the current name and password of each request."""

    def __init__(self, username: str, password: Secret) -> None:
        self._username = username
        self._password = password

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the header."""
        HTTPBasicAuth(self._username.encode(), self._password.reveal().encode())(request)
        return request


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


def show_certificate(context: ssl.SSLContext, cert_file: str | Path, key_file: str | Path | None) -> None:
    """Load a client certificate into a context; without a key file, the key is in `cert_file`.

    Raises:
        ConfigError: one of the files is unusable.
    """
    try:
        with opened_for_library(cert_file) as chain, opened_for_library(key_file) as key:
            # The library would prompt for the password of a key.
            context.load_cert_chain(str(chain), key, password=lambda: "")
    except (ssl.SSLError, ValueError):
        raise ConfigError(
            f"client certificate `{cert_file}` and its key are unusable: they must be a pair in PEM format, "
            "and the key must not be encrypted"
        ) from None
    except OSError as e:
        raise ConfigError(f"client certificate or key `{e.filename}` cannot be read: {reason(e)}") from None


def trusting(ca_file: str | None) -> ssl.SSLContext:
    """Return a context that trusts the authorities of the file, or without one those of the system, and checks names.

    Raises:
        ConfigError: the file is unusable.
    """
    try:
        with opened_for_library(ca_file) as authorities:
            return ssl.create_default_context(cafile=authorities)
    except ssl.SSLError:
        raise ConfigError(f"CA file `{ca_file}` has no certificates in PEM format") from None
    except OSError as e:
        raise ConfigError(f"CA file `{ca_file}` cannot be read: {reason(e)}") from None
