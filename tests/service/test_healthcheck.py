"""The health check of the image, on a service with a certificate; and what a kubelet asks."""

from __future__ import annotations

import http.client
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from tests.authz.fixtures import policy
from tests.certificates import Authority, put
from tests.service.fixtures import World, serving

DOCKER = Path(__file__).parents[2] / "docker"
TLS = "tls_certificate", "tls_key"


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("docker")
    (folder / "make-secrets").write_bytes((DOCKER / "make-secrets").read_bytes())
    subprocess.run(["sh", folder / "make-secrets"], check=True)
    return {name: folder / "secrets" / name for name in TLS}


@pytest.fixture
def world(tls: dict[str, Path], tmp_path: Path) -> Iterator[World]:
    with serving([policy(1, {"namespace": "ns1"}, ["alice"], ["read"])], tmp_path, **tls) as running:
        yield running


def health_check(port: int, tls: dict[str, Path], *path: str) -> subprocess.CompletedProcess[str]:
    settings = {"PORT": str(port)} | {name.upper(): str(path) for name, path in tls.items()}
    return subprocess.run(
        [sys.executable, DOCKER / "healthcheck.py", *path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        | {f"RANGER_CDAP_SERVICE__{name}": value for name, value in settings.items()},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_is_healthy_while_it_may_decide(world: World, tls: dict[str, Path]) -> None:
    port = urlsplit(world.url).port or 0
    assert (health_check(port, tls).returncode, health_check(port, tls).stdout) == (0, "200\n")
    world.becomes(Snapshot(None, PolicyState.NOT_READY, ""))
    assert (health_check(port, tls).returncode, health_check(port, tls).stdout) == (1, "503\n")


def test_it_is_alive_while_it_may_not_decide(world: World, tls: dict[str, Path]) -> None:
    port = urlsplit(world.url).port or 0
    world.becomes(Snapshot(None, PolicyState.NOT_READY, ""))
    done = health_check(port, tls, "/health/live")
    assert (done.returncode, done.stdout) == (0, "200\n")
    assert health_check(port, tls, "/health/other").returncode == 1


def test_it_is_not_healthy_where_nobody_answers(tls: dict[str, Path]) -> None:
    done = health_check(1, tls)
    assert (done.returncode, done.stdout, done.stderr) == (1, "ConnectionRefusedError\n", "")


@pytest.mark.parametrize(("shows", "done"), [(True, (0, "200\n")), (False, (1, "SSLError\n"))])
def test_where_client_certificates_are_required_it_shows_its_own(
    tls: dict[str, Path], tmp_path: Path, shows: bool, done: tuple[int, str]
) -> None:
    clients = Authority("clients")
    required = tls | {"tls_client_ca": put(tmp_path / "clients.pem", clients.pem)}
    probe, key = clients.client().put(tmp_path / "probe.pem", tmp_path / "probe.key")
    shown = {"tls_probe_certificate": probe, "tls_probe_key": key} if shows else {}
    with serving([policy(1, {"namespace": "ns1"}, ["alice"], ["read"])], tmp_path, **required) as world:
        checked = health_check(urlsplit(world.url).port or 0, required | shown)
    assert (checked.returncode, checked.stdout, checked.stderr) == (*done, "")


@pytest.mark.parametrize(("host", "status"), [("localhost", 200), ("10.1.2.3:6500", 200), ("evil.example", 421)])
def test_a_kubelet_may_use_the_address_of_the_pod(world: World, host: str, status: int) -> None:
    address = urlsplit(world.url)
    context = ssl._create_unverified_context()  # as a kubelet does
    connection = http.client.HTTPSConnection(address.hostname or "", address.port, timeout=20, context=context)
    try:
        connection.request("GET", "/health/ready", headers={"Host": host})
        assert connection.getresponse().status == status
    finally:
        connection.close()
