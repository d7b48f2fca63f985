"""Deploying another user's application again replaces its code; on a real CDAP it takes the right to update it.

CDAP makes a 500 of a denial in its pipeline of deployment.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ranger_cdap.testing import EmbeddedRanger
from tests.cdap_master.builder import ARTIFACT, FROM_ARTIFACT
from tests.cdap_master.fixtures import World, wait_until, world
from tests.cdap_master.in_memory_cdap import APP_JAR
from tests.cdap_master.test_circle import stored

NAMESPACE = "/v3/namespaces/redeployed"
APP = f"{NAMESPACE}/apps/Purchases"
DEPLOYER = ("WRITE namespace:redeployed", f"READ artifact:redeployed.{ARTIFACT}")


@pytest.fixture
def redeployed(ranger: EmbeddedRanger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(ranger, tmp_path_factory.mktemp("redeployed"), "ranger-cdap-extension-6.11.jar") as made:
        sees = ("READ namespace:redeployed", "READ dataset:redeployed.purchases")
        watches = ("READ namespace:redeployed", "READ application:redeployed.Purchases")
        made.people({"first": ("WRITE instance:", *DEPLOYER, *sees), "second": (*DEPLOYER, *sees), "watcher": watches})
        yield made


def test_only_who_may_update_an_application_deploys_it_again(redeployed: World) -> None:
    first, second = redeployed.user("first"), redeployed.user("second")
    first.must(f"PUT {NAMESPACE}", {})
    first.must(f"POST {NAMESPACE}/artifacts/{ARTIFACT}", APP_JAR.read_bytes(), Artifact_Version="1.0.0")
    first.must(f"PUT {APP}", FROM_ARTIFACT)
    deployed = redeployed.user("watcher").must(f"GET {APP}").json()
    wait_until(lambda: ("PUT", APP, 200) in stored(redeployed), "the deployment is told")

    refused = second.ask(f"PUT {APP}", FROM_ARTIFACT)
    assert refused.status_code == 500
    assert "second needs ADMIN on application:redeployed.Purchases" in refused.text
    assert first.ask(f"PUT {APP}", FROM_ARTIFACT).status_code == 500  # its creator's grant is not in effect yet
    redeployed.people({"first": ["ADMIN application:redeployed.Purchases"]})
    assert redeployed.user("watcher").must(f"GET {APP}").json() == deployed
    first.must(f"PUT {APP}", FROM_ARTIFACT)
    wait_until(lambda: ("PUT", APP, 200) in stored(redeployed), "the next one is told")

    first.must(f"DELETE {APP}")
    wait_until(lambda: ("DELETE", APP, 200) in stored(redeployed), "its end is told")
    second.must(f"PUT {APP}", FROM_ARTIFACT)
