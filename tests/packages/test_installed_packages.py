"""The packages in dist/: installed by a real dpkg, used, upgraded, removed and purged; and what rpm reads."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packages.debian import Debian, as_version, debian

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
SETTINGS = "etc/ranger-cdap/ranger-cdap.toml"
LEDGER = "var/lib/ranger-cdap-sync/state/ledger"
SECRET = "etc/ranger-cdap/plugin.password"

pytestmark = [
    pytest.mark.packages,
    pytest.mark.skipif(not list(DIST.glob("*.deb")), reason="needs the packages of `make packages`"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(shutil.which("mmdebstrap") is None, reason="needs mmdebstrap"),
]


def one(pattern: str) -> Path:
    (path,) = DIST.glob(pattern)
    return path


@pytest.fixture(scope="module")
def here() -> Iterator[Debian]:
    with debian() as system:
        yield system


def test_from_nothing_to_use_upgrade_removal_and_purge(here: Debian, tmp_path: Path) -> None:
    package = one("ranger-cdap_*.deb")
    before = here.files()

    # Installed: the command is on the path, the users and directories are there, and no unit is enabled.
    here.dpkg("--install", package)
    assert here.status("ranger-cdap") == "ii"
    assert here.done("ranger-cdap", "--version").startswith("ranger-cdap, version ")
    assert here.done("dpkg", "--verify", "ranger-cdap") == ""
    users = {line.split(":")[0] for line in (here.root / "etc/passwd").read_text().splitlines()}
    assert {"ranger-cdap", "ranger-cdap-sync"} <= users
    assert here.files()["var/lib/ranger-cdap-sync"][2] == 0o700
    assert not list((here.root / "etc/systemd").rglob("*ranger-cdap*"))
    assert "complete -o nosort -F" in here.done(
        "bash",
        "-c",
        ". /usr/share/bash-completion/bash_completion; _completion_loader ranger-cdap; complete -p ranger-cdap",
    )
    # Nobody but root can change what root runs.
    assert {
        name: about for name, about in here.files().items() if name.startswith("opt/") and about[:2] != (0, 0)
    } == {}
    unprivileged = ("setpriv", "--reuid=ranger-cdap", "--regid=ranger-cdap", "--clear-groups")
    assert "ranger.service" in here.done(*unprivileged, "ranger-cdap", "config", "show")

    # An upgrade keeps the settings that were edited, and all state.
    (here.root / SETTINGS).write_text('[ranger]\nservice = "ours"\n', encoding="utf-8")
    (here.root / SECRET).write_text("secret", encoding="utf-8")
    (here.root / LEDGER).mkdir(parents=True)
    later = as_version(package, "9.9.9~rc1", tmp_path, "# New advice.\n")
    here.dpkg("--install", later)
    assert (here.root / SETTINGS).read_text(encoding="utf-8") == '[ranger]\nservice = "ours"\n'
    assert (here.root / f"{SETTINGS}.dpkg-dist").read_text(encoding="utf-8") == "# New advice.\n"
    assert "ours" in here.done("ranger-cdap", "config", "show", RANGER_CDAP_CONFIG=f"/{SETTINGS}")

    # Removed: no program is left, and what only people made is.
    here.dpkg("--remove", "ranger-cdap")
    assert here.status("ranger-cdap") == "rc"
    assert here.run("ranger-cdap", "--version").returncode == 127
    assert (here.root / SETTINGS).is_file()
    assert (here.root / SECRET).is_file()
    assert (here.root / LEDGER).is_dir()
    assert not (here.root / "opt/ranger-cdap").exists()

    # Purged: settings and secrets are gone, the ledger of the other package is not, nor are the users.
    here.dpkg("--purge", "ranger-cdap")
    assert here.status("ranger-cdap") in {"", "un"}
    assert not (here.root / "etc/ranger-cdap").exists()
    assert (here.root / LEDGER).is_dir()
    left = {name for name in here.files().keys() - before.keys() if not name.startswith("var/lib/ranger-cdap-sync")}
    assert {name for name in left if "ranger-cdap" in name} == set()
    assert left <= {"opt", "etc/passwd-", "etc/group-", "etc/shadow-", "etc/gshadow-", "etc/.pwd.lock"}
    shutil.rmtree(here.root / "var/lib/ranger-cdap-sync")


def test_the_sync_job_and_its_spark_run_and_a_purge_leaves_nothing(here: Debian) -> None:
    both = [one("ranger-cdap_*.deb"), one("ranger-cdap-sync_*.deb")]
    here.dpkg("--install", *both)
    unit = (here.root / "usr/lib/systemd/system/ranger-cdap-sync.service").read_text(encoding="utf-8")
    (java_home,) = re.findall(r"JAVA_HOME=(\S+)", unit)
    assert (here.root / java_home.lstrip("/") / "bin/java").exists()
    shown = here.done("ranger-cdap", "demo", JAVA_HOME=java_home, COLUMNS="200")
    assert "Done: every step succeeded" in shown
    # The few events of the demo need no Spark.
    asked = (
        "from pyspark.sql import SparkSession as S; print(S.builder.master('local[1]').getOrCreate().range(7).count())"
    )
    assert here.done("/opt/ranger-cdap/bin/python", "-c", asked, JAVA_HOME=java_home).split()[-1] == "7"
    assert here.done("dpkg", "--verify", "ranger-cdap", "ranger-cdap-sync") == ""

    # The other package cannot go alone, and a purge of both takes the ledger too.
    assert here.run("dpkg", "--remove", "ranger-cdap").returncode != 0
    (here.root / LEDGER).mkdir(parents=True)
    here.dpkg("--remove", "ranger-cdap-sync")
    assert (here.root / LEDGER).is_dir()
    here.dpkg("--purge", "ranger-cdap-sync", "ranger-cdap")
    for place in ("etc/ranger-cdap", "var/lib/ranger-cdap", "var/lib/ranger-cdap-sync", "opt/ranger-cdap"):
        assert not (here.root / place).exists(), place


def test_the_sync_job_does_not_install_beside_another_version(here: Debian, tmp_path: Path) -> None:
    here.dpkg("--install", as_version(one("ranger-cdap_*.deb"), "9.9.9", tmp_path, ""))
    package = one("ranger-cdap-sync_*.deb")
    shutil.copy(package, here.root / "root")
    done = here.run("dpkg", "--force-unsafe-io", "--install", f"/root/{package.name}")
    assert done.returncode != 0
    assert "ranger-cdap-sync depends on ranger-cdap (= " in done.stderr
    here.dpkg("--purge", "ranger-cdap-sync", "ranger-cdap")


WORKPLACES = {"here": (0o022, {"TZ": "UTC"}), "elsewhere": (0o077, {"TZ": "Asia/Kolkata", "PYTHONHASHSEED": "1"})}


def test_the_same_wheel_gives_the_same_packages(tmp_path: Path) -> None:
    digests = []
    for place, (umask, variables) in WORKPLACES.items():
        out, work = tmp_path / place, tmp_path / f"work-{place}"
        out.mkdir()
        work.mkdir()
        shutil.copy(one("ranger_cdap-*.whl"), out)
        subprocess.run(
            [sys.executable, ROOT / ".ci/build_packages.py", ROOT / ".venv/go/nfpm", out, "ranger-cdap"],
            check=True,
            umask=umask,
            env={**os.environ, **variables, "TMPDIR": str(work)},
        )
        digests.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir()})
    assert digests[0] == digests[1]
    assert {name.rpartition(".")[2] for name in digests[0]} == {"deb", "rpm", "whl"}


def rpm(*words: str | Path) -> str:
    return subprocess.run(["rpm", *words], check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(shutil.which("rpm") is None, reason="needs rpm")
@pytest.mark.parametrize("package", ["ranger-cdap", "ranger-cdap-sync"])
def test_rpm_reads_the_same_files_and_scripts_that_dpkg_installs(package: str) -> None:
    path = one(f"{package}-[0-9]*.rpm")
    assert "digests OK" in rpm("--checksig", path)
    in_rpm = set(rpm("--query", "--package", "--list", path).splitlines())
    listed = subprocess.run(
        ["dpkg-deb", "--contents", one(f"{package}_*.deb")], check=True, capture_output=True, text=True
    )
    in_deb = {line.split(" ./", 1)[1].split(" -> ")[0] for line in listed.stdout.splitlines()}

    def inside(names: set[str]) -> set[str]:
        return {name.strip("/") for name in names if name.strip("/").startswith("opt/ranger-cdap/")}

    assert inside(in_rpm) == inside(in_deb)
    # A package of the distribution owns these.
    assert not in_rpm & {"/etc", "/opt", "/usr", "/usr/bin", "/usr/lib", "/usr/lib/systemd/system", "/usr/share"}
    scripts = rpm("--query", "--package", "--scripts", path)
    for phase in ("preinstall", "postinstall", "preremove", "postremove"):
        text = (ROOT / ".ci/packages" / f"{package}.{phase}").read_text(encoding="utf-8")
        assert text.strip() in scripts
    kept = rpm("--query", "--package", "--configfiles", path).split()
    assert kept == ([f"/{SETTINGS}"] if package == "ranger-cdap" else [])


@pytest.mark.skipif(shutil.which("rpm") is None, reason="needs rpm")
def test_every_file_of_an_rpm_can_be_read_by_all_and_changed_by_root_alone() -> None:
    for path in DIST.glob("*.rpm"):
        form = "[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILENAMES}\n]"
        for line in rpm("--query", "--package", "--queryformat", form, path).splitlines():
            mode, owner, group, name = line.split(" ", 3)
            assert (owner, group) == ("root", "root"), name
            # Linux has no modes of links.
            assert mode[0] == "l" or mode in {"drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x"}, (mode, name)
