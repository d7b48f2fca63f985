"""Loader of the settings: flags, environment, file, the Java plugin's files, and the validation of values.

Precedence: flag (`--set plugin.cache_dir=…`), then environment variable (`RANGER_CDAP_PLUGIN__CACHE_DIR`), then the
file, then the files of the Java plugin (`[hadoop]`), then the default. An unknown key is an error that suggests the
nearest known one. Secrets are given as `env:NAME` or `file:PATH` (or, for evaluation, as plain text) and never printed.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, get_args

import msgspec

from ranger_cdap.config.address import address_problems
from ranger_cdap.config.core_site import core_site_layer, unused_core_site
from ranger_cdap.config.exposure import exposed_files, secrets
from ranger_cdap.config.group_checks import Problem, group_problems
from ranger_cdap.config.hadoop import NotUsed, hadoop_layer
from ranger_cdap.config.layers import ENVIRONMENT_PREFIX, Layer, environment_layer, file_layer, flag_layer, overlay
from ranger_cdap.config.location import location
from ranger_cdap.config.secret import Secret, resolve_secret
from ranger_cdap.config.service import CallerSettings
from ranger_cdap.config.settings import Settings
from ranger_cdap.config.sync import NotifySettings, SourceSettings
from ranger_cdap.config.table import Table
from ranger_cdap.errors import ConfigError, suggestion

DEFAULT_FILE: Final = Path("ranger-cdap.toml")
"""The configuration file without another one, if it exists in the working directory."""

_log = logging.getLogger(__name__)
_NOT_IN_AN_INSTANCE: Final = frozenset("*?,{}\\")
_SOURCE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_NO_ORIGINS: Mapping[str, str] = MappingProxyType({})
_POSITIVE: Final = (
    "ranger.read_timeout",
    "ranger.attempts",
    "plugin.poll_interval",
    "plugin.max_staleness",
    "sync.keep_days",
    "groups.ttl",
    "groups.deadline",
)
_NOT_NEGATIVE: Final = (
    "audit.file_keep",
    "sync.clock_skew",
    "groups.negative_ttl",
)
_CERTIFICATES: Final[Mapping[str, str]] = {
    "service.tls_probe_key": "service.tls_probe_certificate",
    "sync.key_file": "sync.cert_file",
}
"""Keys that need a certificate."""

# Types of values: their name in msgspec and in messages.
_KINDS: Mapping[str, str] = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}

_LISTS_OF_TABLES: Mapping[str, type[Table]] = {
    "sources": SourceSettings,
    "callers": CallerSettings,
    "notify": NotifySettings,
}


class Configuration(msgspec.Struct, frozen=True):
    """The settings, the origin by `table.key` of each that is not a default, and the Java keys that are not used.

    `exposed` are world-readable files that hold a secret.
    """

    settings: Settings
    origins: Mapping[str, str]
    not_used: tuple[NotUsed, ...]
    exposed: tuple[Path, ...]


def load_settings(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Load the settings of a file, overridden by the environment; the default is `ranger-cdap.toml` here, if it exists.

    Raises:
        ConfigError: the file cannot be read, a key is unknown, or a value is not allowed.
    """
    return read_configuration(path, environ).settings


def read_configuration(
    path: Path | None = None, environ: Mapping[str, str] | None = None, flags: Sequence[str] = ()
) -> Configuration:
    """Read the settings of flags (`table.key=value`), environment, file and the Java plugin's files, with origins.

    Raises:
        ConfigError: a file cannot be read, a key is unknown, a value is not allowed, or a flag holds a secret.
    """
    environ = os.environ if environ is None else environ
    if path is None and DEFAULT_FILE.is_file():
        path = DEFAULT_FILE
    flag_values = flag_layer(flags)
    _refuse_secrets(flag_values)
    _refuse_single_underscores(environ)
    file_values, environment = file_layer(path) if path else Layer({}), environment_layer(environ)
    above = overlay([file_values, environment, flag_values])
    origin = f"`{path}`" if path else "the environment"
    named = {"hadoop": above.tables.get("hadoop", {})}
    hadoop = parse_settings(named, origin=origin, origins=above.origins, environ=environ).hadoop
    plugin, not_used = hadoop_layer(hadoop.conf_dir)
    mapping, not_mapped = core_site_layer(hadoop.core_site)
    not_used += not_mapped + unused_core_site(hadoop.conf_dir, hadoop.core_site)
    for key in not_used:
        if key.needed and key.needed not in above.origins:
            raise ConfigError(f"`{key.file}`: `{key.key}`: {key.why}")
    merged = overlay([plugin, mapping, above])
    origin += " with the files of `[hadoop]`" if plugin.tables or mapping.tables else ""
    settings = parse_settings(merged.tables, origin=origin, origins=merged.origins, environ=environ)
    layers = (plugin, mapping, file_values, environment, flag_values)
    exposed = exposed_files(layers, Settings, Secret, _private_keys(settings))
    for file in exposed:
        _log.warning("file `%s` holds a secret and is world-readable; chmod o-r it", file)
    return Configuration(settings, merged.origins, not_used, exposed)


