"""How long a right that was taken away in Ranger is still had: until the next refresh, and while an answer is kept."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ranger_cdap.config import read_configuration
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh.policy_refresher import jitter
from ranger_cdap.service.decision_service import DecisionService
from tests.service.serve_process import ENFORCE_KV, SERVICE, ask, configuration, ranger_admin, until

POLL = 1.0
LONGEST_SPREAD = 1.1
KEPT = 5.0
MARGIN = 2.5
"""For the download, and for a machine that is busy with other tests; shorter than answers are kept."""

AFTER_THE_REFRESH = POLL * LONGEST_SPREAD + MARGIN


class Extension:
    """CDAP's extension as far as its cache goes: what is allowed and cacheable is kept, until another generation."""

    def __init__(self, port: int, seconds: float) -> None:
        self._port = port
        self._seconds = seconds
        self._generation = ""
        self._kept: dict[str, float] = {}

    def enforce(self, question: dict[str, Any]) -> bool:
        key, now = json.dumps(question), time.monotonic()
        if now - self._kept.get(key, -self._seconds) < self._seconds:
            return True
        answer = ask(self._port, "enforce", "POST", "/cdap/v1/enforce", question).json
        if answer["generation"] != self._generation:
            self._generation = answer["generation"]
            self._kept.clear()
        if answer["allowed"] and answer["cacheable"]:
            self._kept[key] = now
        return bool(answer["allowed"])


@pytest.fixture(scope="module")
def ranger() -> Iterator[tuple[str, RangerAdmin]]:
    with ranger_admin() as (server, admin):
        yield server.url, admin


CASES = [
    # how long the extension keeps an answer, whether others ask meanwhile; the longest time to the effect
    (0.0, False, AFTER_THE_REFRESH),
    (KEPT, True, AFTER_THE_REFRESH),
    (KEPT, False, AFTER_THE_REFRESH + KEPT),
]


@pytest.mark.parametrize(
    ("kept", "others_ask", "longest"), CASES, ids=["nothing kept", "kept, others ask", "kept, nobody else asks"]
)
@pytest.mark.slow
def test_a_right_taken_away_is_gone_after_the_refresh_and_what_is_kept(
    ranger: tuple[str, RangerAdmin], tmp_path: Path, kept: float, others_ask: bool, longest: float
) -> None:
    url, admin = ranger
    config = configuration(tmp_path, url, plugin__poll_interval=str(POLL))
    (policy,) = (p for p in admin.list_policies(SERVICE) if p.name == "alice reads ns1.kv")
    with DecisionService(read_configuration(config, {}).settings) as service:
        port = int(service.url.rpartition(":")[2])
        extension = Extension(port, kept)
        somebody_else = {**ENFORCE_KV, "principal": {"name": "bob"}}
        assert extension.enforce(ENFORCE_KV)
        assert policy.id is not None
        admin.delete_policy(policy.id)
        taken = time.monotonic()
        try:

            def gone() -> bool:
                if others_ask:
                    extension.enforce(somebody_else)
                return not extension.enforce(ENFORCE_KV)

            until(gone)
            lasted = time.monotonic() - taken
            assert not extension.enforce(ENFORCE_KV)
        finally:
            admin.create_policy(msgspec.structs.replace(policy, id=None, guid=""))
    print(f"kept {kept:g} s, others ask: {others_ask}: gone after {lasted:.2f} s (at most {longest:.1f} s)")  # noqa: T201
    assert lasted <= longest


def test_a_refresh_is_never_later_than_the_longest_spread() -> None:
    assert max(jitter() for _ in range(10_000)) <= LONGEST_SPREAD
