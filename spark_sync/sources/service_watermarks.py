"""Watermarks of decision services: how far a run may decide, and the current time of their journals.

A decision service writes a watermark next to its records and journalled checks: everything it received earlier is in a
readable file. So the watermark must be read before the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ranger_cdap.config import SourceSettings
from ranger_cdap.ranger_model.json_text import Undecodable, decode
from ranger_cdap.wire.watermark import WATERMARK, Watermark
from spark_sync.sources.line_reader import MOST_AHEAD

UNREADABLE: Final = Watermark(v=1, service="", watermark=0, records=None)
"""Placeholder for a watermark that cannot be read: there is a journal, but its id and time are unknown."""

PATIENCE: Final = 5.0
"""Seconds to wait for a watermark later than now; it is renewed each second."""

KIND: Final = "data-plane"
NAME_NO_SENDER: Final = frozenset({KIND, "audit", "audit-kafka", "audit-messaging"})
"""Kinds whose records and messages name the user of the check, never the sender of a request run as another user."""

_POLL: Final = 0.1
_RENEWALS: Final = 2
PATTERN: Final = re.compile(r"[*?\[{\\]")
_LARGEST: Final = 4096


@dataclass(frozen=True, slots=True)
class Horizons:
    """Extent of decided events; all times are epoch milliseconds. The fields of `FoldSettings` have the same names.

    `journals`: the current time of each check journal. `horizons`: events that a source received before that time are
    decided, by source. `held`: until when the hold-back of events that the source received is over, by the clock that
    stamped them. `until`: events of sources without a watermark are decided until then. `named_elsewhere`: whether a
    source may name the sender of a request that CDAP ran as another user. `latest`: later times of a decision service
    are of a clock that is wrong, as those of the sources in `ahead`. `silent`: the sources whose decision service has
    no watermark, or one so old, or so far ahead, that the hold-back applies.
    """

    journals: Mapping[str, int]
    horizons: Mapping[str, int]
    held: Mapping[str, int]
    until: int
    named_elsewhere: bool
    latest: int
    silent: tuple[str, ...]
    ahead: tuple[str, ...]


def journalled_sources(sources: Iterable[SourceSettings]) -> list[SourceSettings]:
    """Return the sources that read files of a decision service."""
    return [source for source in sources if source.kind == KIND]


def read(sources: Iterable[SourceSettings]) -> dict[str, Watermark]:
    """Return the watermarks of the decision services by source, without services that write none."""
    found = {source.name: _read(source) for source in journalled_sources(sources)}
    return {name: watermark for name, watermark in found.items() if watermark is not None}


def watermark_file(source: SourceSettings) -> Path | None:
    """Return the watermark file of a source; `None` if its path is not a single directory of this machine."""
    path = source.path
    if not isinstance(path, Path):
        return None
    patterns = [part for part in path.parts if PATTERN.search(part)]
    if not patterns:
        return path / WATERMARK
    return path.parent / WATERMARK if patterns == [path.name] else None


def horizons(
    sources: Iterable[SourceSettings],
    watermarks: Mapping[str, Watermark],
    *,
    now: int,
    hold_back: int,
    skew: int,
) -> Horizons:
    """Return what a run at `now` may decide; `hold_back` and `skew` are milliseconds too.

    A source is decided as far as every decision service is known: its own up to its watermark, stamped by the same
    clock; another one up to its watermark minus the clock skew. No source waits longer than the hold-back, counted by
    its own watermark or, if it is silent, by our clock minus the skew. A watermark far ahead of our clock says nothing:
    the service counts as silent, and its journal has our time minus the skew.
    """
    configured = tuple(sources)
    held = now - hold_back
    names = [source.name for source in journalled_sources(configured)]
    known = [name for name in names if name in watermarks]
    ahead = tuple(name for name in known if watermarks[name].watermark > now + MOST_AHEAD)
    marks = {name: watermarks[name].watermark if name in known and name not in ahead else 0 for name in names}
    over = {name: (marks[name] if marks[name] >= held else now - skew) - hold_back for name in known}
    return Horizons(
        journals={name: now - skew if name in ahead else marks[name] for name in known},
        horizons={
            name: min(max(mark - (skew if other != name else 0), over[name]) for other, mark in marks.items())
            for name in known
        },
        held=over,
        until=held,
        named_elsewhere=any(source.kind not in NAME_NO_SENDER for source in configured),
        latest=now + MOST_AHEAD,
        silent=tuple(name for name in names if marks[name] < held),
        ahead=ahead,
    )


def wait_past(
    read_now: Callable[[], Watermark | None],
    *,
    journal: str,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    patience: float = PATIENCE,
) -> int | None:
    """Wait for a time of a journal after this call began, in epoch milliseconds; `None` if none comes in `patience`.

    The next watermark to appear may be older than the call, the one after it is not. `journal` is its id; another
    journal has another clock. `clock` and `sleep` count seconds.
    """
    before = read_now()
    if before is None or before.service != journal:
        return None
    end, seen, renewed = clock() + patience, before.watermark, 0
    while clock() < end:
        sleep(_POLL)
        found = read_now()
        if found is None or found.service != journal:
            return None
        if found.watermark > seen:
            seen, renewed = found.watermark, renewed + 1
            if renewed == _RENEWALS:
                return seen
    return None


def _read(source: SourceSettings) -> Watermark | None:
    path = watermark_file(source)
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        found = decode(content, Watermark) if len(content) <= _LARGEST else UNREADABLE
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, Undecodable):
        return UNREADABLE
    return found if found.v == UNREADABLE.v and found.watermark >= 0 else UNREADABLE
