"""`LdapConnection`: one authenticated connection to one server, with searches that are whole or fail.

Referrals are never followed: they would send a search, and perhaps the password, to a server of another's choice.
"""

from __future__ import annotations

import ssl
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from ranger_cdap.config import LdapSettings
from ranger_cdap.config.group_checks import ldap_server
from ranger_cdap.config.named_file import opened_for_library
from ranger_cdap.directory.group_directory import CredentialsRejected
from ranger_cdap.errors import ConfigError, GroupLookupFailed, GroupSourceUnavailable, reason
from ranger_cdap.ldap.names import SID
from ranger_cdap.ldap.nested_groups import MOST_GROUPS

_PAGE: Final = 500
_RANGE: Final = ";range="
_SUCCESS: Final = 0
_INVALID_CREDENTIALS: Final = 49
_NO_SUCH_OBJECT: Final = 32
_ABOUT_THE_SERVER: Final = frozenset({1, 8, 49, 50, 51, 52})
"""Results that every search would have: operations error, stronger authentication, credentials, rights, busy."""

ACTIVE_DIRECTORY: Final = "1.2.840.113556.1.4.800"


class ConnectionFailed(Exception):
    """A server did not answer; another one, or a new connection, may."""


@dataclass(frozen=True, slots=True)
class LdapEntry:
    """An entry found: its distinguished name, and the texts of its attributes by name in lower case."""

    dn: str
    attributes: dict[str, tuple[str, ...]]


def ldap_library() -> ModuleType:
    """Return the library.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        with warnings.catch_warnings():  # of old names in its own dependency
            warnings.simplefilter("ignore", DeprecationWarning)
            import ldap3
    except ImportError:
        raise ConfigError(
            "`groups.sources` has `ldap`, which needs an extra: pip install 'ranger-cdap[ldap]'"
        ) from None
    module: ModuleType = ldap3
    return module


def ldap_tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Return the context for connections: it trusts `network.ca_file`, or the system's authorities, and checks names.

    Raises:
        ConfigError: the file cannot be used.
    """
    try:
        with opened_for_library(ca_file) as authorities:
            return ssl.create_default_context(cafile=authorities)
    except (OSError, ssl.SSLError) as e:
        why = "it holds no certificate in PEM form" if isinstance(e, ssl.SSLError) else reason(e)
        raise ConfigError(f"`network.ca_file` is `{ca_file}`, which cannot be used: {why}") from None


class LdapConnection:
    """A connection; not safe to share between threads at one time."""

    def __init__(
        self, url: str, settings: LdapSettings, context: ssl.SSLContext, deadline: float, patience: float
    ) -> None:
        """Connect and sign in; `patience` is how many seconds each answer may take.

        Raises:
            ConnectionFailed: the server did not answer, or its certificate is not accepted.
            GroupSourceUnavailable: the account is rejected.
        """
        self.url = url
        self._patience = patience
        self._raw: Any = None
        self.used = time.monotonic()
        password = settings.bind_password.reveal() if settings.bind_dn else ""
        if settings.bind_dn and not password:
            raise GroupSourceUnavailable("`ldap.bind_password` is empty, which would be an anonymous search")
        try:
            self._raw = _unopened(url, settings, context, password, _left(deadline, patience))
            self._guarded(deadline, lambda: self._raw.open(read_server_info=False))
            if settings.start_tls:
                self._guarded(deadline, self._raw.start_tls)
            self._guarded(deadline, lambda: self._raw.bind(read_server_info=False))
            self._refuse(self._raw.result, "sign in")
        except BaseException:
            self.close()
            raise

    def search(
        self, base: str, search_filter: str, attributes: Sequence[str], deadline: float, *, most: int = MOST_GROUPS
    ) -> list[LdapEntry]:
        """Return all entries below the base that match.

        Raises:
            ConnectionFailed: the server did not answer.
            GroupLookupFailed: the answer is an error, or not whole; or there are more than `most` entries.
        """
        found: list[LdapEntry] = []
        cookie: bytes | None = None
        while True:
            page = self._page(base, search_filter, attributes, deadline, cookie)
            controls = self._raw.result.get("controls") or {}
            cookie = controls.get("1.2.840.113556.1.4.319", {}).get("value", {}).get("cookie")
            found += [self._whole(entry, deadline) for entry in page]
            if len(found) > most:
                raise GroupLookupFailed(f"a search of the directory found more than {most:,} entries")
            if not cookie:
                return found

    def is_active_directory(self, deadline: float) -> bool:
        """Return whether the server reports the capabilities of Active Directory.

        Raises:
            ConnectionFailed: the server did not answer.
        """
        self._search(
            deadline,
            search_base="",
            search_filter="(objectClass=*)",
            search_scope="BASE",
            attributes=["supportedCapabilities"],
        )
        entries = _entries(self._raw.response)
        return any(ACTIVE_DIRECTORY in one.attributes.get("supportedcapabilities", ()) for one in entries)

    def has_entry(self, dn: str, deadline: float) -> bool:
        """Return whether the account can see an entry.

        Raises:
            ConnectionFailed: the server did not answer.
            GroupLookupFailed: the answer is another error.
        """
        self._search(deadline, search_base=dn, search_filter="(objectClass=*)", search_scope="BASE", attributes=["1.1"])
        if self._raw.result["result"] == _NO_SUCH_OBJECT:
            return False
        self._refuse(self._raw.result, "search")
        return bool(_entries(self._raw.response))

    def close(self) -> None:
        """Close the socket, without a word to the server, which may not listen."""
        raw = self._raw
        if raw is not None and (opened := raw.socket) is not None:
            raw.strategy.close()
            opened.close()  # the library leaves one open on which TLS failed

    def _page(
        self, base: str, search_filter: str, attributes: Sequence[str], deadline: float, cookie: bytes | None
    ) -> list[LdapEntry]:
        self._search(
            deadline,
            search_base=base,
            search_filter=search_filter,
            search_scope="SUBTREE",
            dereference_aliases="NEVER",
            attributes=list(attributes),
            paged_size=_PAGE,
            paged_cookie=cookie,
        )
        self._refuse(self._raw.result, "search")
        return _entries(self._raw.response)

    def _whole(self, entry: LdapEntry, deadline: float) -> LdapEntry:
        """Return the entry with all values of attributes that came in part, as Active Directory returns many."""
        attributes = dict(entry.attributes)
        for name in [name for name in attributes if _RANGE in name]:
            plain, _, span = name.partition(_RANGE)
            values = attributes.pop(name)
            while not span.endswith("-*"):
                span, more = self._next_part(entry.dn, plain, span, deadline)
                values += more
                if len(values) > MOST_GROUPS:
                    raise GroupLookupFailed(
                        f"`{plain}` of an entry in the directory has more than {MOST_GROUPS:,} values"
                    )
            attributes[plain] = values
        return LdapEntry(entry.dn, attributes)

    def _next_part(self, dn: str, name: str, span: str, deadline: float) -> tuple[str, tuple[str, ...]]:
        """Return the span and the values that follow those of a span; an answer without them is an error."""
        _, _, last = span.partition("-")
        if last.isdecimal():
            wanted = f"{name}{_RANGE}{int(last) + 1}-"
            self._search(
                deadline,
                search_base=dn,
                search_filter="(objectClass=*)",
                search_scope="BASE",
                attributes=[f"{wanted}*"],
            )
            self._refuse(self._raw.result, "search")
            for entry in _entries(self._raw.response):
                for found, values in entry.attributes.items():
                    if found.startswith(wanted) and values:
                        return found.partition(_RANGE)[2], values
        raise GroupLookupFailed(f"the directory returned a part of the values of `{name}`, and not the rest")

    def _search(self, deadline: float, **arguments: Any) -> None:
        self._guarded(deadline, lambda: self._raw.search(**arguments))
        self.used = time.monotonic()

    def _guarded(self, deadline: float, run: Callable[[], object]) -> None:
        """Run an operation; whatever it raises, by a bad server or a bad network, is one exception of ours."""
        left = _left(deadline, self._patience)
        try:
            if self._raw.socket is not None:
                self._raw.socket.settimeout(left)
            run()
        except Exception as e:
            raise ConnectionFailed(_why(e)) from None

    def _refuse(self, result: Any, what: str) -> None:
        number = result["result"]
        if number == _SUCCESS:
            return
        said = f"the directory answers `{result['description']}` to the attempt to {what}"
        if number == _INVALID_CREDENTIALS:
            raise CredentialsRejected(f"{said}; check `ldap.bind_dn` and `ldap.bind_password`")
        if what == "sign in" or number in _ABOUT_THE_SERVER:
            raise GroupSourceUnavailable(said)
        raise GroupLookupFailed(said)


