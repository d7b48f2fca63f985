"""What is turned away before a handler sees it: path tricks, browsers without a token, the wrong kind of body."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ranger_cdap.embedded_admin.model.answers import JSON, Answer, empty, page

MAX_BODY_BYTES = 32 * 1024 * 1024
_BROWSER = re.compile(r"Mozilla|Opera|Chrome")
_SAFE_METHODS = frozenset({"GET", "OPTIONS", "HEAD", "TRACE"})
_WITH_BODY = frozenset({"POST", "PUT"})
_REFUSED_AS_MISSING = re.compile(rb";|//|\\|%25|%3b|%5c|%00|%0[ad]|/\.{1,2}(?:/|$)|%2e", re.IGNORECASE)
_SLASH = re.compile(rb"%2f", re.IGNORECASE)
_BAD_REQUEST = "HTTP Status 400 – Bad Request"  # noqa: RUF001 - the dash of Tomcat's page


def refuse_early(method: str, raw_path: bytes, headers: Mapping[str, str]) -> Answer | None:
    """The answer to a request that no handler may see; `None` lets it in.

    A browser needs a token of its session for anything that changes something. There are no sessions here, so it may
    only read; this is what keeps a web page from using the password a browser remembers.
    """
    if _SLASH.search(raw_path):
        return page(400, _BAD_REQUEST)
    if _REFUSED_AS_MISSING.search(raw_path):
        return empty(404)
    if method not in _SAFE_METHODS and _BROWSER.search(headers.get("user-agent", "")):
        return page(400, _BAD_REQUEST)
    return None


def refuse_media(method: str, headers: Mapping[str, str], takes: str = JSON, gives: str = JSON) -> Answer | None:
    """415 for a body that does not say it is what the row takes, 406 for a caller who does not take what it gives."""
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    if method in _WITH_BODY and media != takes:
        return empty(415)
    accepted = {part.partition(";")[0].strip().lower() for part in headers.get("accept", "*/*").split(",")}
    if not accepted & {gives, f"{gives.partition('/')[0]}/*", "*/*", ""}:
        return empty(406)
    return None
