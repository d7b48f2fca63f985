"""The laws of everything that is rendered for Kubernetes; each is a function of the objects and a folder of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from opentelemetry.sdk.resources import OTELResourceDetector

from ranger_cdap.config import StoreUrl
from ranger_cdap.service.http.callers import Callers
from ranger_cdap.service.http.limits import ServiceLimits
from ranger_cdap.service.http.server import check_exposure
from ranger_cdap.service.table import ROUTES
from ranger_cdap.telemetry.start import wants_traces
from spark_sync.sources.registry import event_sources
from tests.docker.fixtures import ROOT, is_below, parse_command, written
from tests.docker.manifests import EVENTS, Manifests, environment_of, selects

Law = Callable[[Manifests, Path], None]

PORT = 6500
OPEN_ROUTES = {row.path for row in ROUTES if row.method == "GET" and not row.roles}
HOME = re.search(r"^ENV HOME=(\S+)$", (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
LASTING = {"persistentVolumeClaim", "spec"}
NOT_SECRET = {
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    "OTEL_TRACES_SAMPLER",
    "OTEL_TRACES_SAMPLER_ARG",
    "OTEL_RESOURCE_ATTRIBUTES",
}
COMMANDS = {"serve", "run", "baseline", "inventory"}


def settings_are_ours_and_safe(rendered: Manifests, folder: Path) -> None:
    for number, pod in enumerate(rendered.pods):
        settings = pod.settings(folder / str(number))
        for file in (settings.network.ca_file, settings.service.tls_client_ca):
            assert file is None or is_below(Path(file), list(pod.mounts))
        if pod is rendered.service:
            check_exposure(settings.service)
            Callers.of(settings.service)
            assert settings.service.tls_certificate is not None
        else:
            assert settings.sync.sources
            assert {source.kind for source in settings.sync.sources} <= event_sources().keys()


def a_command_is_one_of_ours(rendered: Manifests, _: Path) -> None:
    for pod in rendered.pods:
        for container in pod.containers:
            assert parse_command(container["args"]).info_name in COMMANDS


def a_pod_has_few_rights(rendered: Manifests, _: Path) -> None:
    for pod in rendered.pods:
        assert pod.spec["automountServiceAccountToken"] is False
        assert pod.spec["securityContext"]["runAsNonRoot"] is True
        assert pod.spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.spec.keys()
        for container in pod.containers:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


def two_users_have_nothing_in_common_but_the_group_of_the_events(rendered: Manifests, folder: Path) -> None:
    service, others = rendered.service, [pod for pod in rendered.pods if pod is not rendered.service]
    for pod in others:
        context = pod.spec["securityContext"]
        if "runAsUser" in context:
            assert {context[key] for key in ("runAsUser", "runAsGroup", "fsGroup")} == {10002}
    if service is None:
        return
    context = service.spec["securityContext"]
    given = {key: context.get(key) for key in ("runAsUser", "runAsGroup", "fsGroup")}
    # All of them, or all are the cluster's choice.
    assert set(given.values()) in ({10001}, {None})
    assert all(given["runAsUser"] is None or "runAsUser" in pod.spec["securityContext"] for pod in others)
    shared = context.get("supplementalGroups", [])
    assert service.settings(folder).service.events_group == "".join(map(str, shared))
    events = {service.mounts[EVENTS][0]["persistentVolumeClaim"]["claimName"]} if EVENTS in service.mounts else set()
    for pod in others:
        assert pod.spec["securityContext"].get("supplementalGroups", []) == shared
        assert service.claim_names & pod.claim_names <= events
        if EVENTS in pod.mounts:
            volume, read_only = pod.mounts[EVENTS]
            assert (read_only, volume["persistentVolumeClaim"]["readOnly"]) == (True, True)
            assert volume["persistentVolumeClaim"]["claimName"] in events


def no_mount_opens_a_volume_to_the_group_again(rendered: Manifests, folder: Path) -> None:
    for number, pod in enumerate(rendered.pods):
        assert pod.spec["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"
        # What we write is not at the root of a volume, which Kubernetes lets the group write to.
        assert not {str(place) for place in written(pod.settings(folder / str(number))).values()} & pod.mounts.keys()


def what_a_program_writes_is_on_a_volume(rendered: Manifests, folder: Path) -> None:
    assert HOME is not None
    for number, pod in enumerate(rendered.pods):
        places = written(pod.settings(folder / str(number)))
        keys = {"plugin.cache_dir"} if pod is rendered.service else {"sync.state_dir"}
        lasting = [at for at, (volume, read_only) in pod.mounts.items() if volume.keys() & LASTING and not read_only]
        if isinstance(pod.settings(folder / str(number)).sync.state_dir, StoreUrl):
            # Then no volume is the ledger's, and its home lasts as long as the pod.
            assert not lasting
            lasting = [at for at, (_, read_only) in pod.mounts.items() if not read_only]
        else:
            assert all(is_below(places[key], lasting) for key in keys)
        # The audit is in the home of the user, which the image says.
        assert is_below(Path(HOME[1]), lasting)
        for container in pod.containers:
            assert is_below(
                Path("/tmp/x"), [at for at, (_, read_only) in pod.mounted(container).items() if not read_only]
            )
            assert {mount["name"] for mount in container["volumeMounts"]} <= pod.volumes.keys()
    if rendered.service is not None and EVENTS in rendered.service.mounts:
        assert is_below(rendered.service.settings(folder / "events").service.events_dir, [EVENTS])


def the_job_reads_the_events_of_every_replica_of_callers_that_may_send_them(rendered: Manifests, folder: Path) -> None:
    if rendered.replicas is None or rendered.service is None:
        return
    deciding = rendered.service.settings(folder / "service").service
    may_send = {caller.name for caller in deciding.callers if "audit" in caller.roles}
    assert bool(may_send) <= (EVENTS in rendered.service.mounts)
    name, number = rendered.replicas["metadata"]["name"], rendered.replicas["spec"]["replicas"]
    for pod in (rendered.baseline, rendered.sync):
        if pod is not None:
            sources = pod.settings(folder / "sync").sync.sources
            ours = [source for source in sources if source.kind == "data-plane" and str(source.path).startswith(EVENTS)]
            wanted = (
                [f"{EVENTS}/{name}-{index}" for index in range(number)] if EVENTS in rendered.service.mounts else []
            )
            assert [str(source.path) for source in ours][: len(wanted)] == wanted
            assert all(set(source.callers) == may_send for source in ours)
            assert len({source.name for source in sources}) == len(sources)


def a_pod_has_the_secrets_it_names_and_no_others(rendered: Manifests, _: Path) -> None:
    for pod in rendered.pods:
        assert pod.mounted_secrets == {name.removeprefix("secrets/") for name in pod.named_secrets}
        for container in pod.containers:
            for volume, read_only in pod.mounted(container).values():
                if "secret" in volume:
                    assert read_only
                    assert volume["secret"]["defaultMode"] & 0o007 == 0


def no_secret_is_rendered(rendered: Manifests, _: Path) -> None:
    assert rendered.of_kind("Secret") == []
    for pod in rendered.pods:
        assert not re.search(r"(password|secret|marker)\s*=\s*\"(?!file:/run/secrets/)", pod.config)
        for container in pod.containers:
            for each in container["env"]:
                assert ("valueFrom" in each) != ("value" in each)
                assert "value" not in each or each["value"].startswith("/") or each["name"] in NOT_SECRET


def probes_ask_for_open_routes_by_the_address_of_the_pod(rendered: Manifests, folder: Path) -> None:
    if rendered.service is None:
        return
    container, settings = rendered.service.container, rendered.service.settings(folder).service
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    asked = {"startupProbe": "/health/live", "livenessProbe": "/health/live", "readinessProbe": "/health/ready"}
    for name, path in asked.items():
        probe = container[name]
        assert path in OPEN_ROUTES
        assert 1 <= probe["timeoutSeconds"] <= probe["periodSeconds"]
        if settings.tls_client_ca is None:
            assert probe["httpGet"] == {"path": path, "port": "https", "scheme": "HTTPS"}
        else:
            assert probe["exec"]["command"] == ["python", "/usr/local/lib/ranger-cdap/healthcheck.py", path]
            assert settings.tls_probe_certificate is not None
    assert ports == {"https": settings.port} == {"https": PORT}
    scraped = rendered.service.template["metadata"]["annotations"]
    if "prometheus.io/scrape" in scraped:
        assert scraped["prometheus.io/path"] in OPEN_ROUTES
        assert int(scraped["prometheus.io/port"]) == PORT


def services_lead_to_the_pods_under_names_that_are_answered(rendered: Manifests, folder: Path) -> None:
    if rendered.service is None or rendered.replicas is None:
        return
    hosts, name = rendered.service.settings(folder).service.hosts, rendered.replicas["metadata"]["name"]
    spec = rendered.replicas["spec"]
    assert selects(spec["selector"], rendered.service.labels)
    names = {each["metadata"]["name"]: each["spec"] for each in rendered.of_kind("Service")}
    for service in names.values():
        assert selects({"matchLabels": service["selector"]}, rendered.service.labels)
        assert [(port["port"], port["targetPort"]) for port in service["ports"]] == [(PORT, "https")]
    assert names[spec["serviceName"]]["clusterIP"] == "None"
    assert name in hosts
    assert all(f"{name}-{number}.{spec['serviceName']}" in hosts for number in range(spec["replicas"]))
    # An address is no name that answers: /health and /metrics are answered under any (see the request guard).
    assert not any(re.fullmatch(r"[0-9.]+", host) for host in hosts)


def endpoints_go_before_the_pod_and_requests_are_finished(rendered: Manifests, _: Path) -> None:
    if rendered.service is None:
        return
    stop = rendered.service.container.get("lifecycle", {"preStop": {"exec": {"command": ["sleep", "0"]}}})
    program, seconds = stop["preStop"]["exec"]["command"]
    assert program == "sleep"
    assert int(seconds) + ServiceLimits().stop_seconds <= rendered.service.spec["terminationGracePeriodSeconds"]
    (budget,) = rendered.of_kind("PodDisruptionBudget")
    assert selects(budget["spec"]["selector"], rendered.service.labels)
    for spread in rendered.service.spec.get("topologySpreadConstraints", ()):
        assert selects(spread["labelSelector"], rendered.service.labels)


def one_writer_of_the_ledger_and_the_baseline_before_it(rendered: Manifests, _: Path) -> None:
    assert not (rendered.baseline is not None and rendered.sync_runs)
    for job in rendered.of_kind("CronJob"):
        assert job["spec"]["concurrencyPolicy"] == "Forbid"
        assert job["spec"]["jobTemplate"]["spec"]["backoffLimit"] == 0
        assert rendered.sync is not None
        assert rendered.sync.spec["restartPolicy"] == "Never"
    for deployment in rendered.of_kind("Deployment"):
        assert deployment["spec"]["strategy"] == {"type": "Recreate"}
        assert deployment["spec"]["replicas"] <= 1
        assert rendered.sync is not None
        assert selects(deployment["spec"]["selector"], rendered.sync.labels)
    if rendered.baseline is not None and rendered.sync is not None:
        assert rendered.baseline.labels != rendered.sync.labels
        state = "/var/lib/ranger-cdap"
        assert rendered.baseline.mounts[state] == rendered.sync.mounts[state]


def the_baseline_reads_the_list_that_is_there(rendered: Manifests, folder: Path) -> None:
    if rendered.baseline is None:
        return
    options = parse_command(rendered.baseline.container["args"]).params
    assert is_below(Path(options["path"]), ["/inventory"])
    assert rendered.baseline.mounts["/inventory"][1] is True
    for container in rendered.baseline.spec.get("initContainers", ()):
        listing = parse_command(container["args"]).params
        assert listing["path"] == options["path"]
        assert rendered.baseline.mounted(container)["/inventory"][1] is False
        trusted = rendered.baseline.settings(folder).network.ca_file
        assert trusted is None or is_below(Path(trusted), list(rendered.baseline.mounted(container)))


def images_are_pinned(rendered: Manifests, _: Path) -> None:
    for pod in rendered.pods:
        for container in pod.containers:
            assert re.search(r"(@sha256:[0-9a-f]{64}|:(?!latest$)[\w.-]+)$", container["image"])


def names_and_labels_are_ones_that_kubernetes_takes(rendered: Manifests, _: Path) -> None:
    """No schema says so: pods of a CronJob and a StatefulSet have names made of theirs."""
    for kind, name in rendered.objects:
        assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name)
        assert len(name) <= (52 if kind in ("CronJob", "StatefulSet") else 63)
    for each in (*rendered.objects.values(), *(pod.template for pod in rendered.pods)):
        assert each["metadata"]["labels"]["app.kubernetes.io/name"] == "ranger-cdap"
        for value in each["metadata"]["labels"].values():
            assert re.fullmatch(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", value)


def policies_let_in_and_out_what_is_needed(rendered: Manifests, _: Path) -> None:
    policies = [each["spec"] for each in rendered.of_kind("NetworkPolicy")]
    for pod in rendered.pods if policies else ():
        (policy,) = [each for each in policies if selects(each["podSelector"], pod.labels)]
        assert policy["policyTypes"] == ["Ingress", "Egress"]
        let_in = [rule["ports"] for rule in policy.get("ingress", ())]
        assert let_in == ([[{"protocol": "TCP", "port": PORT}]] if pod is rendered.service else [])
        # An empty list of peers would let in everyone.
        assert all(rule["from"] for rule in policy.get("ingress", ()))
        let_out = {port["port"] for rule in policy["egress"] for port in rule["ports"] if port["protocol"] == "TCP"}
        arguments = [text for container in pod.containers for text in container["args"]]
        assert ports_in(" ".join((pod.config, *arguments, *pod.environment.values()))) <= let_out


def ports_in(text: str) -> set[int]:
    defaults = {"http": 80, "https": 443, "ldap": 389, "ldaps": 636}
    found = [urlsplit(address) for address in re.findall(r"\b(?:https?|ldaps?)://[^\s\"',]+", text)]
    return {address.port or defaults[address.scheme] for address in found}


def a_monitor_asks_for_the_metrics_as_the_service_answers(rendered: Manifests, folder: Path) -> None:
    """No schema of its definition is at hand: it is held against the Service and the settings."""
    for monitor in rendered.of_kind("ServiceMonitor"):
        assert monitor["apiVersion"] == "monitoring.coreos.com/v1"
        (service,) = [
            each
            for each in rendered.of_kind("Service")
            if selects(monitor["spec"]["selector"], each["metadata"]["labels"])
        ]
        (endpoint,) = monitor["spec"]["endpoints"]
        assert endpoint.keys() == {"port", "scheme", "path", "interval", "tlsConfig"}
        assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
        assert (endpoint["scheme"], endpoint["path"]) == ("https", "/metrics")
        assert re.fullmatch(r"[1-9][0-9]*s", endpoint["interval"])
        assert rendered.service is not None
        settings = rendered.service.settings(folder).service
        tls = endpoint["tlsConfig"]
        assert tls["serverName"] in settings.hosts
        assert "insecureSkipVerify" not in tls
        ((kind, authority),) = tls["ca"].items()
        assert kind in ("secret", "configMap")
        assert authority.keys() == {"name", "key"}
        if settings.tls_client_ca is not None:
            assert tls["cert"]["secret"]["key"] == "tls.crt"
            assert tls["keySecret"]["key"] == "tls.key"
        assert "prometheus.io/scrape" not in rendered.service.template["metadata"]["annotations"]


def resource_attributes(variables: Mapping[str, str]) -> Mapping[str, object]:
    """What the SDK makes of the variable."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_RESOURCE_ATTRIBUTES", variables["OTEL_RESOURCE_ATTRIBUTES"])
        return OTELResourceDetector().detect().attributes


