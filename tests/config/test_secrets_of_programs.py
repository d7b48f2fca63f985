"""Each program needs its own secrets and no other: one that is missing stops who needs it, before anything is done."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cli.main import main
from ranger_cdap.config import Secret, Settings, load_settings, resolve_secret
from ranger_cdap.config.secret_files import NEEDS, Program, secret_files
from ranger_cdap.doctor import Health
from ranger_cdap.doctor.secret_files import examine_secret_files
from ranger_cdap.doctor.users import LocalUser, Users
from ranger_cdap.errors import ConfigError
from ranger_cdap.service.decision_service import DecisionService
from spark_sync.preflight import check_run

SECRET = "a-secret-of-its-own-{}-0123456789"

CONFIGURATION = """\
[ranger]
url = "http://127.0.0.1:9"
attempts = 1
[plugin]
username = "plugin"
password = "file:{plugin.password}"
cache_dir = "cache"
[audit]
sinks = ["solr", "elasticsearch", "kafka"]
solr_url = "https://solr.example:8983/solr/ranger_audits"
solr_username = "solr"
solr_password = "file:{audit.solr_password}"
elasticsearch_url = "https://es.example:9200"
elasticsearch_username = "es"
elasticsearch_password = "file:{audit.elasticsearch_password}"
kafka_bootstrap = "kafka.example:9093"
kafka_username = "kafka"
kafka_password = "file:{audit.kafka_password}"
spool_dir = "spool"
[service]
port = 0
events_dir = "events"
grants = "bridge"
bridge_username = "bridge"
bridge_password = "file:{service.bridge_password}"
[service.proxy]
addresses = ["10.0.0.5"]
secret = "file:{service.proxy.secret}"
[[service.callers]]
name = "enforce"
roles = ["enforce", "grant"]
secret = "file:{service.callers.secret}"
[sync]
username = "sync"
password = "file:{sync.password}"
state_dir = "state"
[[sync.sources]]
name = "router"
kind = "http-access"
path = "."
marker = "file:{sync.sources.marker}"
[[sync.sources]]
name = "kafka"
kind = "audit-kafka"
bootstrap = "127.0.0.1:9092"
options = {"kafka.sasl.jaas.config" = "file:{sync.sources.options}"}
[[sync.sources]]
name = "messaging"
kind = "audit-messaging"
url = "http://127.0.0.1:11443"
token_file = "{sync.sources.token_file}"
[sync.confirm]
url = "http://127.0.0.1:11015"
user = "reader"
caller = "confirm"
token_file = "{sync.confirm.token_file}"
secret = "file:{sync.confirm.secret}"
[[sync.notify]]
url = "http://127.0.0.1:6500"
caller = "notify"
secret = "file:{sync.notify.secret}"
"""
SECRETS = [name for name in NEEDS if f"{{{name}}}" in CONFIGURATION]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a file for every secret, and a configuration that names them all."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    text = CONFIGURATION
    for name in SECRETS:
        file = tmp_path / f"secret-of-{name}"
        file.write_text(SECRET.format(name.replace(".", "-")))
        file.chmod(0o600)
        text = text.replace(f"{{{name}}}", str(file))
    Path("ranger-cdap.toml").write_text(text)
    return tmp_path


def serve() -> None:
    DecisionService(load_settings(), refresh_in_background=False).close()


def sync_run() -> None:
    check_run(load_settings())


def check() -> None:
    """As `ranger-cdap check` and programs that embed the plugin."""
    Authorizer.open(load_settings(), refresh_in_background=False).close()


OF_ACCOUNT = {"plugin.password", "audit.solr_password", "audit.elasticsearch_password", "audit.kafka_password"}
PROGRAMS: dict[str, tuple[Callable[[], None], set[str]]] = {
    "serve": (serve, {name for name in SECRETS if Program.SERVICE in NEEDS[name].programs}),
    "sync run": (sync_run, {name for name in SECRETS if NEEDS[name].programs == {Program.SYNC}}),
    "check": (check, OF_ACCOUNT),
}


def gone(file: Path) -> None:
    file.unlink()


def nobodys(file: Path) -> None:
    file.chmod(0o000)


NEEDED = [(program, name) for program, (_, needed) in PROGRAMS.items() for name in sorted(needed)]
each_way = pytest.mark.parametrize("how", [gone, nobodys], ids=["gone", "unreadable"])


def spoil(place: Path, names: Iterable[str], how: Callable[[Path], None]) -> None:
    if how is nobodys and os.geteuid() == 0:
        pytest.skip("root reads everything; tests/security/test_two_users.py has other users")
    for name in names:
        how(place / f"secret-of-{name}")


@each_way
@pytest.mark.parametrize(("program", "missing"), NEEDED)
def test_a_program_refuses_without_a_secret_of_its_own(
    place: Path, program: str, missing: str, how: Callable[[Path], None]
) -> None:
    spoil(place, [missing], how)
    with pytest.raises(ConfigError, match=f"`{place}/secret-of-{missing}` cannot be read: "):
        PROGRAMS[program][0]()
    assert not [left for left in ("cache", "events", "state", "spool") if (place / left).exists()]


@each_way
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_starts_without_the_secrets_of_others(place: Path, program: str, how: Callable[[Path], None]) -> None:
    start, needed = PROGRAMS[program]
    assert needed < set(SECRETS)
    spoil(place, set(SECRETS) - needed, how)
    start()


def with_variables(place: Path, monkeypatch: pytest.MonkeyPatch, left_out: Collection[str]) -> None:
    """Have the configuration name variables where it named files, and set all but these."""
    text = Path("ranger-cdap.toml").read_text()
    for number, name in enumerate(SECRETS):
        text = text.replace(f"file:{place}/secret-of-{name}", f"env:SECRET_{number}")
        if name not in left_out:
            monkeypatch.setenv(f"SECRET_{number}", SECRET.format(name.replace(".", "-")))
    Path("ranger-cdap.toml").write_text(text)


OF_VARIABLES = [name for name in SECRETS if f"file:{{{name}}}" in CONFIGURATION]


@pytest.mark.parametrize(("program", "missing"), [pair for pair in NEEDED if pair[1] in OF_VARIABLES])
def test_a_variable_that_is_not_set_stops_the_program_that_needs_it(
    place: Path, program: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_variables(place, monkeypatch, [missing])
    with pytest.raises(ConfigError, match=f"environment variable `SECRET_{SECRETS.index(missing)}`.* is not set"):
        PROGRAMS[program][0]()


@pytest.mark.parametrize("program", PROGRAMS)
def test_variables_that_are_not_set_stop_no_program_that_does_not_need_them(
    place: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, needed = PROGRAMS[program]
    with_variables(place, monkeypatch, set(OF_VARIABLES) - needed)
    start()


@pytest.mark.parametrize("missing", [SECRETS[:1], SECRETS], ids=["one", "all"])
def test_the_doctor_and_config_show_go_on_and_no_secret_is_shown(
    place: Path, missing: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(place, missing, gone)
    assert main(["config"]) == 0
    assert main(["doctor"]) == 2  # there is no Ranger Admin
    said = capsys.readouterr()
    assert "a-secret-of-its-own" not in said.out + said.err
    assert [name for name in missing if f"secret-of-{name}" not in said.out] == []


def test_what_is_missing_is_a_failure_of_who_needs_it_and_nobody_elses(place: Path) -> None:
    settings = load_settings()
    for name in SECRETS:
        gone(place / f"secret-of-{name}")
    viewer = LocalUser.here()
    nobody_yet = list(examine_secret_files(settings, Users(viewer, {})))
    assert {(finding.check, finding.health) for finding in nobody_yet} == {
        (f"secrets of the {program}", Health.NOTE) for program in Program
    }
    for program in Program:
        users = Users(viewer, {program: viewer})
        found = [finding for finding in examine_secret_files(settings, users) if finding.health is Health.FAILED]
        named = {name for name in SECRETS for finding in found if f"secret-of-{name}`" in finding.seen}
        assert named == {name for name in SECRETS if program in NEEDS[name].programs}
        assert {finding.check for finding in found} == {f"secrets of the {program}"}


def test_a_file_of_both_programs_is_listed_once_with_both(place: Path) -> None:
    text = Path("ranger-cdap.toml").read_text()
    both = f"file:{place}/secret-of-service.callers.secret"
    Path("ranger-cdap.toml").write_text(text.replace(f"file:{place}/secret-of-sync.confirm.secret", both))
    (found,) = [file for file in secret_files(load_settings()) if str(file.path) == both.removeprefix("file:")]
    assert (found.settings, found.programs) == (("sync.confirm.secret", "service.callers.secret"), frozenset(Program))


def test_a_secret_that_can_be_read_later_is_had_later(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    secret = resolve_secret(f"file:{file}")
    assert (secret.is_set, secret == resolve_secret(f"file:{file}"), secret == Secret("")) == (True, True, False)
    for ask in (secret.reveal, secret.accepted):
        with pytest.raises(ConfigError, match=f"secret file `{file}` cannot be read: No such file"):
            ask()
    file.write_text("later\n")
    assert (secret.problem, secret.reveal(), secret.accepted()) == ("", "later", ("later",))


@pytest.mark.parametrize("reference", ["file:", "file: ", "file:/", "file:/dev/null/x"])
def test_a_reference_that_names_no_file_is_an_error_at_once(reference: str) -> None:
    with pytest.raises(ConfigError):
        resolve_secret(reference, {})


def test_every_secret_of_the_settings_says_who_needs_it() -> None:
    assert {name for name, wanted in _settings(Settings, "") if wanted is Secret} <= NEEDS.keys()
    assert NEEDS.keys() <= {name for name, _ in _settings(Settings, "")}


def _settings(wanted: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Each setting by its name, with the types it may have."""
    kinds = {wanted, *get_args(wanted)}
    kinds |= {inner for kind in kinds for inner in get_args(kind)}
    structs = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    if not structs:
        yield from ((name, kind) for kind in kinds)
    for struct in structs:
        for field in msgspec.structs.fields(struct):
            yield from _settings(field.type, f"{name}.{field.name}".lstrip("."))
