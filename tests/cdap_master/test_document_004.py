"""Profile 004 on a real CDAP: an application is deployed with exactly what its row names, datasets included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ranger_cdap.testing import EmbeddedRanger, embedded_ranger
from tests.cdap_master.builder import ARTIFACT, FROM_ARTIFACT
from tests.cdap_master.fixtures import SYNC, World, world
from tests.cdap_master.in_memory_cdap import APP_JAR, MASTER, missing_part

NAMESPACE = "/v3/namespaces/four"
APP = f"{NAMESPACE}/apps/Purchases"
DATASET = "dataset:four.purchases"
# Any privilege on an existing artifact; ADMIN on what is created, new or existing (S004-DEPLOY-0, -2, -N1).
ROW = ("ADMIN application:four.Purchases", f"EXECUTE artifact:four.{ARTIFACT}", f"ADMIN {DATASET}")
WITHOUT = {"deployer-without-app": 500, "deployer-without-artifact": 404, "deployer-without-dataset": 403}


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if sentence := missing_part():
        pytest.skip(sentence)
    with embedded_ranger(sync_account=SYNC, master_user=MASTER, profile="004") as ranger:
        yield from built(ranger, tmp_path_factory.mktemp("four"))


def built(ranger: EmbeddedRanger, directory: Path) -> Iterator[World]:
    with world(ranger, directory, "ranger-cdap-extension-6.11.jar", profile="004") as made:
        made.people({"four-builder": ["ADMIN namespace:four", f"ADMIN artifact:four.{ARTIFACT}"]})
        builder = made.user("four-builder")
        builder.must(f"PUT {NAMESPACE}", {})
        builder.must(f"POST {NAMESPACE}/artifacts/{ARTIFACT}", APP_JAR.read_bytes(), Artifact_Version="1.0.0")
        lacking = {name: (*ROW[:n], *ROW[n + 1 :]) for n, name in enumerate(WITHOUT)}
        made.people({"deployer": ROW, **lacking, "writer-of-four": (f"WRITE {DATASET}",)})
        yield made


def test_a_deployment_takes_exactly_its_row_with_new_and_with_existing_datasets(four: World) -> None:
    for person, status in WITHOUT.items():
        assert four.user(person).ask(f"PUT {APP}", FROM_ARTIFACT).status_code == status, person
    four.user("deployer").must(f"PUT {APP}", FROM_ARTIFACT)
    assert four.user("deployer-without-dataset").ask(f"PUT {APP}", FROM_ARTIFACT).status_code == 403
    four.user("deployer").must(f"PUT {APP}", FROM_ARTIFACT)


def test_the_details_of_a_dataset_are_shown_by_admin_and_by_nothing_less(four: World) -> None:
    four.user("deployer").must(f"PUT {APP}", FROM_ARTIFACT)
    four.user("deployer").must(f"GET {NAMESPACE}/data/datasets/purchases")

    assert four.user("writer-of-four").ask(f"GET {NAMESPACE}/data/datasets/purchases").status_code == 403
