"""Pages of a search: opaque tokens, and the part of the candidates that a page has. Pure.

A token holds a position, the page's limit, and digests of the request and of the policies' version. It has no authority
and no name in it: every page is a search of its own, by the role of its caller.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import msgspec

from ranger_cdap.service.http.reply import Refused

DEFAULT_LIMIT: Final = 1_000
"""Results on a page if the request does not say."""
MOST_ON_A_PAGE: Final = 10_000
"""Largest number of results on a page."""

_TOKEN: Final = struct.Struct(">IH12s12s")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class PagePlace:
    """Place of a page: the position of its first candidate, and the number of results it may have."""

    position: int
    limit: int


@dataclass(frozen=True, slots=True)
class PageTokens:
    """Maker and reader of the tokens of one request at one version of the policies."""

    request: bytes
    version: bytes

    @classmethod
    def of(cls, request: object, version: object) -> PageTokens:
        """Return the tokens of a request, at a version."""
        return cls(
            *(hashlib.sha256(msgspec.json.encode(o, order="deterministic")).digest() for o in (request, version))
        )

    def place(self, token: str | None, limit: int | None) -> PagePlace:
        """Return the place of the page that is asked for; a token keeps the limit of the page before.

        Raises:
            Refused: the token is not one of this request, or of an older version of the policies.
        """
        wanted = None if limit is None else min(limit, MOST_ON_A_PAGE)
        if not token:
            return PagePlace(0, DEFAULT_LIMIT if wanted is None else wanted)
        position, kept, request, version = _read(token)
        if request != self.request[: len(request)] or wanted not in (None, kept):
            raise Refused(400, "`page.token` belongs to another request; repeat the request it was returned for")
        if version != self.version[: len(version)]:
            raise Refused(400, "the policies have changed since `page.token` was returned; begin again without it")
        return PagePlace(position, min(kept, MOST_ON_A_PAGE))

    def token(self, place: PagePlace) -> str:
        """Return the token of a place."""
        packed = _TOKEN.pack(place.position, place.limit, self.request[:12], self.version[:12])
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _read(token: str) -> tuple[int, int, bytes, bytes]:
    try:
        packed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        position, limit, request, version = _TOKEN.unpack(packed)
    except (binascii.Error, ValueError, struct.error):
        raise Refused(400, "`page.token` is not a token of this service") from None
    return position, limit, request, version


@dataclass(frozen=True, slots=True)
class SearchPage(Generic[_T]):
    """Results of a page, the position of the next page if there is one, and the number of all results."""

    results: tuple[_T, ...]
    next: int | None
    total: int


def page_of(candidates: Sequence[_T], is_result: Callable[[_T], bool], place: PagePlace) -> SearchPage[_T]:
    """Return a page of those candidates that are results; pages of the same candidates never overlap."""
    hits = [n for n, one in enumerate(candidates) if is_result(one)]
    rest = [n for n in hits if n >= place.position]
    shown = rest[: place.limit]
    following = rest[place.limit] if len(rest) > place.limit else None
    return SearchPage(tuple(candidates[n] for n in shown), following, len(hits))
