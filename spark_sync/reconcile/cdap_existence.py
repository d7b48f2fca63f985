"""Whether an entity exists, by CDAP's REST API: what CDAP is asked (`confirmation.toml`), and what its answers prove.

CDAP answers 404 for what one may not see, and so does whatever else may stand at its address. A 404 counts only if CDAP
shows a namespace that every CDAP has, before and after, and the decision service allows the account GET on the entity,
before and after.
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
from ranger_cdap.service.decisions.evaluation_client import MayGet
from spark_sync.reconcile.confirmation import Existence, answers
from spark_sync.reconcile.inventory import filled
from spark_sync.sources.cdap_http import CdapHttp

logger = logging.getLogger(__name__)

ALWAYS_THERE: Final = EntityId("namespace", ("default",))
"""The namespace that every CDAP has."""

MOST_FAILURES: Final = 5
"""So many answers may fail to come before the rest of a round is left for the next one."""

_NOT_NAMED: Final = ("", "emptyUserId")
_NOBODY: Final = ("", 0)
_FIRST: Final = "*"


class Shown(Enum):
    """What CDAP shows of an entity: it, nothing (404), or something that says neither."""

    IT = auto()
    NOTHING = auto()
    UNCLEAR = auto()


@dataclass(frozen=True, slots=True)
class Look:
    """A row of `confirmation.toml`."""

    uri: str
    name: tuple[str, ...]
    nothing: Any
    versions: str


def proved(shown: Shown, *, cdap_answers: bool, may_get: bool) -> bool | None:
    """Whether the entity exists; `None` where nothing is proved.

    `cdap_answers`: CDAP shows what every CDAP has, in the same round. `may_get`: CDAP has no reason to hide the entity.
    """
    if shown is Shown.IT:
        return True
    return False if shown is Shown.NOTHING and cdap_answers and may_get else None


def ask(entities: Iterable[EntityId], cdap: CdapHttp, may_get: MayGet) -> dict[EntityId, Existence]:
    """What CDAP's answers prove about these entities; those about which they prove nothing are left out."""
    if _shown(cdap, ALWAYS_THERE) is not Shown.IT:
        logger.warning("CDAP at `%s` does not show the namespace `default`; it is not asked", cdap.url)
        return {}
    asking = _Asking(cdap, may_get)
    seen = {entity: found for entity in entities if (found := asking.look_at(entity)) is not None}
    cdap_answers = _shown(cdap, ALWAYS_THERE) is Shown.IT

    def existence(entity: EntityId) -> Existence | None:
        found = seen[entity]
        exists = proved(found.shown, cdap_answers=cdap_answers, may_get=found.may_get)
        return None if exists is None else Existence(exists, *found.author)

    return answers(seen, existence)


@cache
def looks() -> Mapping[str, Look]:
    """The rows of `confirmation.toml`, by entity type; a type without one is never asked about."""
    table = tomllib.loads(files(__package__).joinpath("confirmation.toml").read_text(encoding="utf-8"))
    return {
        name: Look(row["uri"], tuple(row["name"]), row.get("nothing"), row.get("versions", ""))
        for name, row in table.items()
    }


@dataclass(frozen=True, slots=True)
class _Seen:
    """What CDAP shows of an entity, whether the account may get it, and the author of its oldest version."""

    shown: Shown
    may_get: bool
    author: tuple[str, int]


class _Asking:
    """One round, until too many answers fail to come."""

    def __init__(self, cdap: CdapHttp, may_get: MayGet) -> None:
        self._cdap = cdap
        self._may_get = may_get
        self._failures = 0

    def look_at(self, entity: EntityId) -> _Seen | None:
        if entity.type not in looks() or self._failures >= MOST_FAILURES:
            return None
        may_get = self._may_get(entity)
        try:
            shown = _shown(self._cdap, entity, raises=True)
        except CdapUnreachable as e:
            self._failures += 1
            logger.warning("CDAP did not say whether an entity exists: %s", e)
            return None
        may_get = may_get and shown is Shown.NOTHING and self._may_get(entity)
        return _Seen(shown, may_get, self._author(entity) if shown is Shown.IT else _NOBODY)

    def _author(self, entity: EntityId) -> tuple[str, int]:
        """The author of the oldest version and its time; `("", 0)` where CDAP does not name them."""
        if not (uri := looks()[entity.type].versions):
            return _NOBODY
        name = entity.parts[-1]
        query = {"latestOnly": "false", "nameFilter": name, "nameFilterType": "EQUALS"}
        try:
            answer = self._cdap.get_json(filled(uri, entity), query)
        except CdapError:
            return _NOBODY
        return oldest_author(answer, name)


def oldest_author(answer: Any, name: str) -> tuple[str, int]:
    """The author of the oldest version of an application that CDAP lists, and when it was created (milliseconds).

    `("", 0)` where the list is not complete, a version does not say when it was created, or nobody is named.
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
    """What CDAP shows of an entity now.

    Raises:
        CdapUnreachable: no answer came, or one of 5xx; only with `raises`.
    """
    look = looks()[entity.type]
    try:
        answer = cdap.get_json(filled(look.uri, entity))
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
