"""The jars that sources need and PySpark lacks, like Kafka's connector: of a directory, never fetched."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from ranger_cdap.errors import SparkMissing


def spark_jars(jars_dir: Path | None, packages: Sequence[str]) -> dict[str, str]:
    """Return the settings by which Spark gets the jars of `packages`, with what they need; none without packages.

    They are in the configured directory, or `jars` next to the interpreter. Spark gets all jars that are there, but no
    other version of these packages, as an upgrade leaves there.

    Args:
        packages: Maven coordinates, in which `{spark}` stands for the version of PySpark.

    Raises:
        SparkMissing: the directory lacks the jar of one of `packages`.
    """
    if not packages:
        return {}
    directory = (jars_dir or Path(sys.prefix) / "jars").absolute()
    wanted = set()
    artifacts = []
    for package in (package.replace("{spark}", version("pyspark")) for package in packages):
        _, artifact, release = package.split(":")
        jar = f"{artifact}-{release}.jar"
        if not (directory / jar).is_file():
            raise SparkMissing(
                f"`{jar}`, which a source needs, is not in `{directory}`; put it ({package}) and what it needs into"
                " `sync.jars_dir`"
            )
        wanted.add(jar)
        artifacts.append(re.escape(artifact))
    versions = re.compile(rf"({'|'.join(artifacts)})-\d.*")
    jars = [jar for jar in sorted(directory.glob("*.jar")) if jar.name in wanted or not versions.fullmatch(jar.name)]
    # Not `spark.jars`: those the driver serves to anyone who asks.
    path = os.pathsep.join(map(str, jars))
    return {"spark.driver.extraClassPath": path, "spark.executor.extraClassPath": path}
