"""Lines of every event source: each is read or rejected with a sentence.

Law: reading never fails and gives the same again; a line of JSON that is not one object reports nothing that happened;
an event names an entity and a user that policies can hold.
"""

from __future__ import annotations

import json
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.config import SourceSettings
from ranger_cdap.wire.record_events import is_well_formed
from spark_sync.sources import audit, data_plane, http_access
from spark_sync.sources.line_reader import LineReader, bytes_of, read_line
from tests.fuzz.harness import QUIET, drive, spoiled, torn
from tests.recording import RECORDING

NOW: Final = 1_900_000_000_000
READERS: Final[dict[str, LineReader]] = {
    "audit": audit.read,
    "data-plane": data_plane.read,
    "http-access": http_access.read,
}
RECORDED: Final = RECORDING / "events"


def _recorded(kind: str) -> list[str]:
    files = sorted(RECORDED.glob(f"{kind}/*.jsonl"))
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines()][:50]


MESSAGES: Final = [
    {
        "version": 2,
        "time": 1_795_233_600_000,
        "metadataEntity": {"details": {"namespace": "ns1", "dataset": "kv"}, "type": "dataset"},
        "user": "alice",
        "type": "CREATE",
    },
    {
        "version": 1,
        "time": 1_795_233_600_000,
        "entityId": {"namespace": "ns1", "application": "a", "version": "-SNAPSHOT", "entity": "APPLICATION"},
        "user": "alice",
        "type": "DELETE",
    },
]
ACCESS: Final = (
    b'127.0.0.1 - alice [25/Nov/2026:10:00:00 +0000] "PUT /v3/namespaces/ns1/data/datasets/kv HTTP/1.1" 200 1 2'
)

lines: Final = st.one_of(
    spoiled([*MESSAGES, *map(json.loads, _recorded("data-plane"))]), torn(ACCESS), st.binary(max_size=200)
).map(lambda data: data.decode("utf-8", "surrogateescape"))


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


@QUIET
@given(st.sampled_from(sorted(READERS)), lines)
def LAW(kind: str, line: str) -> None:  # noqa: N802
    """Hold the law for one line."""
    reader, settings = READERS[kind], SourceSettings(name="s", kind=kind)
    reading = read_line(reader, bytes_of(line), settings, "cdap", NOW)
    assert reading == read_line(reader, bytes_of(line), settings, "cdap", NOW)
    assert reading.rejected is None or reading.rejected.strip()
    for event in reading.events:
        assert is_well_formed(event.entity), event
        assert event.user.isprintable(), event
        assert (event.stage == "rejected") is (reading.rejected is not None), event
    if kind != "http-access" and reading.rejected is None and reading.events:
        assert _is_object(line)


if __name__ == "__main__":
    drive(LAW)
