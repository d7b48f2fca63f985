"""Where settings come from: layers of raw values, each value with its origin, one laid over the other."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ranger_cdap.errors import ConfigError, reason

ENVIRONMENT_PREFIX = "RANGER_CDAP_"


@dataclass(frozen=True, slots=True)
class Layer:
    """Tables of raw values, and by `table.key` where each value comes from, and in which file it stands, if in one."""

    tables: Mapping[str, Any]
    origins: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)


def overlay(layers: Iterable[Layer]) -> Layer:
    """One layer of all, in which each value is the one of the last layer that has it."""
    tables: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        for table, values in layer.tables.items():
            below = tables.get(table)
            tables[table] = {**below, **values} if isinstance(below, dict) and isinstance(values, dict) else values
        origins.update(layer.origins)
    return Layer(tables, origins)


def file_layer(path: Path) -> Layer:
    """The values of a TOML file.

    Raises:
        ConfigError: it cannot be read, or is not TOML.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"configuration file `{path}` does not exist") from None
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"configuration file `{path}` cannot be read: {reason(e)}") from None
    except tomllib.TOMLDecodeError as e:
        raise ConfigError(f"configuration file `{path}` is not TOML: {e}") from None
    origins = {
        f"{table}.{key}": f"file {path}"
        for table, values in tables.items()
        if isinstance(values, dict)
        for key in values
    }
    return Layer(tables, origins, dict.fromkeys(origins, path))


def environment_layer(environ: Mapping[str, str]) -> Layer:
    """The values of the variables `RANGER_CDAP_TABLE__KEY`."""
    found = {}
    for name, text in environ.items():
        table, separator, key = name.removeprefix(ENVIRONMENT_PREFIX).lower().partition("__")
        if name.startswith(ENVIRONMENT_PREFIX) and separator:
            found[f"{table}.{key}"] = (text, f"environment {name}")
    return named_layer(found)


def flag_layer(flags: Iterable[str]) -> Layer:
    """The values of flags `table.key=value`.

    Raises:
        ConfigError: a flag has another form.
    """
    found = {}
    for flag in flags:
        name, separator, text = flag.partition("=")
        if not separator or name.count(".") != 1:
            raise ConfigError(
                "a setting on the command line has the form `table.key=value`, like `ranger.service=cdap`"
            )
        found[name] = (text, f"flag --set {name}")
    return named_layer(found)


def named_layer(values: Mapping[str, tuple[Any, str]]) -> Layer:
    """A layer of values by `table.key`, each with its origin."""
    tables: dict[str, dict[str, Any]] = {}
    for name, (value, _) in values.items():
        table, _, key = name.partition(".")
        tables.setdefault(table, {})[key] = value
    return Layer(tables, {name: origin for name, (_, origin) in values.items()})
