"""A directory of policies, one file each: written so that git compares it well, read so that nothing is overlooked.

    service.json                     the service, its zones and settings; without a definition it is one of CDAP
    policies/readers.of.ns1.json     a policy
    policies/finance/ledgers.json    a policy of the zone `finance`
    tags/no-pii.json                 a policy of the linked tag service

The place of a file below `policies` or `tags` means nothing, and its name neither: the policy in it has name and zone.
Laws: the same policies make the same bytes; a policy has its file whatever other policies there are, so that a renamed
policy is a renamed file; no name of a policy makes a path outside of the directory.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal

from ranger_cdap.errors import InvalidInput, reason
from ranger_cdap.ranger.changes.step import Json
from ranger_cdap.ranger.changes.transfer import policy_key
from ranger_cdap.ranger.files.policy_collection import (
    PolicyCollection,
    ServiceEntry,
    service_document,
    service_entry,
)
from ranger_cdap.ranger.files.strict_text import LARGEST, YAML_SUFFIXES, parse_text, write_json, write_yaml
from ranger_cdap.ranger.files.written_policy import readable, require_one_service

FileFormat = Literal["json", "yaml"]

SERVICE_FILE: Final = "service"
_POLICIES, _TAGS = "policies", "tags"
_SUFFIXES: Final = frozenset({".json"}) | YAML_SUFFIXES
_NOT_POLICIES: Final = frozenset({".md", ".txt", ".toml"})
_LONGEST_STEM: Final = 80
_HASH_LENGTH: Final = 16
# A name that could be the result of another one, or has a meaning of its own on some system, is not kept as it is.
_PLAIN: Final = re.compile(r"[a-z0-9_]+[a-z0-9_-]*( [a-z0-9_-]+)*")
_LIKE_A_RESULT: Final = re.compile(rf".*-[0-9a-f]{{{_HASH_LENGTH}}}")
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])( .*)?")


def file_stem(name: str) -> str:
    """Return the name of a file for a name of Ranger's: readable, in ASCII, without case, and no other's.

    It is the name itself, with dots for spaces, if that is possible, else a part of it with a hash of all of it.
    """
    kept = len(name) <= _LONGEST_STEM and _PLAIN.fullmatch(name)
    if kept and not _LIKE_A_RESULT.fullmatch(name) and not _RESERVED.fullmatch(name):
        return name.replace(" ", ".")
    readable_part = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")[:_LONGEST_STEM].strip("-")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return f"{readable_part or 'policy'}-{digest}"


def directory_files(collection: PolicyCollection, file_format: FileFormat) -> dict[PurePosixPath, bytes]:
    """Return the files of a collection by their paths in the directory.

    Raises:
        InvalidInput: two policies would have one file, which takes a hash found by force.
    """
    write = write_yaml if file_format == "yaml" else write_json
    found = {PurePosixPath(f"{SERVICE_FILE}.{file_format}"): write(service_document(collection.service))}
    for folder, policies in ((_POLICIES, collection.policies), (_TAGS, collection.tag_policies)):
        for policy in policies:
            zone, name = policy_key(policy)
            path = PurePosixPath(folder, *([file_stem(zone)] if zone else ()), f"{file_stem(name)}.{file_format}")
            if path in found:
                raise InvalidInput(f"policy `{name}` and another one would both be the file `{path}`; rename one")
            found[path] = write(policy)
    return found


def write_directory(root: Path, collection: PolicyCollection, file_format: FileFormat | None = None) -> None:
    """Make a directory hold a collection and no other policies; its format stays that of its service file.

    Raises:
        InvalidInput: it holds other things than policies, or cannot be written; files that have no policies stay.
    """
    try:
        before = _files(root) if root.exists() else {}
        service_files = [path for path in before if _is_service_file(path)]
        if before and not service_files:
            raise InvalidInput(f"`{root}` holds files but no `{SERVICE_FILE}.json`, so it is no directory of policies")
        kept: FileFormat = "yaml" if any(path.suffix in YAML_SUFFIXES for path in service_files) else "json"
        files = directory_files(collection, file_format or kept)
        for path, content in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if before.get(path) != content:
                partial = target.with_name(f".{target.name}.partial")
                partial.write_bytes(content)
                partial.replace(target)
        for path in before.keys() - files.keys():
            (root / path).unlink()
            _remove_if_empty(root, path.parent)
    except OSError as e:
        raise InvalidInput(f"`{root}` cannot be written: {e.filename or ''} {reason(e)}") from None


def read_directory(root: Path) -> PolicyCollection:
    """Read a directory of policies, as a whole or not at all.

    Raises:
        InvalidInput: a file in it cannot be used; the message names it.
    """
    try:
        files = _files(root)
    except OSError as e:
        raise InvalidInput(f"`{e.filename or root}` cannot be read: {reason(e)}") from None
    found = _Found()
    for path, content in sorted(files.items()):
        try:
            found.add(path, parse_text(content, path.suffix))
        except InvalidInput as e:
            raise InvalidInput(f"`{root / path}` cannot be used: {e}") from None
    try:
        return found.collection()
    except InvalidInput as e:
        raise InvalidInput(f"`{root}` cannot be used: {e}") from None


@dataclass(eq=False, slots=True)
class _Found:
    """The content of a directory, as far as it is read."""

    _service: ServiceEntry | None = None
    _policies: dict[str, dict[tuple[str, str], tuple[PurePosixPath, Json]]] = field(
        default_factory=lambda: {_POLICIES: {}, _TAGS: {}}
    )
    _written: list[Any] = field(default_factory=list)

    def add(self, path: PurePosixPath, value: Any) -> None:
        """Add the value of a file.

        Raises:
            InvalidInput: it is no service or policy, or another file has it.
        """
        if _is_service_file(path):
            if self._service is not None:
                raise InvalidInput("there is another file of the service; keep one")
            self._service = service_entry(value)
            return
        folder = path.parts[0]
        policy = readable(value)
        _require_values(policy, value)
        self._written += [value] if folder == _POLICIES else []
        other, _ = self._policies[folder].setdefault(policy_key(policy), (path, policy))
        if other != path:
            raise InvalidInput(f"`{other}` has a policy of the same name, `{policy['name']}`")

    def collection(self) -> PolicyCollection:
        """Return the collection of all files.

        Raises:
            InvalidInput: the service is missing, or the policies do not belong to one.
        """
        if self._service is None:
            raise InvalidInput(f"it has no `{SERVICE_FILE}.json`, so it is no directory of policies")
        require_one_service(self._written)
        own, tagged = (
            tuple(policy for _, (_, policy) in sorted(self._policies[folder].items())) for folder in (_POLICIES, _TAGS)
        )
        return PolicyCollection(self._service, own, tagged).checked()


def _require_values(policy: Json, written: Any) -> None:
    """Require that every level of a resource has its values written: Ranger takes a missing list for all names."""
    for resources in (written.get("resources") or {}, *(written.get("additionalResources") or ())):
        for name, level in resources.items():
            if not isinstance(level, dict) or not isinstance(level.get("values"), list):
                raise InvalidInput(f'policy `{policy["name"]}` has no `values` for `{name}`; all names are `["*"]`')


def _is_service_file(path: PurePosixPath) -> bool:
    return len(path.parts) == 1


def _files(root: Path) -> dict[PurePosixPath, bytes]:
    """Return the content of all files with policies, and of those of the service."""
    if not root.is_dir():
        raise InvalidInput(f"`{root}` is not a directory")
    return {PurePosixPath(path.relative_to(root).as_posix()): _content(path) for path in _walk(root)}


def _walk(root: Path) -> Iterator[Path]:
    for folder, below, names in os.walk(root, onerror=_raise):
        inside = Path(folder)
        below[:] = sorted(name for name in below if _looked_into(root, inside / name))
        for name in sorted(names):
            path = inside / name
            if path.is_symlink():
                raise InvalidInput(f"`{path}` is a symbolic link; a directory of policies has none")
            if name.startswith(".") or path.suffix.lower() in _NOT_POLICIES:
                continue
            if path.suffix.lower() not in _SUFFIXES:
                raise InvalidInput(
                    f"`{path}` is neither a policy nor a note: policies end in {', '.join(sorted(_SUFFIXES))}"
                )
            if inside == root and path.stem != SERVICE_FILE:
                raise InvalidInput(
                    f"`{path}` is in no folder: policies are in `{_POLICIES}`, those of tags in `{_TAGS}`"
                )
            yield path


def _looked_into(root: Path, folder: Path) -> bool:
    if folder.name.startswith("."):
        return False
    if folder.is_symlink():
        raise InvalidInput(f"`{folder}` is a symbolic link; a directory of policies has none")
    if folder.parent == root and folder.name not in (_POLICIES, _TAGS):
        raise InvalidInput(f"`{folder}` is no folder of policies: those are `{_POLICIES}` and `{_TAGS}`")
    return True


def _content(path: Path) -> bytes:
    """Return the content of a regular file of an acceptable size; a link or a pipe is not opened."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:  # noqa: PTH123 the descriptor, not the path
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise InvalidInput(f"`{path}` is not a regular file")
        if found.st_size > LARGEST:
            raise InvalidInput(f"`{path}` is larger than {LARGEST >> 20} MB")
        return file.read(LARGEST + 1)


def _remove_if_empty(root: Path, folder: PurePosixPath) -> None:
    if folder.parts and not any((root / folder).iterdir()):
        (root / folder).rmdir()


def _raise(error: OSError) -> None:
    raise error
