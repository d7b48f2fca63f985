"""Policy cache on disk, with names and formats of Ranger's Java plugins, and its age.

Several processes may share a directory. Untrusted files are quarantined and reported, never used. Nor is a set older
than one this host has used: the highest versions are kept next to it, so that restoring an old cache does not restore a
revoked right.
"""

from __future__ import annotations

import errno
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Final

import filelock
import msgspec

from ranger_cdap.config import Settings
from ranger_cdap.disk import os_errors_as, replace_file
from ranger_cdap.engine import EngineOptions
from ranger_cdap.errors import CacheError, PolicySetError, reason
from ranger_cdap.ranger.client.downloader import APP_ID, COMMANDS, Downloader
from ranger_cdap.ranger.client.versions import Versions
from ranger_cdap.ranger.refresh.documents import Documents, PolicySet, compile_set, needs_tags, pieces
from ranger_cdap.ranger.refresh.refresh_state import LastContact
from ranger_cdap.ranger_model.json_text import decode, decode_or_none

_POLICIES: Final = ""
_ROLES: Final = "_roles"
_TAGS: Final = "_tag"
_USERS: Final = "_userstore"
_CONTACT: Final = "_contact"
_USED: Final = "_used"
_LARGEST_FILE: Final = 1 << 30
_LATEST: Final = 1e11  # seconds since 1970: the year 5138
_LOCK_TIMEOUT: Final = 10.0
_NOT_IN_A_FILE_NAME: Final = re.compile(r"[/\\:\x00-\x1f\x7f]")
_NOT_WRITABLE: Final = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
# msgspec learns a type at its first use; threads that do so at once can end the process, so it is done on import.
_contact_decoder: Final = msgspec.json.Decoder(LastContact)
_versions_decoder: Final = msgspec.json.Decoder(Versions)


