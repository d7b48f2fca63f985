"""The unchanged configuration files of Ranger's Java plugin for CDAP, read as a layer of settings (`hadoop.toml`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from ranger_cdap.config.hadoop_xml import Property, read_properties
from ranger_cdap.config.jceks import jceks_note
from ranger_cdap.config.layers import Layer, named_layer
from ranger_cdap.config.tables import rows_of
from ranger_cdap.errors import ConfigError

SECURITY_FILE: Final = "ranger-cdap-security.xml"
AUDIT_FILE: Final = "ranger-cdap-audit.xml"
TLS_FILE: Final = "ranger-policymgr-ssl.xml"

_TLS_FILE_KEY: Final = "ranger.plugin.cdap.policy.rest.ssl.config.file"
_AUDIT_SWITCH: Final = "xasecure.audit.is.enabled"
_SINKS: Final = "audit.sinks"
_UNSET: Final = ("", "NONE")  # Ranger's installer writes NONE for a missing value
_ON: Final = ("true", "enable", "enabled")  # what Ranger takes for the word that a destination is in use


class NotUsed(msgspec.Struct, frozen=True):
    """A key of those files that does not become a setting, and the reason.

    `needed` is the setting without which there is an error, as Java decides by the key.
    """

    key: str
    file: Path
    why: str
    needed: str = ""


class UnusableError(Exception):
    """A value cannot be used; the message has the reason, and no value of a key that may be a secret."""


def hadoop_layer(conf_dir: Path | None) -> tuple[Layer, tuple[NotUsed, ...]]:
    """Return the settings of the files in a directory, and the keys that are not used.

    Raises:
        ConfigError: the directory has none of the files, or one is not Hadoop's XML.
    """
    paths = _existing(conf_dir) if conf_dir else []
    properties = read_properties(*paths)
    named = properties.get(_TLS_FILE_KEY)
    if named and TLS_FILE not in [path.name for path in paths] and (other := Path(named.value)).is_file():
        properties = read_properties(*paths, other)
    return _translated(properties)


def _existing(conf_dir: Path) -> list[Path]:
    names = (AUDIT_FILE, SECURITY_FILE, TLS_FILE)  # the order of Java, which a final value is about
    there = [conf_dir / name for name in names if (conf_dir / name).is_file()]
    if not there:
        raise ConfigError(f"`hadoop.conf_dir` is `{conf_dir}`, where there is none of {', '.join(names)}")
    return there


def _translated(properties: Mapping[str, Property]) -> tuple[Layer, tuple[NotUsed, ...]]:
    values: dict[str, tuple[Any, str]] = {}
    files: dict[str, Path] = {}
    not_used = []
    switch = properties.get(_AUDIT_SWITCH)
    is_audited = switch is None or switch.value.lower() == "true"
    if switch is not None and switch.value.strip().lower() == "true" and not is_audited:
        why = "it has blanks around `true`, so that for Java nothing is audited; remove them, or set `audit.sinks`"
        not_used.append(NotUsed(_AUDIT_SWITCH, switch.file, why, _SINKS))
    elif switch is not None and not is_audited:
        values[_SINKS], files[_SINKS] = ((), f"{switch.file}: {_AUDIT_SWITCH}"), switch.file
    for key, found in properties.items():
        row = _row(key)
        if _says_nothing(found.value, row) or key in (_TLS_FILE_KEY, _AUDIT_SWITCH) or _is_off(row, properties):
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
            needed = row["setting"] if row.get("as") == "exact" else ""
            not_used.append(NotUsed(key, found.file, str(e), needed))
            continue
        setting, origin = row["setting"], f"{found.file}: {key}"
        files[setting] = found.file
        if row.get("as") != "sink":
            values[setting] = (value, origin)
        elif value and is_audited:
            sinks, others = values.get(setting, ((), ""))
            values[setting] = (
                tuple(dict.fromkeys((*sinks, value))),
                f"{others}, {origin}" if others else origin,
            )
    return replace(named_layer(values), files=files), tuple(not_used)


def _says_nothing(value: str, row: Mapping[str, str] | None) -> bool:
    return (
        value == row.get("same")
        if row is not None and row.get("as") == "exact"
        else value.strip() in _UNSET or (row is not None and value.strip() == row.get("same"))
    )


def _row(key: str) -> Mapping[str, str] | None:
    rows = rows_of("hadoop")
    patterns = [name for name in rows if name.endswith("*") and key.startswith(name[:-1])]
    return rows.get(key) or (rows[max(patterns, key=len)] if patterns else None)


def _why_unusable(row: Mapping[str, str] | None, value: str) -> str:
    if row is None:
        return "no equivalent setting"
    return jceks_note(value, row["alias"], row["unusable"]) if "alias" in row else row["unusable"]


def _is_off(row: Mapping[str, str] | None, properties: Mapping[str, Property]) -> bool:
    """Return true if Java did not use the key either, as its switch is off."""
    if row is None or "switch" not in row:
        return False
    switch = properties.get(row["switch"])
    return switch is None or switch.value.lower() != "true"


def _addresses(hosts: str, row: Mapping[str, str], properties: Mapping[str, Property]) -> str:
    """Return the hosts as addresses; what is one already stays."""

    def said(key: str, default: str) -> str:
        found = properties.get(row[key])
        return default if found is None or found.value.strip() in _UNSET else found.value.strip()

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
    """Return whether a text is `true`, which Java trims; raise ValueError if it is not `false` either."""
    if text.strip().lower() not in ("true", "false"):
        raise ValueError(text)
    return text.strip().lower() == "true"


def whole_number(text: str) -> int:
    """Return the number of a text, which Java trims; raise ValueError if it has another form than both read alike."""
    if not re.fullmatch("[+-]?[0-9]{1,9}", text.strip(), re.ASCII):
        raise ValueError(text)
    return int(text)


def _exact(text: str, row: Mapping[str, str]) -> str:
    if not text.strip() or text != text.strip():
        raise UnusableError(
            f"Java reads `{text!a}`, with its blanks, and without them it would be `{text.strip()!a}`;"
            f" write it without, or set `{row['setting']}`"
        )
    return text


def _pem(text: str, row: Mapping[str, str]) -> str:
    text = text.strip()
    if Path(text).suffix.lower() not in (".pem", ".crt", ".cer"):
        raise UnusableError(f"Java key stores are not supported; export it as PEM and set `{row['setting']}`")
    return text


_FORMS: Final[Mapping[str, Callable[[str, Mapping[str, str]], Any]]] = {
    "text": lambda text, _: text.strip(),
    "exact": _exact,
    "hosts": lambda text, _: text,
    "password": lambda text, row: _password(text.strip(), row),
    "milliseconds": lambda text, _: whole_number(text) / 1000,
    "retries": lambda text, _: whole_number(text) + 1,
    "yes-no": lambda text, _: yes_no(text),
    "pem": _pem,
    "sink": lambda text, row: row["sink"] if text.strip().lower() in _ON else "",
}
