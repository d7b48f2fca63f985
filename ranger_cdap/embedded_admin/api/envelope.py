"""A list in an envelope, as Ranger answers some of them: the wanted part, and how much there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ranger_cdap.embedded_admin.api.call import Call

T = TypeVar("T")


def envelope(
    call: Call, name: str, found: Sequence[T], shown: Callable[[T], Any], *, sorted_by: str | None = "id"
) -> dict[str, Any]:
    """The wanted part of what was found, each `shown` so, under `name`; lists that say no order have no `sorted_by`."""
    page = call.page()
    rows = [shown(row) for row in page.of(found)]
    order = {"sortType": "asc", "sortBy": sorted_by} if sorted_by else {}
    return {
        "startIndex": page.start,
        "pageSize": page.size,
        "totalCount": len(found),
        "resultSize": len(rows),
        **order,
        "queryTimeMS": call.now,
        name: rows,
    }
