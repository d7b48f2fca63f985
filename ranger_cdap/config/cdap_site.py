"""CDAP's `cdap-site.xml` on authorization: the settings that it proposes, and what becomes of its other properties."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from ranger_cdap.config.hadoop import SECURITY_FILE, read_properties
from ranger_cdap.errors import ConfigError

DOCUMENTED: Final = "cdap-6"
"""Profile of CDAP's own authorization tables."""

_EXTENSION: Final = "security.authorization.extension.config."
_INSTANCE: Final = "instance.name"
_JAR: Final = "security.authorization.extension.jar.path"
_INSTANCE_OF_BINDINGS: Final = "cdap"
_ABOUT_AUTHORIZATION: Final = ("security.authorization.", "security.authentication.")


@dataclass(frozen=True, slots=True)
class ProposedSetting:
    """A setting, a text or a list of texts, and the reason for it."""

    name: str
    value: str | tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class SiteProperty:
    """A property of `cdap-site.xml`, of a binding's XML files or of its service in Ranger, and what becomes of it.

    `bindings` are those of the predecessor that have it; none if it is CDAP's own. A name that ends in `*` stands for
    all that begin so.
    """

    name: str
    fate: str
    bindings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteProposal:
    """Settings that a `cdap-site.xml` proposes, and every other property about authorization in it."""

    settings: tuple[ProposedSetting, ...]
    others: tuple[SiteProperty, ...]


def proposal(path: Path) -> SiteProposal:
    """Return the settings that go with a CDAP of this configuration, and what becomes of its other properties.

    The instance is the one that existing policies name: the bindings of the predecessor did not use CDAP's own
    `instance.name`, but their property of that name, or `cdap`.

    Raises:
        ConfigError: the file is not Hadoop's XML, or a value has control characters or is a variable of Hadoop's.
    """
    if not path.is_file():
        raise ConfigError(f"`{path}` does not exist; name CDAP's `cdap-site.xml`")
    properties = read_properties(path)
    instance = _instance(path, properties)
    profile = ProposedSetting("cdap.profile", DOCUMENTED, "the privileges that CDAP's documentation asks for")
    settings = (*instance, profile, *_folder(properties), *_admins(path, properties))
    used = {setting.why for setting in settings}
    return SiteProposal(settings, tuple(one for one in _known(properties) if one.name not in used))


def known_properties() -> Iterator[SiteProperty]:
    """Yield every property of CDAP and of the predecessor's bindings that this project knows."""
    for group, rows in _rows().items():
        for name, row in rows.items():
            yield SiteProperty(
                f"{_EXTENSION if group == 'extension' else ''}{name}", _fate(row), tuple(row.get("of", ()))
            )


def as_toml(proposed: SiteProposal) -> str:
    """Return a `ranger-cdap.toml` of the settings; comments say what becomes of the other properties."""
    lines = []
    for table, members in groupby(proposed.settings, key=lambda one: one.name.partition(".")[0]):
        lines.append(f"[{table}]")
        lines += [f"{one.name.partition('.')[2]} = {_toml(one.value)}    # {one.why}" for one in members]
    if proposed.others:
        lines += ["", "# Other properties of the file:"]
    # A name could end the comment and add a setting.
    lines += [f"# {one.name if one.name.isprintable() else ascii(one.name)}: {one.fate}" for one in proposed.others]
    return "\n".join(lines) + "\n"


def _toml(value: str | Sequence[str]) -> str:
    """Return a printable text, or several, as TOML, whose strings are JSON's."""
    return json.dumps(value, ensure_ascii=False)


def _instance(path: Path, properties: Mapping[str, str]) -> tuple[ProposedSetting, ...]:
    of_binding = _EXTENSION + _INSTANCE
    if _JAR in properties and of_binding not in properties:
        why = f"without {of_binding}, the predecessor's policies name it so"
        return (ProposedSetting("cdap.instance", _INSTANCE_OF_BINDINGS, why),)
    key = of_binding if of_binding in properties else _INSTANCE
    name = _usable(path, properties, key)
    return (ProposedSetting("cdap.instance", name, key),) if name else ()


def _folder(properties: Mapping[str, str]) -> tuple[ProposedSetting, ...]:
    key = "security.authorization.extension.extra.classpath"
    entries = (entry.strip().removesuffix("*") for entry in properties.get(key, "").split(":"))
    folders = (Path(entry) for entry in entries if entry.startswith("/") and entry.isprintable())
    found = (folder for folder in folders if (folder / SECURITY_FILE).is_file())
    return tuple(ProposedSetting("hadoop.conf_dir", str(folder), key) for folder in list(found)[:1])


def _admins(path: Path, properties: Mapping[str, str]) -> tuple[ProposedSetting, ...]:
    key = "security.authorization.admin.users"
    names = tuple(name for name in map(str.strip, _usable(path, properties, key).split(",")) if name)
    return (ProposedSetting("admin.users", names, key),) if names else ()


def _usable(path: Path, properties: Mapping[str, str], key: str) -> str:
    value = properties.get(key, "")
    if not value.isprintable() or "${" in value:
        raise ConfigError(f"`{path}`: `{key}` cannot be used as it is; write the setting by hand")
    return value


def _known(properties: Iterable[str]) -> Iterator[SiteProperty]:
    rows = {one.name: one for one in known_properties()}
    for name in properties:
        patterns = (row for known, row in rows.items() if known.endswith("*") and name.startswith(known[:-1]))
        row = rows.get(name) or next(patterns, None)
        if row is not None:
            yield SiteProperty(name, row.fate, row.bindings)
        elif name.startswith(_ABOUT_AUTHORIZATION):
            yield SiteProperty(name, "unknown: neither CDAP 6.11 nor a binding of the predecessor has it")


def _fate(row: Mapping[str, Any]) -> str:
    if "setting" in row:
        return f"becomes `{row['setting']}`"
    if "replaced" in row:
        return f"replaced by {row['replaced']}"
    return f"stays: {row['stays']}" if "stays" in row else f"not used: {row['refused']}"


@cache
def _rows() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    return tomllib.loads(files(__package__).joinpath("cdap_site.toml").read_text(encoding="utf-8"))
