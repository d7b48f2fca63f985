"""The input of `benchmarks.bulk`: lines as CDAP's audit topic has them, and records of requests, of all kinds.

Of 100 lines 66 change metadata, 18 are messages about datasets and streams, 14 are records. Datasets are created,
deleted, created again, and created by a second user, at once or later. A namespace is deleted, with all that is in it,
every 5,000 lines. Applications are deployed again, which deletes their schedules. One message in 500 is cut off, and
some come twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

NAMESPACES = 1_000
TAKEN = 1_795_000_000_000
FILES = 16
BLOCK = 100
_DELETED, _AGAIN, _DEPLOYED = 1_000, 1_500, 300
"""Blocks after a creation until the entity is deleted, created again, and deployed again."""
_LOCAL = "12345678-0000-0000-0000-123456789abc"
_KINDS = ("dataset", "application", "program", "artifact", "schedule", "dataset", "namespace", "dataset")


def baseline(path: Path, count: int) -> None:
    """Write an inventory of so many entities, half of them datasets."""
    with path.open("w", encoding="ascii") as file:
        file.write('{"v":1,"instance":"cdap","taken":"2026-11-18T11:06:40Z"}\n')
        for type_, parts in known(count):
            file.write(json.dumps({"type": type_, "parts": parts}) + "\n")


def known(count: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the entities of the inventory."""
    for n in range(count):
        home = f"ns{n % NAMESPACES}"
        match n % 4:
            case 0 | 2:
                yield "dataset", [home, f"d{n}"]
            case 1:
                yield "application", [home, f"k{n}"]
            case _:
                yield "secure_key", [home, f"k{n}"]