@dataclass(eq=False, slots=True)
class PolicyCache:
    """The cache of one service; `report` receives a sentence for each quarantined file.

    A set that came from none of the `addresses` of Ranger Admin, nor of the `accepted` former ones, is not used. With
    `with_users`, a set without users is incomplete. With `allow_older`, any written set becomes the newest used
    one, as after Ranger Admin was restored from a backup.
    """

    directory: Path
    service: str
    _: KW_ONLY
    report: Callable[[str], None]
    with_users: bool = False
    allow_older: bool = False
    addresses: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    options: EngineOptions = EngineOptions()  # noqa: RUF009 - immutable

    def path(self, kind: str = _POLICIES) -> Path:
        """Return the file of a document: policies by default, `_roles`, `_tag`, `_userstore`, `_contact` or `_used`."""
        stem = _NOT_IN_A_FILE_NAME.sub("_", f"{APP_ID}_{self.service}")
        return self.directory / f"{stem}{kind}.json"

    def load(self, now: float) -> tuple[PolicySet, float] | None:
        """Return the set on disk and its age in seconds at `now` (since 1970); None without a usable one.

        Raises:
            CacheError: the directory or a file is writable by others, unreadable, or from another Ranger Admin.
        """
        if not self._exists():
            return None
        with self._locked(writing=False):
            if foreign := self._foreign():
                raise CacheError(foreign)
            try:
                return self._found(now)
            except PolicySetError as e:
                self._quarantine("corrupt", str(e))
                return None

    def peek(self, now: float) -> tuple[PolicySet, float] | None:
        """Return the result of `load` without changes; not locked, so it may mix two sets during a write.

        Raises:
            CacheError: as `load`.
        """
        if not self._exists():
            return None
        try:
            self._require_private()
            if foreign := self._foreign():
                self.report(foreign)
                return None
            return self._found(now)
        except PolicySetError as e:
            self.report(f"policy cache `{self.path()}` cannot be used: {e}")
            return None
        except OSError as e:
            raise CacheError(f"policy cache `{self.path()}` cannot be read: {reason(e)}") from None

    def write(self, documents: Documents, contact: LastContact) -> None:
        """Write documents and then their contact, unless the existing ones are newer or were confirmed later.

        Raises:
            CacheError: writing failed; the previous files are intact.
        """
        self._make_directory()
        with self._locked():
            there = self._contact()
            if there is not None and contact.at < there.at <= contact.noted:
                return
            used = self._least()
            if contact.versions.older_than(used):
                return  # another process has used newer ones meanwhile
            beside = {_ROLES: documents.roles, _TAGS: documents.tags, _USERS: documents.users}
            files = {**beside, _POLICIES: documents.policies}
            for kind, content in files.items():
                if content is None:
                    self._remove(kind)
                else:
                    self._replace(kind, pieces(content), contact.at)
            self._write_contact(contact)
            # Last: if interrupted, the files on disk are never older than the recorded versions.
            self._replace(_USED, (msgspec.json.encode(contact.versions.newest(used)),), contact.at)

    def refusal(self, versions: Versions) -> str:
        """Return why a set of these versions is rejected; empty unless it is older than one this host has used.

        Raises:
            CacheError: the recorded versions are unreadable.
        """
        return _refusal(versions, self._least() if self._exists() else Versions())

    def record_contact(self, contact: LastContact) -> None:
        """Write a contact, unless the existing one is later.

        Raises:
            CacheError: writing failed.
        """
        self._make_directory()
        with self._locked():
            there = self._contact()
            if there is None or not contact.at < there.at <= contact.noted:
                self._write_contact(contact)

    def quarantine(self, why: str) -> None:
        """Rename all files (`….json.gone`), so that no restart uses them.

        Raises:
            CacheError: renaming failed.
        """
        if self._exists():
            with self._locked():
                self._quarantine("gone", why)

    def _found(self, now: float) -> tuple[PolicySet, float] | None:
        # Before the documents, which a writer replaces first: without a lock, new versions never meet old documents.
        least = self._least() if self.path().exists() else Versions()
        if (documents := self._documents()) is None:
            return None
        try:
            found = compile_set(documents, self.service, self.options)
        except MemoryError:  # the cache is sound, so it stays where it is
            raise CacheError(f"policy cache `{self.path()}` cannot be used: not enough memory") from None
        if older := _refusal(found.versions, least):
            self.report(f"policy cache `{self.path()}` is not used: it has {older}")
            return None
        if (age := self._age(found.versions, now)) is None:
            self.report(f"policy cache `{self.path()}` is not used: its time is in the future")
            return None
        return found, age

    def _documents(self) -> Documents | None:
        policies, roles = self._read(_POLICIES), self._read(_ROLES)
        if policies is None:
            return None
        tags = self._read(_TAGS) if (tagged := needs_tags(policies)) else None
        users = self._read(_USERS) if self.with_users else None
        needed = {_ROLES: roles, **({_TAGS: tags} if tagged else {}), **({_USERS: users} if self.with_users else {})}
        missing = next((kind for kind, content in needed.items() if content is None), None)
        if roles is None or missing is not None:
            name = self.path(missing or _ROLES).name
            self.report(f"policy cache `{self.path()}` is not used: `{name}` is missing")
            return None
        return Documents(policies, roles, tags, users)

    def _age(self, versions: Versions, now: float) -> float | None:
        """Return the age by the contact of this set, else by the oldest file; None if its time is in the future."""
        contact = self._contact()
        if contact is not None and contact.versions == versions:
            return contact.age + max(0.0, now - contact.noted)
        written = [p.stat().st_mtime for k in (_POLICIES, _ROLES, _TAGS, _USERS) if (p := self.path(k)).exists()]
        age = now - min(written, default=math.inf)
        return age if age >= 0 else None

    def _least(self) -> Versions:
        """Return the versions below which a set is rejected."""
        return Versions() if self.allow_older else self._used()

    def _used(self) -> Versions:
        if (content := self._read(_USED)) is None:
            return Versions()
        return decode(
            content,
            _versions_decoder,
            lambda _: CacheError(f"policy cache `{self.path(_USED)}` cannot be read; remove it, and note why"),
        )

    def _foreign(self) -> str:
        """Return why the set is that of another Ranger Admin, empty if it is not, or nothing is known of that."""
        contact = self._contact()
        origins, ours = contact.addresses if contact else (), (*self.addresses, *self.accepted)
        if not (origins and self.addresses and _normal(origins).isdisjoint(_normal(ours))):
            return ""
        return (
            f"policy cache `{self.path()}` is not used: it came from `{', '.join(origins)}`, which is not in"
            " `ranger.url`; if that was its address, add it to `plugin.accept_cache_of`"
        )

    def _write_contact(self, contact: LastContact) -> None:
        written = msgspec.structs.replace(contact, addresses=self.addresses)
        self._replace(_CONTACT, (msgspec.json.encode(written),), contact.at)

    def _contact(self) -> LastContact | None:
        try:
            content = self._read(_CONTACT)
        except CacheError:
            return None
        contact = decode_or_none(content, _contact_decoder) if content is not None else None
        if contact is None or not all(0 <= t < _LATEST for t in (contact.at, contact.age, contact.noted)):
            return None
        return contact

    def _read(self, kind: str) -> bytes | None:
        path = self.path(kind)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as e:
            raise CacheError(f"policy cache `{path}` cannot be opened: {reason(e)}") from None
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_FILE:
                raise CacheError(f"policy cache `{path}` is not an ordinary file or is too large, so it is not used")
            if not _is_private(status):
                raise CacheError(f"policy cache `{path}` is writable by other users, so it is not used")
            with os_errors_as(CacheError, f"policy cache `{path}` cannot be read"):
                return file.read()

    def _replace(self, kind: str, content: Iterable[bytes], confirmed: float) -> None:
        """Replace a file; its modification time is that of the contact, so that it gives the age if that is lost."""
        path = self.path(kind)
        with os_errors_as(CacheError, f"policy cache `{path}` cannot be written"):
            replace_file(path, content, modified=confirmed)

    def _remove(self, kind: str) -> None:
        with os_errors_as(CacheError, f"policy cache `{self.path(kind)}` cannot be removed"):
            self.path(kind).unlink(missing_ok=True)

    def _quarantine(self, suffix: str, why: str) -> None:
        # A service that is deleted and created again restarts its versions; restoring a corrupt cache has no effect.
        kinds = (_POLICIES, _ROLES, _TAGS, _USERS, _CONTACT, *([_USED] if suffix == "gone" else []))
        for kind in kinds:
            path = self.path(kind)
            try:
                path.replace(path.with_name(f"{path.name}.{suffix}"))
            except FileNotFoundError:
                continue
            except OSError as e:
                raise CacheError(f"policy cache `{path}` cannot be quarantined ({reason(e)}): {why}") from None
        self.report(f"policy cache `{self.path()}` was quarantined as `.{suffix}`: {why}")

    def _exists(self) -> bool:
        with os_errors_as(CacheError, f"cache directory `{self.directory}` cannot be read"):
            return self.directory.is_dir()

    def _make_directory(self) -> None:
        with os_errors_as(CacheError, f"cache directory `{self.directory}` cannot be created"):
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextmanager
    def _locked(self, *, writing: bool = True) -> Iterator[None]:
        """Exclude other writers; a directory that is not writable needs no lock."""
        try:
            self._require_private()
            lock = filelock.FileLock(self.path().with_suffix(".lock"), timeout=_LOCK_TIMEOUT, mode=0o600)
            lock.acquire()
        except filelock.Timeout:
            raise CacheError(f"another process holds the lock of the policy cache in `{self.directory}`") from None
        except OSError as e:
            if writing or e.errno not in _NOT_WRITABLE:
                raise CacheError(f"policy cache in `{self.directory}` cannot be locked: {reason(e)}") from None
            yield
            return
        try:
            yield
        finally:
            lock.release()

    def _require_private(self) -> None:
        if not _is_private(self.directory.stat()):
            raise CacheError(
                f"cache directory `{self.directory}` is writable by other users, so it is not used; "
                "give it to this user alone (mode 0700)"
            )


def _refusal(versions: Versions, least: Versions) -> str:
    older = versions.older_than(least)
    return older and f"{older}; if Ranger was restored: `ranger-cdap policies refresh --allow-older`"


def _normal(addresses: Iterable[str]) -> set[str]:
    return {address.rstrip("/").lower() for address in addresses}


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & _WRITABLE_BY_OTHERS


def command_downloader(settings: Settings) -> Downloader:
    """Return the identity with which commands download: the plugin's where it has a cache, else one of their own.

    Ranger lists whatever downloads as a plugin, so that one by this host's name would be a plugin that does not exist.
    """
    plugin, service = settings.plugin, settings.ranger.service
    cache = PolicyCache(plugin.cache_dir, service, report=lambda problem: None)
    is_plugin = os.path.exists(cache.path())  # noqa: PTH110  (no error where the directory cannot be searched)
    return Downloader.here(APP_ID if is_plugin else COMMANDS, service, plugin.cluster_name)
