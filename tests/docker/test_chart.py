"""The Helm chart, rendered: every rendering keeps the laws, and is what Kubernetes takes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, example, given, note, settings
from hypothesis import strategies as st

from tests.docker.chart_values import (
    ALTERNATIVES,
    BASE,
    BASELINE,
    CALLERS,
    CERTIFICATES,
    CLIENTS,
    COLLECTOR,
    FROM_CDAP,
    MONITOR,
    NEEDS,
    SERVICE_SETTINGS,
    SOURCES,
    SYNC_SETTINGS,
    WITHOUT_AUDIT,
    Values,
    nested,
)
from tests.docker.fixtures import ROOT
from tests.docker.helm import CHART, HelmRefused, needs_helm, notes, render, schema_errors, versions
from tests.docker.manifest_laws import LAWS, resource_attributes
from tests.docker.manifests import Manifests

pytestmark = [pytest.mark.helm, needs_helm]

SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
EVERYTHING = {
    "decisionService.callers": CALLERS,
    "decisionService.settings": SERVICE_SETTINGS,
    "sync.settings": SYNC_SETTINGS,
    "sync.sources": SOURCES,
}
TRACED = COLLECTOR | {
    "telemetry.headersKey": "collector",
    "telemetry.caKey": "collector-ca.crt",
    "telemetry.sampling": 0.1,
    "telemetry.attributes": {"deployment.environment.name": "a b"},
}
GONE = {
    "name": "data-plane-2",
    "kind": "data-plane",
    "path": "/var/lib/ranger-cdap-events/ranger-cdap-2",
    "callers": ["cdap-audit"],
}
NAMED: Values = {"settings": {"network": {"plain_hosts": ["Ranger", "router"]}}}
RENDERINGS: dict[str, Values] = {
    "the least": {},
    "a CronJob": {"sync.mode": "schedule"},
    "a baseline of a ConfigMap": BASELINE,
    "a baseline of a ConfigMap, beside a token": BASELINE | {"sync.baseline.tokenKey": "token"},
    "the records of a replica that is gone": {"sync.sources": [GONE]},
    "a baseline of CDAP, with a token": FROM_CDAP | {"sync.baseline.tokenKey": "token"},
    "a baseline before a CronJob": FROM_CDAP | {"sync.mode": "schedule"},
    "no sync job": {"sync.stage": "off"},
    "a ledger in S3": {"sync.state.url": "s3://bucket/sync", "sync.state.variables": "store"},
    "a baseline into HDFS": FROM_CDAP | {"sync.state.url": "hdfs://namenode:8020/sync"},
    **{f"{number} replicas": {"decisionService.replicas": number} for number in range(1, 6)},
    "no events": {"events.enabled": False, "sync.sources": SOURCES, "decisionService.callers": WITHOUT_AUDIT},
    "a long stop": {"decisionService.stopDelay": 60},
    "OpenShift": {"fixedUsers": False, "networkPolicy.dnsPorts": [53, 5353]},
    "several hosts": {"decisionService.hosts": ["authz.example", "authz"]},
    "client certificates": CLIENTS,
    "client certificates, and a ServiceMonitor": CLIENTS
    | MONITOR
    | {"monitoring.serviceMonitor.clientSecret": "prometheus"},
    "certificates for Ranger": CERTIFICATES,
    "no authorities of its own": {"ca.configMap": ""},
    "a collector beside the container": {"telemetry.endpoint": "http://127.0.0.1:4318"},
    "a collector with credentials": TRACED,
    "a collector, without events": TRACED
    | {"events.enabled": False, "decisionService.callers": WITHOUT_AUDIT}
    | {"sync.sources": SOURCES},
    "a collector, before the first run": TRACED | FROM_CDAP,
    "without TLS": NAMED | {"ranger.urls": ["http://ranger:6080"]},
    "a baseline without TLS": NAMED | FROM_CDAP | {"sync.baseline.cdapUrl": "http://ROUTER:11015"},
    "everything": EVERYTHING | TRACED,
    "everything, before the first run": EVERYTHING | FROM_CDAP | CLIENTS,
}
# A rendering takes too long to look for the least of its values.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
# A sentence of the chart: what is wrong, and what to do.
SENTENCE = re.compile(
    r"Error: execution error at \(ranger-cdap/templates/\S+\): "
    r"(?=[^\n]*`\w)[^\n]*\b(set|use|give|name|raise|remove|enable)\b"
)


def rendered_or_refused(values: Values) -> str | None:
    """What is rendered; None where a sentence of the chart refuses the values, which its schema takes."""
    try:
        return render(nested(values))
    except HelmRefused as e:
        if SENTENCE.match(str(e)):
            return None
        raise


def keeps_the_laws(text: str) -> None:
    rendered = Manifests.of(text)
    for law in LAWS:
        with TemporaryDirectory() as folder:
            law(rendered, Path(folder))
    for version in (versions()[0], versions()[-1]):
        objects = [each for each in rendered.objects.values() if each["kind"] != "ServiceMonitor"]
        assert [error for each in objects for error in schema_errors(each, version)] == []


@pytest.mark.parametrize("values", RENDERINGS.values(), ids=RENDERINGS)
def test_a_rendering_keeps_the_laws_and_kubernetes_takes_it(values: Values) -> None:
    keeps_the_laws(render(nested(BASE | values)))


# Values of one table depend on each other most.
ROOMS = sorted({path.rpartition(".")[0] for path in ALTERNATIVES})
ROOM = st.sampled_from(ROOMS).flatmap(
    lambda room: st.fixed_dictionaries(
        {},
        optional={
            path: st.sampled_from(found) for path, found in ALTERNATIVES.items() if path.rpartition(".")[0] == room
        },
    )
)
MIXED = st.lists(ROOM, max_size=4).map(lambda rooms: {path: value for room in rooms for path, value in room.items()})
GROUPS = st.lists(
    st.sampled_from(
        [CERTIFICATES, CLIENTS, MONITOR, BASELINE, FROM_CDAP, EVERYTHING, COLLECTOR, TRACED, {"sync.mode": "schedule"}]
    ),
    max_size=3,
).map(lambda groups: {path: value for group in groups for path, value in group.items()})


@settings(max_examples=int(os.environ.get("RANGER_CDAP_CHART_EXAMPLES", "60")), deadline=None, phases=PHASES)
@given(mixed=MIXED, groups=GROUPS)
def test_any_values_keep_the_laws_or_are_refused_by_a_sentence(mixed: Values, groups: Values) -> None:
    note(f"{groups | mixed}")
    text = rendered_or_refused(BASE | groups | mixed)
    if text is not None:
        keeps_the_laws(text)


@pytest.mark.parametrize("path", ALTERNATIVES)
def test_a_value_has_an_effect(path: str) -> None:
    others = BASE | NEEDS.get(path, {})
    plain = render(nested(others))
    changed = {rendered_or_refused(others | {path: value}) for value in ALTERNATIVES[path]} - {None}
    assert changed
    assert plain not in changed


# Addresses as the page of all settings shows them: what follows `like`, with a port.
SECTION = re.compile(r"^## `\[(\w+)\]`\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)`[^|]*\| (text|names) \|[^|]*\|[^|\n]*\blike `([^`]*\w:\d{2,5}\b[^`]*)`", re.MULTILINE)
ADDRESSES = [
    (table, key, [text] if kind == "names" else text)
    for table, rows in SECTION.findall((ROOT / "docs/reference/configuration.md").read_text(encoding="utf-8"))
    for key, kind, text in ROW.findall(rows)
    if key in SCHEMA["$defs"]["decisionServiceSettings"]["properties"].get(table, {}).get("properties", {})
]


@pytest.mark.parametrize(("table", "key", "address"), ADDRESSES, ids=lambda part: str(part))
def test_a_pod_may_reach_every_address_in_its_settings(table: str, key: str, address: str | list[str]) -> None:
    rendered = Manifests.of(render(nested(BASE | {"decisionService.settings": {table: {key: address}}})))
    (policy,) = [each for each in rendered.of_kind("NetworkPolicy") if each["metadata"]["name"] == "ranger-cdap"]
    ports = {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]}
    assert {int(port) for port in re.findall(r"(?<=:)\d+", str(address))} <= ports


def test_there_are_addresses_of_several_kinds() -> None:
    assert {(table, key) for table, key, _ in ADDRESSES} >= {
        ("audit", "solr_url"),
        ("audit", "kafka_bootstrap"),
        ("audit", "hdfs_dir"),
    }


REFUSED: dict[str, tuple[Values, str]] = {
    "no address of Ranger Admin": ({"ranger.urls": []}, "`ranger.urls` is empty"),
    "plain http": ({"ranger.urls": ["http://ranger:6080"]}, "`settings.network.plain_hosts`"),
    "a value that does not exist": ({"decisionService.replica": 3}, "'replica' not allowed"),
    "a setting that does not exist": ({"settings": {"cdap": {"profil": "004"}}}, "'profil' not allowed"),
    "a setting the chart decides": ({"decisionService.settings": {"service": {"host": "x"}}}, "'host' not allowed"),
    "a setting of another type": ({"sync.settings": {"sync": {"keep_days": "all"}}}, "/sync/settings/sync/keep_days"),
    "a password": ({"decisionService.settings": {"ldap": {"bind_password": "hunter2"}}}, "want object"),
    "a password in an address": ({"ranger.urls": ["https://ann:hunter2@ranger:6182"]}, "/ranger/urls/0"),
    "a password in place of a key": ({"decisionService.passwordKey": "hunter2!"}, "/decisionService/passwordKey"),
    "a password as a key": ({"decisionService.passwordKey": "no key"}, "/decisionService/passwordKey"),
    "a secret of a caller": ({"decisionService.callers": [{"name": "x", "roles": [], "secret": "s"}]}, "want object"),
    "no replicas": ({"decisionService.replicas": 0}, "minimum"),
    "an unknown stage": ({"sync.stage": "first"}, "'baseline', 'run', 'off'"),
    "a baseline of nothing": ({"sync.stage": "baseline"}, "`sync.baseline.cdapUrl`"),
    "a baseline of two lists": (BASELINE | {"sync.baseline.claim": "x"}, "exactly one"),
    "a token sent in the clear": (FROM_CDAP | {"sync.baseline.cdapUrl": "http://router"}, "plain_hosts"),
    "plain http to a host that is not named": (NAMED | {"ranger.urls": ["http://ranger.example"]}, "plain_hosts"),
    "two callers of one name": (
        {"decisionService.callers": [CALLERS[0], {**CALLERS[1], "name": "cdap-enforce"}]},
        "twice",
    ),
    "two callers with one secret": (
        {"decisionService.callers": [CALLERS[0], {**CALLERS[1], "secret": {"secretKey": "one"}}]},
        "a secret of its own",
    ),
    "records that no one reads": ({"events.enabled": False, "sync.sources": SOURCES}, "the role `audit`"),
    "events that no one sends": ({"decisionService.callers": WITHOUT_AUDIT}, "no caller has the role `audit`"),
    "a sync job without a source": (
        {"events.enabled": False, "decisionService.callers": WITHOUT_AUDIT},
        "the sync job has no source",
    ),
    "a source with a name of the chart's": ({"sync.sources": [SOURCES[0] | {"name": "data-plane-1"}]}, "twice"),
    "a certificate that no one has": (CERTIFICATES | {"sync.rangerCertificate": ""}, "`sync.rangerCertificate`"),
    "a certificate that no one uses": (CERTIFICATES | {"ranger.auth": "basic"}, "`rangerCertificate` is set"),
    "probes without a certificate": (CLIENTS | {"decisionService.tls.probeSecret": ""}, "probeSecret"),
    "Prometheus without a certificate": (CLIENTS | MONITOR, "clientSecret"),
    "Prometheus without an authority": (MONITOR | {"ca.configMap": ""}, "caSecret"),
    "a stop that is cut short": ({"decisionService.stopTimeout": 9}, "stopTimeout"),
    "a name that is too long": ({"fullname": "a" * 31}, "/fullname"),
    "a port that is none": ({"ranger.urls": ["https://ranger:65536"]}, "/ranger/urls/0"),
    "an option in an address": (FROM_CDAP | {"sync.baseline.cdapUrl": "https://x --out=/y"}, "cdapUrl"),
    "a line in a name": ({"ranger.service": "a\nb"}, "/ranger/service"),
    "a label that is none": ({"labels": {"team": "a b"}}, "/labels/team"),
    "a toleration that is none": ({"sync.tolerations": [{"effect": "Sometimes"}]}, "/sync/tolerations/0/effect"),
    "credentials sent in the clear": (TRACED | {"telemetry.endpoint": "http://collector:4318"}, "sent unencrypted"),
    "credentials for no collector": (TRACED | {"telemetry.endpoint": ""}, "`telemetry.endpoint` is empty"),
    "an authority of nothing": (COLLECTOR | {"telemetry.caKey": "x", "ca.configMap": ""}, "`ca.configMap`"),
    "credentials as text": (COLLECTOR | {"telemetry.headersKey": "authorization=hunter2"}, "/telemetry/headersKey"),
    "credentials in an address": ({"telemetry.endpoint": "https://ann:hunter2@collector"}, "/telemetry/endpoint"),
    "a service with the name of another": (
        COLLECTOR | {"telemetry.attributes": {"service.name": "x"}},
        "`service.name`",
    ),
    "more than all traces": (COLLECTOR | {"telemetry.sampling": 2}, "/telemetry/sampling"),
    "a peer that lets in everyone": ({"networkPolicy.callers": [{}]}, "/networkPolicy/callers/0"),
}


@pytest.mark.parametrize(("values", "message"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_value_is_refused_by_name(values: Values, message: str) -> None:
    with pytest.raises(HelmRefused) as refused:
        render(nested(BASE | values))
    assert message in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_release_whose_name_is_too_long_is_refused() -> None:
    with pytest.raises(HelmRefused, match="set `fullname`"):
        render(nested(BASE), release="a" * 31)
    render(nested(BASE | {"fullname": "short"}), release="a" * 53)


@pytest.mark.parametrize("values", RENDERINGS.values(), ids=RENDERINGS)
def test_the_notes_name_every_object_a_release_needs_and_does_not_make(values: Values, tmp_path: Path) -> None:
    text, rendered = notes(nested(BASE | values), tmp_path), Manifests.of(render(nested(BASE | values)))
    for pod in rendered.pods:
        for volume in pod.volumes.values():
            found: dict[str, Any] = volume.get("secret", {})
            if found:
                keys = [item["key"] for item in found.get("items", [])] or ["tls.crt", "tls.key"]
                (line,) = re.findall(rf"^  Secret {found['secretName']}: (.*)$", text, re.MULTILINE)
                assert set(keys) <= set(line.split(", "))
        for each in pod.container["env"]:
            if reference := each.get("valueFrom", {}).get("secretKeyRef"):
                (line,) = re.findall(rf"^  Secret {reference['name']}: (.*)$", text, re.MULTILINE)
                assert reference["key"] in line.split(", ")
    assert ("--set sync.stage=run" in text) == (rendered.baseline is not None)


def test_other_settings_start_the_pods_again_and_another_baseline() -> None:
    def marks(values: Values) -> tuple[Any, ...]:
        rendered = Manifests.of(render(nested(BASE | FROM_CDAP | values)))
        assert rendered.service is not None
        assert rendered.sync is not None
        jobs = [job["metadata"]["name"] for job in rendered.of_kind("Job")]
        return rendered.service.template["metadata"], rendered.sync.template["metadata"], jobs

    before = marks({})
    service, sync, jobs = marks({"sync.settings": {"sync": {"rate": 1}}})
    assert (service == before[0], sync == before[1], jobs == before[2]) == (True, False, False)
    service, sync, jobs = marks({"decisionService.settings": {"service": {"grants": "bridge"}}})
    assert (service == before[0], sync == before[1], jobs == before[2]) == (False, True, True)
    assert marks(TRACED)[2] == before[2]


# What Kubernetes, the SDK or YAML could take for their own, and any other character that JSON writes as one escape.
ATTRIBUTE = st.text(
    st.sampled_from("$()=,%+;&#'\"\\ {}\t\n") | st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF),
    min_size=1,
)


@settings(max_examples=25, deadline=None, phases=PHASES)
@given(attributes=st.dictionaries(st.sampled_from(["a", "team", "k8s.cluster.name"]), ATTRIBUTE, min_size=1))
@example(attributes={"a": "$(POD_NAME)"})
def test_attributes_arrive_as_they_were_written(attributes: dict[str, str]) -> None:
    rendered = Manifests.of(render(nested(BASE | COLLECTOR | {"telemetry.attributes": attributes})))
    assert rendered.service is not None
    found = resource_attributes(rendered.service.environment)
    assert found == attributes | {"k8s.namespace.name": "cdap", "k8s.pod.name": "POD-0"}


def test_the_plain_yaml_is_rendered_from_the_chart(tmp_path: Path) -> None:
    subprocess.run(["sh", ROOT / ".ci" / "render-kubernetes", ROOT / ".venv/helm/helm", tmp_path], check=True)
    committed = {path.name: path.read_text(encoding="utf-8") for path in CHART.parent.glob("*.yaml")}
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == committed
