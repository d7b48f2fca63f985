"""Wheel and sdist: everything that is needed, nothing else, with metadata that an index takes."""

from __future__ import annotations

import configparser
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from email.parser import BytesParser
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from packaging.specifiers import SpecifierSet
from packaging.utils import parse_sdist_filename, parse_wheel_filename

ROOT = Path(__file__).parents[2]
PACKAGES = ("ranger_cdap", "servicedef", "spark_sync")
# Made by `make extension`, so not in every clone.
MADE = ".jar"
ADDRESS = "https://forge.example/team/ranger-cdap"
LICENCES = ("LICENSE", "NOTICE", "THIRD-PARTY.md")

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Built:
    wheel: Path
    sdist: Path

    def in_wheel(self) -> set[str]:
        with zipfile.ZipFile(self.wheel) as file:
            return set(file.namelist())

    def in_sdist(self) -> set[str]:
        with tarfile.open(self.sdist) as file:
            return {member.name.partition("/")[2] for member in file.getmembers() if member.isfile()}

    def sums(self) -> list[str]:
        return [hashlib.sha256(path.read_bytes()).hexdigest() for path in (self.wheel, self.sdist)]

    def metadata(self) -> bytes:
        with zipfile.ZipFile(self.wheel) as file:
            (name,) = (name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
            return file.read(name)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("published"), PROJECT_URL=ADDRESS)


def build(target: Path, umask: int = 0o022, **variables: str) -> Built:
    kept = {name: value for name, value in os.environ.items() if name not in {"PROJECT_URL", "SOURCE_DATE_EPOCH"}}
    program = [sys.executable, ROOT / ".ci" / "build_dist.py", target]
    subprocess.run(program, check=True, umask=umask, cwd=target, env={**kept, **variables})
    ((wheel,), (sdist,)) = target.glob("*.whl"), target.glob("*.tar.gz")
    return Built(wheel, sdist)


def tracked() -> set[str]:
    """The files of our packages that git knows, or is about to."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PACKAGES]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in done.stdout.split() if not name.endswith(".gitignore") and (ROOT / name).is_file()}


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(built: Built) -> None:
    files = {name for name in built.in_wheel() if ".dist-info/" not in name and not name.endswith(MADE)}
    assert files == tracked()


def test_the_wheel_holds_what_is_read_at_run_time(built: Built) -> None:
    assert {
        *(f"{package}/py.typed" for package in PACKAGES),
        "servicedef/ranger-servicedef-cdap.json",
        "ranger_cdap/cdap/entities.toml",
        "ranger_cdap/cdap/profiles/default.toml",
        "ranger_cdap/console/templates/what.html",
        "spark_sync/reconcile/inventory.toml",
        "spark_sync/spark/log4j2.properties",
    } <= built.in_wheel()


def test_the_sdist_holds_what_the_wheel_is_built_from(built: Built) -> None:
    files = {name for name in built.in_sdist() if ".egg-info/" not in name and not name.endswith(MADE)}
    other = {"setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "PKG-INFO", *LICENCES}
    assert files == tracked() | other


def test_licences_are_in_both(built: Built) -> None:
    in_wheel = {name.rpartition("/")[2] for name in built.in_wheel() if "/licenses/" in name}
    assert in_wheel == set(LICENCES)
    assert set(LICENCES) <= built.in_sdist()


def test_an_index_takes_the_metadata(built: Built) -> None:
    metadata = Metadata.from_email(built.metadata(), validate=True)

    assert metadata.name == "ranger-cdap"
    assert metadata.license_expression == "Apache-2.0"
    assert metadata.description_content_type == "text/markdown"
    assert metadata.description is not None
    assert metadata.description.startswith("# ranger-cdap")
    assert set(metadata.provides_extra or ()) >= {"service", "spark", "kerberos", "all"}


def test_every_python_that_is_named_is_allowed_and_none_below(built: Built) -> None:
    message = BytesParser().parsebytes(built.metadata())
    named = re.findall(r"Python :: (\d\.\d+)", "\n".join(message.get_all("Classifier", [])))
    allowed = SpecifierSet(message["Requires-Python"])

    assert named == ["3.11", "3.12", "3.13"]
    assert all(version in allowed for version in named)
    assert "3.10" not in allowed


def test_the_version_is_that_of_setup_cfg_and_stands_nowhere_else_in_the_code(built: Built) -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    version = config["metadata"]["version"]

    assert str(parse_wheel_filename(built.wheel.name)[1]) == version
    assert str(parse_sdist_filename(built.sdist.name)[1]) == version
    code = (name for name in tracked() if name.endswith((".py", ".toml")))
    assert [name for name in code if f'"{version}"' in (ROOT / name).read_text(encoding="utf-8")] == []


def test_the_same_sources_give_the_same_bytes(built: Built, tmp_path: Path) -> None:
    private = build(tmp_path, umask=0o077, TZ="Asia/Kolkata", PYTHONHASHSEED="1", LC_ALL="C")
    assert private.sums() == built.sums()


def test_another_moment_of_the_sources_gives_other_bytes(built: Built, tmp_path: Path) -> None:
    later = build(tmp_path, SOURCE_DATE_EPOCH="1800000000")
    assert later.sums()[0] != built.sums()[0]


def relative_links(text: str) -> list[str]:
    outside_code = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [target for target in re.findall(r"\]\(([^)]+)\)", outside_code) if not target.startswith(("https://", "#"))]


def test_the_page_on_an_index_has_links_that_lead_to_the_sources(published: Built) -> None:
    metadata = Metadata.from_email(published.metadata(), validate=True)
    version = metadata.version
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    shown = metadata.description or ""
    assert relative_links(shown) == []
    for target in relative_links(readme):
        assert (ROOT / target.partition("#")[0]).exists()
        kind = "raw" if target.endswith(".png") else "blob"
        assert f"]({ADDRESS}/{kind}/v{version}/{target})" in shown
    assert metadata.project_urls is not None
    assert set(metadata.project_urls) == {"Source", "Documentation", "Issues"}
    assert all(address.startswith(ADDRESS) for address in metadata.project_urls.values())


def test_without_an_address_the_page_links_nowhere(built: Built) -> None:
    metadata = Metadata.from_email(built.metadata(), validate=True)

    assert relative_links(metadata.description or "") == []
    assert not metadata.project_urls


@pytest.mark.parametrize(
    "address", ["http://forge.example/a", "forge.example/a", "https://x/a b", "https://x", "https://x/a)\n"]
)
def test_an_address_that_is_none_is_refused(address: str, tmp_path: Path) -> None:
    program = [sys.executable, ROOT / ".ci" / "build_dist.py", tmp_path / "dist"]
    done = subprocess.run(
        program, env={**os.environ, "PROJECT_URL": address}, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert "PROJECT_URL must be like `https://HOST/OWNER/NAME`" in done.stderr
    assert not (tmp_path / "dist").exists()
