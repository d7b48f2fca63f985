"""A deployment that creates a dataset, on a real CDAP: what its row gives, what CDAP asks in addition, what is said.

CDAP asks GET on the dataset before it creates it. Law: nobody passes GET on an existing dataset without its own row,
and nothing that CDAP sends says whether a dataset exists, so the row of the deployment does not open it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ranger_cdap.testing import EmbeddedRanger
from tests.cdap_master.builder import ARTIFACT, FROM_ARTIFACT
from tests.cdap_master.fixtures import World, wait_until, world
from tests.cdap_master.in_memory_cdap import APP_JAR
from tests.cdap_master.test_circle import stored

NAMESPACE = "/v3/namespaces/deploying"
APP = f"{NAMESPACE}/apps/Purchases"
DATASET = f"{NAMESPACE}/data/datasets/purchases"
ROW = ("WRITE namespace:deploying", f"READ artifact:deploying.{ARTIFACT}")
ADVICE = (
    "if the dataset does not exist yet because a deployment is about to create it,"
    " grant READ on dataset:deploying.purchases beforehand"
)


@pytest.fixture
def deploying(ranger: EmbeddedRanger, tmp_path: Path) -> Iterator[World]:
    with world(ranger, tmp_path, "ranger-cdap-extension-6.11.jar", profile="003") as made:
        made.people(
            {
                "builder": ("WRITE instance:", *ROW),
                "row-alone": ROW,
                "row-and-read": (*ROW, "READ dataset:deploying.purchases"),
            }
        )
        builder = made.user("builder")
        builder.must(f"PUT {NAMESPACE}", {})
        builder.must(f"POST {NAMESPACE}/artifacts/{ARTIFACT}", APP_JAR.read_bytes(), Artifact_Version="1.0.0")
        yield made


def test_a_deployment_takes_its_row_and_what_cdap_asks_and_existing_data_is_nobodys(deploying: World) -> None:
    alone, prepared = deploying.user("row-alone"), deploying.user("row-and-read")
    refused = alone.ask(f"PUT {APP}", FROM_ARTIFACT)
    assert refused.status_code == 403
    assert "row-alone needs READ on dataset:deploying.purchases" in refused.text
    assert ADVICE in refused.text
    wait_until(lambda: ("PUT", APP, 403) in stored(deploying), "the refusal is told")

    prepared.must(f"PUT {APP}", FROM_ARTIFACT)
    # It exists now, and its creator's grant is not written yet.
    prepared.must(f"GET {DATASET}")
    assert alone.ask(f"GET {DATASET}").status_code == 403
    assert alone.ask(f"PUT {NAMESPACE}/apps/Another", FROM_ARTIFACT).status_code == 403
