"""The policies that a plugin would download from the embedded Ranger Admin, and the engine that decides with them."""

from __future__ import annotations

import json

import msgspec

from ranger_cdap.engine import PolicyEngine
from ranger_cdap.ranger.client.downloader import Downloader
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.policy import Policy
from tests.spark_sync.conftest import Ranger


def download(ranger: Ranger) -> bytes:
    found = ranger.admin.download_policies(ranger.service, last_known_version=-1, by=Downloader("tests"))
    assert found is not None
    return found


def engine_of(downloaded: bytes, *more: Policy) -> PolicyEngine:
    """The engine of a download, with more policies; no tags, because nothing is tagged."""
    document = json.loads(downloaded)
    del document["tagPolicies"]
    for n, policy in enumerate(more, start=1_000_000):
        document["policies"].append(json.loads(msgspec.json.encode(policy)) | {"id": n, "guid": f"{n}", "version": 1})
    engine = PolicyEngine.build(decode_service_policies(msgspec.json.encode(document)))
    assert not engine.problems
    return engine
