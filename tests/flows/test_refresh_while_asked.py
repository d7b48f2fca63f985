"""What a program embeds, asked by many threads while its policies are refreshed: one whole set answers, and at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import servicedef
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.config import PluginSettings, RangerSettings, Settings
from ranger_cdap.ranger.client.downloader import Downloader
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from tests.readers import reading

SERVICE = "cdapdev"
KV = entity_id("stream", ["ns1", "kv"])
REFRESHES, CHANGES_SEEN, AT_MOST = 30, 5, 2_000


def reads(policy_id: int, **levels: str) -> Any:
    return {
        "id": policy_id,
        "version": 1,
        "name": f"policy {policy_id}",
        "resources": {name: {"values": [value]} for name, value in {"instance": "cdap", **levels}.items()},
        "policyItems": [{"users": ["alice"], "accesses": [{"type": "read"}]}],
    }


def pair(first: int) -> list[Any]:
    """What `stream.get` needs: the namespace and the stream, each by a policy of its own."""
    return [reads(first, namespace="ns1"), reads(first + 1, namespace="ns1", stream="kv")]


class RangerThatAlternates:
    """The downloads of a Ranger Admin in which, at each version, the two policies are replaced by two others."""

    def __init__(self) -> None:
        self.version = 0
        self.asked, self.may_answer = threading.Event(), threading.Event()
        self.may_answer.set()

    def download_policies(
        self, service: str, *, last_known_version: int, by: Downloader, deltas: bool = False
    ) -> bytes:
        self.asked.set()
        assert self.may_answer.wait(60)
        self.version += 1
        listed = pair(1 if self.version % 2 else 3)
        definition = servicedef.service_definition()
        document = {"serviceName": service, "policyVersion": self.version, "serviceDef": definition, "policies": listed}
        return json.dumps(document).encode()

    def download_roles(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None:
        return None if last_known_version == 1 else json.dumps({"serviceName": service, "roleVersion": 1}).encode()

    def download_tags(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None:
        raise AssertionError("no tag service is linked")

    def download_user_store(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None:
        return None if last_known_version == 1 else json.dumps({"userStoreVersion": 1}).encode()

    def close(self) -> None:
        pass


@pytest.fixture
def ranger() -> RangerThatAlternates:
    return RangerThatAlternates()


@pytest.fixture
def authorizer(ranger: RangerThatAlternates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Authorizer]:
    monkeypatch.setattr(RangerAdmin, "connect", lambda *_, **__: ranger)
    settings = Settings(
        ranger=RangerSettings(url="https://ranger.test:6182", service=SERVICE),
        plugin=PluginSettings(username="cdapsvc", cache_dir=tmp_path / "cache"),
    )
    with Authorizer.open(settings, refresh_in_background=False) as authorizer:
        yield authorizer


@pytest.mark.slow
def test_every_answer_is_that_of_one_set_and_nobody_is_denied_while_sets_change(authorizer: Authorizer) -> None:
    def look() -> tuple[bool, tuple[int, ...]]:
        answer = authorizer.check("alice", (), "stream.get", KV)
        return answer.allowed, tuple(sorted(answer.policy_ids))

    with reading(look) as seen:
        turn = 0
        while turn < REFRESHES or (min(map(len, seen)) < CHANGES_SEEN and turn < AT_MOST):
            turn += 1
            authorizer.refresh()

    assert min(map(len, seen)) >= CHANGES_SEEN
    assert {view for views in seen for view in views} == {(True, (1, 2)), (True, (3, 4))}


def test_a_refresh_that_hangs_keeps_nobody_waiting(authorizer: Authorizer, ranger: RangerThatAlternates) -> None:
    ranger.asked.clear()
    ranger.may_answer.clear()
    refreshing = threading.Thread(target=authorizer.refresh)
    refreshing.start()
    try:
        assert ranger.asked.wait(60)
        answer = authorizer.check("alice", (), "stream.get", KV)
        visible = authorizer.visible("alice", (), [KV])
    finally:
        ranger.may_answer.set()
        refreshing.join()

    assert (answer.allowed, sorted(answer.policy_ids), visible) == (True, [1, 2], [KV])
    assert sorted(authorizer.check("alice", (), "stream.get", KV).policy_ids) == [3, 4]
