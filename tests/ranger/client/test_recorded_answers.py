"""Every recorded failure of a real Ranger Admin 2.9.0 is told apart, and its documents are taken."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap import errors
from ranger_cdap.ranger.client.responses import AdminResponse, to_error

ROOT = Path(__file__).parents[3]
RECORDING = ROOT / "tests" / "data" / "ranger-admin-exchanges.jsonl"
PAGE = ROOT / "docs" / "reference" / "ranger-rest.md"

# status, whether the body is JSON, and what it may mean
MEANINGS: dict[tuple[int, bool], tuple[type[errors.RangerAdminError], ...]] = {
    (400, True): (errors.RequestRejected, errors.NotFound, errors.ConflictingChange),
    (400, False): (errors.UnexpectedAnswer,),
    (401, True): (errors.AuthenticationFailed,),
    (403, True): (errors.AccessForbidden,),
    (403, False): (errors.AccessForbidden,),
    (404, True): (errors.NotFound, errors.ServiceNotFound),
    (404, False): (errors.UnexpectedAnswer,),
    (419, True): (errors.AuthenticationFailed,),
}


def recorded_failures() -> Iterator[dict[str, Any]]:
    for line in RECORDING.read_text(encoding="utf-8").splitlines()[1:]:  # the first says what the others are
        exchange = json.loads(line)
        if exchange["response"]["status"] >= 400:
            yield exchange


def sent(body: Any) -> bytes:
    if body is None:
        return b""
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


@pytest.mark.parametrize("exchange", list(recorded_failures()), ids=lambda e: f"{e['n']}-{e['name']}")
def test_a_recorded_failure(exchange: dict[str, Any]) -> None:
    status, body = exchange["response"]["status"], exchange["response"]["body"]
    path = exchange["request"]["path"].partition("?")[0]
    error = to_error(AdminResponse(exchange["request"]["method"], path, status, sent(body)))
    assert type(error) in MEANINGS.get((status, isinstance(body, dict)), (errors.UnexpectedAnswer,))
    text = json.dumps(body)
    assert isinstance(error, errors.ServiceNotFound) == (status == 404 and "RANGER_ERROR_SERVICE_NOT_FOUND" in text)
    assert isinstance(error, errors.ConflictingChange) == any(
        sign in text for sign in ("EclipseLink", "policy already exists: ServiceName")
    )
    if isinstance(error, errors.RequestRejected):
        assert bool(error.reason_codes) == ("error code[" in text)
    assert str(error).isprintable()


def test_the_page_names_recorded_exchanges_only() -> None:
    lines = RECORDING.read_text(encoding="utf-8").splitlines()[1:]
    named = re.findall(r"\bn (\d+(?:, \d+)*)\)", PAGE.read_text(encoding="utf-8"))
    assert named
    assert {int(n) for numbers in named for n in numbers.split(", ")} <= {json.loads(line)["n"] for line in lines}