def _unopened(url: str, settings: LdapSettings, context: ssl.SSLContext, password: str, timeout: float) -> Any:
    ldap3 = ldap_library()
    scheme, host, port = ldap_server(url)

    class VerifiedTls(ldap3.Tls):  # type: ignore[misc, name-defined]
        """TLS of the standard library, which checks the certificate and the host name during the handshake."""

        def wrap_socket(self, connection: Any, do_handshake: bool = False) -> None:
            connection.socket = context.wrap_socket(connection.socket, server_hostname=host)

    server = ldap3.Server(
        host, port, use_ssl=scheme == "ldaps", tls=VerifiedTls(), get_info=ldap3.NONE, connect_timeout=timeout
    )
    return ldap3.Connection(
        server,
        user=settings.bind_dn or None,
        password=password or None,
        authentication=ldap3.SIMPLE if settings.bind_dn else ldap3.ANONYMOUS,
        client_strategy=ldap3.SYNC,
        auto_referrals=False,
        auto_range=False,  # it takes a part that does not come for the end
        auto_escape=False,  # it guesses whether a text is escaped; ours is
        check_names=False,
        return_empty_attributes=False,
    )


def _entries(response: Any) -> list[LdapEntry]:
    """Return the entries of an answer; references to other servers are left out.

    Raises:
        GroupLookupFailed: a value is not text.
    """
    return [
        LdapEntry(one["dn"], dict(_attributes(one["raw_attributes"])))
        for one in response or ()
        if one.get("type") == "searchResEntry"
    ]


def _attributes(raw: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, values in raw.items():
        try:
            texts = (value.hex() if name.lower() == SID.lower() else value.decode() for value in values or ())
            yield name.lower(), tuple(texts)
        except UnicodeDecodeError:
            raise GroupLookupFailed(f"a value of `{name}` in the directory is not text") from None


def _left(deadline: float, most: float) -> float:
    left = min(deadline - time.monotonic(), most)
    if left <= 0:
        raise ConnectionFailed("no answer in time")
    return left


def _why(error: Exception) -> str:
    """Return the kind of failure; the message of a library may quote what a server sent."""
    text = f"{type(error).__name__} {error}".lower()
    if "certificate" in text:
        return "its certificate is not accepted; check `network.ca_file` and the host name"
    if "timed out" in text or "timeout" in text or isinstance(error, TimeoutError):
        return "no answer in time"
    if "ssl" in text or "tls" in text:
        return "no TLS connection"
    return (
        "no connection"
        if "open" in text or "refused" in text or "address" in text
        else "the connection broke, or the answer is not LDAP"
    )
