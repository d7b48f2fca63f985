"""The plain YAML for Kubernetes: the laws of what is rendered, and nothing it needs that its page does not name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docker.fixtures import ROOT
from tests.docker.manifest_laws import LAWS, Law
from tests.docker.manifests import Manifests

FOLDER = ROOT / "examples" / "kubernetes"
FILES = {path.stem: Manifests.of(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yaml"))}
PAGE = ROOT / "docs" / "how-to" / "run-on-kubernetes.md"
KINDS = {
    ("configMap", "name"): "ConfigMap",
    ("secret", "secretName"): "Secret",
    ("persistentVolumeClaim", "claimName"): "PersistentVolumeClaim",
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("rendered", FILES.values(), ids=FILES)
def test_the_plain_yaml_keeps_the_law(rendered: Manifests, law: Law, tmp_path: Path) -> None:
    law(rendered, tmp_path)


@pytest.mark.parametrize("rendered", FILES.values(), ids=FILES)
def test_everything_a_pod_needs_is_here_or_on_the_page(rendered: Manifests) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for pod in rendered.pods:
        for volume in pod.volumes.values():
            for (kind, key), object_kind in KINDS.items():
                if kind in volume:
                    name = volume[kind][key]
                    assert (object_kind, name) in rendered.objects or f"{object_kind} {name} " in page


def test_the_first_file_is_the_second_one_with_the_sync_job_stopped() -> None:
    first, then = FILES["ranger-cdap-baseline"], FILES["ranger-cdap"]
    assert then.sync_runs
    assert then.baseline is None
    assert not first.sync_runs
    assert first.baseline is not None
    for key in first.objects.keys() & then.objects.keys() - {("Deployment", "ranger-cdap-sync")}:
        assert first.objects[key] == then.objects[key]
    job, later = (each.objects["Deployment", "ranger-cdap-sync"] for each in (first, then))
    assert job["spec"] == later["spec"] | {"replicas": 0}
