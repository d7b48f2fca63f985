"""What programs import from `ranger_cdap`: quick to import, typed, described, and enough to work with."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import pytest

import ranger_cdap
import servicedef
from ranger_cdap import Authorizer, EntityId, entity_id, errors
from ranger_cdap.config import CdapSettings, EnforceSettings, Settings
from ranger_cdap.testing import EmbeddedRanger, embedded_ranger
from tests.authz.fixtures import policy

ROOT = Path(__file__).parents[1]
KV = entity_id("dataset", ("ns1", "kv"))
POLICIES = [
    policy(1, {"namespace": "ns1"}, ["alice", "bob"], ["read"]),
    policy(2, {"namespace": "ns1", "dataset": "kv"}, ["alice"], ["read"]),
]


def download(path: Path, **more: Any) -> Path:
    document = {"serviceName": "cdapdev", "policyVersion": 4, "policies": POLICIES}
    path.write_bytes(msgspec.json.encode(document | {"serviceDef": servicedef.service_definition()} | more))
    return path


def run(program: str, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, **more
    )
    assert done.returncode == 0, done.stderr
    return done


# --- importing ------------------------------------------------------------------------------------------------------


def test_the_import_loads_nothing_else() -> None:
    program = "import sys; before = set(sys.modules); import ranger_cdap; print(*sorted(set(sys.modules) - before))"
    loaded = run(program).stdout.split()
    assert [name for name in loaded if name.startswith("ranger_cdap")] == ["ranger_cdap"]
    assert [name for name in loaded if name.partition(".")[0] not in (*sys.stdlib_module_names, "ranger_cdap")] == []


def test_deciding_by_the_policies_of_a_file_loads_no_client_for_http(tmp_path: Path) -> None:
    """It is a third of the import, for programs and functions that start often."""
    program = (
        "import sys; from ranger_cdap import Authorizer; Authorizer.from_policies(sys.argv[1]); print(*sys.modules)"
    )
    loaded = run(program, str(download(tmp_path / "policies.json"))).stdout.split()
    assert {"requests", "urllib3", "stamina", "apache_ranger"}.isdisjoint(loaded)


@pytest.mark.parametrize("name", ranger_cdap.__all__)
def test_each_name_is_there_and_listed(name: str) -> None:
    assert getattr(ranger_cdap, name) is not None
    assert name in dir(ranger_cdap)


def test_the_version_is_that_of_the_distribution() -> None:
    assert ranger_cdap.__version__ == metadata.version("ranger-cdap")


def test_a_name_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute `Autorizer`"):
        ranger_cdap.Autorizer  # type: ignore[attr-defined]  # noqa: B018 that is the test


# --- policies of a file ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ranger() -> Any:
    with embedded_ranger() as running:
        running.give(
            {
                "alice": ["READ namespace:ns1", "READ dataset:ns1.kv", "WRITE dataset:ns1.kv"],
                "bob": ["READ namespace:ns1", "EXECUTE program:ns1.app.worker.W"],
            }
        )
        yield running


ASKED = [
    (user, operation, entity)
    for user in ("alice", "bob", "eve")
    for operation, entity in (
        ("dataset.get", KV),
        ("dataset.drop", KV),
        ("namespace.get_preference", entity_id("namespace", ("ns1",))),
        ("worker.start", entity_id("program", ("ns1", "app", "worker.W"))),
    )
    if operation in ("dataset.get", "dataset.drop", "namespace.get_preference")
]


def test_a_plugins_cache_file_decides_as_ranger_admin_does(ranger: EmbeddedRanger, tmp_path: Path) -> None:
    settings = ranger.settings(tmp_path)
    with Authorizer.open(settings, refresh_in_background=False) as by_ranger:
        (cache,) = (tmp_path / "cache").glob("*_cdapdev.json")
        with Authorizer.from_policies(cache, settings=settings) as by_file:
            answers = [
                (asked.check(user, (), operation, entity).allowed, asked.who(entity))
                for asked in (by_ranger, by_file)
                for user, operation, entity in ASKED
            ]
    half = len(ASKED)
    assert answers[:half] == answers[half:]
    assert {allowed for allowed, _ in answers} == {True, False}


def test_without_settings_nothing_is_read_or_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a settings file of the directory or the environment, nor a cache, nor an audit file."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "ranger-cdap.toml").write_text('[cdap]\ninstance = "another"\n')
    monkeypatch.chdir(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("RANGER_CDAP_CONFIG", str(tmp_path / "is-not-there.toml"))
    with Authorizer.from_policies(download(tmp_path / "policies.json")) as authorizer:
        answer = authorizer.check("alice", (), "dataset.get", KV)
        assert (answer.allowed, answer.policy_ids) == (True, (2,))
        assert not authorizer.check("bob", (), "dataset.get", KV).allowed
        assert authorizer.refresh().versions.policies == 4
        with pytest.raises(errors.InvalidInput, match="come from a file"):
            authorizer.refresh(wait=False)
    assert [path.name for path in home.rglob("*")] == ["ranger-cdap.toml"]


def test_settings_count_where_they_are_given(tmp_path: Path) -> None:
    path = download(tmp_path / "policies.json")
    elsewhere = Settings(cdap=CdapSettings(instance="another"))
    with Authorizer.from_policies(path, settings=elsewhere) as authorizer:
        assert not authorizer.check("alice", (), "dataset.get", KV).allowed
    only_reported = Settings(enforce=EnforceSettings(operations=(), outside="report"))
    with Authorizer.from_policies(path, settings=only_reported) as authorizer:
        answer = authorizer.check("bob", (), "dataset.get", KV)
        assert (answer.allowed, answer.enforced) == (True, False)


def test_roles_tags_and_groups_of_files_count(tmp_path: Path) -> None:
    by_group = policy(2, {"namespace": "ns1", "dataset": "kv"}, [], ["read"])
    by_group["policyItems"][0] |= {"groups": ["etl"], "roles": ["readers"]}
    path = download(tmp_path / "policies.json", policies=[policy(1, {"namespace": "ns1"}, ["eve"], ["read"]), by_group])
    roles, users = tmp_path / "roles.json", tmp_path / "users.json"
    roles.write_text(json.dumps({"rangerRoles": [{"name": "readers", "users": [{"name": "eve"}]}]}))
    users.write_text(json.dumps({"userGroupMapping": {"eve": ["etl"]}}))

    def allowed(**files: Path) -> bool:
        with Authorizer.from_policies(path, **files) as authorizer:
            return authorizer.check("eve", (), "dataset.get", KV).allowed

    assert (allowed(), allowed(roles=roles), allowed(userstore=users)) == (False, True, True)


BROKEN = {
    "no file": None,
    "nothing": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "an export": b'{"policies": [], "metaDataInfo": {}}',
    "another service's definition": b'{"serviceName": "x", "serviceDef": {}, "policies": []}',
    "changes only": b'{"serviceName": "x", "policyDeltas": []}',
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_what_is_no_download_is_refused_by_name(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "policies.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(errors.InvalidInput, match=r"policies\.json"):
        Authorizer.from_policies(path)


def test_an_entity_is_made_of_parts() -> None:
    assert EntityId("dataset", ("ns1", "kv")) == KV


# --- its types and its page -----------------------------------------------------------------------------------------

PROGRAM = """
from collections.abc import Sequence
from pathlib import Path

