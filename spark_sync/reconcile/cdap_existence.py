"""Existence of entities by CDAP's REST API: its requests (`confirmation.toml`), and the proof of its answers.

CDAP answers 404 for entities the account may not see, and so may any other server at its address. A 404 counts only if
CDAP shows a namespace that every CDAP has, before and after, and the decision service allows the account GET on the
entity, before and after.
"""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.errors import CdapError, CdapNotFound, CdapUnreachable
from spark_sync.reconcile.confirmation import CdapAnswer
from spark_sync.reconcile.evaluation_client import MayGet
from spark_sync.reconcile.inventory import ALWAYS_THERE, fill_path
from spark_sync.sources.cdap_http import CdapHttp

logger = logging.getLogger(__name__)

MOST_FAILURES: Final = 5
"""Missing answers after which the rest of a round is left for the next one."""

_NOT_NAMED: Final = ("", "emptyUserId")
_NOBODY: Final = ("", 0)
_FIRST: Final = "*"


class Shown(Enum):
    """CDAP's view of an entity: it exists, it does not (404), or the answer is unclear."""

    IT = auto()
    NOTHING = auto()
    UNCLEAR = auto()


@dataclass(frozen=True, slots=True)
class ExistenceQuery:
    """Row of `confirmation.toml`: the request for a type of entities."""

    uri: str
    name: tuple[str, ...]
    nothing: Any
    versions: str


def proved(shown: Shown, *, cdap_answers: bool, may_get: bool) -> bool | None:
    """Return whether the entity exists; `None` without proof.

    `cdap_answers`: CDAP shows a namespace that every CDAP has, in the same round. `may_get`: CDAP has no reason to hide
    the entity.
    """
    if shown is Shown.IT:
        return True
    return False if shown is Shown.NOTHING and cdap_answers and may_get else None


def ask(entities: Iterable[EntityId], cdap: CdapHttp, may_get: MayGet) -> dict[EntityId, CdapAnswer]:
    """Ask CDAP about entities and return those whose existence or absence its answers prove."""
    if _shown(cdap, ALWAYS_THERE) is not Shown.IT:
        logger.warning("CDAP at `%s` does not show the namespace `default`; confirmation is skipped", cdap.url)
        return {}
    seen, failures = dict[EntityId, _EntityView](), 0
    for entity in entities:
        if entity.type not in existence_queries() or failures >= MOST_FAILURES:
            continue
        allowed = may_get(entity)
        try:
            shown = _shown(cdap, entity, raises=True)
        except CdapUnreachable as e:
            failures += 1
            logger.warning("CDAP did not confirm whether an entity exists: %s", e)
            continue
        allowed = allowed and shown is Shown.NOTHING and may_get(entity)
        seen[entity] = _EntityView(shown, allowed, _author(cdap, entity) if shown is Shown.IT else _NOBODY)
    cdap_answers = _shown(cdap, ALWAYS_THERE) is Shown.IT
    proofs = (
        (entity, found, proved(found.shown, cdap_answers=cdap_answers, may_get=found.may_get))
        for entity, found in seen.items()
    )
    return {entity: CdapAnswer(exists, *found.author) for entity, found, exists in proofs if exists is not None}


@cache
def existence_queries() -> Mapping[str, ExistenceQuery]:
    """Return the rows of `confirmation.toml` by entity type; types without one are never asked about."""
    table = tomllib.loads(files(__package__).joinpath("confirmation.toml").read_text(encoding="utf-8"))
    return {
        name: ExistenceQuery(row["uri"], tuple(row["name"]), row.get("nothing"), row.get("versions", ""))
        for name, row in table.items()
    }


@dataclass(frozen=True, slots=True)
class _EntityView:
    """CDAP's view of an entity, whether the account may get it, and the author of its oldest version."""

    shown: Shown
    may_get: bool
    author: tuple[str, int]


def _author(cdap: CdapHttp, entity: EntityId) -> tuple[str, int]:
    """Return the author and time of the oldest version; `("", 0)` if CDAP does not name them."""
    if not (uri := existence_queries()[entity.type].versions):
        return _NOBODY
    name = entity.parts[-1]
    query = {"latestOnly": "false", "nameFilter": name, "nameFilterType": "EQUALS"}
    try:
        answer = cdap.get_json(fill_path(uri, entity), query)
    except CdapError:
        return _NOBODY
    return oldest_author(answer, name)


def oldest_author(answer: Any, name: str) -> tuple[str, int]:
    """Return the author of the oldest listed version of an application, and when it was created (milliseconds).

    `("", 0)` if the list is incomplete, a version lacks its creation time, or no author is named.
    """
    if isinstance(answer, dict):
        answer = None if answer.get("nextPageToken") else answer.get("applications")
    if not isinstance(answer, list) or not answer:
        return _NOBODY
    found = []
    for version in answer:
        change = version.get("change") if isinstance(version, dict) and version.get("name") == name else None
        created = change.get("creationTimeMillis") if isinstance(change, dict) else None
        if not isinstance(change, dict) or type(created) is not int or created <= 0:
            return _NOBODY
        author = change.get("author")
        found.append((created, author if isinstance(author, str) else ""))
    first = min(created for created, _ in found)
    authors = {author for created, author in found if created == first}
    author = authors.pop() if len(authors) == 1 else ""
    return _NOBODY if author in _NOT_NAMED else (author, first)


def _shown(cdap: CdapHttp, entity: EntityId, *, raises: bool = False) -> Shown:
    """Return CDAP's current view of an entity.

    Raises:
        CdapUnreachable: no answer came, or one of 5xx; only with `raises`.
    """
    look = existence_queries()[entity.type]
    try:
        answer = cdap.get_json(fill_path(look.uri, entity))
    except CdapNotFound:
        return Shown.NOTHING
    except CdapUnreachable:
        if raises:
            raise
        return Shown.UNCLEAR
    except CdapError:
        return Shown.UNCLEAR
    if look.nothing is not None and answer == look.nothing:
        return Shown.NOTHING
    return Shown.IT if _at(answer, look.name) == entity.parts[-1] else Shown.UNCLEAR


def _at(answer: Any, path: Collection[str]) -> Any:
    for field in path:
        if field == _FIRST:
            answer = answer[0] if isinstance(answer, list) and answer else None
        else:
            answer = answer.get(field) if isinstance(answer, dict) else None
    return answer
