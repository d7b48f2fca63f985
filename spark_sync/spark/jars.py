"""The jars that Spark lacks: Delta's, checked by their hashes if Spark fetches them, and those of sources."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from ranger_cdap.errors import SparkMissing, SyncError, reason

HASHES: Final = {
    "delta-spark_4.1_2.13-4.4.0.jar": "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10",
    "delta-spark_4.2_2.13-4.4.0.jar": "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    "delta-storage-4.4.0.jar": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
}
"""Delta's jars by name, for every PySpark that goes with them, with their SHA-256."""
_PACKAGES: Final = ("io.delta:delta-spark_{}_2.13:4.4.0", "io.delta:delta-storage:4.4.0")
# Delta's other dependencies are for other engines and for Unity Catalog, or are part of Spark.
_LEFT_OUT: Final = ("io.delta:delta-kernel-*", "io.unitycatalog:*", "org.scala-lang:*")


def delta_jars() -> dict[str, str]:
    """Return the names of Delta's jars for the installed PySpark, each with its Maven coordinates.

    Raises:
        SparkMissing: they are not known, or no PySpark is installed.
    """
    spark = _spark_version()
    packages = [package.format(spark.rpartition(".")[0]) for package in _PACKAGES]
    jars = {_jar_name(package): package for package in packages}
    if not jars.keys() <= HASHES.keys():
        raise SparkMissing(
            f"no jars of Delta Lake are known for PySpark `{spark}`, which is installed; install the one that"
            " `pip install 'ranger-cdap[spark]'` chooses"
        )
    return jars


def spark_jars(jars_dir: Path | None, packages: Sequence[str] = ()) -> dict[str, str]:
    """Return where Spark gets Delta's jars and those of `packages`: from a directory; without one it fetches Delta's.

    The directory is the configured one or `jars` beside the interpreter. Where it has the jar of one of `packages`,
    Spark gets all of its jars, because what that one needs must be there too; but no other version of Delta or of
    these packages, as an upgrade leaves there.

    Args:
        packages: Maven coordinates, in which `{spark}` stands for the version of PySpark.

    Raises:
        SparkMissing: the configured directory lacks Delta's, or no directory has the jar of one of `packages`.
    """
    directory = (jars_dir or Path(sys.prefix) / "jars").absolute()
    delta = delta_jars()
    jars = [directory / name for name in delta]
    found = all(jar.is_file() for jar in jars)
    if jars_dir and not found:
        raise SparkMissing(f"`sync.jars_dir` is `{jars_dir}`, where {' and '.join(delta)} are not")
    needed = [package.replace("{spark}", _spark_version()) for package in packages]
    for package in needed:
        if not (directory / _jar_name(package)).is_file():
            raise SparkMissing(
                f"`{_jar_name(package)}`, which a source needs, is not in `{directory}`; put it ({package}) and what it"
                " needs beside Delta's jars into `sync.jars_dir`"
            )
    if needed:
        wanted = {*delta, *map(_jar_name, needed)}
        of_ours = re.compile(rf"({'|'.join(map(re.escape, map(_artifact, needed)))}|delta-spark_.*|delta-storage)-\d.*")
        others = (jar for jar in sorted(directory.glob("*.jar")) if jar not in jars)
        jars += [jar for jar in others if jar.name in wanted or not of_ours.fullmatch(jar.name)]
    # Not `spark.jars`: those the driver serves to anyone who asks.
    path = os.pathsep.join(str(jar) for jar in jars if jar.is_file())
    result = {"spark.driver.extraClassPath": path, "spark.executor.extraClassPath": path} if path else {}
    if not found:
        result |= {"spark.jars.packages": ",".join(delta.values()), "spark.jars.excludes": ",".join(_LEFT_OUT)}
    return result


def check_fetched(jars: str, *, only_known: bool = False) -> None:
    """Check that the jars that Spark fetched, and has not used yet, are Delta's, byte for byte.

    Args:
        jars: paths or `file:` URIs with commas, as in `spark.jars`; Spark has put the Maven group before each name.
        only_known: skip jars without a known hash, which the user of `spark-submit` asked for.

    Raises:
        SyncError: one has another hash, cannot be read, or no hash of it is known.
    """
    for path in (Path(unquote(urlsplit(jar).path)) for jar in jars.split(",") if jar):
        wanted = HASHES.get(path.name.partition("_")[2])
        if wanted is None and only_known:
            continue
        try:
            found = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as e:
            raise SyncError(f"`{path}`, which Spark fetched, cannot be read: {reason(e)}") from e
        if found != wanted:
            expected = f"instead of {wanted}" if wanted else "and no jar of that name was expected"
            raise SyncError(
                f"`{path}`, which Spark fetched, has the SHA-256 {found} {expected}; delete it, and put Delta's jars"
                " into `sync.jars_dir` if it comes again"
            )


def _spark_version() -> str:
    try:
        return version("pyspark")
    except PackageNotFoundError:
        raise SparkMissing("PySpark is missing; install it with `pip install 'ranger-cdap[spark]'`") from None


def _jar_name(package: str) -> str:
    _, artifact, release = package.split(":")
    return f"{artifact}-{release}.jar"


def _artifact(package: str) -> str:
    return package.split(":")[1]
