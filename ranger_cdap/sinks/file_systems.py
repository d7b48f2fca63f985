"""Directories that audit files are published in: of this machine, of HDFS, or of an object store by `fsspec`.

Law: a file has its name only once it is whole, and publishing it again replaces it by the same.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from ranger_cdap.disk import os_errors_as, replace_file
from ranger_cdap.errors import AuditSinkError, ConfigError, reason

_URL: Final = re.compile(r"([a-z][a-z0-9+.-]*):/.*", re.DOTALL)
_LONGEST_QUOTE: Final = 200


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of file system: the library that `fsspec` needs, and whether files appear only when they are whole."""

    library: str
    is_whole: bool = True


_S3, _GCS, _AZURE = _Kind("s3fs"), _Kind("gcsfs"), _Kind("adlfs")
_KINDS: Final[Mapping[str, _Kind]] = {
    "hdfs": _Kind("pyarrow", is_whole=False),
    "s3": _S3,
    "s3a": _S3,
    "gs": _GCS,
    "gcs": _GCS,
    "abfs": _AZURE,
    "abfss": _AZURE,
    "az": _AZURE,
}


class PublishedDirectory(Protocol):
    """Directory that files are published in."""

    def check(self) -> None:
        """Ask the file system for the directory, which changes nothing; raise `AuditSinkError` if that fails."""

    def publish(self, source: Path, path: str) -> None:
        """Put a whole file at a path relative to the directory; raise `AuditSinkError` if it is not there."""


def published_directory(url: str) -> PublishedDirectory:
    """Return the directory of `audit.hdfs_dir`, without connecting to it.

    Raises:
        ConfigError: it is none that is supported, or its library is not installed.
    """
    if not url.isprintable() or "::" in url:
        raise ConfigError(f"`audit.hdfs_dir` must be an address like `hdfs://namenode:8020/ranger/audit`, not {url!a}")
    found = _URL.fullmatch(url)
    if found is None or found[1] == "file":
        path = re.sub(r"^file:(//)?(?=/)", "", url)
        if not path.startswith("/"):
            raise ConfigError(
                f"`audit.hdfs_dir` must begin with `/` or with one of {', '.join(f'{one}://' for one in _KINDS)}, "
                f"not {url[:100]!a}"
            )
        return PlainDirectory(Path(path))
    kind = _KINDS.get(found[1])
    if kind is None:
        known = ", ".join(f"`{one}://`" for one in _KINDS)
        raise ConfigError(f"`audit.hdfs_dir` begins with `{found[1]}:`; known are {known} and paths of this machine")
    if ":" in url.partition("://")[2].partition("/")[0].rpartition("@")[0]:
        raise ConfigError("`audit.hdfs_dir` must not hold a password")
    if importlib.util.find_spec("fsspec") is None:
        raise ConfigError(
            f"`audit.hdfs_dir` is not on this machine and needs the library `fsspec`: pip install 'ranger-cdap[hdfs]' "
            f"{kind.library}"
        )
    if importlib.util.find_spec(kind.library) is None:
        raise ConfigError(
            f"`audit.hdfs_dir` begins with `{found[1]}://`, which needs the library `{kind.library}`: "
            f"pip install {kind.library}"
        )
    return RemoteDirectory(url, is_whole=kind.is_whole)


@dataclass(frozen=True, slots=True)
class PlainDirectory:
    """Directory of this machine; its files are private to their owner, as those of the sink `file`.

    It must exist: where a file system is not mounted, files would go to another one.
    """

    directory: Path

    def check(self) -> None:
        """Check that the directory is there and can be written to.

        Raises:
            AuditSinkError: it is not, or cannot.
        """
        self._check_exists()
        if not os.access(self.directory, os.W_OK | os.X_OK):
            raise AuditSinkError(f"`{self.directory}` cannot be written to by this user")

    def publish(self, source: Path, path: str) -> None:
        """Copy the file and flush it to the disk.

        Raises:
            AuditSinkError: the disk does not take it.
        """
        self._check_exists()
        target = self.directory / path
        with os_errors_as(AuditSinkError, f"`{target}` cannot be written"):
            target.parent.mkdir(parents=True, exist_ok=True)
            with source.open("rb") as lines:
                replace_file(target, lines)

    def _check_exists(self) -> None:
        if not self.directory.is_dir():
            raise AuditSinkError(f"`{self.directory}` is no directory; create it, or mount what it is on")


class RemoteDirectory:
    """Directory of a file system that `fsspec` knows; connected when it is first used.

    `is_whole`: a file appears there when it is whole, as in object stores; elsewhere it gets its name afterwards.
    """

    def __init__(self, url: str, *, is_whole: bool) -> None:
        self._url = url.rstrip("/")
        self._is_whole = is_whole

    def check(self) -> None:
        """Ask whether the directory exists; it need not.

        Raises:
            AuditSinkError: the file system does not answer.
        """
        try:
            system, base = self._connected()
            system.exists(base)
        except Exception as e:  # each file system has errors of its own
            raise self._failed(e) from None

    def publish(self, source: Path, path: str) -> None:
        """Upload the file.

        Raises:
            AuditSinkError: the file system does not take it.
        """
        try:
            system, base = self._connected()
            target = f"{base}/{path}"
            if self._is_whole:
                system.put_file(str(source), target)
                return
            folder, _, name = target.rpartition("/")
            hidden = f"{folder}/.{name}.tmp"
            system.makedirs(folder, exist_ok=True)
            system.put_file(str(source), hidden)
            system.mv(hidden, target)
        except Exception as e:
            raise self._failed(e) from None

    def _connected(self) -> tuple[Any, str]:
        system, base = importlib.import_module("fsspec.core").url_to_fs(self._url)
        return system, str(base).rstrip("/")

    def _failed(self, error: Exception) -> AuditSinkError:
        why = reason(error) if isinstance(error, OSError) else " ".join(str(error).split())[:_LONGEST_QUOTE]
        return AuditSinkError(f"`{self._url}` does not take audit files: {why or type(error).__name__}")
