"""Settings that CDAP's `cdap-site.xml` proposes: what the file names, and the profile of CDAP's own documentation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from ranger_cdap.config.hadoop import read_properties
from ranger_cdap.errors import ConfigError

DOCUMENTED: Final = "cdap-6"
"""Profile of CDAP's own authorization tables."""


@dataclass(frozen=True, slots=True)
class ProposedSetting:
    """A setting, a text or a list of texts, and the reason for it."""

    name: str
    value: str | tuple[str, ...]
    why: str


def proposed_settings(path: Path) -> tuple[ProposedSetting, ...]:
    """Return the settings that go with a CDAP of this configuration.

    Raises:
        ConfigError: the file is not Hadoop's XML, or a value has control characters or is a variable of Hadoop's.
    """
    if not path.is_file():
        raise ConfigError(f"`{path}` does not exist; name CDAP's `cdap-site.xml`")
    properties = read_properties(path)

    def named(key: str) -> str:
        value = properties.get(key, "")
        if not value.isprintable() or "${" in value:
            raise ConfigError(f"`{path}`: `{key}` cannot be used as it is; write the setting by hand")
        return value

    instance = named("instance.name")
    admins = tuple(name for name in map(str.strip, named("security.authorization.admin.users").split(",")) if name)
    profile = ProposedSetting("cdap.profile", DOCUMENTED, "the privileges that CDAP's documentation asks for")
    return (
        *([ProposedSetting("cdap.instance", instance, "instance.name")] if instance else []),
        profile,
        *([ProposedSetting("admin.users", admins, "security.authorization.admin.users")] if admins else []),
    )


def as_toml(settings: Iterable[ProposedSetting]) -> str:
    """Return settings as lines of `ranger-cdap.toml`."""
    lines = []
    for table, members in groupby(settings, key=lambda one: one.name.partition(".")[0]):
        lines.append(f"[{table}]")
        lines += [f"{one.name.partition('.')[2]} = {_toml(one.value)}    # {one.why}" for one in members]
    return "\n".join(lines) + "\n"


def _toml(value: str | Sequence[str]) -> str:
    """Return a printable text, or several, as TOML, whose strings are JSON's."""
    return json.dumps(value, ensure_ascii=False)
