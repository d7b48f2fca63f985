"""The doctor asks the Elasticsearch that the audit goes to for its index, and adds nothing to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import requests
import responses

from ranger_cdap.config import AuditSettings, Secret, Settings
from ranger_cdap.config.secret import resolve_secret
from ranger_cdap.doctor import Finding, Health
from ranger_cdap.doctor.local import examine_audit
from ranger_cdap.doctor.users import Users

URL = "https://es.test:9200"
PASSWORD = "Es-Passw0rd"


def examined(directory: Path, password: Secret) -> dict[str, Finding]:
    audit = AuditSettings(
        sinks=("elasticsearch",),
        elasticsearch_url=URL,
        elasticsearch_username="audit",
        elasticsearch_password=password,
        spool_dir=directory,
    )
    settings = Settings(audit=audit)
    return {one.check: one for one in examine_audit(settings, Users.of(settings))}


def found(directory: Path, password: Secret = Secret(PASSWORD)) -> Finding:  # noqa: B008 - immutable
    return examined(directory, password)["audit sink `elasticsearch`"]


def test_the_settings_of_a_sink_are_shown_without_its_password(tmp_path: Path) -> None:
    seen = examined(tmp_path, Secret(PASSWORD))["audit"].seen
    given_ = f"elasticsearch_url = `{URL}`, elasticsearch_index = `ranger_audits`, elasticsearch_username = `audit`"
    assert seen == f"records go to `elasticsearch` ({given_})"


@responses.activate
def test_an_index_that_is_there_is_well(tmp_path: Path) -> None:
    responses.get(f"{URL}/ranger_audits/_mapping", json={"ranger_audits": {}})
    finding = found(tmp_path)
    assert finding.health is Health.WELL
    assert [call.request.method for call in responses.calls] == ["GET"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"status": 404, "json": {"error": "no such index"}}, "returned HTTP 404"),
        ({"status": 401}, "rejects account `audit`"),
        ({"body": requests.ConnectionError("refused")}, "cannot be reached"),
    ],
)
@responses.activate
def test_an_index_that_cannot_be_read_fails(answer: dict[str, Any], said: str, tmp_path: Path) -> None:
    responses.get(f"{URL}/ranger_audits/_mapping", **answer)
    finding = found(tmp_path)
    assert finding.health is Health.FAILED
    assert said in finding.seen
    assert "audit.elasticsearch_*" in finding.advice
    assert PASSWORD not in finding.seen


def test_a_password_that_this_user_cannot_read_is_not_tried(tmp_path: Path) -> None:
    finding = found(tmp_path, resolve_secret(f"file:{tmp_path / 'of another user'}"))
    assert (finding.health, "not tried" in finding.seen) == (Health.NOTE, True)
