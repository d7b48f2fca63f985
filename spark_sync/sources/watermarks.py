"""The watermarks of decision services: how far a run may decide, and what time it is in their journals.

A decision service writes a watermark beside its records and journalled checks: everything it received earlier is in a
file that can be read. So it must be read before the files are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from ranger_cdap.config import SourceSettings
from ranger_cdap.service.events.watermark import WATERMARK, Watermark

UNREADABLE: Final = Watermark(v=1, service="", watermark=0, records=None)
"""Stands for a watermark that is there and cannot be read: there is a journal, and nobody knows which, or its time."""

PATIENCE: Final = 5.0
"""Seconds to wait for a watermark that is later than now; it is renewed each second."""

_KIND: Final = "data-plane"
_POLL: Final = 0.1
_RENEWALS: Final = 2
_PATTERN: Final = re.compile(r"[*?\[{\\]")
_LARGEST: Final = 4096


@dataclass(frozen=True, slots=True)
class Horizons:
    """How far events are decided, by source; all times are epoch milliseconds.

    `journals`: the present time of each check journal. `horizons`: what a source received before that time is decided.
    `silent`: the sources whose decision service is so far behind that the hold-back applies instead; those whose
    service has no watermark are among them.
    """

    journals: Mapping[str, int]
    horizons: Mapping[str, int]
    silent: tuple[str, ...]


def journalled_sources(sources: Iterable[SourceSettings]) -> list[SourceSettings]:
    """The sources that read what a decision service stores."""
    return [source for source in sources if source.kind == _KIND]


def read(sources: Iterable[SourceSettings]) -> dict[str, Watermark]:
    """The watermarks of the decision services whose records are read, by source; none where a service writes none."""
    found = {source.name: _read(source) for source in journalled_sources(sources)}
    return {name: watermark for name, watermark in found.items() if watermark is not None}


def watermark_file(source: SourceSettings) -> Path | None:
    """Where the watermark of a source is; nothing where its path names no single directory of this machine."""
    path = source.path
    if path is None or any(part.endswith(":") for part in path.parts):
        return None
    patterns = [part for part in path.parts if _PATTERN.search(part)]
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
    """What may be decided by a run at `now`; `hold_back` and `skew` are milliseconds too.

    A source is decided as far as every decision service is known: its own to its watermark, whose clock has stamped
    both; another one to its watermark less the skew of the clocks. The hold-back is the most that one waits for any.
    """
    held = now - hold_back
    names = [source.name for source in journalled_sources(sources)]
    marks = {name: watermarks[name].watermark if name in watermarks else 0 for name in names}
    return Horizons(
        journals={name: marks[name] for name in names if name in watermarks},
        horizons={
            name: min(max(mark - (skew if other != name else 0), held) for other, mark in marks.items())
            for name in names
            if name in watermarks
        },
        silent=tuple(name for name in names if marks[name] < held),
    )


def wait_past(
    read_now: Callable[[], Watermark | None],
    *,
    journal: str,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    patience: float = PATIENCE,
) -> int | None:
    """A time of a journal after this call began, in epoch milliseconds; nothing where none comes within `patience`.

    The next watermark to appear may have been made before the call, the one after it is made later. `journal` is its
    id: another one tells no time of it. `clock` and `sleep` count seconds.
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
        found = msgspec.json.decode(content, type=Watermark) if len(content) <= _LARGEST else UNREADABLE
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return UNREADABLE
    return found if found.v == UNREADABLE.v and found.watermark >= 0 else UNREADABLE
