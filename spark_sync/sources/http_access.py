"""The router's access log (logger `http-access`), as files: who sent which request, and how it was answered.

CDAP writes what a client sent into the line as it came, line breaks too, so a client could make up whole lines. So each
line must begin and end with the source's `marker`, a secret of CDAP's log configuration and of this job
(docs/reference/events.md); and of a line only what a client can't imitate is read.

`10.1.2.3 - alice [21/Nov/2026:04:17:53 +0000] "PUT /v3/namespaces/ns1 HTTP/1.1" - {"description":"d"} 200 46 -`:
address, user, time, request, headers, request body, code, length, response body (reference: CDAP facts, section 4.3).
"""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.cdap.creations import AccessRow, load_creations
from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import ConfigError
from spark_sync.event import Kind
from spark_sync.sources.requests import names_in, path_of, pattern_of
from spark_sync.sources.source import FOUND, EventSource, check_path
from spark_sync.sources.text_files import read_text_files

_MARKER = re.compile(r"[A-Za-z0-9_-]{16,}")

# Nobody can put a space into user, method or URI, so whatever a client sent is in the last group.
_LINE = r'^(\S+) - (\S+) \[([^\]]+)\] "(\S+) (\S+) HTTP/[0-9.]+" (.*)\z'
_TIME = "dd/MMM/yyyy:HH:mm:ss xx"
_SHOWN = r'^(\S+ - \S+ \[[^\]]+\] "\S+ \S+ HTTP/[0-9.]+" )'
# The router answers after it has read the request, so code and length end the line where no response is logged.
_WITHOUT_RESPONSE = r"^.* ([0-9]{3}) (?:[0-9]+|-) -\z"
# Where the response is logged, the request body is not, and headers end with the only `} - `.
_WITH_RESPONSE = r"^(?:-|\{.*\}) - ([0-9]{3}) (?:[0-9]+|-) (.*)\z"
_END_OF_HEADERS = r"\} - "


def check(settings: SourceSettings) -> None:
    """The settings of a source that reads an access log.

    Raises:
        ConfigError: its files don't exist, or the marker is missing or can be guessed.
    """
    check_path(settings)
    if not _MARKER.fullmatch(settings.marker.reveal()):
        raise ConfigError(
            f"source `{settings.name}` needs `marker`: 16 or more letters and digits that nobody can guess, which CDAP "
            "writes at the beginning and the end of each line; without it every user could make up lines"
        )


def parse(lines: DataFrame, settings: SourceSettings, instance: str) -> DataFrame:
    """As `EventSource.parse`; the log names no instance, so all belong to the one the source is configured for."""
    marker = settings.marker.reveal()
    entry = F.regexp_extract(F.col("line"), rf"^{re.escape(marker)} (.*) {re.escape(marker)}\z", 1)
    groups = [F.regexp_extract("entry", _LINE, n) for n in range(1, 7)]
    names = ("address", "user", "time", "method", "uri", "rest")
    # Columns of their own, so that each is worked out once a line however often it is used below.
    r = (
        lines.select(*lines.columns, entry.alias("entry"))
        .select(*lines.columns, "entry", *(group.alias(f"r_{name}") for name, group in zip(names, groups, strict=True)))
        .withColumn("r_started", F.unix_millis(F.try_to_timestamp("r_time", F.lit(_TIME))))
        .withColumn("r_path", path_of(F.col("r_uri")))
    )
    rejected = F.coalesce(
        F.when(F.col("entry") == "", F.lit("does not begin and end with the source's `marker`")),
        F.when(F.col("r_method") == "", F.lit("not a line of the access log")),
        F.when(F.col("r_started").isNull(), F.lit("its time can't be read")),
    )
    rows = load_creations().http_access
    events = F.array(*(_event(row) for row in rows))
    methods = {row.request.method for row in rows}
    none = F.array().cast(f"array<{FOUND.simpleString()}>")
    others = [name for name in lines.columns if name != "line"]
    return r.select(
        *others,
        # Dead letters show the line; what a client sent in a body may be a secret.
        F.concat(F.regexp_extract("entry", _SHOWN, 1), F.lit("…")).alias("line"),
        rejected.alias("rejected"),
        F.when(F.col("r_method").isin(*methods), F.filter(events, lambda event: event.isNotNull()))
        .otherwise(none)
        .alias("found"),
    )


def _event(row: AccessRow) -> Column:
    rest, path = F.col("r_rest"), F.col("r_path")
    named = names_in(path, row.request)
    if row.response:
        last = row.entity.path[-1]
        response = F.regexp_extract(rest, _WITH_RESPONSE, 2)
        named |= {last: F.get_json_object(F.when(F.try_parse_json(response).isNotNull(), response), row.response)}
        code = F.regexp_extract(rest, _WITH_RESPONSE, 1)
        readable = (F.regexp_count(rest, F.lit(_END_OF_HEADERS)) <= 1) & named[last].isNotNull()
    else:
        code = F.regexp_extract(rest, _WITHOUT_RESPONSE, 1)
        readable = F.lit(True)
    holds = (
        (F.col("r_method") == row.request.method)
        & path.rlike(pattern_of(row.request))
        & code.isin(*map(str, row.request.codes))
        & readable
    )
    # The log's time is that of the request in seconds: whatever ended in that second ended after what began in it.
    time = F.col("r_started") if row.kind is Kind.CREATE else F.col("r_started") + 999
    return F.when(
        holds,
        F.struct(
            # One line may tell of several entities.
            F.concat(F.sha2("entry", 256), F.lit(f"#{row.entity.name}")).alias("id"),
            F.lit(row.entity.name).alias("type"),
            F.array(*(named[level] for level in row.entity.path[1:])).alias("parts"),
            F.lit(row.kind.value).alias("kind"),
            F.lit(row.strength.value).alias("strength"),
            F.when(F.col("r_user") == "-", F.lit("")).otherwise(F.col("r_user")).alias("user"),
            time.alias("time"),
            F.lit(None).cast("string").alias("requester"),
        ).cast(FOUND),
    )


HTTP_ACCESS = EventSource(read=read_text_files, parse=parse, check=check, rank=30)
