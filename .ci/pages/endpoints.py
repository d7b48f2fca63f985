"""The page `docs/reference/endpoints.md`, from the routes of the decision service."""

from __future__ import annotations

from typing import Final

from pages import table
from ranger_cdap.service.table import ROUTES

_HEAD: Final = """\
Every endpoint of the [decision service](decision-service.md#endpoints). A caller needs one of the
[roles](decision-service.md#callers-and-roles); an endpoint without roles is public. `GET /openapi.json` describes the
bodies, with examples; `GET /` shows that in a browser.

"""


def page() -> str:
    """Return each endpoint with its roles and its summary."""
    return _HEAD + table(
        ("endpoint", "roles", "purpose"),
        [
            (f"`{row.method} {row.path}`", ", ".join(f"`{role}`" for role in sorted(row.roles)), row.summary)
            for row in ROUTES
        ],
    )
