"""The HTTP below every call to Ranger Admin: credentials, time-outs, bounds, retries; failures are typed errors.

It stands in for the transport of the `apache-ranger` client (`RangerClientHttp`), which prints to standard output,
logs what it sends, knows no time-outs and takes 404 and 503 for empty answers.
"""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlsplit

import msgspec
import requests
import stamina
import urllib3
from apache_ranger.utils import API, HttpMethod

from ranger_cdap.config import Secret
from ranger_cdap.errors import (
    AdminFailed,
    AdminUnreachable,
    ConfigError,
    ConflictingChange,
    InvalidInput,
    NotConnected,
    UnexpectedAnswer,
)
from ranger_cdap.policies.answers import Answer, error_of, json_of
from ranger_cdap.policies.sign_in import VerifyingAdapter, Way, credentials, tls_context

_log = logging.getLogger(__name__)

_LARGEST_ANSWER: Final = 1 << 30  # bytes; 100,000 policies are about 110 MB
_LARGEST_ERROR: Final = 1 << 20
_SLOWEST_ANSWER: Final = 10  # read time-outs: an answer that comes byte by byte ends here
_PIECE: Final = 1 << 18
# Ranger answers an encoded slash, percent sign or semicolon in a path with an empty 400 or 404; dots would climb.
_NOT_IN_A_PATH: Final = frozenset("/\\%;")

