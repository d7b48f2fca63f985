"""The HTTP below every call to Ranger Admin: credentials, time-outs, bounds, retries; failures are typed errors.

It stands in for the transport of the `apache-ranger` client (`RangerClientHttp`), which prints to standard output,
logs what it sends, knows no time-outs and takes 404 and 503 for empty answers.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
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
    UnexpectedAnswer,
)
from ranger_cdap.policies.answers import Answer, error_of, json_of

_LARGEST_ANSWER: Final = 1 << 30  # bytes; 100,000 policies are about 110 MB
_LARGEST_ERROR: Final = 1 << 20
_SLOWEST_ANSWER: Final = 10  # read time-outs: an answer that comes byte by byte ends here
_PIECE: Final = 1 << 18
# Ranger answers an encoded slash, percent sign or semicolon in a path with an empty 400 or 404; dots would climb.
_NOT_IN_A_PATH: Final = frozenset("/\\%;")

# The first that fits; urllib3 makes a refused connection and an unknown name kinds of a connect time-out.
_FAILURES: Final[tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...]] = (
    (
        (ssl.SSLError, requests.exceptions.SSLError, urllib3.exceptions.SSLError),
        "its certificate or its TLS is not accepted (`ranger.ca_file` names the CA to trust)",
    ),
    (ConnectionRefusedError, "the connection was refused"),
    (urllib3.exceptions.NameResolutionError, "its name can't be resolved"),
    ((TimeoutError, requests.ReadTimeout, urllib3.exceptions.ReadTimeoutError), "no answer within the time-out"),
    (urllib3.exceptions.NewConnectionError, "no connection can be made"),
    ((requests.ConnectTimeout, urllib3.exceptions.ConnectTimeoutError), "no connection within the time-out"),
    ((requests.ConnectionError, urllib3.exceptions.HTTPError, ConnectionError), "the connection broke off"),
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

    Proxies and credentials of the environment (`HTTP_PROXY`, `.netrc`) are not used: the password must reach
    Ranger Admin and nobody else. Redirects are not followed, for the same reason.

    Raises:
        ConfigError: the address, the user name or the CA file can't be used.
    """

    def __init__(
        self,
        url: str,
        *,
        username: str,
        password: Secret,
        ca_file: str | None = None,
        connect_timeout: float = 5.0,
        read_timeout: float = 30.0,
        attempts: int = 3,
    ) -> None:
        self.url = _checked_url(url)
        self._secrets = (password,)
        self._timeout = (connect_timeout, read_timeout)
        self._slowest = read_timeout * _SLOWEST_ANSWER
        self._attempts = attempts
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify = _checked_ca_file(ca_file) if ca_file is not None else True
        # A browser's name would make Ranger Admin ask for its CSRF header.
        self._session.headers.update({"User-Agent": "ranger-cdap", "Accept-Encoding": "identity"})
        if ":" in username:
            raise ConfigError(
                "the user name for Ranger Admin must not have a colon: Basic authentication can't carry it"
            )
        if username:
            self._session.auth = (username.encode(), password.reveal().encode())  # type: ignore[assignment]

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
                answer = self._send(api, query, content)
                if answer.status == HTTPStatus.NOT_MODIFIED and api.method is HttpMethod.GET:
                    return None
                if answer.status != api.expected_status:
                    raise error_of(answer, (*self._secrets, *secrets))
                return answer.body if answer.status != HTTPStatus.NO_CONTENT else None
        raise AssertionError("the last attempt returns or raises")

    def _send(self, api: API, query: Mapping[str, Any] | None, content: bytes | None) -> Answer:
        method, path = api.method.value, "/" + api.path.lstrip("/")
        where: dict[str, Any] = {"method": method, "path": path}
        headers = {"Accept": "application/json"} | ({"Content-Type": "application/json"} if content is not None else {})
        deadline = time.monotonic() + self._slowest
        try:
            with self._session.request(
                method,
                self.url + path,
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
            raise AdminUnreachable(
                f"Ranger Admin at `{self.url}` can't be reached: {_what_failed(e)}", **where
            ) from None


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

    A GET changes nothing. A POST that Ranger's database refused because of another one was rolled back.
    A PUT or DELETE that met another change is not sent again: its sender must look first at what the thing has become.
    """
    repeatable: tuple[type[Exception], ...] = {
        HttpMethod.GET: (AdminUnreachable, AdminFailed, ConflictingChange),
        HttpMethod.POST: (ConflictingChange,),
    }.get(method, ())
    return lambda error: isinstance(error, repeatable)


def _not_json(api: API) -> UnexpectedAnswer:
    return UnexpectedAnswer(
        f"the answer to `{api.method.value} /{api.path}` is not JSON; is `ranger.url` the address of Ranger Admin?",
        method=api.method.value,
        path=f"/{api.path}",
        status=HTTPStatus.OK,
    )


def _what_failed(error: BaseException) -> str:
    """In a few words, without the address and without what was sent."""
    chain = list(_causes(error))
    for kinds, words in _FAILURES:
        if any(isinstance(cause, kinds) for cause in chain):
            return words
    return type(error).__name__


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


def _checked_ca_file(path: str) -> str:
    if not Path(path).is_file():
        raise ConfigError(f"CA file `{path}` is not there")
    try:
        ssl.create_default_context(cafile=path)
    except (ssl.SSLError, OSError):
        raise ConfigError(f"CA file `{path}` holds no certificates in PEM form") from None
    return path
