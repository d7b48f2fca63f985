"""Other values than the defaults, one or more for each value of the chart, and what it needs to have an effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Values = dict[str, Any]
"""By path, like `sync.mode`."""

BASE: Final[Values] = {
    "ranger.urls": ["https://ranger-admin.ranger.svc:6182"],
    "sync.stage": "run",
}
"""Without these nothing is rendered."""

DIGEST: Final = "sha256:" + "5f" * 32
AMOUNTS: Final = {"requests": {"cpu": "2", "memory": "3Gi"}, "limits": {"memory": "5Gi", "ephemeral-storage": "1Gi"}}
TOLERATIONS: Final = [
    {"key": "security", "operator": "Equal", "value": "only", "effect": "NoSchedule"},
    {"operator": "Exists"},
]
PEER: Final = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}]
BLOCK: Final = [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]
CALLERS: Final = [
    {"name": "cdap-enforce", "roles": ["enforce"], "secret": {"secretKey": "one"}},
    {"name": "cdap audit", "roles": ["audit", "evaluate"], "secret": {"secretKey": "two"}},
    {"name": "sync-notify", "roles": ["refresh"], "secret": {"secretKey": "three"}},
]
WITHOUT_AUDIT: Final = [CALLERS[0], CALLERS[2]]
SERVICE_SETTINGS: Final = {
    "plugin": {"poll_interval": 5, "max_staleness": 3600.5, "use_ranger_groups": False},
    "groups": {"sources": ["ldap"], "static": {"a.b": ["x", 'y\u007f<&\u2028"\\'], "guest": []}},
    "ldap": {
        "urls": ["ldaps://dc1.example", "ldaps://dc2.example:3269"],
        "user_base": "ou=people",
        "bind_dn": "cn=ranger",
        "bind_password": {"secretKey": "ldap"},
    },
    "audit": {
        "sinks": ["file", "solr"],
        "solr_url": "https://solr:8984/solr/ranger_audits",
        "solr_username": "audit",
        "solr_password": {"secretKey": "solr"},
        "kafka_cert_file": {"secretFile": "kafka.pem"},
    },
    "service": {
        "proxy": {"addresses": ["10.0.0.1"], "secret": {"secretKey": "proxy"}},
    },
}
SYNC_SETTINGS: Final = {
    "sync": {
        "non_creators": ["cdap", "root", "etl"],
        "mapped": {"svc.etl": "ann"},
        "hold_back": 60,
        "confirm": {
            "url": "https://cdap.example:11443",
            "user": "confirm",
            "token_file": {"secretFile": "token"},
            "caller": "confirm",
            "secret": {"secretKey": "confirm"},
            "decision_service": "https://ranger-cdap.cdap.svc:6500",
        },
        "notify": [
            {
                "url": f"https://ranger-cdap-{number}.ranger-cdap-replicas.cdap.svc:6500",
                "caller": "sync-notify",
                "secret": {"secretKey": "three"},
            }
            for number in range(2)
        ],
    },
    "audit": {"sinks": ["log"]},
}
SOURCES: Final = [
    {"name": "audit", "kind": "audit-messaging", "url": "https://messaging:11443", "token_file": {"secretFile": "bus"}},
    {
        "name": "kafka",
        "kind": "audit-kafka",
        "bootstrap": "k1:9093,k2:9094",
        "callers": [],
        "options": {"kafka.sasl.jaas.config": {"secretKey": "jaas"}},
    },
]

ALTERNATIVES: Final[Mapping[str, tuple[Any, ...]]] = {
    "fullname": ("authz",),
    "labels": ({"team": "security", "example.org/cost": "7"},),
    "clusterDomain": ("corp.example",),
    "image.registry": ("registry.example:5000/security",),
    "image.pullPolicy": ("Always",),
    "image.pullSecrets": (["pull-one", "pull-two"],),
    "fixedUsers": (False,),
    "secret": ("other-secrets",),
    "ca.configMap": ("", "company-ca"),
    "ca.key": ("ca-bundle.crt",),
    "ranger.urls": (["https://one", "https://two:6183"], ["http://ranger:6080"]),
    "ranger.service": ("cdap_prod",),
    "ranger.auth": ("bearer", "certificate"),
    "cdap.instance": ("production",),
    "settings": (
        {"cdap": {"profile": "cdap-6"}, "admin": {"users": ["ann"]}, "ranger": {"attempts": 5}},
        {"network": {"plain_hosts": ["Ranger", "router"]}},
        {"enforce": {"operations": ["dataset.*"], "outside": "report"}, "master": {"user": "cdap", "create": "deny"}},
    ),
    "decisionService.image.repository": ("team/authz",),
    "decisionService.image.tag": ("0.1.0-7",),
    "decisionService.image.digest": (DIGEST,),
    "decisionService.replicas": (1, 3, 4, 5),
    "decisionService.username": ("plugin@corp",),
    "decisionService.passwordKey": ("plugin.password",),
    "decisionService.rangerCertificate": ("plugin-certificate",),
    "decisionService.callers": (CALLERS, WITHOUT_AUDIT),
    "decisionService.settings": (SERVICE_SETTINGS,),
    "decisionService.hosts": (["authz.example", "authz"],),
    "decisionService.tls.secret": ("other-tls",),
    "decisionService.tls.clientCaKey": ("clients.crt",),
    "decisionService.tls.probeSecret": ("probe-tls",),
    "decisionService.service.type": ("NodePort", "LoadBalancer"),
    "decisionService.service.annotations": ({"example.org/internal": "true"},),
    "decisionService.state.size": ("1Ti",),
    "decisionService.state.storageClass": ("fast",),
    "decisionService.stopDelay": (0, 20),
    "decisionService.stopTimeout": (60,),
    "decisionService.startTimeout": (301,),
    "decisionService.maxUnavailable": (2,),
    "decisionService.spreadOver": ([],),
    "decisionService.resources": (AMOUNTS,),
    "decisionService.nodeSelector": ({"disk": "ssd"},),
    "decisionService.tolerations": (TOLERATIONS,),
    "decisionService.priorityClass": ("important",),
    "decisionService.podAnnotations": ({"example.org/mesh": "off: 'no'"},),
    "events.enabled": (False,),
    "events.size": ("100Gi",),
    "events.storageClass": ("nfs",),
    "events.existingClaim": ("shared-events",),
    "sync.stage": ("baseline", "off"),
    "sync.mode": ("schedule",),
    "sync.schedule": ("@hourly", "0 6-20/2 * * MON-FRI"),
    "sync.deadline": (7200,),
    "sync.interval": (0.5, 60),
    "sync.image.repository": ("team/sync",),
    "sync.image.tag": ("0.1.0-7",),
    "sync.image.digest": (DIGEST,),
    "sync.username": ("sync@corp",),
    "sync.passwordKey": ("sync.password",),
    "sync.rangerCertificate": ("sync-certificate",),
    "sync.sources": (SOURCES,),
    "sync.settings": (SYNC_SETTINGS,),
    "sync.baseline.cdapUrl": ("https://cdap-router.cdap.svc:11443", "http://router:11015"),
    "sync.baseline.tokenKey": ("cdap-token",),
    "sync.baseline.configMap": ("inventory",),
    "sync.baseline.claim": ("inventories",),
    "sync.baseline.file": ("now.jsonl",),
    "sync.state.url": ("s3://bucket/ranger-cdap/sync", "hdfs://namenode:8020/ranger-cdap/sync"),
    "sync.state.variables": ("store-variables",),
    "sync.state.size": ("50Gi",),
    "sync.state.storageClass": ("fast",),
    "sync.state.existingClaim": ("ledger",),
    "sync.temporary": ("8Gi",),
    "sync.stopTimeout": (600,),
    "sync.resources": (AMOUNTS,),
    "sync.nodeSelector": ({"disk": "ssd"},),
    "sync.tolerations": (TOLERATIONS,),
    "sync.priorityClass": ("batch",),
    "sync.podAnnotations": ({"example.org/mesh": "off"},),
    "monitoring.scrape": ("serviceMonitor", "none"),
    "monitoring.serviceMonitor.labels": ({"release": "prometheus"},),
    "monitoring.serviceMonitor.interval": (15,),
    "monitoring.serviceMonitor.caSecret": ("prometheus-ca",),
    "monitoring.serviceMonitor.clientSecret": ("prometheus-client",),
    "telemetry.endpoint": (
        "http://collector.monitoring.svc:4318",
        "https://otel.example/otlp",
        "http://127.0.0.1:4319",
    ),
    "telemetry.headersKey": ("collector.headers",),
    "telemetry.caKey": ("collector-ca.crt",),
    "telemetry.sampling": (0, 0.0001, 0.25),
    "telemetry.attributes": ({"deployment.environment.name": "prod", "team": "R&D, $(POD_NAME) = 100 % + ü"},),
    "networkPolicy.enabled": (False,),
    "networkPolicy.callers": ([], PEER),
    "networkPolicy.prometheus": (PEER,),
    "networkPolicy.nodes": (["192.168.0.0/24", "fd00::/8"],),
    "networkPolicy.destinations": (BLOCK,),
    "networkPolicy.ports": ([8443, 53],),
    "networkPolicy.dnsPorts": ([53, 5353],),
}

CERTIFICATES: Final[Values] = {
    "ranger.auth": "certificate",
    "decisionService.rangerCertificate": "plugin-certificate-0",
    "sync.rangerCertificate": "sync-certificate-0",
}
CLIENTS: Final[Values] = {"decisionService.tls.clientCaKey": "clients-0", "decisionService.tls.probeSecret": "probe-0"}
MONITOR: Final[Values] = {"monitoring.scrape": "serviceMonitor"}
BASELINE: Final[Values] = {"sync.stage": "baseline", "sync.baseline.configMap": "inventory-0"}
COLLECTOR: Final[Values] = {"telemetry.endpoint": "https://collector-0.monitoring.svc:4318"}
FROM_CDAP: Final[Values] = {"sync.stage": "baseline", "sync.baseline.cdapUrl": "https://router:11443"}

NEEDS: Final[Mapping[str, Values]] = {
    "decisionService.rangerCertificate": CERTIFICATES,
    "sync.rangerCertificate": CERTIFICATES,
    "decisionService.tls.clientCaKey": CLIENTS,
    "decisionService.tls.probeSecret": CLIENTS,
    "events.enabled": {"sync.stage": "off", "decisionService.callers": WITHOUT_AUDIT},
    "sync.stage": {"sync.baseline.configMap": "inventory-0"},
    "sync.state.variables": {"sync.state.url": "s3://bucket-0/sync"},
    "sync.schedule": {"sync.mode": "schedule"},
    "sync.deadline": {"sync.mode": "schedule"},
    "sync.baseline.cdapUrl": FROM_CDAP,
    "sync.baseline.claim": {"sync.stage": "baseline", "sync.baseline.claim": "inventories-0"},
    "sync.baseline.tokenKey": FROM_CDAP,
    "sync.baseline.configMap": BASELINE,
    "sync.baseline.file": BASELINE,
    "monitoring.serviceMonitor.labels": MONITOR,
    "monitoring.serviceMonitor.interval": MONITOR,
    "monitoring.serviceMonitor.caSecret": MONITOR,
    "monitoring.serviceMonitor.clientSecret": MONITOR,
    **{path: COLLECTOR for path in ALTERNATIVES if path.startswith("telemetry.")},
}
"""What else is set where a value has its effect."""


def nested(values: Values) -> Values:
    """The values by path as the tables of a file."""
    found: Values = {}
    for path, value in values.items():
        *tables, key = path.split(".")
        place = found
        for table in tables:
            place = place.setdefault(table, {})
        place[key] = value
    return found
