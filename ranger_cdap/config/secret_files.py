"""Secrets by program: the decision service and the sync job run as two users, each with its own files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import msgspec

from ranger_cdap.config.secret import Secret
from ranger_cdap.config.settings import Settings


class Program(StrEnum):
    """A program that runs as a user of its own."""

    SERVICE = "decision service"
    SYNC = "sync job"


@dataclass(frozen=True, slots=True)
class SecretUse:
    """The programs that need a secret, and the condition under which the settings use it."""

    programs: frozenset[Program]
    where: Callable[[Settings], bool] = lambda _: True


def _by_password(settings: Settings, username: str) -> bool:
    """Return whether an account signs in to Ranger Admin with its password."""
    return settings.ranger.auth == "bearer" or (settings.ranger.auth == "basic" and bool(username))


_SERVICE: Final = frozenset({Program.SERVICE})
_SYNC: Final = frozenset({Program.SYNC})

NEEDS: Final[Mapping[str, SecretUse]] = {
    "plugin.password": SecretUse(_SERVICE, lambda s: _by_password(s, s.plugin.username)),
    # In the sync job, `sync assign` and `sync forget` write audit records.
    "audit.solr_password": SecretUse(
        _SERVICE | _SYNC, lambda s: "solr" in s.audit.sinks and bool(s.audit.solr_username)
    ),
    "audit.elasticsearch_password": SecretUse(
        _SERVICE | _SYNC, lambda s: "elasticsearch" in s.audit.sinks and bool(s.audit.elasticsearch_username)
    ),
    "audit.kafka_password": SecretUse(
        _SERVICE | _SYNC, lambda s: "kafka" in s.audit.sinks and bool(s.audit.kafka_username)
    ),
    "audit.kafka_key_file": SecretUse(_SERVICE | _SYNC, lambda s: "kafka" in s.audit.sinks),
    "ldap.bind_password": SecretUse(_SERVICE, lambda s: "ldap" in s.groups.sources and bool(s.ldap.bind_dn)),
    "ranger.key_file": SecretUse(_SERVICE | _SYNC),
    "service.tls_key": SecretUse(_SERVICE),
    "service.tls_probe_key": SecretUse(_SERVICE),
    "service.callers.secret": SecretUse(_SERVICE),
    "service.proxy.secret": SecretUse(_SERVICE, lambda s: bool(s.service.proxy.addresses)),
    "service.bridge_password": SecretUse(
        _SERVICE, lambda s: s.service.grants != "refuse" and _by_password(s, s.service.bridge_username)
    ),
    "sync.password": SecretUse(_SYNC, lambda s: _by_password(s, s.sync.username)),
    "sync.sources.marker": SecretUse(_SYNC),
    "sync.sources.options": SecretUse(_SYNC),
    "sync.sources.token_file": SecretUse(_SYNC),
    "sync.confirm.secret": SecretUse(_SYNC, lambda s: bool(s.sync.confirm.url)),
    "sync.confirm.token_file": SecretUse(_SYNC, lambda s: bool(s.sync.confirm.url)),
    "sync.key_file": SecretUse(_SYNC, lambda s: bool(s.sync.confirm.url or s.sync.notify)),
    "sync.notify.secret": SecretUse(_SYNC),
}
"""By `table.key`, without the index of a list."""


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A file that holds a secret in use: the settings that name it, and the programs that need it."""

    path: Path
    settings: tuple[str, ...]
    programs: frozenset[Program]


def secret_files(settings: Settings) -> tuple[SecretFile, ...]:
    """Return the files that hold a secret in use, each once; a file that both programs need has both."""
    found: dict[Path, SecretFile] = {}
    for name, value in _values(settings, ""):
        path = value.file if isinstance(value, Secret) else value
        need = NEEDS.get(name)
        if path is None or need is None or not need.where(settings):
            continue
        before = found.get(path, SecretFile(path, (), frozenset()))
        found[path] = SecretFile(path, tuple(dict.fromkeys((*before.settings, name))), before.programs | need.programs)
    return tuple(found.values())


def check_secrets(settings: Settings, program: Program) -> None:
    """Check that every secret in use that a program needs is available.

    Raises:
        ConfigError: the file of one does not exist or this process may not read it; the message names it.
    """
    for name, value in _values(settings, ""):
        need = NEEDS.get(name)
        if isinstance(value, Secret) and need is not None and program in need.programs and need.where(settings):
            value.reveal()


def _values(value: Any, name: str) -> Iterator[tuple[str, Secret | Path]]:
    """Yield the secrets and paths of tables by `table.key`; a text that `NEEDS` names is a path."""
    if isinstance(value, Secret | Path):
        yield name, value
    elif isinstance(value, str):
        if name in NEEDS and value:
            yield name, Path(value)
    elif isinstance(value, msgspec.Struct):
        for field in msgspec.structs.fields(value):
            yield from _values(getattr(value, field.name), f"{name}.{field.name}".lstrip("."))
    elif isinstance(value, dict | tuple):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _values(one, name)
