"""The jars that Spark lacks: Delta's, checked by their hashes if Spark fetches them, and those of sources."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from ranger_cdap.errors import SparkMissing, SyncError, reason

JARS: Final = {
    "delta-spark_4.1_2.13-4.3.1.jar": "ebf35a4383f0a653c3ee3c7882c0edcac2f846be31ac61af4b96ccfaaf36c171",
    "delta-storage-4.3.1.jar": "577c12c7e371be4c041714fb48e88ad86e3c3512beea2bdaffbe7a4debf79718",
}
"""Delta's jars by name, with their SHA-256."""
PACKAGES: Final = ("io.delta:delta-spark_4.1_2.13:4.3.1", "io.delta:delta-storage:4.3.1")
# Delta's other dependencies are for other engines and for Unity Catalog, or are part of Spark.
_LEFT_OUT: Final = ("io.delta:delta-kernel-*", "io.unitycatalog:*", "org.scala-lang:*")


def spark_jars(jars_dir: Path | None, packages: Sequence[str] = ()) -> dict[str, str]:
    """Return where Spark gets Delta's jars and those of `packages`: from a directory; without one it fetches Delta's.

    The directory is the configured one or `jars` beside the interpreter. Where it has the jar of one of `packages`,
    Spark gets all of its jars, because what that one needs must be there too.

    Raises:
        SparkMissing: the configured directory lacks Delta's, or no directory has the jar of one of `packages`.
    """
    directory = (jars_dir or Path(sys.prefix) / "jars").absolute()
    jars = [directory / name for name in JARS]
    found = all(jar.is_file() for jar in jars)
    if jars_dir and not found:
        raise SparkMissing(f"`sync.jars_dir` is `{jars_dir}`, where {' and '.join(JARS)} are not")
    for package in packages:
        if not (directory / _jar_name(package)).is_file():
            raise SparkMissing(
                f"`{_jar_name(package)}`, which a source needs, is not in `{directory}`; put it ({package}) and what it"
                " needs beside Delta's jars into `sync.jars_dir`"
            )
    if packages:
        jars += [jar for jar in sorted(directory.glob("*.jar")) if jar not in jars]
    # Not `spark.jars`: those the driver serves to anyone who asks.
    path = os.pathsep.join(str(jar) for jar in jars if jar.is_file())
    result = {"spark.driver.extraClassPath": path, "spark.executor.extraClassPath": path} if path else {}
    if not found:
        result |= {"spark.jars.packages": ",".join(PACKAGES), "spark.jars.excludes": ",".join(_LEFT_OUT)}
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
        wanted = JARS.get(path.name.partition("_")[2])
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


def _jar_name(package: str) -> str:
    _, artifact, version = package.split(":")
    return f"{artifact}-{version}.jar"