def write_lines(home: Path, first: int, count: int) -> None:
    """Write the lines from `first` on, a multiple of `BLOCK`, in files of `topic` and `records`."""
    assert first % BLOCK == 0
    assert count % (BLOCK * FILES) == 0
    for part in range(FILES):
        with ExitStack() as stack:
            topic, records = (
                stack.enter_context(_new(home / name / f"{first:010}-{part:02}")) for name in ("topic", "records")
            )
            size = count // BLOCK // FILES
            for block in range(first // BLOCK + part * size, first // BLOCK + (part + 1) * size):
                topic.writelines(_topic(block))
                records.writelines(_records(block))


def _new(path: Path) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w", encoding="ascii")


def _topic(block: int) -> Iterator[str]:
    n = block * BLOCK
    for slot in range(66):
        yield _metadata(n + slot, block)
    yield _message(n + 66, "TRUNCATE" if block % 2 else "CREATE", "ns1", f"d1.{_LOCAL}" if block % 2 == 0 else "d2")
    for slot in range(11):
        line = _message(n + 67 + slot, "CREATE", *_created(block, slot))
        yield line if (block + slot) % 500 else f"{line[:90]}\n"
        if (n + 67 + slot) % 1_000 == 67:
            yield line
    for slot in range(6):
        yield _message(n + 78 + slot, "DELETE", *_deleted(block, slot))
    created = block % 2 == 0
    stream = block if created else block - 101
    kind, user = "CREATE" if created else "DELETE", n // 7 % 1000
    yield (
        f'{{"version":1,"time":{_at(n + 84)},"entityId":{{"namespace":"{_home(stream)}","stream":"s{stream}",'
        f'"entity":"STREAM"}},"user":"user{user}","type":"{kind}","payload":{{}}}}\n'
    )


def _created(block: int, slot: int) -> tuple[str, str]:
    """Return the dataset that a message says was created: most are new."""
    match slot:
        case 6 if block >= _DEPLOYED:  # it exists: another user's creation
            return _own(block - _DEPLOYED, 10)
        case 7 if block >= _AGAIN:  # it was deleted
            return _own(block - _AGAIN, 0)
        case 8 if block % 2:  # at nearly the same time as another user
            return _own(block, 10)
        case 8:  # the baseline knows it
            return f"ns{block * 2 % NAMESPACES}", f"d{block * 2}"
    return _own(block, slot)


def _own(block: int, slot: int) -> tuple[str, str]:
    home = _gone(block) if slot == 9 else _home(block * 11 + slot)
    return home, f"new{block * 11 + slot}"


def _deleted(block: int, slot: int) -> tuple[str, str]:
    if slot == 5:
        return f"ns{block * 2 % NAMESPACES}", f"d{block * 2}"
    return _own(block - _DELETED, slot) if block >= _DELETED else ("ns3", f"none{block}-{slot}")


def _records(block: int) -> Iterator[str]:
    n = block * BLOCK + 85
    own = f"/v3/namespaces/{_home(block)}"
    for slot in range(8):
        home = _home(block + slot)
        yield _record(n + slot, "GET", f"/v3/namespaces/{home}/apps/a{block}", "NAMESPACE", [home], "GET", 200)
    home = _gone(block) if block % 5 == 0 else _home(block)
    app = f"/v3/namespaces/{home}/apps/a{block}"
    yield _record(n + 8, "PUT", app, "APPLICATION", [home, f"a{block}", "1.0"], "CREATE", 200)
    yield _record(
        n + 9, "POST", f"{own}/artifacts/r{block}", "ARTIFACT", [_home(block), f"r{block}", "1.0"], "CREATE", 200
    )
    if (old := block - _DEPLOYED) >= 0 and old % 5:
        again = [_home(old), f"a{old}", "1.1"]
        yield _record(n + 10, "PUT", f"/v3/namespaces/{_home(old)}/apps/a{old}", "APPLICATION", again, "CREATE", 200)
    if (old := block - 100) >= 0 and old % 5:
        path = f"/v3/namespaces/{_home(old)}/apps/a{old}/schedules/hourly"
        yield _record(n + 11, "PUT", path, "APPLICATION", [_home(old), f"a{old}", "1.0"], "EXECUTE", 200)
    if (old := block - _DELETED) >= 0 and old % 5:
        path = f"/v3/namespaces/{_home(old)}/apps/a{old}"
        yield _record(n + 12, "DELETE", path, "APPLICATION", [_home(old), f"a{old}", "1.1"], "DELETE", 200)
    yield _record(
        n + 13, "PUT", f"{own}/securekeys/key{block}", "SECUREKEY", [_home(block), f"key{block}"], "UPDATE", 200
    )
    yield _record(n + 14, "PUT", app, "APPLICATION", [home, f"a{block}", "1.0"], "CREATE", 403)
    if block % 50 == 0 and block >= 100:
        gone = _gone(block - 100)
        yield _record(n + 14, "DELETE", f"/v3/unrecoverable/namespaces/{gone}", "NAMESPACE", [gone], "DELETE", 200)


def _home(n: int) -> str:
    return f"ns{n % NAMESPACES}"


def _gone(block: int) -> str:
    """Return the namespace that is deleted 5,000 to 10,000 lines later."""
    return f"gone{block // 50}"


def _at(n: int) -> int:
    return TAKEN + 1_000_000 + n


def _message(n: int, kind: str, namespace: str, dataset: str) -> str:
    return (
        f'{{"version":2,"time":{_at(n)},"metadataEntity":{{"details":{{"namespace":"{namespace}","dataset":"{dataset}"}},'
        f'"type":"dataset"}},"user":"user{n * 7 % 1000}","type":"{kind}","payload":{{}}}}\n'
    )


def _metadata(n: int, block: int) -> str:
    kind = _KINDS[n % len(_KINDS)]
    home, name = _home(n), f"a{block}"
    details = {
        "dataset": f'"namespace":"{home}","dataset":"new{n}"',
        "application": f'"namespace":"{home}","application":"{name}","version":"9fe879b1-e560-11f1-8232-02fc00000001"',
        "program": f'"namespace":"{home}","application":"{name}","version":"1.0","type":"Service","program":"Probe"',
        "artifact": f'"namespace":"{home}","artifact":"{name}","version":"1.0.0"',
        "schedule": f'"namespace":"{home}","application":"{name}","schedule":"hourly"',
        "namespace": f'"namespace":"{home}"',
    }[kind]
    by_user = n % 5 == 0
    user, scope = (f"user{n % 1000}", "USER") if by_user else ("", "SYSTEM")
    tags = '"probeapp","batch"' if n % 3 else ""
    added = f'{{"entity-name":"{name}","type":"probeapp.ProbeApp$CustomDs","creation-time":"{_at(n)}"}}'
    return (
        f'{{"version":2,"time":{_at(n)},"metadataEntity":{{"details":{{{details}}},"type":"{kind}"}},"user":"{user}",'
        f'"type":"METADATA_CHANGE","payload":{{"previous":{{"{scope}":{{"properties":{{}},"tags":[]}}}},'
        f'"additions":{{"{scope}":{{"properties":{added},"tags":[{tags}]}}}},'
        f'"deletions":{{"{scope}":{{"properties":{{}},"tags":[]}}}}}}}}\n'
    )


def _record(n: int, method: str, uri: str, type_: str, parts: list[str], permission: str, code: int) -> str:
    owner = "APPLICATION" if permission == "EXECUTE" else "STANDARD"
    check = (
        f'{{"principal":"user{n * 13 % 1000}","kerberos":null,"type":"{type_}","parts":{json.dumps(parts)},'
        f'"permissions":["{owner}.{permission}"],"allowed":{"true" if code == 200 else "false"}}}'
    )
    return (
        f'{{"id":"record-{n}","caller":"cdap-master","received":{_at(n) + 4_000},"record":{{"v":1,"instance":"cdap",'
        f'"method":"{method}","uri":"{uri}","handler":"Handler.call","code":{code},"user_ip":"10.1.2.3",'
        f'"started":{_at(n)},"ended":{_at(n) + 5},"checks":[{check}]}}}}\n'
    )
