"""The Ranger of `make ranger-up`: pinned official images, reachable from this machine only, and its paths exist.

Nothing here starts Docker.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
IMAGES = {"ranger-admin": "apache/ranger", "ranger-db": "apache/ranger-db", "ranger-solr": "apache/ranger-solr"}


def test_there_are_ranger_admin_its_database_and_solr_of_one_version() -> None:
    images = {name: service["image"].partition(":") for name, service in SERVICES.items()}
    assert {name: image for name, (image, _, _) in images.items()} == IMAGES
    (version,) = {tag for _, _, tag in images.values()}
    assert re.fullmatch(r"2\.\d+\.\d+", version)


@pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)
def test_a_service_is_in_the_network_and_its_ports_are_of_this_machine(service: dict[str, Any]) -> None:
    assert set(service["networks"]) <= COMPOSE["networks"].keys()
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    assert set(service.get("depends_on", ())) <= SERVICES.keys()
    assert not service.get("volumes")


@pytest.mark.parametrize("target", ["ranger-up", "ranger-down"])
def test_make_names_files_that_exist(target: str) -> None:
    planned = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", target], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    (file,) = re.findall(r"docker compose --file (\S+)", planned)
    assert (ROOT / file).is_file()
    assert ("ranger-cdap setup --yes" in planned) == (target == "ranger-up")
