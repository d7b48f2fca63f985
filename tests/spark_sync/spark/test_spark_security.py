"""Where `spark-submit` set Spark up, a run is refused that leaves it open to others, unless a setting accepts that."""

from __future__ import annotations

import pytest

from ranger_cdap.config import Settings, SyncSettings
from ranger_cdap.doctor.local import examine_state
from ranger_cdap.doctor.users import Users
from ranger_cdap.errors import ConfigError
from spark_sync.spark.spark_security import CLOSED, check_closed, fresh_secret

ON = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.io.encryption.enabled": "true",
}
SUBMIT = "org.apache.spark.deploy.SparkSubmit --properties-file /etc/spark/sync.conf examples/submit.py sync run"

# what differs from `ON` (None: not set), and what the refusal says
OPEN = [
    (dict.fromkeys(ON), "`spark.authenticate` is not true"),
    ({"spark.authenticate": None}, "`spark.authenticate` is not true"),
    ({"spark.authenticate": "false"}, "`spark.authenticate` is not true"),
    ({"spark.authenticate": ""}, "`spark.authenticate` is not true"),
    ({"spark.network.crypto.enabled": None}, "`spark.network.crypto.enabled` or `spark.authenticate.enableSasl"),
    ({"spark.network.crypto.enabled": None, "spark.ssl.enabled": "true"}, "or `spark.ssl.rpc.enabled` is not true"),
    ({"spark.io.encryption.enabled": "false"}, "`spark.io.encryption.enabled` is not true"),
]
AS_GOOD = [
    {},
    {"spark.authenticate": " TRUE "},
    {"spark.network.crypto.enabled": "false", "spark.authenticate.enableSaslEncryption": "true"},
    {"spark.network.crypto.enabled": None, "spark.ssl.rpc.enabled": "true"},
    {"spark.authenticate.secret": "in a file"},
]


def with_changes(changes: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in (ON | changes).items() if value is not None}


@pytest.mark.parametrize(("changes", "said"), OPEN)
def test_what_is_open_is_refused_and_named(changes: dict[str, str | None], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_closed(with_changes(changes), SUBMIT, allowed=False)
    assert said in str(refused.value)
    assert "sync.allow_open_spark" in str(refused.value)
    check_closed(with_changes(changes), SUBMIT, allowed=True)


@pytest.mark.parametrize("changes", AS_GOOD, ids=str)
def test_what_is_closed_goes_on(changes: dict[str, str | None]) -> None:
    check_closed(with_changes(changes), SUBMIT, allowed=False)


def test_a_secret_on_the_command_line_is_none() -> None:
    command = SUBMIT.replace("--properties-file", "--conf spark.authenticate.secret=hunter2 --properties-file")
    with pytest.raises(ConfigError, match="on the command line") as refused:
        check_closed(ON, command, allowed=False)
    assert "hunter2" not in str(refused.value)


def test_what_we_ask_of_others_a_driver_of_our_own_has() -> None:
    check_closed(CLOSED, "", allowed=False)


def test_no_secret_is_had_twice() -> None:
    (name,), (once,) = fresh_secret().keys(), fresh_secret().values()
    assert name == "spark.authenticate.secret"
    assert len(bytes.fromhex(once)) == 32
    assert fresh_secret()[name] != once


@pytest.mark.parametrize("allowed", [True, False])
def test_the_doctor_tells_of_what_is_accepted(allowed: bool) -> None:
    settings = Settings(sync=SyncSettings(allow_open_spark=allowed))
    found = list(examine_state(settings, Users.of(settings)))
    assert ["sync.allow_open_spark" in finding.advice for finding in found] == [True] * allowed
