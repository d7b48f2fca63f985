"""The unchanged configuration files of Ranger's Java plugin for CDAP, read as a layer of settings (`hadoop.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element, ParseError

import msgspec
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from ranger_cdap.config.jceks import jceks_note
from ranger_cdap.config.layers import Layer, named_layer
from ranger_cdap.config.named_file import read_regular
from ranger_cdap.errors import ConfigError, reason

SECURITY_FILE: Final = "ranger-cdap-security.xml"
AUDIT_FILE: Final = "ranger-cdap-audit.xml"
TLS_FILE: Final = "ranger-policymgr-ssl.xml"

_TLS_FILE_KEY: Final = "ranger.plugin.cdap.policy.rest.ssl.config.file"
_AUDIT_SWITCH: Final = "xasecure.audit.is.enabled"
_SINKS: Final = "audit.sinks"
_UNSET: Final = ("", "NONE")  # Ranger's installer writes NONE for a missing value
_LARGEST_FILE: Final = 1 << 20


class NotUsed(msgspec.Struct, frozen=True):
    """A key of those files that does not become a setting, and the reason."""

    key: str
    file: Path
    why: str


class _Property(msgspec.Struct, frozen=True):
    value: str
    file: Path


class UnusableError(Exception):
    """A value cannot be used; the message has the reason, but not the value."""


def hadoop_layer(conf_dir: Path | None) -> tuple[Layer, tuple[NotUsed, ...]]:
    """Return the settings of the files in a directory, and the keys that are not used.

    Raises:
        ConfigError: the directory has none of the files, or one is not Hadoop's XML.
    """
    properties: dict[str, _Property] = {}
    for path in _existing(conf_dir) if conf_dir else ():
        properties.update(_read(path))
    named = properties.get(_TLS_FILE_KEY)
    if named and not any(found.file.name == TLS_FILE for found in properties.values()):
        other = Path(named.value)
        properties.update(_read(other) if other.is_file() else {})
    return _translated(properties)


def _existing(conf_dir: Path) -> list[Path]:
    names = (SECURITY_FILE, AUDIT_FILE, TLS_FILE)
    there = [conf_dir / name for name in names if (conf_dir / name).is_file()]
    if not there:
        raise ConfigError(f"`hadoop.conf_dir` is `{conf_dir}`, where there is none of {', '.join(names)}")
    return there


def _translated(properties: Mapping[str, _Property]) -> tuple[Layer, tuple[NotUsed, ...]]:
    values: dict[str, tuple[Any, str]] = {}
    files: dict[str, Path] = {}
    not_used = []
    switch = properties.get(_AUDIT_SWITCH)
    is_audited = switch is None or switch.value.lower() in ("true", *map(str.lower, _UNSET))
    if switch is not None and not is_audited:
        values[_SINKS], files[_SINKS] = ((), f"{switch.file}: {_AUDIT_SWITCH}"), switch.file
    for key, found in properties.items():
        row = _row(key)
        says_nothing = found.value in _UNSET or (row is not None and found.value == row.get("same"))
        if says_nothing or key in (_TLS_FILE_KEY, _AUDIT_SWITCH) or _is_off(row, properties):
            continue
        if row is None or "unusable" in row:
            not_used.append(NotUsed(key, found.file, _why_unusable(row, found.value)))
            continue
        if "part_of" in row:
            continue
        text = _addresses(found.value, row, properties) if row.get("as") == "hosts" else found.value
        try:
            value = _value(text, row)
        except UnusableError as e:
            not_used.append(NotUsed(key, found.file, str(e)))
            continue
        setting, origin = row["setting"], f"{found.file}: {key}"
        files[setting] = found.file
        if row.get("as") != "sink":
            values[setting] = (value, origin)
        elif value and is_audited:
            sinks, others = values.get(setting, ((), ""))
            every = tuple(dict.fromkeys((*sinks, value)))
            values[setting] = (every, f"{others}, {origin}" if others else origin)
    return replace(named_layer(values), files=files), tuple(not_used)


def _row(key: str) -> Mapping[str, str] | None:
    rows = _rows()
    patterns = [name for name in rows if name.endswith("*") and key.startswith(name[:-1])]
    return rows.get(key) or (rows[max(patterns, key=len)] if patterns else None)


def _why_unusable(row: Mapping[str, str] | None, value: str) -> str:
    if row is None:
        return "no equivalent setting"
    return jceks_note(value, row["alias"], row["unusable"]) if "alias" in row else row["unusable"]


def _is_off(row: Mapping[str, str] | None, properties: Mapping[str, _Property]) -> bool:
    """Return true if Java did not use the key either, as its switch is off."""
    if row is None or "switch" not in row:
        return False
    switch = properties.get(row["switch"])
    return switch is None or switch.value.lower() != "true"


def _addresses(hosts: str, row: Mapping[str, str], properties: Mapping[str, _Property]) -> str:
    """Return the hosts as addresses; what is one already stays."""

    def said(key: str, default: str) -> str:
        found = properties.get(row[key])
        return default if found is None or found.value in _UNSET else found.value

    protocol, port = said("protocol", "http"), said("port", "9200")
    named = filter(None, (one.strip() for one in hosts.split(",")))
    return ",".join(one if "://" in one else f"{protocol}://{one}:{port}" for one in named)


def _password(text: str, row: Mapping[str, str]) -> str:
    """Return a password; Ranger's Elasticsearch destination signs in by Kerberos where it names a file like this."""
    if "keytab" in text and Path(text).exists():
        raise UnusableError(f"Kerberos is not supported there; set `{row['setting']}`")
    return text


