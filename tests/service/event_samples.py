"""Records as CDAP's extension sends them, and the files that the store makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def record(number: int = 1, **changes: Any) -> Json:
    """Alice creates dataset ns1.kv<number>; a change of `...` takes the field away, `check_…` changes the check."""
    check: Json = {
        "principal": "alice",
        "kerberos": None,
        "type": "DATASET",
        "parts": ["ns1", f"kv{number}"],
        "permissions": ["STANDARD.CREATE"],
        "allowed": True,
    }
    made: Json = {
        "v": 1,
        "instance": "cdap",
        "method": "PUT",
        "uri": f"/v3/namespaces/ns1/data/datasets/kv{number}",
        "handler": "DatasetInstanceHandler.create",
        "code": 200,
        "user_ip": "10.1.2.3",
        "started": 1_795_234_768_000,
        "ended": 1_795_234_768_100,
        "checks": [check],
    }
    for name, value in changes.items():
        target, key = (check, name.removeprefix("check_")) if name.startswith("check_") else (made, name)
        if value is ...:
            target.pop(key, None)
        else:
            target[key] = value
    return made


ID, PROCESS, AT = "1f" * 16, "2e" * 16, 1_795_234_767_950


def stamp(number: int = 1, at: int = AT) -> Json:
    """The stamp of a check; another number makes another id."""
    return {"id": f"{number:032x}", "process": PROCESS, "at": at}


def stamped(number: int = 1, **changes: Any) -> Json:
    """The same record of version 2."""
    return record(number, **({"v": 2} | {f"check_{name}": value for name, value in stamp(number).items()} | changes))


def files_in(directory: Path) -> list[Path]:
    """What a reader of the directory sees, in the order of the names."""
    return sorted(path for path in directory.iterdir() if not path.name.startswith("."))


def stored_in(directory: Path) -> list[Json]:
    """All lines of those files; each must be whole."""
    found = []
    for path in files_in(directory):
        text = path.read_bytes()
        assert text.endswith(b"\n"), path
        found += [json.loads(line) for line in text[:-1].split(b"\n")]
    return found
