"""What every source of JSON lines refuses: lines that are not exactly one object, repeated and unknown fields."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

CORRUPT = "_corrupt"
OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}


def parsed(line: Column, schema: str) -> Column:
    """The line, read once: what `the_object`, `not_one_object` and `misfit` look at.

    `from_json` ignores what follows an object. As the only element of an array with something behind it, a line can
    neither hold a second object nor end otherwise than its object does.
    """
    wrapped = F.concat(F.lit('{"objects":['), line, F.lit('],"end":1}'))
    return F.from_json(wrapped, f"objects array<struct<{schema}>>, end int, {CORRUPT} string", OPTIONS)


def the_object(json: Column) -> Column:
    """The line as a struct, null where it is none; a field of a wrong type is null."""
    return F.get(json["objects"], F.lit(0))


def not_one_object(json: Column) -> Column:
    """Why the line is not one JSON object."""
    alone = (F.size(json["objects"]) == 1) & the_object(json).isNotNull() & json["end"].isNotNull()
    return F.when(~F.coalesce(alone, F.lit(False)), F.lit("not one JSON object"))


def misfit(json: Column, what: str) -> Column:
    """Why an object can't be believed although each field that is needed is there: another has a wrong type."""
    return F.when(json[CORRUPT].isNotNull(), F.lit(f"does not fit the format of {what}"))


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