def _value(text: str, row: Mapping[str, str]) -> Any:
    if "${" in text:
        raise UnusableError(f"it uses a variable that only Java resolves; set `{row['setting']}`")
    try:
        return _FORMS[row.get("as", "text")](text, row)
    except ValueError:
        raise UnusableError(f"its value is invalid; set `{row['setting']}`") from None


def yes_no(text: str) -> bool:
    """Return whether a text is `true`; raise ValueError if it is not `false` either."""
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _pem(text: str, row: Mapping[str, str]) -> str:
    if Path(text).suffix.lower() not in (".pem", ".crt", ".cer"):
        raise UnusableError(f"Java key stores are not supported; export it as PEM and set `{row['setting']}`")
    return text


_FORMS: Final[Mapping[str, Callable[[str, Mapping[str, str]], Any]]] = {
    "text": lambda text, _: text,
    "hosts": lambda text, _: text,
    "password": _password,
    "milliseconds": lambda text, _: int(text) / 1000,
    "retries": lambda text, _: int(text) + 1,
    "yes-no": lambda text, _: yes_no(text),
    "pem": _pem,
    "sink": lambda text, row: row["sink"] if text.lower() == "true" else "",
}


@cache
def _rows() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(files(__package__).joinpath("hadoop.toml").read_text(encoding="utf-8"))


def _read(path: Path) -> dict[str, _Property]:
    return {name: _Property(value, path) for name, value in read_properties(path).items()}


def read_properties(path: Path) -> dict[str, str]:
    """Return the properties of a file of Hadoop's; the last of duplicates counts, as in Hadoop.

    Raises:
        ConfigError: it cannot be read, or is none.
    """
    try:
        content = read_regular(path, _LARGEST_FILE + 1)
        if len(content) > _LARGEST_FILE:
            raise ConfigError(f"Hadoop configuration file `{path}` is larger than {_LARGEST_FILE} bytes")
        root = fromstring(content, forbid_dtd=True)
    except OSError as e:
        raise ConfigError(f"Hadoop configuration file `{path}` cannot be read: {reason(e)}") from None
    except (ParseError, DefusedXmlException, ValueError):
        root = None
    if root is None or root.tag != "configuration":
        raise ConfigError(f"`{path}` is not a Hadoop configuration file: XML with `configuration` around properties")
    pairs = ((_text(entry, "name"), _text(entry, "value")) for entry in root.iter("property"))
    return {name: value for name, value in pairs if name}


def _text(entry: Element, tag: str) -> str:
    return (entry.findtext(tag) or "").strip()
