"""The group mapping of the `core-site.xml` that `hadoop.core_site` names, as a layer of settings (`core_site.toml`).

Law: the groups found are those that Hadoop finds, or there is an error. A key that would change them and cannot be
read is an error; a key that does not change them is a note.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from ranger_cdap.config.hadoop import NotUsed, UnusableError, whole_number, yes_no
from ranger_cdap.config.hadoop_xml import Property, read_properties
from ranger_cdap.config.jceks import jceks_note
from ranger_cdap.config.layers import Layer, named_layer
from ranger_cdap.config.tables import rows_of
from ranger_cdap.errors import ConfigError

T = TypeVar("T")

FILE_NAME: Final = "core-site.xml"

_MAPPING: Final = "hadoop.security.group.mapping"
_STATIC: Final = "hadoop.user.group.static.mapping.overrides"
_LDAP: Final = f"{_MAPPING}.ldap."
_PROVIDERS: Final = f"{_MAPPING}.providers"
_COMBINED: Final = f"{_MAPPING}.providers.combined"
_SSL: Final = f"{_LDAP}ssl"
_CREDENTIALS: Final = "hadoop.security.credential.provider.path"
_BY_DEFAULT: Final = "{}: default of Hadoop"
_POSIX_CLASSES: Final = ("posixAccount", "posixGroup")

_PACKAGE: Final = "org.apache.hadoop.security."
_RULE_BASED: Final = "RuleBasedLdapGroupsMapping"
_COMPOSITE: Final = "CompositeGroupsMapping"
_DEFAULT: Final = f"{_PACKAGE}JniBasedUnixGroupsMappingWithFallback"
_SOURCES: Final[Mapping[str, str]] = {
    "JniBasedUnixGroupsMappingWithFallback": "posix",
    "JniBasedUnixGroupsMapping": "posix",
    "ShellBasedUnixGroupsMapping": "posix",
    "LdapGroupsMapping": "ldap",
    _RULE_BASED: "ldap",
    "NullGroupsMapping": "",
}
"""Classes of Hadoop by the source they become; those of netgroups are not among them."""


def core_site_layer(path: Path | None) -> tuple[Layer, tuple[NotUsed, ...]]:
    """Return the settings of the file, and its keys about groups that are not used; nothing without a file.

    Raises:
        ConfigError: the file cannot be read, or its groups cannot be found here as Hadoop finds them.
    """
    if path is None:
        return Layer({}), ()
    classes, properties = _providers(read_properties(path), path)
    sources = tuple(dict.fromkeys(filter(None, (_source(name, path) for name in classes.values()))))
    values: dict[str, tuple[Any, str]] = {}
    files: dict[str, Path] = {}
    not_used = []
    for key, row, found in _present(properties, path):
        if not _applies(key, row, properties, classes, sources):
            continue
        if "unused" in row:
            why = row["unused"]
            if row.get("as") == "alias":
                why = jceks_note(_text(properties, _CREDENTIALS), found.value.strip(), why)
            not_used.append(NotUsed(key, found.file, why))
            continue
        try:
            value = _value(found.value, row)
        except UnusableError as e:
            raise _not_like_hadoop(path, key, str(e)) from None
        except (ValueError, KeyError):
            raise _not_like_hadoop(path, key, "its value is invalid") from None
        values[row["setting"]], files[row["setting"]] = (value, f"{found.file}: {key}"), found.file
    values["groups.sources"] = (sources, f"{path}: {_MAPPING}")
    values.setdefault("groups.static", ({"dr.who": []}, _BY_DEFAULT.format(path)))
    if "ldap" in sources:
        values |= dict(_derived(properties, values, path))
    return replace(named_layer(values), files=dict.fromkeys(values, path) | files), tuple(not_used)


def unused_core_site(conf_dir: Path | None, named: Path | None) -> tuple[NotUsed, ...]:
    """Return the note that the directory has a group mapping which is not read; nothing if it has none."""
    path = conf_dir / FILE_NAME if conf_dir is not None and named is None else None
    if path is None or not path.is_file():
        return ()
    try:
        properties = read_properties(path)
    except ConfigError:
        return ()
    why = f'groups are not taken from it; set `hadoop.core_site = "{path}"` to do so'
    return tuple(NotUsed(key, path, why) for key in (_MAPPING, _STATIC) if key in properties)


def _providers(properties: Mapping[str, Property], path: Path) -> tuple[dict[str, str], dict[str, Property]]:
    """Return the class of each provider by the key that names it, and all keys, a provider's as those of the directory.

    Raises:
        ConfigError: the providers of a composite are not usable.
    """
    name = _text(properties, _MAPPING, _DEFAULT)
    if name != f"{_PACKAGE}{_COMPOSITE}":
        return {_MAPPING: name}, {
            key: one for key, one in properties.items() if not key.startswith(f"{_MAPPING}.provider")
        }
    plain = {k: one for k, one in properties.items() if not k.startswith(f"{_MAPPING}.provider.") and k != _PROVIDERS}
    classes: dict[str, str] = {}
    directories = []
    for provider in _names(properties, path):
        key = f"{_MAPPING}.provider.{provider}"
        if key not in properties:
            raise _not_like_hadoop(path, key, "it is not set, and `hadoop.security.group.mapping.providers` names it")
        classes[key] = _text(properties, key)
        if _source(classes[key], path) == "ldap":
            directories.append(key)
            plain |= {
                k.replace(f".provider.{provider}", ""): one for k, one in properties.items() if k.startswith(f"{key}.")
            }
    if not classes:
        raise _not_like_hadoop(path, _PROVIDERS, "it is not set, so no user would have groups")
    if len(directories) > 1:
        raise _not_like_hadoop(path, directories[1], "groups come from one directory, and this is a second")
    return classes, plain


def _names(properties: Mapping[str, Property], path: Path) -> list[str]:
    """Return the names of the providers, which Hadoop does not trim."""
    text = properties[_PROVIDERS].value if _PROVIDERS in properties else ""
    try:
        return _read_alike(text, lambda text, trim: [trim(name) for name in _tokens(text, ",")])
    except UnusableError as e:
        raise _not_like_hadoop(path, _PROVIDERS, str(e)) from None


def _text(properties: Mapping[str, Property], key: str, default: str = "") -> str:
    return properties[key].value.strip() if key in properties else default


def _source(name: str, path: Path) -> str:
    short = name.removeprefix(_PACKAGE)
    if short not in _SOURCES:
        raise _not_like_hadoop(path, _MAPPING, f"its class `{name}` is not supported")
    return _SOURCES[short]


def _present(properties: Mapping[str, Property], path: Path) -> Iterator[tuple[str, Mapping[str, Any], Property]]:
    """Yield the keys that are about groups, in the order of the table, each with its row and property."""
    rows = rows_of("core_site")
    for key in properties:
        if key.startswith(f"{_MAPPING}.") and key not in rows:
            raise _not_like_hadoop(path, key, "it is unknown")
    for key, row in rows.items():
        if key in properties:
            if "refused" in row:
                raise _not_like_hadoop(path, key, row["refused"])
            yield key, row, properties[key]


def _applies(
    key: str,
    row: Mapping[str, Any],
    properties: Mapping[str, Property],
    classes: Mapping[str, str],
    sources: tuple[str, ...],
) -> bool:
    """Return whether Hadoop uses the key: those of a directory, or of a composite, only where there is one."""
    if key.startswith(_LDAP) and "ldap" not in sources:
        return False
    if key == _COMBINED:
        return _text(properties, _MAPPING) == f"{_PACKAGE}{_COMPOSITE}"
    return (
        any(name.endswith(_RULE_BASED) for name in classes.values())
        if row.get("as") == "case"
        else key != _SSL and (not row.get("posix") or _is_posix(properties))
    )


def _is_posix(properties: Mapping[str, Property]) -> bool:
    """Return whether both filters name the classes by which Hadoop recognizes posixGroup semantics."""
    filters = (_text(properties, f"{_LDAP}search.filter.{kind}") for kind in ("user", "group"))
    return all(name in text for name, text in zip(_POSIX_CLASSES, filters, strict=True))


def _derived(
    properties: Mapping[str, Property], values: Mapping[str, tuple[Any, str]], path: Path
) -> Iterator[tuple[str, tuple[Any, str]]]:
    """Yield settings that depend on several keys, or on a default of Hadoop."""
    base = _text(properties, f"{_LDAP}base")
    if base and "ldap.group_base" not in values:
        yield "ldap.group_base", (base, f"{path}: {_LDAP}base")
    if _is_posix(properties):
        yield from (
            (setting, (default, _BY_DEFAULT.format(path)))
            for setting, default in {"ldap.member_value": "uidNumber", "ldap.gid_attribute": "gidNumber"}.items()
            if setting not in values
        )
    if _text(properties, _SSL).lower() == "true" and "ldap.urls" in values:
        urls, origin = values["ldap.urls"]
        yield "ldap.urls", ([re.sub("^ldap://", "ldaps://", url) for url in urls], origin)


def _value(text: str, row: Mapping[str, Any]) -> Any:
    if "${" in text:
        raise UnusableError("it uses a variable that only Java resolves")
    return _FORMS[row.get("as", "text")](text)


def _exact(text: str) -> str:
    if not text.strip() or text != text.strip():
        raise UnusableError("Hadoop keeps the blanks around it, and without them it would be another value")
    return text


def _tokens(text: str, separator: str) -> list[str]:
    return [token for token in text.split(separator) if token]


def _read_alike(text: str, read: Callable[[str, Callable[[str], str]], T]) -> T:
    """Return what a text says, if it says that without the blanks around each name, too."""
    in_hadoop, meant = read(text, str), read(text, str.strip)
    if in_hadoop != meant:
        raise UnusableError(
            f"Hadoop keeps the blanks in it and reads `{in_hadoop!a}`, and without them it would be `{meant!a}`"
        )
    return in_hadoop


def _overrides(text: str, trim: Callable[[str], str]) -> dict[str, list[str]]:
    found = {}
    for mapping in _tokens(text, ";"):
        user, _, groups = mapping.partition("=")
        if not user.strip() or "=" in groups:
            raise UnusableError("it is not like `user1=group1,group2;user2=`")
        found[trim(user)] = list(dict.fromkeys(map(trim, _tokens(groups, ","))))
    return found


def _urls(text: str) -> list[str]:
    if set(text.strip(" ")) & set("\t\r\n") or not text.strip():
        raise UnusableError("it has no address, or one with a line break or a tab around it, which Java does not take")
    return [one.strip() for one in text.split(",") if one.strip()]


def _user_filter(text: str) -> str:
    if "{" in text.replace("{0}", ""):
        raise UnusableError("only `{0}` is replaced in it")
    return _exact(text).replace("{0}", "{user}")


def _seconds(text: str) -> int:
    if whole_number(text) <= 0:
        raise ValueError(text)
    return whole_number(text)


_CASES: Final[Mapping[str, str]] = {"none": "keep", "to_upper": "upper", "to_lower": "lower"}
_FORMS: Final[Mapping[str, Callable[[str], Any]]] = {
    "text": _exact,
    "trimmed": str.strip,
    "urls": _urls,
    "seconds": _seconds,
    "seconds-or-none": lambda text: max(0, whole_number(text)),
    "number": whole_number,
    "yes-no": yes_no,
    "case": lambda text: _CASES[text.lower()],
    "file": lambda text: f"file:{_exact(text)}",
    "user-filter": _user_filter,
    "static": lambda text: _read_alike(text, _overrides),
}


def _not_like_hadoop(path: Path, key: str, why: str) -> ConfigError:
    return ConfigError(
        f"`{path}`: `{key}`: {why}, so groups would differ from Hadoop's;"
        " correct it, or set `[groups]` and `[ldap]` without `hadoop.core_site`"
    )
