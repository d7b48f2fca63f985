"""Responses of the decision service as values: the reply that they hold, or the error that they are. Pure.

Law: a reply is read only from a whole response with an expected status, of JSON without repeated fields, that carries
the id of this very request. Everything else is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar

import msgspec

from ranger_cdap.client.service_request import ServiceRequest
from ranger_cdap.errors import (
    DecisionServiceError,
    DecisionServiceForbidden,
    DecisionServiceRejected,
    DecisionServiceUnreachable,
    NotReady,
    RangerCdapError,
    UnexpectedReply,
)
from ranger_cdap.ranger_model.json_text import decode_or_none
from ranger_cdap.ranger_model.strict_json import decode_strictly

T = TypeVar("T")

_JSON: Final = "application/json"
_NOT_READY: Final = re.compile(r"(service '[^']*' is )?not ready: (?P<reason>.+)")
_QUOTED: Final = 300
"""Characters of the service's own message in an error."""

_FORBIDDEN: Final = frozenset({401, 403})
# Without a sentence, they are those of another program.
_REJECTED: Final = frozenset({400, 408, 413, 415, 501})


@dataclass(frozen=True, slots=True)
class ServiceResponse:
    """A whole response; header values are empty where a header is missing."""

    status: int
    body: bytes
    content_type: str
    content_encoding: str
    request_id: str


class _ErrorMessage(msgspec.Struct):
    message: str


def read_reply(url: str, request: ServiceRequest[T], response: ServiceResponse, request_id: str) -> T:
    """Return the reply in the response to the request that was sent with that id.

    Raises:
        NotReady: the service has no policies to decide by.
        DecisionServiceError: the response holds no reply to this request.
    """
    if response.status not in request.statuses:
        raise _error(url, response)
    if response.content_type.partition(";")[0].strip().lower() != _JSON:
        raise _unexpected(url, "it is not JSON")
    if response.content_encoding.strip().lower() not in ("", "identity"):
        raise _unexpected(url, "it is compressed")
    if response.request_id != request_id:
        raise _unexpected(url, "its `X-Request-Id` is not that of the request; a proxy must pass the header on")
    reply = decode_strictly(
        response.body, request.reply, lambda _: _unexpected(url, f"it is not a reply of `{request.path}`")
    )
    if problem := request.problem(reply, response.status):
        raise _unexpected(url, problem)
    return reply


def _error(url: str, response: ServiceResponse) -> RangerCdapError:
    status, message = response.status, _message(response.body)
    if status == HTTPStatus.SERVICE_UNAVAILABLE and (found := _NOT_READY.fullmatch(message)):
        return NotReady(found["reason"])
    where, quoted = f"the decision service at `{url}`", f": `{message}`" if message else ""
    if 300 <= status < 400:
        return _unexpected(url, f"it is a redirect (HTTP {status}), which is not followed", status)
    kind: type[DecisionServiceError] = UnexpectedReply
    if status in _FORBIDDEN:
        kind = DecisionServiceForbidden
    elif status in _REJECTED and message:
        kind = DecisionServiceRejected
    elif status == HTTPStatus.TOO_MANY_REQUESTS or (
        status >= HTTPStatus.INTERNAL_SERVER_ERROR and status not in _REJECTED
    ):
        kind = DecisionServiceUnreachable
    return kind(f"{where} answered HTTP {status}{quoted}", status=status)


def _message(body: bytes) -> str:
    """Return the sentence of an error: AuthZEN's text, or `message` of the others; empty if there is none."""
    said = decode_or_none(body, _ErrorMessage) or decode_or_none(body, str) or ""
    text = said if isinstance(said, str) else said.message
    return " ".join(text.replace("`", "'").split())[:_QUOTED]


def _unexpected(url: str, why: str, status: int = 0) -> UnexpectedReply:
    return UnexpectedReply(f"`{url}` did not answer as a decision service: {why}", status=status)
