"""What every source of JSON lines refuses: lines that are not exactly one object, repeated and unknown fields."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

CORRUPT = "_corrupt"
OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}


def parsed(line: Column, schema: str) -> Column:
    """The line as a struct; a field of a wrong type is null and the line stands in the field `_corrupt`."""
    return F.from_json(line, f"{schema}, {CORRUPT} string", OPTIONS)


def not_one_object(line: Column) -> Column:
    """Why the line is not one JSON object. `from_json` alone would read the first of two and ignore what follows."""
    alone = F.json_array_length(F.concat(F.lit("["), line, F.lit("]")))
    return F.when(
        ~F.coalesce((alone == 1) & F.startswith(F.trim(line), F.lit("{")), F.lit(False)), F.lit("not one JSON object")
    )


def odd_fields(keys: Column, allowed: Collection[str], what: str) -> Column:
    """Why the keys of a JSON object are not acceptable: one that is not of `allowed`, or one that comes twice."""
    unknown = F.array_except(keys, F.array(*map(F.lit, sorted(allowed))))
    return F.when(
        F.size(unknown) > 0,
        F.concat(F.lit(f"{what} has a field that does not belong there: "), quoted(F.get(unknown, F.lit(0)))),
    ).when(F.size(keys) != F.size(F.array_distinct(keys)), F.lit(f"{what} has a field twice"))


def quoted(text: Column) -> Column:
    """A foreign text for a message: short, in backticks."""
    return F.concat(F.lit("`"), F.substring(F.coalesce(text.cast("string"), F.lit("null")), 1, 80), F.lit("`"))


def missing(**wanted: Column) -> Column:
    """Names the first of the columns that is null: a field that is missing or has a wrong type."""
    return F.coalesce(
        *(F.when(column.isNull(), F.lit(f"`{name}` is missing or has a wrong type")) for name, column in wanted.items())
    )
