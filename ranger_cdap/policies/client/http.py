"""The HTTP below every call to Ranger Admin: credentials, time-outs, bounds, retries; failures are typed errors.

It stands in for the transport of the `apache-ranger` client (`RangerClientHttp`), which prints to standard output,
logs what it sends, knows no time-outs and takes 404 and 503 for empty answers.
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
from ranger_cdap.policies.client.answers import Answer, error_of, json_of
from ranger_cdap.policies.client.exchange import Exchange, NoAnswer, TooLarge, TooSlow
from ranger_cdap.policies.client.sign_in import TlsFiles, Way, credentials

_log = logging.getLogger(__name__)

_LARGEST_ANSWER: Final = 1 << 30  # bytes; 100,000 policies are about 110 MB
# Ranger answers an encoded slash, percent sign or semicolon in a path with an empty 400 or 404; dots would climb.
_NOT_IN_A_PATH: Final = frozenset("/\\%;")

# Statuses by which a proxy says that the Ranger Admin behind it is away; None stands for no answer at all.
_ANOTHER_MAY_ANSWER: Final = frozenset(
    {None, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)


def segment(name: str) -> str:
    """A name as one segment of a path.

    Raises:
        InvalidInput: Ranger Admin cannot find a thing of that name by path (`/`, `%`, `;`), or it is not a name.
    """
    if not is_addressable(name):
        raise InvalidInput(
            f"Ranger Admin cannot find anything by the name {name!r}: it is empty or has one of `/ \\ % ;`"
        )
    return quote(name, safe="")


def is_addressable(name: str) -> bool:
    """Whether a thing of that name can be asked for by a path."""
    return name not in ("", ".", "..") and name.isprintable() and not _NOT_IN_A_PATH.intersection(name)


class AdminHttp:
    """One Ranger Admin and one account; safe to use from several threads.

    The address may be several, separated by commas: whichever answered last is asked first, and the next one where it
    is away.

    Raises:
        ConfigError: an address, the credentials or a file of certificates cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        username: str,
        password: Secret,
        auth: Way = "basic",
        ca_file: str | None = None,
        cert_file: str | None = None,
        key_file: str | None = None,
        connect_timeout: float = 5.0,
        read_timeout: float = 30.0,
        attempts: int = 3,
        allow_plain_http: bool = False,
    ) -> None:
        self._urls = tuple(
            checked_address(one, RANGER, allow_plain_http=allow_plain_http) for one in addresses(url) or ("",)
        )
        self._first = 0
        self._secrets = (password,)
        self._attempts = attempts
        if auth == "certificate" and (cert_file is None or not all(one.startswith("https:") for one in self._urls)):
            raise ConfigError('`ranger.auth = "certificate"` needs `ranger.cert_file` and an https:// address')
        self._exchange = Exchange(
            TlsFiles(ca_file, cert_file, key_file), connect_timeout=connect_timeout, read_timeout=read_timeout
        )
        self._exchange.session.auth = credentials(auth, username, password)

    @property
    def url(self) -> str:
        """The address that is asked first now."""
        return self._urls[self._first]

    def close(self) -> None:
        """Close the session."""
        self._exchange.close()

    def call_api(self, api: API, query_params: Mapping[str, Any] | None = None, request_data: Any = None) -> Any:
        """The JSON value an endpoint answers with, None when it answers without a body; the library calls it so.

        Raises:
            RangerAdminError: one of its subclasses, by what went wrong.
        """
        body = self.fetch(api, query_params, request_data)
        if not body:
            return None
        if (value := json_of(body)) is None:
            raise _not_json(api)
        return value

    def fetch(
        self,
        api: API,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        *,
        secrets: tuple[Secret, ...] = (),
    ) -> bytes | None:
        """The body one endpoint answers with, as it came; None for 204 and 304.

        `secrets` are texts of `body` that no error may repeat.

        Raises:
            RangerAdminError: one of its subclasses, by what went wrong.
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
        """Ask one address after another, as long as the one asked is away and asking the next does nothing twice."""
        first = self._first
        away: list[AdminUnreachable] = []
        for turn in range(first, first + len(self._urls)):
            here, after = turn % len(self._urls), (turn + 1) % len(self._urls)
            try:
                return _content(self._send(self._urls[here], api, query, content), api, secrets)
            except AdminUnreachable as e:
                if e.status not in _ANOTHER_MAY_ANSWER:
                    raise
                away.append(e)
                self._first = after
                if not _may_repeat(api.method)(e):
                    raise
                if here != after:
                    _log.warning("%s; `%s` is asked next", e, self._urls[after])
        if len(away) == 1:
            raise away[0]
        kind = NotConnected if all(isinstance(e, NotConnected) for e in away) else AdminUnreachable
        said = "no Ranger Admin is there: " + "; ".join(map(str, away))
        raise kind(said, method=api.method.value, path="/" + api.path.lstrip("/"))

    def _send(self, url: Address, api: API, query: Mapping[str, Any] | None, content: bytes | None) -> Answer:
        method, path = api.method.value, "/" + api.path.lstrip("/")
        where: dict[str, Any] = {"method": method, "path": path}
        headers = {"Accept": "application/json"} | ({"Content-Type": "application/json"} if content is not None else {})
        try:
            status, body = self._exchange.ask(
                url, method, path, query=query, body=content, headers=headers, largest=_LARGEST_ANSWER
            )
        except TooLarge as e:
            raise UnexpectedAnswer(str(e), **where) from None
        except TooSlow as e:
            raise AdminUnreachable(str(e), **where) from None
        except NoAnswer as e:
            kind = NotConnected if e.unsent else AdminUnreachable
            advice = " (`ranger.ca_file` names the CA to trust)" if e.of_tls else ""
            raise kind(f"Ranger Admin at `{url}` cannot be reached: {e}{advice}", **where) from None
        return Answer(method, path, status, body)


def _content(answer: Answer, api: API, secrets: tuple[Secret, ...]) -> bytes | None:
    if answer.status == HTTPStatus.NOT_MODIFIED and api.method is HttpMethod.GET:
        return None
    if answer.status != api.expected_status:
        raise error_of(answer, secrets)
    return answer.body if answer.status != HTTPStatus.NO_CONTENT else None


def _may_repeat(method: HttpMethod) -> Callable[[Exception], bool]:
    """Which errors may be answered by sending the same again.

    What was never sent did nothing. A GET changes nothing. A POST that Ranger's database refused because of another one
    was rolled back.
    A PUT or DELETE that met another change is not sent again: its sender must look first at what the thing has become.
    """
    repeatable: tuple[type[Exception], ...] = {
        HttpMethod.GET: (AdminUnreachable, AdminFailed, ConflictingChange),
        HttpMethod.POST: (ConflictingChange, NotConnected),
    }.get(method, (NotConnected,))
    return lambda error: isinstance(error, repeatable)


def _not_json(api: API) -> UnexpectedAnswer:
    return UnexpectedAnswer(
        f"the answer to `{api.method.value} /{api.path}` is not JSON; is `ranger.url` the address of Ranger Admin?",
        method=api.method.value,
        path=f"/{api.path}",
        status=HTTPStatus.OK,
    )
