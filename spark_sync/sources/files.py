"""The kinds of sources that read files."""

from __future__ import annotations

from spark_sync.sources import audit, data_plane, http_access
from spark_sync.sources.line_batches import parsed_by
from spark_sync.sources.regular_files import check_stored_events
from spark_sync.sources.source import EventSource
from spark_sync.sources.text_files import read_text_files

AUDIT = EventSource(read=read_text_files, parse=parsed_by(audit.read), rank=10)
DATA_PLANE = EventSource(read=read_text_files, parse=parsed_by(data_plane.read), check=check_stored_events, rank=20)
HTTP_ACCESS = EventSource(read=read_text_files, parse=parsed_by(http_access.read), check=http_access.check, rank=30)