def _refuse_single_underscores(environ: Mapping[str, str]) -> None:
    """Raise ConfigError for a variable that would set something if its table ended with two underscores."""
    tables = {table.name: msgspec.structs.fields(table.type) for table in msgspec.structs.fields(Settings)}
    for name in environ:
        table, _, key = name.removeprefix(ENVIRONMENT_PREFIX).lower().partition("_")
        if name.startswith(ENVIRONMENT_PREFIX) and key in [field.name for field in tables.get(table, ())]:
            meant = f"{ENVIRONMENT_PREFIX}{table}__{key}".upper()
            raise ConfigError(f"environment {name}: it sets nothing; write `{meant}`, with two underscores")


def parse_settings(
    tables: Mapping[str, Any],
    *,
    origin: str,
    origins: Mapping[str, str] = _NO_ORIGINS,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Convert parsed TOML to settings; relative paths stay relative to the working directory.

    An error names the origin of the value: by `table.key` in `origins`, or else `origin`.

    Raises:
        ConfigError: a key is unknown or a value is not allowed.
    """

    def decode(wanted: type, value: Any) -> Any:
        if wanted is Secret and isinstance(value, str):
            return resolve_secret(value, environ)
        if wanted is Path and isinstance(value, str):
            if "://" in value:
                # The rest may have a password.
                raise ValueError(
                    f"`{value.partition('://')[0]}://…` is an address; only paths on this machine are supported here"
                )
            return Path(value).expanduser()
        if isinstance(value, str):
            return location(value)
        raise TypeError(f"Expected `str`, got `{type(value).__name__}`")

    def stands(name: str) -> str:
        of_table = name.partition("[")[0]
        return next((where for at, where in origins.items() if f"{at}.".startswith(f"{of_table}.")), origin)

    _refuse_unknown_keys(tables, Settings, where="", stands=stands)
    try:
        settings = msgspec.convert(_with_lists(tables), Settings, strict=False, dec_hook=decode)
    except msgspec.ValidationError as e:
        raise _not_valid(str(e), stands) from None
    _check(settings, stands)
    return settings


def _not_valid(message: str, stands: Callable[[str], str]) -> ConfigError:
    """Return msgspec's message, which ends with a path, with the name of the setting and its possible values."""
    said, _, path = message.partition(" - at `$.")
    name = path.rstrip("`")
    keys = re.findall(r"[a-z_]+", name)
    choices = [f"`{text}`" for text in _texts(_field_type(*keys))]
    hint = f"; it is one of {', '.join(choices)}" if choices and said.startswith("Invalid enum") else ""
    text = re.sub(r"`([\w | ]+)`", lambda types: _in_words(types[1]), said)
    return ConfigError(f"{stands('.'.join(keys[:2]))}: `{name}`: {_lower(text)}{hint}")


def _in_words(types: str) -> str:
    return " or ".join(_KINDS.get(one, f"`{one}`") for one in types.split(" | "))


def _texts(wanted: Any) -> Iterator[str]:
    """Return the texts of a type's `Literal`, also inside of a union."""
    for one in get_args(wanted):
        yield from (one,) if isinstance(one, str) else _texts(one)


def _private_keys(settings: Settings) -> tuple[str | Path | None, ...]:
    """Return the files with a private key: a certificate's file without a separate key file holds both."""
    ranger, service, sync = settings.ranger, settings.service, settings.sync
    return (
        ranger.key_file or ranger.cert_file,
        service.tls_key or service.tls_certificate,
        service.tls_probe_key or service.tls_probe_certificate,
        sync.key_file or sync.cert_file,
        settings.audit.kafka_key_file or settings.audit.kafka_cert_file,
    )


def _refuse_secrets(flags: Layer) -> None:
    """Raise ConfigError for a secret in a flag: every user of the machine can read a command line."""
    for name, text in secrets(flags, Settings, Secret):
        if not text.startswith(("env:", "file:")):
            raise ConfigError(f"`{name}` is a secret and not allowed on the command line; use `env:` or `file:`")


def _field_type(*path: str) -> Any:
    """Return the type of the field at this path of keys; None if there is no such field."""
    found: Any = Settings
    for key in path:
        struct = next(
            (one for one in (found, *get_args(found)) if isinstance(one, type) and issubclass(one, Table)), None
        )
        fields = msgspec.structs.fields(struct) if struct else ()
        found = next((field.type for field in fields if field.name == key), None)
    return found


def _with_lists(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Normalize lists: names may be comma-separated, as in a variable; the URLs of Ranger Admin may be a list."""

    def value(table: str, key: str, given: Any) -> Any:
        wanted = _field_type(table, key)
        if isinstance(given, str) and wanted in (tuple[str, ...], tuple[str, ...] | None):
            return [name.strip() for name in given.split(",") if name.strip()]
        if (table, key) == ("ranger", "url") and isinstance(given, list) and all(isinstance(one, str) for one in given):
            return ",".join(given)
        return given

    return {
        table: {key: value(table, key, given) for key, given in values.items()}
        if isinstance(values, Mapping)
        else values
        for table, values in tables.items()
    }


def _refuse_unknown_keys(value: Any, struct: type[Table], where: str, stands: Callable[[str], str]) -> None:
    if not isinstance(value, Mapping):
        return
    fields = {field.name: field.type for field in msgspec.structs.fields(struct)}
    for key, inner in value.items():
        if key not in fields:
            hint = suggestion(str(key), fields, prefix=where)
            raise ConfigError(f"{stands(f'{where}{key}')}: unknown setting `{where}{key}`{hint}")
        wanted = fields[key]
        if isinstance(wanted, type) and issubclass(wanted, Table):
            _refuse_unknown_keys(inner, wanted, f"{where}{key}.", stands)
        elif key in _LISTS_OF_TABLES and isinstance(inner, list):
            for n, table in enumerate(inner):
                _refuse_unknown_keys(table, _LISTS_OF_TABLES[key], f"{where}{key}[{n}].", stands)


def _check(settings: Settings, stands: Callable[[str], str]) -> None:
    """Raise ConfigError for the first setting that is out of range, lacks another one or contradicts it."""
    groups = group_problems(settings.groups, settings.ldap, settings.network.plain_hosts)
    problems = chain(_range_problems(settings), _text_problems(settings), _lacking(settings))
    for name, problem in chain(problems, groups, address_problems(settings)):
        raise ConfigError(f"{stands(name)}: {problem}")


def _range_problems(settings: Settings) -> Iterator[Problem]:
    numbers = {name: attrgetter(name)(settings) for name in (*_POSITIVE, *_NOT_NEGATIVE)}
    for name, number in numbers.items():
        if name in _POSITIVE and not 0 < number < float("inf"):
            yield name, f"`{name}` must be greater than zero, not `{number}`"
        elif not 0 <= number < float("inf"):
            yield name, f"`{name}` must be zero or greater, not `{number}`"


def _text_problems(settings: Settings) -> Iterator[Problem]:
    if problem := instance_problem(settings.cdap.instance):
        yield "cdap.instance", f"`cdap.instance` {problem}; it is the name of one instance"
    yield from (
        (
            "sync.sources",
            "`name` of `sync.sources` names a directory: at most 100 letters, digits and `._-`, not "
            f"`{source.name[:100]!a}`",
        )
        for source in settings.sync.sources
        if not _SOURCE_NAME.fullmatch(source.name)
    )


def instance_problem(name: str) -> str:
    """Return why Ranger would not take a text for the name of one instance; empty if it would."""
    if not name or name != name.strip() or not name.isprintable():
        return "is empty, or has surrounding blanks or control characters"
    if special := sorted(_NOT_IN_AN_INSTANCE.intersection(name)):
        return f"has {' '.join(f'`{one}`' for one in special)}, with which a policy is for more than one instance"
    return ""


def _lacking(settings: Settings) -> Iterator[Problem]:
    """Yield the settings that need another one, which is not set."""
    yield from (
        ("sync.confirm.url", f"`sync.confirm.url` is set, so `sync.confirm.{key}` must be set too")
        for key in (("user", "caller", "secret") if settings.sync.confirm.url else ())
        if not _is_set(getattr(settings.sync.confirm, key))
    )
    yield from (
        ("sync.notify", f"`sync.notify[{n}].{key}` is empty; set it, or remove this `[[sync.notify]]`")
        for n, service in enumerate(settings.sync.notify)
        for key in ("url", "caller", "secret")
        if not _is_set(getattr(service, key))
    )
    if settings.plugin.only_ranger_groups and not settings.plugin.use_ranger_groups:
        yield "plugin.only_ranger_groups", "`plugin.only_ranger_groups` needs `plugin.use_ranger_groups`"
    yield from (
        (key, f"`{key}` is set and `{certificate}` is not; set both, or neither")
        for key, certificate in _CERTIFICATES.items()
        if attrgetter(key)(settings) and not attrgetter(certificate)(settings)
    )


def _is_set(value: object) -> bool:
    return value.is_set if isinstance(value, Secret) else bool(value)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")
