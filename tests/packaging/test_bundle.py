"""The bundle of `make bundle`: its instructions install it without an index, and a changed file is found."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.docs.markdown_pages import ROOT

PACKAGES = ("builder", "needed", "py4j", "pyspark", "last", "ranger_cdap")
pytestmark = pytest.mark.slow

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{more}"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def wheel(directory: Path, name: str, more: str = "") -> Path:
    """A wheel with one module, and what it requires."""
    module, info = name.replace("-", "_"), f"{name.replace('-', '_')}-1.0.dist-info"
    path = directory / f"{module}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{module}.py", "")
        file.writestr(f"{info}/METADATA", METADATA.format(name=name, more=more))
        file.writestr(f"{info}/WHEEL", WHEEL)
        file.writestr(f"{info}/RECORD", "")
    return path


def lock(path: Path, *wheels: Path) -> Path:
    lines = (f"{one.name.split('-')[0]}==1.0 \\\n    --hash=sha256:{digest(one)}\n" for one in wheels)
    path.write_text("".join(lines))
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("bundle")
    index = work / "index"
    index.mkdir()
    builder, *others = (wheel(index, name) for name in ("builder", "needed", "py4j", "pyspark", "last"))
    ours = wheel(work, "ranger-cdap", "Requires-Dist: needed\n")
    locks = lock(work / "build.lock", builder), lock(work / "sync.lock", *others)
    made = work / "made"
    subprocess.run(
        ["sh", ROOT / ".ci" / "make-bundle", sys.executable, ours, *locks, made],
        env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)},
        check=True,
    )
    return made


def test_it_has_every_package_of_the_locks_and_the_hash_of_every_file(bundle: Path) -> None:
    files = {str(path.relative_to(bundle)) for path in bundle.rglob("*") if path.is_file()}
    packages = {f"packages/{name}-1.0-py3-none-any.whl" for name in PACKAGES}
    assert files == packages | {"INSTALL.md", "SHA256SUMS", "build.lock", "ranger-cdap.lock", "ranger-cdap.tar.gz"}
    sums = dict(line.split()[::-1] for line in (bundle / "SHA256SUMS").read_text().splitlines())
    assert sums == {f"./{name}": digest(bundle / name) for name in files - {"SHA256SUMS"}}


def test_its_archive_for_a_cluster_has_all_but_the_pyspark_that_is_there(bundle: Path) -> None:
    with tarfile.open(bundle / "ranger-cdap.tar.gz") as archive:
        members = archive.getmembers()
    modules = {Path(each.name).stem for each in members if each.name.endswith(".py")}
    assert modules == set(PACKAGES) - {"builder", "py4j", "pyspark"}
    assert all((each.uid, each.gid, each.mode & 0o044) == (0, 0, 0o044) for each in members)


def test_its_instructions_install_it_without_an_index(bundle: Path, tmp_path: Path) -> None:
    ended = install(bundle, tmp_path / "installed")
    assert ended.returncode == 0, ended.stderr
    program = "import builder, needed, ranger_cdap"
    assert subprocess.run([tmp_path / "installed" / "bin" / "python", "-c", program], check=False).returncode == 0


def test_a_changed_file_is_not_installed(bundle: Path, tmp_path: Path) -> None:
    package = bundle / "packages" / "needed-1.0-py3-none-any.whl"
    before = package.read_bytes()
    package.write_bytes(before + b"x")
    try:
        assert "FAILED" in install(bundle, tmp_path / "installed").stdout
    finally:
        package.write_bytes(before)
    assert not (tmp_path / "installed").exists()


def install(bundle: Path, target: Path) -> subprocess.CompletedProcess[str]:
    (script,) = re.findall(r"```sh\n(.*?)```", (bundle / "INSTALL.md").read_text(), re.DOTALL)
    return subprocess.run(
        ["sh", "-eu", "-c", script.replace("/opt/ranger-cdap", str(target))],
        cwd=bundle,
        capture_output=True,
        text=True,
        check=False,
    )
