"""HTTP client of Ranger Admin: credentials, time-outs, size limits, retries, rate limit; failures are typed errors.

Replaces the transport of the `apache-ranger` client (`RangerClientHttp`), which prints to standard output, logs request
bodies, has no time-outs and treats 404 and 503 as empty responses.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import msgspec
import stamina
from apache_ranger.utils import API, HttpMethod

from ranger_cdap.config import Address, Secret, addresses
from ranger_cdap.config.address import RANGER, checked_address
from ranger_cdap.errors import (
    AdminFailed,
    AdminUnreachable,
    ConfigError,
    ConflictingChange,
    InvalidInput,
    NotConnected,
    UnexpectedAnswer,
)
from ranger_cdap.net.exchange import Exchange, NoResponse, TooLarge, TooSlow
from ranger_cdap.net.failures import UNTRUSTED
from ranger_cdap.net.tls import TlsFiles
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.responses import AdminResponse, to_error
from ranger_cdap.ranger.client.sign_in import credentials
from ranger_cdap.ranger_model.json_text import decode_or_none

_log = logging.getLogger(__name__)

_LARGEST_ANSWER: Final = 1 << 30  # bytes; 100,000 policies are about 110 MB
# Ranger returns an empty 400 or 404 for an encoded slash, percent sign or semicolon in a path; dots would climb.
_NOT_IN_A_PATH: Final = frozenset("/\\%;")

# Statuses by which a proxy reports that Ranger Admin is unavailable; None: no response.
_ANOTHER_MAY_ANSWER: Final = frozenset(
    {None, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)


def segment(name: str) -> str:
    """Encode a name as one segment of a path.

    Raises:
        InvalidInput: Ranger Admin cannot look up that name by path (`/`, `%`, `;`), or it is empty.
    """
    if not is_addressable(name):
        raise InvalidInput(
            f"Ranger Admin cannot find anything by the name {name!r}: it is empty or has one of `/ \\ % ;`"
        )
    return quote(name, safe="")


def is_addressable(name: str) -> bool:
    """Return whether Ranger Admin can look up that name by path."""
    return name not in ("", ".", "..") and name.isprintable() and not _NOT_IN_A_PATH.intersection(name)


class AdminHttp:
    """HTTP client with one account; thread-safe.

    With several addresses, the one that responded last is used first, and the next one if it is unavailable.

    Raises:
        ConfigError: an address, the credentials or a certificate file is unusable.
    """

    def __init__(self, connection: AdminConnection) -> None:
        self._urls = tuple(
            checked_address(one, RANGER, connection.plain_hosts) for one in addresses(connection.url) or ("",)
        )
        self._first = 0
        self._secrets = (connection.password,)
        self._rejection = connection.rejection
        self._attempts = connection.attempts
        encrypted = all(one.startswith("https:") for one in self._urls)
        if connection.auth == "certificate" and (connection.cert_file is None or not encrypted):
            raise ConfigError('`ranger.auth = "certificate"` needs `ranger.cert_file` and an https:// address')
        self._exchange = Exchange(
            TlsFiles(connection.ca_file, connection.cert_file, connection.key_file),
            read_timeout=connection.read_timeout,
        )
        self._exchange.session.auth = credentials(
            connection.auth, connection.username, connection.password, connection.source
        )

    @property
    def url(self) -> str:
        """Address that is used first now."""
        return self._urls[self._first]

    def close(self) -> None:
        """Close the session."""
        self._exchange.close()

    def call_api(self, api: API, query_params: Mapping[str, Any] | None = None, request_data: Any = None) -> Any:
        """Return the JSON response of an endpoint, None without a body; the name is the library's.

        Raises:
            RangerAdminError: one of its subclasses, by the kind of failure.
        """
        body = self.fetch(api, query_params, request_data)
        if not body:
            return None
        if (value := decode_or_none(body)) is None:
            where = f"`{api.method.value} /{api.path}`"
            raise UnexpectedAnswer(
                f"the answer to {where} is not JSON; is `ranger.url` the address of Ranger Admin?",
                method=api.method.value,
                path=f"/{api.path}",
                status=HTTPStatus.OK,
            )
        return value

    def fetch(
        self,
        api: API,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        *,
        secrets: tuple[Secret, ...] = (),
    ) -> bytes | None:
        """Return the response body of an endpoint unchanged; None for 204 and 304.

        `secrets` are parts of `body` that are masked in errors.

        Raises:
            RangerAdminError: one of its subclasses, by the kind of failure.
        """
        content = msgspec.json.encode(body) if body is not None else None
        for attempt in stamina.retry_context(
            on=_may_repeat(api.method), attempts=self._attempts, timeout=None, wait_initial=0.2, wait_max=5.0
        ):
            with attempt:
                return self._ask(api, query, content, (*self._secrets, *secrets))
        raise AssertionError("the last attempt returns or raises")

    def _ask(
        self, api: API, query: Mapping[str, Any] | None, content: bytes | None, secrets: tuple[Secret, ...]
    ) -> bytes | None:
        """Try the addresses in turn, while they are unavailable and a repetition is safe."""
        first = self._first
        unavailable: list[AdminUnreachable] = []
        for turn in range(first, first + len(self._urls)):
            here, after = turn % len(self._urls), (turn + 1) % len(self._urls)
            try:
                return self._content(self._send(self._urls[here], api, query, content), api, secrets)
            except AdminUnreachable as e:
                if e.status not in _ANOTHER_MAY_ANSWER:
                    raise
                unavailable.append(e)
                self._first = after
                if not _may_repeat(api.method)(e):
                    raise
                if here != after:
                    _log.warning("%s; trying `%s` next", e, self._urls[after])
        if len(unavailable) == 1:
            raise unavailable[0]
        kind = NotConnected if all(isinstance(e, NotConnected) for e in unavailable) else AdminUnreachable
        message = "no Ranger Admin is available: " + "; ".join(map(str, unavailable))
        raise kind(message, method=api.method.value, path="/" + api.path.lstrip("/"))

    def _send(self, url: Address, api: API, query: Mapping[str, Any] | None, content: bytes | None) -> AdminResponse:
        method, path = api.method.value, "/" + api.path.lstrip("/")
        where: dict[str, Any] = {"method": method, "path": path}
        headers = {"Accept": "application/json"} | ({"Content-Type": "application/json"} if content is not None else {})
        try:
            response = self._exchange.ask(
                url, method, path, query=query, body=content, headers=headers, largest=_LARGEST_ANSWER
            )
        except TooLarge as e:
            raise UnexpectedAnswer(str(e), **where) from None
        except TooSlow as e:
            raise AdminUnreachable(str(e), **where) from None
        except NoResponse as e:
            kind = NotConnected if e.failure.unsent else AdminUnreachable
            advice = " (`network.ca_file` names the CA to trust)" if e.failure.reason == UNTRUSTED else ""
            raise kind(f"Ranger Admin at `{url}` cannot be reached: {e}{advice}", **where) from None
        return AdminResponse(method, path, response.status, response.body)

    def _content(self, answer: AdminResponse, api: API, secrets: tuple[Secret, ...]) -> bytes | None:
        if answer.status == HTTPStatus.NOT_MODIFIED and api.method is HttpMethod.GET:
            return None
        if answer.status != api.expected_status:
            raise to_error(answer, secrets, self._rejection)
        return answer.body if answer.status != HTTPStatus.NO_CONTENT else None


def _may_repeat(method: HttpMethod) -> Callable[[Exception], bool]:
    """Return a predicate for the errors after which a request may be repeated.

    An unsent request had no effect. A GET changes nothing. A POST that conflicted in Ranger's database was rolled back.
    A PUT or DELETE that conflicted is not repeated: the caller must first read the current state.
    """
    repeatable: tuple[type[Exception], ...] = {
        HttpMethod.GET: (AdminUnreachable, AdminFailed, ConflictingChange),
        HttpMethod.POST: (ConflictingChange, NotConnected),
    }.get(method, (NotConnected,))
    return lambda error: isinstance(error, repeatable)
