"""Layers of raw settings, each value with its origin; later layers override earlier ones."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ranger_cdap.config.named_file import read_named
from ranger_cdap.errors import ConfigError, reason

ENVIRONMENT_PREFIX = "RANGER_CDAP_"


@dataclass(frozen=True, slots=True)
class Layer:
    """Tables of raw values, with the origin of each value by `table.key`, and its file, if it is in one."""

    tables: Mapping[str, Any]
    origins: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)


def overlay(layers: Iterable[Layer]) -> Layer:
    """Merge layers into one; each value is that of the last layer that has it."""
    tables: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        for table, values in layer.tables.items():
            below = tables.get(table)
            tables[table] = {**below, **values} if isinstance(below, dict) and isinstance(values, dict) else values
        origins.update(layer.origins)
    return Layer(tables, origins)


def file_layer(path: Path) -> Layer:
    """Return the values of a TOML file.

    Raises:
        ConfigError: the file cannot be read, or is not TOML.
    """
    try:
        tables = tomllib.loads(read_named(path).decode("utf-8"))
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
    """Return the values of the variables `RANGER_CDAP_TABLE__KEY`."""
    found = {}
    for name, text in environ.items():
        table, separator, key = name.removeprefix(ENVIRONMENT_PREFIX).lower().partition("__")
        if name.startswith(ENVIRONMENT_PREFIX) and separator:
            found[f"{table}.{key}"] = (text, f"environment {name}")
    return named_layer(found)


def flag_layer(flags: Iterable[str]) -> Layer:
    """Return the values of flags `table.key=value`.

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
    """Return a layer of values given by `table.key`, each with its origin."""
    tables: dict[str, dict[str, Any]] = {}
    for name, (value, _) in values.items():
        table, _, key = name.partition(".")
        tables.setdefault(table, {})[key] = value
    return Layer(tables, {name: origin for name, (_, origin) in values.items()})
