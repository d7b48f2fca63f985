"""Failures of HTTP requests: one table for the libraries that send them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

UNTRUSTED: Final = "its certificate or TLS settings are not accepted"
UNKNOWN_NAME: Final = "its name cannot be resolved"
REFUSED: Final = "the connection was refused"
NO_ANSWER: Final = "no answer within the time-out"
NOT_HTTP: Final = "its answer is not whole, or not HTTP"
_NO_CONNECTION: Final = "no connection can be made"


class RequestFailure(NamedTuple):
    """Why a request has no response, without address and content, and whether it was not even sent."""

    reason: str
    unsent: bool


# The first that fits; by name, so that no library is imported for it. urllib3 makes a refused connection and an unknown
# name kinds of a connect time-out. By TLS, a server may also refuse after it was sent something.
_FAILURES: Final[tuple[tuple[frozenset[str], RequestFailure], ...]] = tuple(
    (frozenset(names.split()), RequestFailure(reason, unsent))
    for names, reason, unsent in (
        ("ssl.SSLCertVerificationError", UNTRUSTED, True),
        ("ssl.SSLError requests.exceptions.SSLError urllib3.exceptions.SSLError", UNTRUSTED, False),
        ("socket.gaierror urllib3.exceptions.NameResolutionError", UNKNOWN_NAME, True),
        # A label that is too long for the name service; of an answer, it would be another.
        ("builtins.UnicodeError", UNKNOWN_NAME, False),
        ("builtins.ConnectionRefusedError", REFUSED, True),
        ("urllib3.exceptions.NewConnectionError", _NO_CONNECTION, True),
        (
            "requests.exceptions.ConnectTimeout urllib3.exceptions.ConnectTimeoutError"
            " httpx.ConnectTimeout httpcore.ConnectTimeout",
            "no connection within the time-out",
            True,
        ),
        ("httpx.PoolTimeout httpcore.PoolTimeout", "too many requests of this client are in progress", True),
        ("httpx.ConnectError httpcore.ConnectError", _NO_CONNECTION, True),
        (
            "builtins.TimeoutError requests.exceptions.ReadTimeout urllib3.exceptions.ReadTimeoutError"
            " httpx.TimeoutException httpcore.TimeoutException",
            NO_ANSWER,
            False,
        ),
        ("httpx.ProtocolError httpcore.ProtocolError", NOT_HTTP, False),
        (
            "builtins.ConnectionError requests.exceptions.ConnectionError urllib3.exceptions.HTTPError"
            " httpx.HTTPError httpcore.NetworkError",
            "the connection broke off",
            False,
        ),
    )
)


def failure_of(error: BaseException) -> RequestFailure:
    """Return the failure that an exception of a library, or one of its causes, stands for.

    Law: a failure is `unsent` only if nothing of the request can have reached the server.
    """
    names = {f"{kind.__module__}.{kind.__qualname__}" for cause in _causes(error) for kind in type(cause).__mro__}
    found = (failure for kinds, failure in _FAILURES if not names.isdisjoint(kinds))
    return next(found, RequestFailure(type(error).__name__, False))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes; `requests` and urllib3 keep them in `reason`, `args` or `__cause__`."""
    while error is not None:
        yield error
        inner = [getattr(error, "reason", None), error.__cause__, *error.args]
        error = next((e for e in inner if isinstance(e, BaseException)), None)
