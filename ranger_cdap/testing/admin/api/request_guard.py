"""Rejection of requests before any handler: path tricks, browsers without a token, wrong media types."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ranger_cdap.testing.admin.model.responses import JSON, ServerResponse, page

MAX_BODY_BYTES = 32 * 1024 * 1024
_BROWSER = re.compile(r"Mozilla|Opera|Chrome")
_SAFE_METHODS = frozenset({"GET", "OPTIONS", "HEAD", "TRACE"})
_WITH_BODY = frozenset({"POST", "PUT"})
_REFUSED_AS_MISSING = re.compile(rb";|//|\\|%25|%3b|%5c|%00|%0[ad]|/\.{1,2}(?:/|$)|%2e", re.IGNORECASE)
_SLASH = re.compile(rb"%2f", re.IGNORECASE)
_BAD_REQUEST = "HTTP Status 400 – Bad Request"  # noqa: RUF001 - the dash of Tomcat's page


def refuse_early(method: str, raw_path: bytes, headers: Mapping[str, str]) -> ServerResponse | None:
    """Return the rejection of a request; `None` admits it.

    A browser needs a session token for every change. There are no sessions here, so browsers may only read, which keeps
    web pages from using a remembered password.
    """
    if _SLASH.search(raw_path):
        return page(400, _BAD_REQUEST)
    if _REFUSED_AS_MISSING.search(raw_path):
        return ServerResponse(404)
    if method not in _SAFE_METHODS and _BROWSER.search(headers.get("user-agent", "")):
        return page(400, _BAD_REQUEST)
    return None


def refuse_media(method: str, headers: Mapping[str, str]) -> ServerResponse | None:
    """Return 415 for a body that is not JSON, 406 for a caller that does not accept JSON."""
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    if method in _WITH_BODY and media != JSON:
        return ServerResponse(415)
    accepted = {part.partition(";")[0].strip().lower() for part in headers.get("accept", "*/*").split(",")}
    return None if accepted & {JSON, "application/*", "*/*", ""} else ServerResponse(406)
