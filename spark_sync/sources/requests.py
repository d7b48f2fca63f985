"""How a request of the table `creations.toml` is found in a URI, and the names in it, in Spark SQL."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.cdap.creations import Request


def path_of(uri: Column) -> Column:
    """The URI without its query."""
    return F.split_part(uri, F.lit("?"), F.lit(1))


def pattern_of(request: Request) -> str:
    """What the whole path of such a request looks like."""
    return f"^{request.uri}/?\\z"


def names_in(path: Column, request: Request) -> dict[str, Column]:
    """The decoded names in the path, by level; a name that can't be decoded is null."""
    pattern = pattern_of(request)
    return {name: _decoded(F.regexp_extract(path, pattern, n)) for n, name in enumerate(request.variables, start=1)}


def _decoded(segment: Column) -> Column:
    return F.try_url_decode(F.replace(segment, F.lit("+"), F.lit("%2B")))
