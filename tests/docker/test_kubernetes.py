"""The example for Kubernetes: settings, commands and secrets that exist, few rights, one run of the job at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from ranger_cdap.config import Settings
from ranger_cdap.service.http.server import check_exposure
from ranger_cdap.service.table import ROUTES
from tests.docker.fixtures import ROOT, is_below, named_secrets, parse_command, settings_of, written

FILE = ROOT / "examples" / "kubernetes" / "ranger-cdap.yaml"
PAGE = ROOT / "docs" / "how-to" / "run-in-containers.md"
OBJECTS: dict[tuple[str, str], dict[str, Any]] = {
    (each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(FILE.read_text(encoding="utf-8"))
}
# Everything else it needs is made manually, as the page says.
BY_HAND = {("configMap", "ranger-ca"), ("secret", "ranger-cdap-secrets"), ("secret", "ranger-cdap-tls")}


@dataclass(frozen=True)
class Pod:
    """A pod of one container; `claims` are volumes that it has a claim of its own for."""

    spec: dict[str, Any]
    claims: tuple[dict[str, Any], ...] = ()

    @property
    def container(self) -> dict[str, Any]:
        (only,) = self.spec["containers"]
        return only  # type: ignore[no-any-return]

    @property
    def environment(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for source in self.container["envFrom"]:
            found |= OBJECTS["ConfigMap", source["configMapRef"]["name"]]["data"]
        found |= {each["name"]: each["value"] for each in self.container["env"] if "value" in each}
        return {name: text.replace("$(POD_NAME)", "ranger-cdap-0") for name, text in found.items()}

    @property
    def mounted(self) -> dict[str, tuple[dict[str, Any], bool]]:
        """Place → volume, and whether it is for reading only."""
        volumes = {volume["name"]: volume for volume in self.spec["volumes"]}
        volumes |= {claim["metadata"]["name"]: claim for claim in self.claims}
        mounts = self.container["volumeMounts"]
        assert {mount["name"] for mount in mounts} == volumes.keys()
        return {mount["mountPath"]: (volumes[mount["name"]], bool(mount.get("readOnly"))) for mount in mounts}

    @property
    def config(self) -> str:
        place = Path(self.environment["RANGER_CDAP_CONFIG"])
        volume = self.mounted[str(place.parent)][0]["configMap"]
        (key,) = [item["key"] for item in volume["items"] if item["path"] == place.name]
        return str(OBJECTS["ConfigMap", volume["name"]]["data"][key])

    def settings(self, folder: Path) -> Settings:
        return settings_of(self.environment, self.config, folder)


REPLICAS = OBJECTS["StatefulSet", "ranger-cdap"]
CRON_JOB = OBJECTS["CronJob", "ranger-cdap-sync"]
SERVICE = Pod(REPLICAS["spec"]["template"]["spec"], tuple(REPLICAS["spec"]["volumeClaimTemplates"]))
SYNC = Pod(CRON_JOB["spec"]["jobTemplate"]["spec"]["template"]["spec"])
PODS = {"decision-service": SERVICE, "sync": SYNC}


@pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
def test_its_settings_are_ours_and_safe(pod: Pod, tmp_path: Path) -> None:
    settings = pod.settings(tmp_path)
    check_exposure(settings.service)
    assert settings.ranger.url.startswith("https://")
    assert settings.ranger.ca_file is not None
    assert is_below(Path(settings.ranger.ca_file), list(pod.mounted))


@pytest.mark.parametrize(("pod", "command"), [(SERVICE, "serve"), (SYNC, "run")], ids=PODS)
def test_its_command_is_one_of_ours(pod: Pod, command: str) -> None:
    assert parse_command(pod.container["args"]).info_name == command


@pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
def test_it_has_few_rights(pod: Pod) -> None:
    assert pod.spec["automountServiceAccountToken"] is False
    assert pod.spec["securityContext"]["runAsNonRoot"] is True
    assert pod.container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.spec.keys()


def test_two_users_have_nothing_in_common_but_the_group_of_the_events(tmp_path: Path) -> None:
    deciding, syncing = (pod.spec["securityContext"] for pod in (SERVICE, SYNC))
    assert (deciding["runAsUser"], syncing["runAsUser"]) == (10001, 10002)
    assert (deciding["runAsGroup"], syncing["runAsGroup"]) == (10001, 10002)
    # The one that Kubernetes lets write to volumes is not the one of the events.
    assert (deciding["fsGroup"], syncing["fsGroup"]) == (10001, 10002)
    assert deciding["supplementalGroups"] == syncing["supplementalGroups"] == [10000]
    assert SERVICE.settings(tmp_path).service.events_group == "10000"
    keys = [{key for volume, _ in pod.mounted.values() for key in keys_of(volume)} for pod in (SERVICE, SYNC)]
    assert keys[0].isdisjoint(keys[1])
    assert claims_of(SERVICE) & claims_of(SYNC) == {"ranger-cdap-events"}
    volume, read_only = SYNC.mounted[EVENTS]
    assert (read_only, volume["persistentVolumeClaim"]["readOnly"]) == (True, True)


def test_no_mount_opens_a_volume_to_the_group_again_and_events_are_not_at_its_root(tmp_path: Path) -> None:
    for pod in PODS.values():
        assert pod.spec["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"
    for place in written(SERVICE.settings(tmp_path)).values():
        assert str(place) not in SERVICE.mounted
    assert str(SYNC.settings(tmp_path).sync.state_dir) not in SYNC.mounted


def test_the_job_reads_the_events_of_every_replica_of_callers_that_may_bring_them(tmp_path: Path) -> None:
    deciding, replicas = SERVICE.settings(tmp_path).service, REPLICAS["spec"]["replicas"]
    sources = [source for source in SYNC.settings(tmp_path).sync.sources if source.kind == "data-plane"]
    assert [source.path for source in sources] == [
        deciding.events_dir.with_name(f"ranger-cdap-{number}") for number in range(replicas)
    ]
    may_bring = {caller.name for caller in deciding.callers if "audit" in caller.roles}
    assert all(set(source.callers) == may_bring for source in sources)


def test_what_the_service_keeps_for_good_is_on_a_claim(tmp_path: Path) -> None:
    """The audit is in the home of the user, which the image says."""
    home = re.search(r"^ENV HOME=(\S+)$", (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert home is not None
    lasting = {"persistentVolumeClaim", "spec"}
    kept = [place for place, (volume, _) in SERVICE.mounted.items() if volume.keys() & lasting]
    settings = SERVICE.settings(tmp_path)
    assert settings.audit.sinks == ("file",)
    assert is_below(Path(home[1]), kept)
    assert is_below(settings.service.events_dir, kept)


EVENTS = "/var/lib/ranger-cdap-events"


def keys_of(volume: dict[str, Any]) -> set[str]:
    return {item["key"] for item in volume.get("secret", {}).get("items", ())}


def claims_of(pod: Pod) -> set[str]:
    volumes = [volume for volume, _ in pod.mounted.values()]
    return {volume["persistentVolumeClaim"]["claimName"] for volume in volumes if "persistentVolumeClaim" in volume}


@pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
def test_its_secrets_are_files_it_has_those_it_names_and_no_others(pod: Pod) -> None:
    mounted = set()
    for place, (volume, read_only) in pod.mounted.items():
        if "secret" in volume:
            assert read_only
            assert volume["secret"]["defaultMode"] & 0o007 == 0
            keys = [item["path"] for item in volume["secret"].get("items", ())] or ["tls.crt", "tls.key"]
            mounted |= {f"{Path(place).name}/{key}" for key in keys}
    assert named_secrets(pod.environment.values(), pod.config) == {name.removeprefix("secrets/") for name in mounted}


@pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
def test_whatever_it_needs_is_here_or_on_the_page(pod: Pod) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for volume, _ in pod.mounted.values():
        for kind, name in (("configMap", "name"), ("secret", "secretName"), ("persistentVolumeClaim", "claimName")):
            if kind in volume:
                wanted = volume[kind][name]
                here = (kind[0].upper() + kind[1:], wanted) in OBJECTS
                assert here or (kind, wanted) in BY_HAND
                assert here or f" {wanted} " in page


@pytest.mark.parametrize(
    ("pod", "writes"),
    [(SERVICE, {"plugin.cache_dir", "service.events_dir"}), (SYNC, {"sync.state_dir"})],
    ids=PODS,
)
def test_what_it_writes_is_on_a_volume(pod: Pod, writes: set[str], tmp_path: Path) -> None:
    places = written(pod.settings(tmp_path))
    writable = [place for place, (_, read_only) in pod.mounted.items() if not read_only]
    assert all(is_below(places[key], writable) for key in writes)
    assert is_below(Path("/tmp/x"), writable)


def test_probes_and_prometheus_ask_for_public_routes_by_the_address_of_the_pod() -> None:
    open_routes = {row.path for row in ROUTES if row.method == "GET" and not row.roles}
    ports = {port["name"]: port["containerPort"] for port in SERVICE.container["ports"]}
    for probe in ("readinessProbe", "livenessProbe"):
        asked = SERVICE.container[probe]["httpGet"]
        assert asked["path"] in open_routes
        assert asked["port"] in ports
        assert asked["scheme"] == "HTTPS"
        assert "httpHeaders" not in asked
    assert SERVICE.container["readinessProbe"]["httpGet"]["path"] == "/health/ready"
    assert SERVICE.container["livenessProbe"]["httpGet"]["path"] == "/health/live"
    scraped = REPLICAS["spec"]["template"]["metadata"]["annotations"]
    assert scraped["prometheus.io/path"] in open_routes
    assert int(scraped["prometheus.io/port"]) in ports.values()


def test_the_port_is_that_of_the_settings_and_the_service_leads_there(tmp_path: Path) -> None:
    (port,) = SERVICE.container["ports"]
    assert port["containerPort"] == SERVICE.settings(tmp_path).service.port
    service = OBJECTS["Service", "ranger-cdap"]["spec"]
    assert [each["targetPort"] for each in service["ports"]] == [port["name"]]
    labels = REPLICAS["spec"]["template"]["metadata"]["labels"]
    assert service["selector"] == labels == REPLICAS["spec"]["selector"]["matchLabels"]
    assert "ranger-cdap" in SERVICE.settings(tmp_path).service.hosts


def test_one_run_at_a_time_and_none_is_repeated_within_its_time() -> None:
    assert CRON_JOB["spec"]["concurrencyPolicy"] == "Forbid"
    assert CRON_JOB["spec"]["jobTemplate"]["spec"]["backoffLimit"] == 0
    assert SYNC.spec["restartPolicy"] == "Never"


def test_images_are_pinned() -> None:
    for pod in PODS.values():
        assert pod.container["image"].partition(":")[2] not in ("", "latest")
