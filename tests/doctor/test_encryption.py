"""`ranger-cdap doctor`: each address that is reached unencrypted is a warning with its remedy."""

from __future__ import annotations

import pytest

from ranger_cdap.config import (
    AuditSettings,
    ConfirmSettings,
    NetworkSettings,
    NotifySettings,
    RangerSettings,
    Secret,
    Settings,
    SourceSettings,
    SyncSettings,
)
from ranger_cdap.doctor import Health
from ranger_cdap.doctor.network import examine_encryption

NAMED = "network.plain_hosts"
PLAIN = "http://server.example:1"


def source(**more: object) -> Settings:
    return Settings(sync=SyncSettings(sources=(SourceSettings(name="n", kind="k", **more),)))  # type: ignore[arg-type]


def kafka(bootstrap: str, **options: str) -> Settings:
    return source(bootstrap=bootstrap, options={f"kafka.{k.replace('_', '.')}": Secret(v) for k, v in options.items()})


# the check that warns, and what its advice names: settings
EXPOSED = {
    f"`ranger.url` {PLAIN}": (NAMED, Settings(ranger=RangerSettings(url=f"https://a, {PLAIN}"))),
    f"`audit.solr_url` {PLAIN}": (NAMED, Settings(audit=AuditSettings(solr_url=PLAIN))),
    f"`audit.elasticsearch_url` {PLAIN}": (
        NAMED,
        Settings(audit=AuditSettings(elasticsearch_url=f"https://a,{PLAIN}")),
    ),
    f"`sync.sources[].url` {PLAIN}": (NAMED, source(url=PLAIN)),
    f"`sync.confirm.url` {PLAIN}": (
        NAMED,
        Settings(sync=SyncSettings(confirm=ConfirmSettings(url=PLAIN))),
    ),
    f"`sync.confirm.decision_service` {PLAIN}": (
        NAMED,
        Settings(sync=SyncSettings(confirm=ConfirmSettings(decision_service=PLAIN))),
    ),
    f"`sync.notify[].url` {PLAIN}": (
        NAMED,
        Settings(sync=SyncSettings(notify=(NotifySettings(url=PLAIN, caller="c", secret=Secret("s")),))),
    ),
    "`audit.kafka_bootstrap`": (
        NAMED,
        Settings(
            audit=AuditSettings(kafka_bootstrap="127.0.0.1:9092, k:9092"), network=NetworkSettings(plain_hosts=("k",))
        ),
    ),
    "source `n`": ("kafka.security.protocol", kafka("127.0.0.1:9092, k.example:9092")),
}


@pytest.mark.parametrize("check", EXPOSED)
def test_an_address_reached_unencrypted_is_a_warning_with_its_remedy(check: str) -> None:
    named, settings = EXPOSED[check]
    (finding,) = examine_encryption(settings)
    assert (finding.check, finding.health) == (f"encryption of {check}", Health.NOTE)
    assert named in finding.advice


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(ranger=RangerSettings(url="https://a.example, http://127.0.0.1:6080")),
        Settings(audit=AuditSettings(kafka_bootstrap="k:9092"), network=NetworkSettings(plain_hosts=("other",))),
        kafka("127.0.0.1:9092"),
        kafka("k.example:9092", security_protocol="SASL_SSL"),
        kafka("k.example:9092", Security_Protocol="ssl"),
    ],
)
def test_what_is_encrypted_or_stays_on_this_machine_is_well(settings: Settings) -> None:
    (finding,) = examine_encryption(settings)
    assert (finding.check, finding.health) == ("encryption", Health.WELL)


def test_a_kafka_password_in_clear_text_is_a_warning_that_holds_no_secret() -> None:
    settings = kafka("k.example:9092", security_protocol="SASL_PLAINTEXT", sasl_jaas_config="password=hunter2")
    (finding,) = examine_encryption(settings)
    assert finding.seen.startswith("SASL_PLAINTEXT: anyone on the network path to k.example:9092")
    assert "hunter2" not in repr(finding)
