"""The router's access log (logger `http-access`): the user, request and status of each call. Without Spark.

CDAP writes a client's input into the line verbatim, including line breaks, so a client could forge whole lines. So each
line must begin and end with the source's `marker`, a secret of CDAP's log configuration and of this job
(docs/reference/events.md); and only the parts that a client cannot forge are read.

`10.1.2.3 - alice [21/Nov/2026:04:17:53 +0000] "PUT /v3/namespaces/ns1 HTTP/1.1" - {"description":"d"} 200 46 -`:
address, user, time, request, headers, request body, code, length, response body (cdap-facts.md §4.3).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from ranger_cdap.cdap.creations import AccessLogRow, load_creations
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import ConfigError
from ranger_cdap.ranger_model.strict_json import BadLine, read_object
from ranger_cdap.wire.record_events import NO_STATUS, names_in_path, outcome_of, request_text
from spark_sync.ledger.event import NEVER, EntityEvent, Outcome, Stage
from spark_sync.sources.line_reader import LineReading, bytes_of, is_unicode
from spark_sync.sources.regular_files import list_files

_MARKER: Final = re.compile(r"[A-Za-z0-9_-]{16,}")

# User, method and URI cannot contain a space, so a client's input is only in `rest`.
_LINE: Final = re.compile(
    r'(?P<shown>\S+ - (?P<user>\S+) \[(?P<time>[^\]]+)\] "(?P<method>\S+) (?P<uri>\S+) HTTP/[0-9.]+" )(?P<rest>.*)',
    re.ASCII | re.DOTALL,
)
_TIME: Final = re.compile(r"[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}(?::[0-9]{2}){3} [+-][0-9]{4}")
# The router answers after it has read the request, so code and length end the line if no response is logged.
_WITHOUT_RESPONSE: Final = re.compile(r" ([0-9]{3}) (?:[0-9]+|-) -\Z")
# Where the response is logged, the request body is not, and headers end with the only `} - `.
_WITH_RESPONSE: Final = re.compile(r"(?:-|\{.*\}) - ([0-9]{3}) (?:[0-9]+|-) (.*)", re.DOTALL)
_END_OF_HEADERS: Final = "} - "


def check(settings: SourceSettings) -> None:
    """Check the settings of a source that reads an access log.

    Raises:
        ConfigError: its files do not exist or are not regular, or the marker is missing or can be guessed.
    """
    list_files(settings)
    if not _MARKER.fullmatch(settings.marker.reveal()):
        raise ConfigError(
            f"source `{settings.name}` needs `marker`: 16 or more random letters and digits, which CDAP writes at the "
            "beginning and the end of each line; without it any user could forge lines"
        )


def read(line: str, settings: SourceSettings, instance: str) -> LineReading:
    """Read a line; the log names no instance, so all belong to the one configured for the source."""
    marker = settings.marker.reveal()
    if not (line.startswith(f"{marker} ") and line.endswith(f" {marker}") and len(line) > 2 * len(marker) + 1):
        return LineReading("does not begin and end with the source's `marker`", shown="…")
    entry = line[len(marker) + 1 : -len(marker) - 1]
    found = _LINE.fullmatch(entry)
    if found is None:
        return LineReading("not a line of the access log", shown="…")
    shown = f"{found['shown']}…"
    if not is_unicode(found["shown"]):
        return LineReading("not UTF-8", shown=shown.encode("utf-8", "replace").decode())
    started = _milliseconds(found["time"])
    events = (_event(row, found.groupdict(), entry, started or 0, settings) for row in load_creations().http_access)
    rejected = "its time cannot be read" if started is None else None
    return LineReading(rejected, tuple(event for event in events if event is not None), shown)


def _event(
    row: AccessLogRow, found: Mapping[str, str], entry: str, started: int, settings: SourceSettings
) -> EntityEvent | None:
    """Return the event of the row, if the line is about such a request and reports its outcome."""
    method, path, rest = found["method"], found["uri"].partition("?")[0], found["rest"]
    named = names_in_path(row.request, path) if method == row.request.method else None
    if named is None:
        return None
    if row.response:
        code, answered = _answer(rest)
        name = _value(answered, row.response) if code in row.request.codes else None
        if not isinstance(name, str):
            return None
        named[row.entity.path[-1]] = name
    else:
        end = _WITHOUT_RESPONSE.search(rest)
        code = int(end[1]) if end else NO_STATUS
    user = "" if found["user"] == "-" else found["user"]
    # Anyone can send a request that deletes several; whether some were deleted before it failed, only its check shows.
    outcome = Outcome(outcome_of(row.request, code, several=False))
    # Without a user CDAP answers 401; whatever the outcome of the request, it has no creator.
    if not user and outcome is not Outcome.DONE:
        return None
    return EntityEvent(
        entity=EntityId(row.entity.name, tuple(named[level] for level in row.entity.path[1:])),
        kind=row.kind,
        stage=Stage.REQUEST,
        user=user,
        started=started,
        # The router logs when a request arrived, not when it ended.
        ended=NEVER,
        source=settings.name,
        # One line may report several entities.
        id=f"{hashlib.sha256(bytes_of(entry)).hexdigest()}#{row.entity.name}",
        outcome=outcome,
        request=request_text(method, path, code),
        version=named.get("version", ""),
        received=started,
    )


def _answer(rest: str) -> tuple[int, dict[str, Any]]:
    """Return status and response, if logged, without anything that a client's header could have forged."""
    logged = _WITH_RESPONSE.fullmatch(rest)
    if logged is None or rest.count(_END_OF_HEADERS) > 1:
        return NO_STATUS, {}
    try:
        return int(logged[1]), read_object(logged[2])
    except BadLine:
        return int(logged[1]), {}


def _value(found: object, path: str) -> object:
    """Return the value at a JSON path like `$.artifact.name`."""
    for name in path.split(".")[1:]:
        found = found.get(name) if isinstance(found, dict) else None
    return found


@lru_cache(maxsize=1024)
def _milliseconds(text: str) -> int | None:
    if not _TIME.fullmatch(text):
        return None
    try:
        time = round(datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z").timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
    return time if time > 0 else None
