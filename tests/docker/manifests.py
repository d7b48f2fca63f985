"""What is rendered for Kubernetes, by kind and name, and the settings that its containers have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from ranger_cdap.config import Settings
from tests.docker.fixtures import named_secrets, settings_of

Object = dict[str, Any]

EVENTS = "/var/lib/ranger-cdap-events"
COMPONENT = "app.kubernetes.io/component"
CREDENTIALS = "authorization=Bearer%20from-the-secret"


def environment_of(container: Object) -> dict[str, str]:
    """The variables as Kubernetes sets them: a reference is to a variable before it, else it is left as it is."""
    found: dict[str, str] = {}
    for each in container["env"]:
        assert each["name"] not in found
        match each.get("valueFrom"):
            case None:
                text = re.sub(r"\$\(([^)]*)\)", lambda name: found.get(name[1], name[0]), each["value"])
            case {"fieldRef": {"fieldPath": "metadata.name"}}:
                text = "POD-0"
            case {"secretKeyRef": {"key": str()}}:
                text = CREDENTIALS
            case other:
                raise AssertionError(other)
        found[each["name"]] = text
    return found


@dataclass(frozen=True)
class Pod:
    """A pod with one container besides those that run before it; `claims` are volumes it has a claim of its own for."""

    template: Object
    objects: Mapping[tuple[str, str], Object]
    claims: tuple[Object, ...] = ()

    @property
    def spec(self) -> Object:
        return self.template["spec"]  # type: ignore[no-any-return]

    @property
    def labels(self) -> dict[str, str]:
        return self.template["metadata"]["labels"]  # type: ignore[no-any-return]

    @property
    def container(self) -> Object:
        (only,) = self.spec["containers"]
        return only  # type: ignore[no-any-return]

    @property
    def containers(self) -> list[Object]:
        return [*self.spec.get("initContainers", ()), self.container]

    @property
    def environment(self) -> dict[str, str]:
        return environment_of(self.container)

    @property
    def volumes(self) -> dict[str, Object]:
        found = {volume["name"]: volume for volume in self.spec["volumes"]}
        return found | {claim["metadata"]["name"]: claim for claim in self.claims}

    def mounted(self, container: Object) -> dict[str, tuple[Object, bool]]:
        """Place → volume, and whether it is for reading only."""
        return {
            mount["mountPath"]: (self.volumes[mount["name"]], bool(mount.get("readOnly")))
            for mount in container["volumeMounts"]
        }

    @property
    def mounts(self) -> dict[str, tuple[Object, bool]]:
        return self.mounted(self.container)

    @property
    def config(self) -> str:
        place = Path(self.environment["RANGER_CDAP_CONFIG"])
        volume = self.mounts[str(place.parent)][0]["configMap"]
        (key,) = [item["key"] for item in volume["items"] if item["path"] == place.name]
        return str(self.objects["ConfigMap", volume["name"]]["data"][key])

    def settings(self, folder: Path) -> Settings:
        folder.mkdir(exist_ok=True)
        return settings_of(self.environment, self.config, folder)

    @property
    def named_secrets(self) -> set[str]:
        arguments = [text for container in self.containers for text in container["args"]]
        return named_secrets((*self.environment.values(), *arguments), self.config)

    @property
    def mounted_secrets(self) -> set[str]:
        """The files of secrets in the pod, below the directory of secrets."""
        found = set()
        for place, (volume, _) in self.mounts.items():
            if "secret" in volume:
                items = [item["path"] for item in volume["secret"].get("items", ())] or ["tls.crt", "tls.key"]
                found |= {f"{Path(place).name}/{name}" for name in items}
        return found

    @property
    def claim_names(self) -> set[str]:
        volumes = [volume for volume, _ in self.mounts.values()]
        return {each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each}


@dataclass(frozen=True)
class Manifests:
    """The objects of one rendering, or of one file."""

    objects: Mapping[tuple[str, str], Object]

    @staticmethod
    def of(text: str) -> Manifests:
        """The objects of a text; two of one kind and name would be one for Kubernetes."""
        found = [
            each
            for each in yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
            if each is not None
        ]
        objects = {(each["kind"], each["metadata"]["name"]): each for each in found}
        assert len(objects) == len(found)
        return Manifests(objects)

    def of_kind(self, kind: str) -> list[Object]:
        return [each for (one, _), each in self.objects.items() if one == kind]

    @cached_property
    def replicas(self) -> Object | None:
        return next(iter(self.of_kind("StatefulSet")), None)

    @cached_property
    def service(self) -> Pod | None:
        if self.replicas is None:
            return None
        spec = self.replicas["spec"]
        return Pod(spec["template"], self.objects, tuple(spec["volumeClaimTemplates"]))

    @cached_property
    def baseline(self) -> Pod | None:
        return next((Pod(job["spec"]["template"], self.objects) for job in self.of_kind("Job")), None)

    @cached_property
    def sync(self) -> Pod | None:
        for job in self.of_kind("CronJob"):
            return Pod(job["spec"]["jobTemplate"]["spec"]["template"], self.objects)
        for deployment in self.of_kind("Deployment"):
            return Pod(deployment["spec"]["template"], self.objects)
        return None

    @property
    def pods(self) -> Iterator[Pod]:
        yield from (pod for pod in (self.service, self.baseline, self.sync) if pod is not None)

    @property
    def sync_runs(self) -> bool:
        """Whether Kubernetes starts the sync job."""
        crons = any(not job["spec"]["suspend"] for job in self.of_kind("CronJob"))
        return crons or any(each["spec"]["replicas"] for each in self.of_kind("Deployment"))


def selects(selector: Object, labels: Mapping[str, str]) -> bool:
    """Whether a selector of Kubernetes selects what has these labels."""
    expressions = selector.get("matchExpressions", ())
    assert all(each["operator"] == "In" for each in expressions)
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        labels.get(each["key"]) in each["values"] for each in expressions
    )
