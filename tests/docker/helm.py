"""Helm, as a program that renders the chart; it asks no cluster."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import jsonschema_rs
import pytest

from tests.docker.fixtures import ROOT
from tests.docker.manifests import Object

CHART: Final = ROOT / "examples" / "kubernetes" / "chart"
HELM: Final = ROOT / ".venv" / "helm" / "helm"
SCHEMAS: Final = ROOT / ".venv" / "kubernetes" / "kubernetes_validate" / "kubernetes-json-schema"
OLDEST: Final = "1.25.0"

needs_helm = pytest.mark.skipif(not HELM.exists(), reason="needs helm, which `make test-helm` builds")


class HelmRefused(Exception):
    """Helm's message."""


def render(values: object, *, chart: Path = CHART, release: str = "ranger-cdap") -> str:
    """What Helm renders for values; `cdap` is the namespace.

    Raises:
        HelmRefused: the schema or the chart does not take them.
    """
    done = subprocess.run(
        [HELM, "template", release, chart, "--namespace", "cdap", "--kube-version", OLDEST, "--values", "-"],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise HelmRefused(done.stderr)
    return done.stdout


def notes(values: object, folder: Path) -> str:
    """The text after an installation; Helm shows it to a cluster's users only, so here it is a template."""
    copy = shutil.copytree(CHART, folder / "chart")
    text = (copy / "templates" / "NOTES.txt").read_text(encoding="utf-8")
    template = (
        f'{{{{- define "notes" }}}}{text}{{{{ end -}}}}\nkind: Notes\ntext: {{{{ include "notes" . | toJson }}}}\n'
    )
    (copy / "templates" / "notes.yaml").write_text(template, encoding="utf-8")
    (rendered,) = [each for each in render(values, chart=copy).split("\n---\n") if "\nkind: Notes\n" in each]
    return str(json.loads(rendered.partition("text: ")[2]))


@cache
def versions() -> tuple[str, ...]:
    """The versions of Kubernetes whose schemas are at hand, the oldest first."""
    found = [path.name.removesuffix("-local-strict")[1:] for path in SCHEMAS.glob("*-local-strict")]
    return tuple(sorted(found, key=lambda version: tuple(map(int, version.split(".")))))


@cache
def validator(version: str, kind: str, api: str) -> Any:
    group, _, of_group = api.rpartition("/")
    name = "-".join(filter(None, (kind.lower(), group.removesuffix(".k8s.io").split(".")[0], of_group)))

    def beside(address: str) -> Any:
        file = SCHEMAS / f"v{version}-local-strict" / Path(urlsplit(address).path).name
        return json.loads(file.read_text(encoding="utf-8"))

    return jsonschema_rs.validator_for(beside(f"{name}.json"), retriever=beside)


def schema_errors(each: Object, version: str) -> list[str]:
    """What the schema of Kubernetes finds wrong in an object."""
    errors = validator(version, each["kind"], each["apiVersion"]).iter_errors(each)
    return [f"{each['kind']} {error.instance_path}: {error.message}" for error in errors]