from ranger_cdap import (
    AccessEnforcer, Answer, Authorizer, CdapCheck, Context, EntityId, __version__, entity_id, errors, hookimpl,
    load_settings,
)
from ranger_cdap.engine import AccessRequest, Decision, PolicyEngine, decode_service_policies
from ranger_cdap.testing import EmbeddedRanger, embedded_ranger


@hookimpl
def ranger_cdap_veto(answer: Answer) -> str | None:
    return "frozen" if answer.operation == "dataset.drop" else None


def main(users: Sequence[str]) -> list[bool]:
    kv: EntityId = entity_id("dataset", ("ns1", "kv"))
    with Authorizer.open(load_settings()) as authorizer, Authorizer.from_policies(Path("x")) as other:
        answers: list[Answer] = [authorizer.check(user, (), "dataset.get", kv, context=Context()) for user in users]
        seen: list[EntityId] = other.visible("alice", (), [kv])
        check = CdapCheck("DATASET", ("ns1", "kv"), ("STANDARD.GET",))
        return [answer.allowed for answer in answers] + [AccessEnforcer(other).enforce("alice", check).allowed]


def engine(content: bytes) -> Decision:
    try:
        return PolicyEngine.build(decode_service_policies(content)).evaluate(AccessRequest(resource={}, access_type=""))
    except errors.PolicySetError as e:
        raise SystemExit(e.code) from None


with embedded_ranger() as ranger:
    given: EmbeddedRanger = ranger
    given.give({"alice": ["READ dataset:ns1.kv"]})
version: str = __version__
"""
MISTAKES = """\
from ranger_cdap import Autorizer
from ranger_cdap import Authorizer; authorizer = Authorizer.open()
authorizer.check("alice", (), 1, None)
seen: bool = authorizer.visible("alice", (), [])
authorizer.check("alice", (), "dataset.get", "dataset:ns1.kv")
Authorizer.from_policies(b"{}")
"""


def checked(program: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """What mypy says of a program that somebody has beside the installed package."""
    (directory / "program.py").write_text(program)
    cache = ROOT / ".mypy_cache" / "user"
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", f"--cache-dir={cache}", "program.py"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_users_program_is_typed(tmp_path: Path) -> None:
    done = checked(PROGRAM, tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_a_users_mistakes_are_found(tmp_path: Path) -> None:
    found = {int(line.split(":")[1]) for line in checked(MISTAKES, tmp_path).stdout.splitlines() if "error:" in line}
    assert found == {1, 3, 4, 5, 6}


def test_the_page_has_every_public_name() -> None:
    page = (ROOT / "docs" / "reference" / "python-api.md").read_text(encoding="utf-8")
    assert [name for name in ranger_cdap.__all__ if f"### `{name}`" not in page] == ["__version__", "errors"]


# --- for tests ------------------------------------------------------------------------------------------------------

USERS_TEST = """
from ranger_cdap import entity_id

KV = entity_id("dataset", ("ns1", "kv"))

def test_only_who_was_given_it_reads_it(ranger, authorizer):
    assert not authorizer.check("alice", (), "dataset.get", KV).allowed
    ranger.give({"alice": ["READ namespace:ns1", "READ dataset:ns1.kv"], "bob": []})
    authorizer.refresh()
    assert authorizer.check("alice", (), "dataset.get", KV).allowed
    assert not authorizer.check("bob", (), "dataset.get", KV).allowed

def test_what_is_no_privilege_is_said(ranger):
    import pytest
    from ranger_cdap.errors import InvalidInput
    for text in ("read dataset:ns1.kv", "READ", "READ kv", "READ nothing:x", "READ dataset:ns1"):
        with pytest.raises(InvalidInput):
            ranger.give({"alice": [text]})
"""


def test_the_fixtures_work_in_somebody_elses_project(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["ranger_cdap.testing.fixtures"]\n')
    (tmp_path / "test_users.py").write_text(USERS_TEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout
