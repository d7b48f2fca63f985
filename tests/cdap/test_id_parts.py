"""What CDAP calls an entity differs by release: `id_parts.toml`, read from its jars, and what a check is decided on."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest
from filelock import FileLock

from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.entity import ResourceMapping, inner_types, resolve_entity
from ranger_cdap.errors import InvalidEntity
from tests.authz.fixtures import authorizer, policy
from tests.differential.java_engine import java_command

TABLE: Final[Mapping[str, Mapping[str, Sequence[str]]]] = tomllib.loads(
    Path(__file__).with_name("id_parts.toml").read_text(encoding="utf-8")
)
ROWS = [(release, kind) for release, kinds in TABLE.items() for kind in kinds]
JVM = Path(__file__).parents[2] / "jvm" / "id-parts"

each_row = pytest.mark.parametrize(("release", "kind"), ROWS)


def sample(names: Sequence[str]) -> list[str]:
    """Parts that are called what they are, but for what cannot be."""
    return [{"type": "workflow", "version": "-SNAPSHOT"}.get(name, name) for name in names]


def lengths(kind: str) -> Iterator[int]:
    """The numbers of parts in any release, also without a version: an application and a reference to it are one."""
    for other, names in ((other, names) for kinds in TABLE.values() for other, names in kinds.items()):
        if other.removesuffix("REFERENCE") == kind.removesuffix("REFERENCE"):
            yield len(names)
            yield len(names) - names.count("version")


@each_row
def test_the_version_is_all_that_is_dropped(release: str, kind: str) -> None:
    names = TABLE[release][kind]
    resolved = resolve_entity(kind, sample(names))
    kept = sample([name for name in names if name not in ("version", "instance")])
    decided_on = ".".join(resolved.entity.parts)
    if resolved.mapping is ResourceMapping.ITSELF and kind not in inner_types():
        assert decided_on == ".".join(kept)
    else:
        assert ".".join(kept).startswith(decided_on)


@each_row
def test_a_number_of_parts_that_no_release_has_is_refused(release: str, kind: str) -> None:
    """Of a type without a resource here, any number is decided on what the first part names, by the strictest row."""
    unknown = resolve_entity(kind, sample(TABLE[release][kind])).mapping is ResourceMapping.UNKNOWN
    for wrong in set() if unknown else set(range(1, 8)) - set(lengths(kind)):
        with pytest.raises(InvalidEntity):
            resolve_entity(kind, ["workflow"] * wrong)


@pytest.mark.parametrize("release", TABLE)
def test_a_check_on_a_schedule_is_decided_by_the_policies_on_it(release: str) -> None:
    resource = {"namespace": "namespace", "application": "application", "schedule": "schedule"}
    enforcer = AccessEnforcer(authorizer([policy(1, resource, ["alice"], ["execute"])]))
    *above, _ = parts = sample(TABLE[release]["SCHEDULE"])

    def allowed(user: str, parts: Sequence[str]) -> bool:
        return enforcer.enforce(user, CdapCheck("SCHEDULE", tuple(parts), ("ACTION.EXECUTE",))).allowed

    assert allowed("alice", parts)
    assert not allowed("bob", parts)
    assert not allowed("alice", [*above, "another"])


@pytest.mark.java
@pytest.mark.skipif(java_command() is None, reason="needs Java")
@pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Maven")
@pytest.mark.parametrize("release", TABLE)
def test_the_table_is_that_of_the_jars(release: str) -> None:
    group = "co.cask.cdap" if release.startswith("5.") else "io.cdap.cdap"
    target = JVM / "target" / release
    with FileLock(JVM / ".build.lock"):
        if not (target / "classpath.txt").exists():
            build = ["mvn", "-q", "-B", "-f", JVM, f"-Dcdap.group={group}", f"-Dcdap.version={release}", "compile"]
            subprocess.run(build, check=True, capture_output=True)
    class_path = f"{target / 'classes'}:{(target / 'classpath.txt').read_text().strip()}"
    command = [java_command() or "java", "-cp", class_path, "rangercdap.IdParts", group]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert [(kind, names) for kind, *names in map(str.split, lines)] == list(TABLE[release].items())
