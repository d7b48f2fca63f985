"""Files of an audit: those of the named paths and of the directories below, as Ranger's plugins lay them out on HDFS.

That is `<dir>/<service>/<yyyymmdd>/<service>_ranger_audit_<host>.log`; rotated files of our own sink are another form.
A local path is walked without following links. A URL (hdfs://…, s3a://…) is listed by Hadoop, whose stores have none.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from ranger_cdap.errors import InvalidInput, reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COMPRESSED: Final = (".gz", ".bz2", ".deflate", ".snappy", ".lz4", ".zst", ".xz", ".zip")
_COLUMNS: Final = (".parquet", ".orc")
_HIDDEN: Final = (".", "_")
_SCHEME: Final = "://"
_PLAIN_IN_URIS: Final = "/;:@&=+$,-_.!~*'()"
_FILE_URL: Final = "file://"


class AuditFile(NamedTuple):
    """A file to read: its name for people, its path for Spark, and the URI by which Spark calls it."""

    name: str
    path: str
    uri: str


def is_remote(path: str) -> bool:
    """Return whether a path is a URL, which only Spark can list."""
    return _SCHEME in path and not path.startswith(_FILE_URL)


def list_audit(paths: Iterable[str], spark: SparkSession | None = None) -> tuple[AuditFile, ...]:
    """Return the files of these paths, each once, by name, without hidden ones (`_SUCCESS`, `.crc`) of directories.

    Raises:
        InvalidInput: a path does not exist, a file is not regular or has no lines of text, or there is none.
    """
    files: dict[str, AuditFile] = {}
    for path in paths:
        if not path:
            raise InvalidInput("an empty path names no audit")
        found = listed_by_hadoop(path, spark) if is_remote(path) else _local(path.removeprefix(_FILE_URL))
        for one in found:
            _refuse_all_but_lines(one.name)
            files[one.uri] = one
    if not files:
        raise InvalidInput("there are no files at the paths of the audit, so there is nothing to read")
    return tuple(sorted(files.values()))


def _refuse_all_but_lines(name: str) -> None:
    lower = name.lower()
    if lower.endswith(_COMPRESSED):
        raise InvalidInput(f"`{name}` is compressed, so its size is unknown; decompress it")
    if lower.endswith(_COLUMNS):
        raise InvalidInput(f"`{name}` has columns and no lines; only a record of JSON per line is read")


def _local(path: str) -> Iterator[AuditFile]:
    top = os.path.abspath(path)  # noqa: PTH100  (resolves no links)
    try:
        # The operator named it, so it may be a link to a directory.
        if Path(top).is_dir():
            yield from _below(top)
        else:
            yield _regular(top, os.lstat(top))
    except OSError as e:
        raise InvalidInput(f"`{e.filename or path}`, of the audit, cannot be read: {reason(e)}") from None


def _below(directory: str) -> Iterator[AuditFile]:
    with os.scandir(directory) as entries:
        found = sorted((entry for entry in entries if not entry.name.startswith(_HIDDEN)), key=lambda entry: entry.name)
    for entry in found:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            yield from _below(entry.path)
        else:
            yield _regular(entry.path, status)


def _regular(path: str, status: os.stat_result) -> AuditFile:
    if not stat.S_ISREG(status.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "not a regular file"
        raise InvalidInput(f"`{path}`, of the audit, is {what}; only regular files are read")
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "replace")
        raise InvalidInput(f"`{shown}`, of the audit, has a name that is not UTF-8; rename it") from None
    if "\n" in path or "\r" in path:
        raise InvalidInput(f"`{path}`, of the audit, has a name of several lines; rename it")
    if not os.access(path, os.R_OK, effective_ids=True):
        raise InvalidInput(f"`{path}`, of the audit, cannot be read: permission denied")
    return AuditFile(path, f"file://{path}", file_uri(path))


def listed_by_hadoop(url: str, spark: SparkSession | None) -> Iterator[AuditFile]:
    """Yield the files of a URL and below it that are not hidden, as Hadoop lists them.

    Raises:
        InvalidInput: there is no session, or Hadoop fails.
    """
    if spark is None:
        raise InvalidInput(f"`{url}` can only be listed by Spark")
    jvm = spark.sparkContext._jvm
    assert jvm is not None  # there is a session
    try:
        path = jvm.org.apache.hadoop.fs.Path(url)
        system = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
        listed = system.listFiles(path, True)
        top = path.depth()
        while listed.hasNext():
            one = listed.next().getPath()
            names = str(one.toUri().getPath()).split("/")[top + 1 :]
            text = str(one.toString())
            if not any(name.startswith(_HIDDEN) for name in names):
                yield AuditFile(text, text, str(one.toUri().toString()))
    except Exception as e:
        from py4j.protocol import Py4JJavaError

        if not isinstance(e, Py4JJavaError):
            raise
        said = str(e.java_exception.getMessage()).splitlines()[0][:200]
        raise InvalidInput(f"`{url}`, of the audit, cannot be listed: {said}") from None


def file_uri(path: str) -> str:
    """Return the URI by which Spark calls a local file: Java's, in which only a part of all letters is encoded."""
    return "file:" + "".join(quote(each, safe=_PLAIN_IN_URIS) if _is_encoded(each) else each for each in path)


def _is_encoded(letter: str) -> bool:
    return letter.isascii() or unicodedata.category(letter) in ("Cc", "Zl", "Zp", "Zs")
