"""What the doctor says of the look-up in Ranger Admin, by what Ranger Admin answers to two look-ups."""

from __future__ import annotations

from typing import Any

import pytest
import responses

from ranger_cdap.config import RangerSettings, Secret, Settings
from ranger_cdap.doctor import Health
from ranger_cdap.doctor.finding import Finding
from ranger_cdap.doctor.lookup import examine_lookup
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from servicedef import service_definition, with_lookup

OURS = with_lookup(service_definition())
SETTINGS = Settings(ranger=RangerSettings(url="http://127.0.0.1:6080", service="cdapdev", attempts=1))
URL = "http://127.0.0.1:6080/service/plugins/services/lookupResource/cdapdev"


def examined(definition: dict[str, Any], *answers: tuple[int, Any]) -> tuple[list[Finding], list[Any]]:
    """The findings, and what was asked of Ranger Admin."""
    with responses.RequestsMock(assert_all_requests_are_fired=False) as http:
        for status, body in answers:
            http.add(responses.POST, URL, status=status, json=body)
        with RangerAdmin.connect(SETTINGS, "plugin", Secret("pw")) as admin:
            findings = list(examine_lookup(definition, admin, SETTINGS))
        return findings, [call.request.body for call in http.calls]


@pytest.mark.parametrize(
    ("answers", "health", "seen", "advice"),
    [
        ([(200, ["cdap"]), (200, ["ns1", "ns2"])], [Health.WELL, Health.WELL], "2 namespaces are offered", ""),
        ([(200, [])], [Health.FAILED], "Ranger Admin does not have it", "ranger-cdap extension ranger"),
        ([(200, None)], [Health.FAILED], "Ranger Admin does not have it", "setup --no-lookup"),
        ([(403, {"msgDesc": "no"})], [Health.SKIPPED], "may not look names up", ""),
        ([(400, {"msgDesc": "NoClassDefFoundError"})], [Health.FAILED], "NoClassDefFoundError", "install the jar"),
        ([(200, {"a": 1})], [Health.FAILED], "is not a list of names", "install the jar"),
        ([(200, ["prod"])], [Health.WELL, Health.FAILED], "it is for instance `prod`, not `cdap`", "set CDAP instance"),
        (
            [(200, ["cdap"]), (400, {"msgDesc": "CDAP URL (cdap.instance.url) cannot be reached"})],
            [Health.WELL, Health.FAILED],
            "CDAP URL (cdap.instance.url) cannot be reached",
            "Test Connection",
        ),
        ([(200, ["cdap"]), (400, {})], [Health.WELL, Health.FAILED], "", "Test Connection"),
        ([(200, ["cdap"]), (200, [])], [Health.WELL, Health.NOTE], "no namespace is offered", "set CDAP URL"),
    ],
)
def test_a_look_up_proves_the_jar_and_the_connection(
    answers: list[tuple[int, Any]], health: list[Health], seen: str, advice: str
) -> None:
    findings, asked = examined(OURS, *answers)

    assert [finding.health for finding in findings] == health
    assert seen in findings[-1].seen
    assert findings[-1].seen
    assert advice in findings[-1].advice
    assert len(asked) == len(answers)


@pytest.mark.parametrize(("class_name", "seen"), [("", "not used;"), ("their.Lookup", "names `their.Lookup`")])
def test_a_definition_without_our_class_needs_nothing(class_name: str, seen: str) -> None:
    findings, asked = examined(service_definition() | {"implClass": class_name})

    assert [finding.health for finding in findings] == [Health.WELL]
    assert seen in findings[0].seen
    assert asked == []