# The first that fits, and whether it happens before anything is sent. urllib3 makes a refused connection and an unknown
# name kinds of a connect time-out. By TLS, a server may also refuse after it was sent something.
_FAILURES: Final[tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str, bool], ...]] = (
    (
        ssl.SSLCertVerificationError,
        "its certificate or its TLS is not accepted (`ranger.ca_file` names the CA to trust)",
        True,
    ),
    (
        (ssl.SSLError, requests.exceptions.SSLError, urllib3.exceptions.SSLError),
        "its certificate or its TLS is not accepted (`ranger.ca_file` names the CA to trust)",
        False,
    ),
    (urllib3.exceptions.NameResolutionError, "its name can't be resolved", True),
    (ConnectionRefusedError, "the connection was refused", True),
    (urllib3.exceptions.NewConnectionError, "no connection can be made", True),
    (
        (requests.ConnectTimeout, urllib3.exceptions.ConnectTimeoutError),
        "no connection within the time-out",
        True,
    ),
    ((TimeoutError, requests.ReadTimeout, urllib3.exceptions.ReadTimeoutError), "no answer within the time-out", False),
    ((requests.ConnectionError, urllib3.exceptions.HTTPError, ConnectionError), "the connection broke off", False),
)
# Statuses by which a proxy says that the Ranger Admin behind it is away; None stands for no answer at all.
_ANOTHER_MAY_ANSWER: Final = frozenset(
    {None, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)


def segment(name: str) -> str:
    """A name as one segment of a path.

    Raises:
        InvalidInput: Ranger Admin can't find a thing of that name by path (`/`, `%`, `;`), or it is not a name.
    """
    if not is_addressable(name):
        raise InvalidInput(
            f"Ranger Admin can't find anything by the name {name!r}: it is empty or has one of `/ \\ % ;`"
        )
    return quote(name, safe="")


def is_addressable(name: str) -> bool:
    """Whether a thing of that name can be asked for by a path."""
    return name not in ("", ".", "..") and name.isprintable() and not _NOT_IN_A_PATH.intersection(name)


class AdminHttp:
    """One Ranger Admin and one account; safe to use from several threads.

    The address may be several, separated by commas: whichever answered last is asked first, and the next one where it
    is away. Proxies and credentials of the environment (`HTTP_PROXY`, `.netrc`) are not used: the password must reach
    Ranger Admin and nobody else. Redirects are not followed, for the same reason.

    Raises:
        ConfigError: an address, the credentials or a file of certificates can't be used.
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
    ) -> None:
        self._urls = tuple(_checked_url(one) for one in addresses(url)) or (_checked_url(url),)
        self._first = 0
        self._secrets = (password,)
        self._timeout = (connect_timeout, read_timeout)
        self._slowest = read_timeout * _SLOWEST_ANSWER
        self._attempts = attempts
        if auth == "certificate" and (cert_file is None or not all(one.startswith("https:") for one in self._urls)):
            raise ConfigError('`ranger.auth = "certificate"` needs `ranger.cert_file` and an https:// address')
        self._session = requests.Session()
        self._session.trust_env = False
        context = tls_context(ca_file, cert_file, key_file)
        self._session.mount("https://", VerifyingAdapter(context))
        # A browser's name would make Ranger Admin ask for its CSRF header.
        self._session.headers.update({"User-Agent": "ranger-cdap", "Accept-Encoding": "identity"})
        self._session.auth = credentials(auth, username, password)

    @property
    def url(self) -> str:
        """The address that is asked first now."""
        return self._urls[self._first]

    def close(self) -> None:
        """Give the connections back."""
        self._session.close()

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

    def _send(self, url: str, api: API, query: Mapping[str, Any] | None, content: bytes | None) -> Answer:
        method, path = api.method.value, "/" + api.path.lstrip("/")
        where: dict[str, Any] = {"method": method, "path": path}
        headers = {"Accept": "application/json"} | ({"Content-Type": "application/json"} if content is not None else {})
        deadline = time.monotonic() + self._slowest
        try:
            with self._session.request(
                method,
                url + path,
                params=query,
                data=content,
                headers=headers,
                timeout=self._timeout,
                allow_redirects=False,
                stream=True,
            ) as response:
                bound = _LARGEST_ANSWER if response.status_code == HTTPStatus.OK else _LARGEST_ERROR
                body = b"".join(_bounded(response, bound, deadline, where))
                return Answer(method, path, response.status_code, body)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as e:
            failure, unsent = _what_failed(e)
            kind = NotConnected if unsent else AdminUnreachable
            raise kind(f"Ranger Admin at `{url}` can't be reached: {failure}", **where) from None


def addresses(url: str) -> tuple[str, ...]:
    """The addresses of a text that has several, separated by commas."""
    return tuple(filter(None, (one.strip() for one in url.split(","))))


def _content(answer: Answer, api: API, secrets: tuple[Secret, ...]) -> bytes | None:
    if answer.status == HTTPStatus.NOT_MODIFIED and api.method is HttpMethod.GET:
        return None
    if answer.status != api.expected_status:
        raise error_of(answer, secrets)
    return answer.body if answer.status != HTTPStatus.NO_CONTENT else None


def _bounded(response: requests.Response, bound: int, deadline: float, where: dict[str, Any]) -> Iterator[bytes]:
    """The body in pieces, as they arrive; `read1` because `iter_content` waits for whole pieces, however slow."""
    call, read = f"`{where['method']} {where['path']}`", 0
    while piece := response.raw.read1(_PIECE, decode_content=True):
        read += len(piece)
        if read > bound:
            raise UnexpectedAnswer(f"the answer to {call} is larger than {bound} bytes, so it was not read", **where)
        if time.monotonic() > deadline:
            raise AdminUnreachable(f"the answer to {call} comes too slowly to be waited for", **where)
        yield piece


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


def _what_failed(error: BaseException) -> tuple[str, bool]:
    """In a few words, without the address and without what was sent, and whether nothing was sent."""
    chain = list(_causes(error))
    for kinds, words, unsent in _FAILURES:
        if any(isinstance(cause, kinds) for cause in chain):
            return words, unsent
    return type(error).__name__, False


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what is under it; `requests` and urllib3 keep it in `reason`, `args` or `__cause__`."""
    while error is not None:
        yield error
        reason = getattr(error, "reason", None)
        inner = [reason, error.__cause__, *error.args]
        error = next((e for e in inner if isinstance(e, BaseException)), None)


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
        _ = parts.port
    except ValueError:
        usable = None
    if not usable:
        raise ConfigError(
            f"`{url.split('@')[-1]}` is not the address of a Ranger Admin, like `https://ranger.example:6182`"
        )
    if "@" in url:
        raise ConfigError("the address of Ranger Admin must not hold a user name or password")
    return url.rstrip("/")
