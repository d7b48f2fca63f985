"""Secrets in layers of settings: where each is written, and the world-readable files that hold one."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec

from ranger_cdap.config.layers import Layer


def secrets(layer: Layer, struct: type[msgspec.Struct], kind: type) -> Iterator[tuple[str, str]]:
    """Yield the values of one type in a layer, each with its `table.key`, as written."""
    return _values(layer.tables, struct, kind, "")


def exposed_files(
    layers: Iterable[Layer], struct: type[msgspec.Struct], kind: type, keys: Iterable[str | Path | None]
) -> tuple[Path, ...]:
    """Return the world-readable files that hold a secret, in effect or not, or a private key."""
    found = [Path(key) for key in keys if key]
    for layer in layers:
        for name, text in secrets(layer, struct, kind):
            stands_in = layer.files.get(_table_and_key(name))
            if text.startswith("file:"):
                found.append(Path(text.removeprefix("file:")))
            elif text and not text.startswith("env:") and stands_in:
                found.append(stands_in)
    return tuple(file for file in dict.fromkeys(found) if _is_world_readable(file))


def _values(value: Any, wanted: Any, kind: type, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if wanted is kind or kind in get_args(wanted):
            yield name, value
    elif isinstance(value, Mapping):
        if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
            for field in msgspec.structs.fields(wanted):
                yield from _values(value.get(field.name), field.type, kind, f"{name}.{field.name}".lstrip("."))
        else:
            for key, one in value.items():
                yield from _values(one, (None, *get_args(wanted))[-1], kind, f"{name}.{key}")
    elif isinstance(value, list):
        for n, one in enumerate(value):
            yield from _values(one, next(iter(get_args(wanted)), None), kind, f"{name}[{n}]")


def _table_and_key(name: str) -> str:
    """Return the table and key of a path: `service.callers` and `secret` for `service.callers[0].secret`."""
    return ".".join(re.split(r"[.\[]", name)[:2])


def _is_world_readable(file: Path) -> bool:
    try:
        return bool(file.stat().st_mode & stat.S_IROTH)
    except OSError:
        return False
