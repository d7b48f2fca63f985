"""Bodies of requests to a decision service on loopback: each is answered, by an error that its caller can act on.

Law: no body is the server's fault, every answer is JSON, and nothing is allowed to a user whom no policy names.
"""

from __future__ import annotations

import atexit
import json
import tempfile
from contextlib import ExitStack
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.service.table import ROUTES
from tests.fuzz.harness import QUIET, drive, spoiled
from tests.service.fixtures import READ_AND_WRITE, World, serving

ROLES_OF: Final = {row.path: row.roles for row in ROUTES if row.method == "POST"}
DOCUMENTED: Final = files("ranger_cdap.service.api") / "examples.json"


def _bodies() -> dict[str, Any]:
    """Return the requests that the OpenAPI document shows, by path, from a user whom no policy names."""
    text = DOCUMENTED.read_text(encoding="utf-8").replace("alice", "mallory").replace("bob", "mallory")
    shown = json.loads(text)
    return {path: shown[path]["request"] for path in sorted(ROLES_OF) if "request" in shown.get(path, {})}


BODIES: Final = _bodies()


@cache
def world() -> World:
    """Start the service once; it ends with the process."""
    stack = ExitStack()
    atexit.register(stack.close)
    directory = stack.enter_context(tempfile.TemporaryDirectory())
    return stack.enter_context(serving(READ_AND_WRITE, Path(directory)))


asked: Final = st.sampled_from(sorted(BODIES)).flatmap(lambda path: st.tuples(st.just(path), spoiled([BODIES[path]])))


@QUIET
@given(asked)
def LAW(question: tuple[str, bytes]) -> None:  # noqa: N802
    """Hold the law for one body."""
    path, body = question
    role = min(ROLES_OF[path])
    answer = world().ask(role.value, "POST", path, body)
    assert answer.status < 500, answer
    read = answer.json if answer.body else None
    if b"alice" in body or b"bob" in body or b"\\u" in body:
        return  # somebody who may
    assert not _allows(read), answer


def _allows(read: Any) -> bool:
    """Return whether any part of an answer allows something."""
    if isinstance(read, dict):
        said = any(read.get(key) in (True, "ALLOW", "ALLOWED") for key in ("allowed", "decision"))
        seen = read.get("visible", [])
        return said or (isinstance(seen, list) and True in seen) or any(map(_allows, read.values()))
    return isinstance(read, list) and any(map(_allows, read))


if __name__ == "__main__":
    drive(LAW)
