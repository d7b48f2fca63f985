"""What can be found wrong without Spark is found before it is started: here it cannot start at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest

from ranger_cdap.cli.main import main
from ranger_cdap.config import MasterSettings, Settings, SyncSettings, load_settings
from ranger_cdap.errors import ConfigError
from spark_sync.grants.plan_settings import non_creators
from spark_sync.ledger.lease import lease
from spark_sync.preflight import check_ledger, check_reading, check_run
from spark_sync.spark import submission

GOOD = """\
[sync]
username = "sync"
password = "env:HOME"
"""
SOURCE = '[[sync.sources]]\nname = "audit"\nkind = "{kind}"\npath = "{path}"\n'


@pytest.fixture(autouse=True)
def _no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty place, whose Java is none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


def settings_in(text: str) -> Settings:
    """These settings, with the state in this place."""
    text = text.replace("[sync]\n", '[sync]\nstate_dir = "state"\n')
    Path("ranger-cdap.toml").write_text(text, encoding="utf-8")
    return load_settings()


def refused(words: list[str], settings: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """How `sync` ends with these settings, and its last word."""
    settings_in(settings)
    code = main(["sync", *words])
    return code, capsys.readouterr().err.splitlines()[-1]


def state_is_a_file(directory: Path) -> str:
    (directory / "state").touch()
    return GOOD


def state_is_open_to_others(directory: Path) -> str:
    (directory / "state").mkdir()
    (directory / "state").chmod(0o777)
    return GOOD


def the_kind_is_unknown(_: Path) -> str:
    return GOOD + SOURCE.format(kind="audti", path=".")


def the_directory_is_missing(_: Path) -> str:
    return GOOD + SOURCE.format(kind="audit", path="nowhere")


def two_have_one_name(_: Path) -> str:
    return GOOD + 2 * SOURCE.format(kind="audit", path=".")


def nobody_signs_in(_: Path) -> str:
    return "[sync]\n"


def the_authority_is_missing(_: Path) -> str:
    return GOOD + '[network]\nca_file = "nowhere.pem"\n'


Fault = Callable[[Path], str]
STATE: list[tuple[Fault, int, str]] = [
    (state_is_a_file, 1, "the state directory `state` cannot be used: it is not a directory"),
    (state_is_open_to_others, 1, "the state directory `state` can be written by others"),
]
OF_A_RUN: list[tuple[Fault, int, str]] = [
    *STATE,
    (the_kind_is_unknown, 3, "source `audit` has the unknown kind `audti`; known are audit, "),
    (the_directory_is_missing, 3, "`nowhere`, the directory of source `audit`, does not exist"),
    (two_have_one_name, 3, "two sources are named `audit`"),
    (nobody_signs_in, 3, "`sync.username` is not set"),
    (the_authority_is_missing, 3, "`nowhere.pem`"),
]


@pytest.mark.parametrize(("fault", "code", "said"), OF_A_RUN, ids=[case[0].__name__ for case in OF_A_RUN])
@pytest.mark.parametrize("words", ["run", "run --follow"])
def test_a_run_is_refused(
    words: str, fault: Fault, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended, told = refused(words.split(), fault(tmp_path), capsys)
    assert (ended, said in told) == (code, True), told


def test_where_nothing_is_wrong_nothing_is_said(tmp_path: Path) -> None:
    settings = settings_in(GOOD + SOURCE.format(kind="audit", path="."))
    check_run(settings)
    for check in (check_ledger, check_reading):
        assert check(settings) is settings
    with lease(tmp_path / "state"):
        check_reading(settings)


def test_a_dry_run_needs_no_account() -> None:
    check_run(settings_in("[sync]\n"), dry=True)


Submit = Callable[[Mapping[str, str]], None]


@pytest.fixture
def submit(monkeypatch: pytest.MonkeyPatch) -> Submit:
    """From now on `spark-submit` has started the driver with these settings."""

    def submit(found: Mapping[str, str]) -> None:
        monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
        monkeypatch.setattr(submission, "driver_settings", lambda: (dict(found), "java"))

    return submit


CLUSTER_MODE: Mapping[str, str] = {"spark.submit.deployMode": "cluster"}
IN_A_POD: Mapping[str, str] = {"spark.submit.deployMode": "client", "spark.kubernetes.submitInDriver": "true"}
CLIENT_MODE: Mapping[str, str] = {"spark.submit.deployMode": "client"}


@pytest.mark.parametrize("mode", [CLUSTER_MODE, IN_A_POD])
@pytest.mark.parametrize("words", ["run", "run --follow", "run --dry-run", "status", "retry"])
@pytest.mark.parametrize("state", ["state", "/var/state", "file:///var/state"])
def test_a_ledger_on_a_disk_is_refused_in_cluster_mode(
    mode: Mapping[str, str], words: str, state: str, submit: Submit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit(mode)
    ended, told = refused(["--set", f"sync.state_dir={state}", *words.split()], GOOD, capsys)
    assert (ended, "`sync.state_dir`: a path is not accepted in cluster mode" in told) == (3, True), told
    assert not (tmp_path / "state").exists()


def test_each_place_on_a_disk_is_named_in_cluster_mode(submit: Submit) -> None:
    sources = "".join(
        SOURCE.format(kind="audit", path=path).replace('"audit"', f'"{name}"', 1)
        for name, path in (("one", "events"), ("two", "hdfs://host/events"), ("three", "/events/*.log"))
    )
    settings = settings_in(GOOD + sources)
    submit(CLUSTER_MODE)
    with pytest.raises(ConfigError) as raised:
        check_run(settings)
    assert str(raised.value).startswith("`sync.state_dir`, `path` of source `one`, `path` of source `three`: a path ")


@pytest.mark.parametrize("mode", [CLIENT_MODE, {}])
def test_a_ledger_on_a_disk_is_accepted_where_the_driver_is_here(mode: Mapping[str, str], submit: Submit) -> None:
    submit(mode)
    check_run(settings_in(GOOD + SOURCE.format(kind="audit", path=".")))


@pytest.mark.parametrize(
    ("out", "is_shared"),
    [("hdfs://host/review", True), ("s3a://b/r", True), ("abfs://c@a/r", True), ("review", False), ("/r", False),
     ("file:///r", False), ("file:/r", False), ("hdfs:/r", False)],
)  # fmt: skip
def test_answers_of_a_review_on_a_disk_are_refused_in_cluster_mode(out: str, is_shared: bool, submit: Submit) -> None:
    submit(CLUSTER_MODE)
    submission.require_urls({"`sync.jars_dir`": None})
    with nullcontext() if is_shared else pytest.raises(ConfigError, match=r"`--out`: a path is not accepted"):
        submission.require_urls({"`--out`": out})


def test_under_spark_submit_its_own_master_applies(submit: Submit, capsys: pytest.CaptureFixture[str]) -> None:
    submit(CLIENT_MODE)
    ended, told = refused(["run", "--master", "spark://host:7077"], GOOD, capsys)
    assert (ended, "under spark-submit its own --master applies" in told) == (3, True), told


COMMANDS = ["baseline --inventory i.jsonl", "retry", "reconcile", "assign namespace:ns1 bob", "forget namespace:ns1"]


@pytest.mark.parametrize("words", [*COMMANDS, "status"])
@pytest.mark.parametrize(("fault", "code", "said"), STATE, ids=[case[0].__name__ for case in STATE])
def test_a_state_directory_that_can_not_be_used_is_refused_by_every_command(
    words: str, fault: Fault, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended, told = refused(words.split(), fault(tmp_path), capsys)
    assert (ended, said in told) == (code, True), told


@pytest.mark.parametrize("words", ["run", *COMMANDS])
def test_a_lease_that_is_held_is_refused(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with lease(tmp_path / "state"):
        ended, told = refused(words.split(), GOOD, capsys)
    assert (ended, "a sync run is in progress in `state`" in told) == (5, True), told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("baseline --inventory nowhere.jsonl", "the inventory `nowhere.jsonl` cannot be read"),
        ("reconcile --inventory nowhere.jsonl", "the inventory `nowhere.jsonl` cannot be read"),
        ("assign namespace:ns1 public", "`public` does not identify a single user"),
        ("assign namespace:ns1 cdap", "`cdap` is configured as a user who never creates"),
    ],
)
def test_what_was_typed_is_refused(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    ended, told = refused(words.split(), GOOD, capsys)
    assert (ended, said in told) == (3, True), told


@pytest.mark.parametrize(("user", "named"), [("", "cdap"), ("cdap-master", "cdap-master")])
@pytest.mark.parametrize("configured", [(), ("root",)])
def test_the_master_user_never_creates_whether_it_is_named_or_not(
    user: str, named: str, configured: tuple[str, ...]
) -> None:
    settings = Settings(master=MasterSettings(user=user), sync=SyncSettings(non_creators=configured))
    assert non_creators(settings) == {named, *configured}


CONFIRM = '[sync.confirm]\nurl = "{url}"\nuser = "u"\ncaller = "c"\nsecret = "s"\n'
HTTP_CONFIRM = CONFIRM.format(url="https://cdap.example")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (HTTP_CONFIRM + 'token_file = "nowhere"', "the token file `nowhere` cannot be read"),
        (HTTP_CONFIRM + '[network]\nca_file = "nowhere"\n', "CA file `nowhere`"),
    ],
    ids=["token", "certificates"],
)
def test_how_cdap_is_asked_is_checked_before_spark_starts(wrong: str, message: str) -> None:
    settings = settings_in(GOOD + wrong)
    with pytest.raises(ConfigError, match=message):
        check_run(settings)
    check_run(settings, dry=True)


def test_a_run_that_follows_begins_although_the_lease_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the next attempt of a cluster after a kill; here it is told to end before its first run."""
    (ended := threading.Event()).set()
    monkeypatch.setattr("spark_sync.follow.until_terminated", lambda: nullcontext(ended))
    with lease(tmp_path / "state"):
        settings_in(GOOD)
        assert main(["sync", "run", "--follow"]) == 0
    assert "a run when events arrive" in "".join(capsys.readouterr())