def programs_that_send_telemetry_send_it_alike_and_start_without_its_secret(rendered: Manifests, _: Path) -> None:
    """The Job of the baseline sends none: other variables would be another Job, which would enter everything again."""
    senders = [pod for pod in (rendered.service, rendered.sync) if pod is not None]
    variables = [{name: text for name, text in pod.environment.items() if name.startswith("OTEL_")} for pod in senders]
    assert all(each == variables[0] for each in variables)
    for pod, given in zip(senders, variables, strict=True):
        assert bool(given) == wants_traces(given)
        if given:
            attributes = resource_attributes(given)
            assert (attributes["k8s.namespace.name"], attributes["k8s.pod.name"]) == ("cdap", "POD-0")
            assert "service.name" not in attributes
        if "OTEL_EXPORTER_OTLP_CERTIFICATE" in given:
            assert is_below(Path(given["OTEL_EXPORTER_OTLP_CERTIFICATE"]), list(pod.mounts))
        for each in pod.container["env"]:
            if "secretKeyRef" in each.get("valueFrom", {}):
                assert each["name"] == "OTEL_EXPORTER_OTLP_HEADERS"
                assert each["valueFrom"]["secretKeyRef"]["optional"] is True
    if rendered.baseline is not None:
        assert [name for one in rendered.baseline.containers for name in environment_of(one) if "OTEL" in name] == []


LAWS: tuple[Law, ...] = (
    settings_are_ours_and_safe,
    a_command_is_one_of_ours,
    a_pod_has_few_rights,
    two_users_have_nothing_in_common_but_the_group_of_the_events,
    no_mount_opens_a_volume_to_the_group_again,
    what_a_program_writes_is_on_a_volume,
    the_job_reads_the_events_of_every_replica_of_callers_that_may_send_them,
    a_pod_has_the_secrets_it_names_and_no_others,
    no_secret_is_rendered,
    probes_ask_for_open_routes_by_the_address_of_the_pod,
    services_lead_to_the_pods_under_names_that_are_answered,
    endpoints_go_before_the_pod_and_requests_are_finished,
    one_writer_of_the_ledger_and_the_baseline_before_it,
    the_baseline_reads_the_list_that_is_there,
    images_are_pinned,
    names_and_labels_are_ones_that_kubernetes_takes,
    policies_let_in_and_out_what_is_needed,
    a_monitor_asks_for_the_metrics_as_the_service_answers,
    programs_that_send_telemetry_send_it_alike_and_start_without_its_secret,
)
