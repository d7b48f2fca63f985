"""A request as its handler receives it, after authentication and inside a transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ranger_cdap.testing.admin.model.documents import read_document
from ranger_cdap.testing.admin.model.responses import Refusal, ServerResponse, T, found, not_found, not_found_by_id
from ranger_cdap.testing.admin.store.principals import Login
from ranger_cdap.testing.admin.store.sql_tables import Records
from ranger_cdap.testing.admin.store.tables import Tables

DEFAULT_PAGE_SIZE = 200
_MAX_LONG = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Page:
    """Requested page of a list."""

    start: int
    size: int

    def of(self, rows: Sequence[T]) -> Sequence[T]:
        """Return the rows of the page."""
        return rows[self.start : self.start + self.size]


@dataclass(frozen=True, slots=True)
class AdminCall:
    """Caller and request: `path` and `query` are the parameters, `now` is in milliseconds since the epoch.

    `policy_deltas` is the server's switch `ranger.admin.supports.policy.deltas`.
    """

    tables: Tables
    caller: Login
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    now: int
    policy_deltas: bool

    def read(self, kind: type[T], java_class: str) -> T:
        """Decode the body; raises `Refusal` as `read_document` does."""
        return read_document(self.body, kind, f"org.apache.ranger.plugin.model.{java_class}")

    def of_path(self, records: Records[T], unknown: Callable[[str], Refusal] | None = None) -> T:
        """Return the record with the name or id in the path; raises `Refusal` if there is none: `unknown`, or 404."""
        if "name" in self.path:
            name = self.path["name"]
            return found(records.by_name(name), unknown(name) if unknown else not_found())
        number = self.path_id()
        return found(records.by_id(number), unknown(self.path["id"]) if unknown else not_found_by_id(number))

    def path_id(self) -> int:
        """Return the `{id}` of the path.

        Raises:
            Refusal: 404 without a body if it is not a number, as on the real server.
        """
        return _number(self.path["id"])

    def version(self, parameter: str) -> int:
        """Return a last known version, -1 without one; raises `Refusal` as `path_id` does."""
        return _number(self.query.get(parameter) or "-1")

    def flag(self, parameter: str, default: bool = False) -> bool:
        """Return whether a parameter is `true`."""
        text = self.query.get(parameter, "")
        return default if not text else text.lower() == "true"

    def page(self) -> Page:
        """Return the page of `startIndex` and `pageSize`; the default size is 200."""
        start, size = (_number(self.query.get(name) or "0") for name in ("startIndex", "pageSize"))
        return Page(max(start, 0), size if size > 0 else DEFAULT_PAGE_SIZE)


def _number(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 19 or int(digits) > _MAX_LONG:
        raise Refusal(ServerResponse(404))
    return int(text)
