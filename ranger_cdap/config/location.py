"""`Location`: where the sync job reads or keeps something: a path of this machine, or a URL of a shared file system."""

from __future__ import annotations

import re
from abc import ABC
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

SCHEMES: Final = {"hdfs": ("hdfs", "hdfs"), "s3": ("s3", "s3a"), "s3a": ("s3", "s3a")}
"""What the job can commit to exclusively, each by its name for delta-rs and for Spark. Only those that were tried."""

_ADDRESS: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):/(?P<rest>.*)", re.DOTALL)
_REST: Final = re.compile(
    r"/(?P<host>[A-Za-z0-9][A-Za-z0-9._-]*(:[0-9]{1,5})?)(?P<path>(/(?!\.\.?(/|$))[A-Za-z0-9._~=+,:!*?\[\]^-]+)*)/?"
)
_TEXT: Final = re.compile(r"(?P<root>[a-z0-9]+://[^/]*)/(?P<path>.*)", re.DOTALL)


@dataclass(frozen=True, order=True, slots=True)
class StoreUrl:
    """A directory or a file in HDFS or an object store. `root`: like `s3://bucket`; `path` has no slash at its ends."""

    root: str
    path: str

    def __truediv__(self, name: str) -> StoreUrl:
        return replace(self, path=f"{self.path}/{name}".lstrip("/"))

    def __str__(self) -> str:
        return f"{self.root}/{self.path}"

    def absolute(self) -> StoreUrl:
        """Return itself, as a path does."""
        return self


if TYPE_CHECKING:
    Location = Path | StoreUrl
else:

    class Location(ABC):  # noqa: B024
        """Common class of both: msgspec takes one class of ours for a field, and no union of two."""

    Location.register(Path)
    Location.register(StoreUrl)


def location(text: str) -> Location:
    """Return what a text names; two spellings of one URL are equal. `file:///x` is a path of this machine.

    Raises:
        ValueError: its scheme is none of `SCHEMES`, or it is no plain URL. The message shows no part of the text but
            its scheme: a URL may hold a password.
    """
    address = _ADDRESS.fullmatch(text)
    if address is None:
        return Path(text).expanduser()
    scheme, rest = address["scheme"], address["rest"]
    if scheme == "file" and rest.startswith("//"):
        return Path("/", rest.lstrip("/"))
    if scheme not in SCHEMES:
        raise ValueError(f"`{scheme}:/…` is not supported; a path, or an address of {_KNOWN} is")
    if not (found := _REST.fullmatch(rest)):
        raise ValueError(
            f"an address is like `{scheme}://host/directory`, of plain characters, without user, password or `..`"
        )
    return StoreUrl(f"{SCHEMES[scheme][0]}://{found['host']}", found["path"].strip("/"))


def for_spark(place: Location) -> str:
    """Return the same place by Spark's name."""
    scheme, colon, rest = str(place).partition("://")
    return f"{SCHEMES[scheme][1]}://{rest}" if colon and scheme in SCHEMES else str(place)


def named(text: str) -> Location:
    """Return the location whose text that is, of a file whose name has any characters perhaps."""
    found = _TEXT.fullmatch(text)
    return StoreUrl(found["root"], found["path"]) if found else Path(text)


_KNOWN: Final = ", ".join(f"`{scheme}://`" for scheme in SCHEMES)
