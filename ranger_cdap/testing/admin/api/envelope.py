"""Paged lists in Ranger's envelope, with the total count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.model.responses import ServerResponse, T, json_response
from ranger_cdap.testing.admin.store.records import StoredGroup, StoredUser


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


def name_list(call: AdminCall, found: Sequence[StoredUser] | Sequence[StoredGroup]) -> ServerResponse:
    """Return the requested page of names, as Ranger's look-ups of users and groups answer every account."""
    names = [row.document.name for row in found]
    return json_response(envelope(call, "vXStrings", names, lambda name: {"value": name}))
