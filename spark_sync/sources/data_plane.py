"""Data-plane records, version 1: the requests CDAP answered, with every check our extension was asked.

The format is fixed in docs/reference/events.md.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.cdap.creations import RequestRow, load_creations
from ranger_cdap.config import SourceSettings
from spark_sync.event import Kind
from spark_sync.sources.json_lines import misfit, missing, not_one_object, odd_fields, parsed, quoted, the_object
from spark_sync.sources.requests import names_in, path_of, pattern_of
from spark_sync.sources.source import FOUND, EventSource
from spark_sync.sources.text_files import read_text_files

VERSION = 1
STORED = ("id", "caller", "received", "record")
RECORD = ("v", "instance", "method", "uri", "handler", "code", "user_ip", "started", "ended", "checks")
SCHEMA = (
    "id string, caller string, received bigint, record struct<v:int, instance:string, method:string, uri:string,"
    " handler:string, code:int, user_ip:string, started:bigint, ended:bigint, checks:array<struct<principal:string,"
    " kerberos:string, type:string, parts:array<string>, child_type:string, permissions:array<string>,"
    " allowed:boolean>>>"
)


def parse(lines: DataFrame, settings: SourceSettings, instance: str) -> DataFrame:
    """As `EventSource.parse`; a record counts only if a caller of the source stored it and it is of this instance."""
    # Columns of their own, so that each is worked out once a line however often it is used below.
    json = F.col("json")
    s = lines.select(
        *lines.columns,
        parsed(F.col("line"), SCHEMA).alias("json"),
        F.json_object_keys("line").alias("keys"),
        F.json_object_keys(F.get_json_object(F.col("line"), "$.record")).alias("record_keys"),
    ).withColumn("s", the_object(json))
    record = F.col("s.record")
    rejected = F.coalesce(
        not_one_object(json),
        odd_fields(F.col("keys"), STORED, "the stored form"),
        missing(record=record, v=record.v),
        F.when(record.v != VERSION, F.concat(F.lit("unknown version "), quoted(record.v))),
        odd_fields(F.col("record_keys"), RECORD, "the record"),
        missing(**{name: F.col(f"s.{name}") for name in ("id", "caller", "received")}),
        missing(**{name: record[name] for name in RECORD if name not in ("handler", "user_ip")}),
        F.when(F.exists(record.checks, _incomplete), F.lit("a check lacks a field or has one of a wrong type")),
        misfit(json, "version 1"),
        F.when(F.col("s.id") == "", F.lit("`id` is empty")),
        F.when(~((record.started > 0) & (record.started <= record.ended)), F.lit("`ended` is before `started`")),
        F.when(
            ~F.col("s.caller").isin(*settings.callers),
            F.concat(F.lit("caller "), quoted(F.col("s.caller")), F.lit(" is not one of the source's `callers`")),
        ),
        F.when(record.instance != instance, F.concat(F.lit("is of instance "), quoted(record.instance))),
    )
    rows = load_creations().data_plane
    requests = [row.request for row in rows]
    methods, codes = {request.method for request in requests}, {code for request in requests for code in request.codes}
    events = F.transform(record.checks, lambda check: F.coalesce(*(_event(row, record, check) for row in rows)))
    none = F.array().cast(f"array<{FOUND.simpleString()}>")
    return s.select(
        *lines.columns,
        rejected.alias("rejected"),
        F.when(
            record.method.isin(*methods) & record.code.isin(*codes), F.filter(events, lambda event: event.isNotNull())
        )
        .otherwise(none)
        .alias("found"),
    )


def _incomplete(check: Column) -> Column:
    fields = ("principal", "type", "parts", "permissions", "allowed")
    wrong = check.isNull()
    for name in fields:
        wrong = wrong | check[name].isNull()
    return wrong | F.exists(check.parts, lambda part: part.isNull())


def _event(row: RequestRow, record: Column, check: Column) -> Column:
    path = path_of(record.uri)
    named = names_in(path, row.request)
    given = {level: F.get(check.parts, F.lit(n)) for n, level in enumerate(row.checked.path[1:])}
    sizes = {len(given)} | ({len(given) + 1} if row.checked.version_at else set())
    holds = (
        (record.method == row.request.method)
        & record.code.isin(*row.request.codes)
        & check.allowed
        & check.type.isin(*row.checked.cdap_names)
        & check.child_type.isNull()
        & F.array_contains(check.permissions, row.permission)
        & F.size(check.parts).isin(*sizes)
        & path.rlike(pattern_of(row.request))
    )
    for level in given.keys() & named.keys():
        holds = holds & (given[level] == named[level])
    parts = [given[level] if level in given else named[level] for level in row.entity.path[1:]]
    entity = F.concat(F.lit(f"{row.entity.name}:"), F.concat_ws(".", *parts))
    return F.when(
        holds,
        F.struct(
            # One record may tell of several entities, so the record's id alone does not name the event.
            F.concat(F.col("s.id"), F.lit("#"), entity).alias("id"),
            F.lit(row.entity.name).alias("type"),
            F.array(*parts).alias("parts"),
            F.lit(row.kind.value).alias("kind"),
            F.lit(row.strength.value).alias("strength"),
            check.principal.alias("user"),
            (record.started if row.kind is Kind.CREATE else record.ended).alias("time"),
            _requester(record, check).alias("requester"),
        ).cast(FOUND),
    )


def _requester(record: Column, check: Column) -> Column:
    """Who sent the request: the one other person its checks are about; nobody knows where there are several."""
    others = F.array_distinct(
        F.filter(F.transform(record.checks, lambda c: c.principal), lambda name: name != check.principal)
    )
    return F.when(F.size(others) == 1, F.get(others, F.lit(0)))


DATA_PLANE = EventSource(read=read_text_files, parse=parse, rank=20)
