"""A page with a mistake stops `make site`, and nothing becomes public but what is under version control."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.fresh_clone import fresh_clone, fresh_environment

pytestmark = pytest.mark.site

PAGE = "docs/explanation/scale.md"
MARKER = "only-for-its-owner"
MISTAKES = {
    "no such page": ("[a](nowhere.md)", "'nowhere.md'"),
    "no such anchor": ("[a](../how-to/configure.md#nowhere)", "'#nowhere'"),
    "an absolute path": ("[a](/etc/passwd)", "'/etc/passwd'"),
    "a file beside the tree": ("[a](../../../outside.txt)", "'../../../outside.txt"),
    "a picture beside the tree": ("![a](../../../outside.png)", "'../../../outside.png"),
    "a file that is not under version control": ("[a](../../docker/secrets/key)", "'../../docker/secrets/key"),
    "a link of the file system": ("[a](../../examples/alerts/link.txt)", "'../../examples/alerts/link.txt"),
    "the repository": ("[a](../../.git/config)", "'../../.git/config"),
}


@dataclass(frozen=True)
class Build:
    """A build: what it said, and the files that it left in and beside the clone."""

    code: int
    said: str
    site: Path
    made: frozenset[Path]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Build a clone that has every mistake, and a page that the index does not list."""
    directory = tmp_path_factory.mktemp("build")
    clone = fresh_clone(directory / "clone")
    secrets = [directory / "outside.txt", directory / "outside.png", clone / "docker/secrets/key"]
    for secret in secrets:
        secret.parent.mkdir(exist_ok=True)
        secret.write_text(MARKER)
    (clone / "examples/alerts/link.txt").symlink_to(directory / "outside.txt")
    (clone / "docs/explanation/unlisted.md").write_text("# Unlisted\n")
    with (clone / PAGE).open("a") as page:
        page.writelines(f"\n{link}\n" for link, _ in MISTAKES.values())
    environment = fresh_environment(directory)
    subprocess.run(["git", "init", "--quiet"], cwd=clone, env=environment, check=True)
    before = files_below(directory)
    command = ["make", "--old-file", ".venv/site/.complete", "site"]
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)
    return Build(done.returncode, done.stdout + done.stderr, clone / "site", files_below(directory) - before)


def files_below(directory: Path) -> frozenset[Path]:
    """The files, without the environment that the clone was lent and what Python compiles for itself."""
    left_out = {".venv", "__pycache__"}
    return frozenset(path for path in directory.rglob("*") if path.is_file() and left_out.isdisjoint(path.parts))


def test_a_mistake_stops_the_build(build: Build) -> None:
    assert build.code == 2
    assert "in strict mode" in build.said


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_page(build: Build, mistake: str) -> None:
    _, named = MISTAKES[mistake]
    assert any(PAGE in line and named in line for line in build.said.splitlines())


def test_a_page_that_the_index_does_not_list_is_named(build: Build) -> None:
    assert "docs/explanation/unlisted.md" in build.said


def test_only_what_is_under_version_control_becomes_public(build: Build) -> None:
    assert build.made
    assert [path for path in build.made if MARKER.encode() in path.read_bytes()] == []


def test_nothing_is_written_beside_the_site(build: Build) -> None:
    assert [path for path in build.made if not path.is_relative_to(build.site)] == []
