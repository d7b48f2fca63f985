"""A namespace with an owner: who names him must administer him, and what is made, is made with *his* privileges."""

from __future__ import annotations

import pytest

from tests.cdap_master.builder import ARTIFACT, FROM_ARTIFACT
from tests.cdap_master.fixtures import World
from tests.cdap_master.in_memory_cdap import APP_JAR

OWNER, OWNED_BY = "svc", "principal:svc/host@EXAMPLE.COM"
NAMESPACE = "/v3/namespaces/owned"
WITH_OWNER = {"config": {"principal": "svc/host@EXAMPLE.COM", "keytabURI": "file:///etc/svc.keytab"}}
DEPLOYER = ["WRITE namespace:owned", f"READ artifact:owned.{ARTIFACT}"]
OWNERS_PART = [
    "WRITE namespace:owned",
    "READ namespace:owned",
    "READ dataset:owned.purchases",
    f"ADMIN {OWNED_BY}",
]


@pytest.fixture(scope="module")
def owned(cdap_world: World) -> World:
    cdap_world.people(
        {
            "owned-maker": ["WRITE instance:", f"ADMIN {OWNED_BY}"],
            "owned-stranger": ["WRITE instance:"],
            "owned-deployer": [*DEPLOYER, f"ADMIN {OWNED_BY}"],
            "owned-deployer-stranger": DEPLOYER,
        }
    )
    return cdap_world


def test_who_names_an_owner_must_administer_him(owned: World) -> None:
    refused = owned.user("owned-stranger").ask(f"PUT {NAMESPACE}", WITH_OWNER)

    assert refused.status_code == 403, refused.text
    assert "svc/host@EXAMPLE.COM" in refused.text
    owned.user("owned-maker").must(f"PUT {NAMESPACE}", WITH_OWNER)


def test_the_owner_needs_what_is_done_in_his_name(owned: World) -> None:
    deployer = owned.user("owned-deployer")
    deployer.must(f"POST {NAMESPACE}/artifacts/{ARTIFACT}", APP_JAR.read_bytes(), Artifact_Version="1.0.0")

    stranger = owned.user("owned-deployer-stranger").ask(f"PUT {NAMESPACE}/apps/Purchases", FROM_ARTIFACT)
    without_him = deployer.ask(f"PUT {NAMESPACE}/apps/Purchases", FROM_ARTIFACT)
    owned.people({OWNER: OWNERS_PART})
    with_him = deployer.ask(f"PUT {NAMESPACE}/apps/Purchases", FROM_ARTIFACT)

    assert (stranger.status_code, without_him.status_code, with_him.status_code) == (403, 403, 200)
    assert f" {OWNER} needs " in without_him.text
