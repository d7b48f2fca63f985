"""Paged lists in Ranger's envelope, with the total count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ranger_cdap.testing.admin.api.admin_call import AdminCall

T = TypeVar("T")


def envelope(
    call: AdminCall, name: str, found: Sequence[T], shown: Callable[[T], Any], *, sorted_by: str | None = "id"
) -> dict[str, Any]:
    """Return the requested page under `name`, each row converted by `shown`; unordered lists have no `sorted_by`."""
    page = call.page()
    rows = [shown(row) for row in page.of(found)]
    return {
        "startIndex": page.start,
        "pageSize": page.size,
        "totalCount": len(found),
        "resultSize": len(rows),
        **({"sortType": "asc", "sortBy": sorted_by} if sorted_by else {}),
        "queryTimeMS": call.now,
        name: rows,
    }
