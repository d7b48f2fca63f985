"""The secrets of the extension and of CDAP's key store are not to be seen: not in its settings, not in its log."""

from __future__ import annotations

from tests.cdap_master.fixtures import World


def test_the_settings_that_cdap_shows_hold_no_secret(cdap_world: World) -> None:
    cdap_world.people({"auditor": ["READ instance:"]})

    shown = cdap_world.user("auditor").must("GET /v3/config/cdap").text

    assert "security.authorization.extension.config.enforce.secret.file" in shown
    assert [secret for secret in cdap_world.secrets if secret in shown] == []


def test_nor_does_its_log(cdap_world: World) -> None:
    log = cdap_world.cdap.log

    assert [secret for secret in cdap_world.secrets if secret in log] == []
