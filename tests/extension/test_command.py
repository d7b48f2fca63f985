"""`ranger-cdap extension cdap` hands out the jars of the wheel, or says that the wheel has none."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ranger_cdap.config import Settings, parse_settings
from ranger_cdap.extension import JARS, ExtensionJar, site_properties
from servicedef import LOOKUP_CLASS
from tests.extension.driver import EARLIER_JARS, JVM, build, missing_tool
from tests.extension.driver import JARS as NEWER_JARS
from tests.lookup import ranger_service

ROOT = Path(__file__).parents[2]
BUILT = NEWER_JARS | EARLIER_JARS
POMS = dict.fromkeys(BUILT, "extension-common") | {"look-up": "ranger-lookup"}
ALL = BUILT | {"look-up": ranger_service.JAR}
SOURCES = ("ranger_cdap", "servicedef", "spark_sync", "setup.cfg", "pyproject.toml", "README.md", "LICENSE", "NOTICE")


def content_of_wheel(folder: Path, jars: list[Path]) -> Path:
    """What a wheel of this project holds when it is built with these jars."""
    source = folder / "source"
    for name in SOURCES:
        original = ROOT / name
        if original.is_dir():
            shutil.copytree(original, source / name, ignore=shutil.ignore_patterns("*.jar", "__pycache__"))
        else:
            shutil.copy(original, source / name)
    for jar in jars:
        shutil.copy(jar, source / "ranger_cdap" / "extension")
    installed = folder / "installed"
    setup = "import setuptools; setuptools.setup()"
    subprocess.run(
        [sys.executable, "-c", setup, "-q", "build_py", "--build-lib", str(installed)], cwd=source, check=True
    )
    return installed


def command(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from ranger_cdap.cli.main import run; run()", *arguments],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=installed,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.java
def test_an_installed_wheel_hands_out_its_jars(tmp_path: Path) -> None:
    if sentence := missing_tool():
        pytest.skip(sentence)
    build()
    installed, out = content_of_wheel(tmp_path, list(BUILT.values())), tmp_path / "out" / "deeper"

    as_text = command(installed, "extension", "cdap", "--out", str(out))
    as_json = command(installed, "--json", "extension", "cdap", "--out", str(out))

    assert (as_text.returncode, as_text.stderr) == (0, "")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {
        path.name: path.read_bytes() for path in BUILT.values()
    }
    told = {Path(one["jar"]).name: one["properties"] for one in json.loads(as_json.stdout)}
    assert told == {jar.name: dict(site_properties(jar, str(out / jar.name), Settings())) for jar in JARS}
    lines = [line.strip() for line in as_text.stdout.splitlines() if "<property>" in line]
    pasted = [tuple(child.text for child in ElementTree.fromstring(line)) for line in lines]
    assert pasted == [pair for jar in JARS for pair in site_properties(jar, str(out / jar.name), Settings())]
    assert "mode 0600" in as_text.stdout
    assert "client certificate" not in as_text.stdout
    required = command(installed, "--set", "service.tls_client_ca=ca.pem", "extension", "cdap", "--out", str(out))
    assert "The client certificate is of an authority in `service.tls_client_ca`" in " ".join(required.stdout.split())
    assert required.stdout.count("config.tls.key.file") == len(JARS)


@pytest.mark.java
def test_an_installed_wheel_hands_out_the_jar_for_ranger_admin(tmp_path: Path) -> None:
    if sentence := ranger_service.missing_tool():
        pytest.skip(sentence)
    ranger_service.build()
    installed, out = content_of_wheel(tmp_path, [ranger_service.JAR]), tmp_path / "ranger-plugins" / "cdap"
    out.mkdir(parents=True)
    (out / ranger_service.JAR.name).write_bytes(b"an older one")

    as_text = command(installed, "extension", "ranger", "--out", str(out))
    as_json = command(installed, "--json", "extension", "ranger", "--out", str(out))

    assert (as_text.returncode, as_text.stderr) == (0, "")
    (written,) = out.iterdir()
    assert written.read_bytes() == ranger_service.JAR.read_bytes()
    assert written.stat().st_mode & 0o777 == 0o644
    folder = "ews/webapp/WEB-INF/classes/ranger-plugins/cdap"
    assert json.loads(as_json.stdout) == {"jar": str(written), "folder": folder, "class": LOOKUP_CLASS}
    shown = " ".join(as_text.stdout.split())
    assert all(part in shown for part in (str(written), folder, "ranger-cdap setup --lookup", "restart Ranger Admin"))
    with zipfile.ZipFile(written) as jar:
        assert LOOKUP_CLASS.replace(".", "/") + ".class" in jar.namelist()


@pytest.mark.java
def test_a_wheel_without_jars_says_so(tmp_path: Path) -> None:
    refused = command(content_of_wheel(tmp_path, []), "extension", "cdap", "--out", str(tmp_path / "out"))

    assert refused.returncode == 1
    assert refused.stderr == (
        "ranger-cdap: this installation has no `ranger-cdap-extension-5.1.jar`: it was built without the jars; "
        "get a wheel that has them, or run `make extension` (Maven, Java 9 or newer) in the sources and install those "
        "(extension-missing)\n"
    )
    assert not (tmp_path / "out").exists()


@pytest.fixture
def built() -> None:
    if sentence := missing_tool() or ranger_service.missing_tool():
        pytest.skip(sentence)
    build()
    ranger_service.build()


@pytest.mark.java
@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("jar_name", ALL)
def test_a_jar_holds_its_own_classes_for_java_8_and_nothing_else(jar_name: str) -> None:
    with zipfile.ZipFile(ALL[jar_name]) as jar:
        names = [name for name in jar.namelist() if not name.endswith("/")]
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
        classes = {name: jar.read(name) for name in names if name.endswith(".class")}
    main = manifest.partition("Main-Class: ")[2].split()[0] if jar_name in BUILT else LOOKUP_CLASS

    assert main.replace(".", "/") + ".class" in classes
    package = main.rpartition(".")[0].replace(".", "/")
    assert all(name.startswith((f"{package}/", "META-INF/MANIFEST.MF")) for name in names)
    assert {content[6:8] for content in classes.values()} == {b"\x00\x34"}, "Java 8's class files"
    assert str(ROOT).encode() not in b"".join(classes.values())


@pytest.mark.java
@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("jar_name", ALL)
def test_a_jar_does_not_tell_when_it_was_built(jar_name: str) -> None:
    """So the same sources make the same bytes."""
    pom = (JVM / POMS[jar_name] / "pom.xml").read_text(encoding="utf-8")
    stamp = re.search(r"<project\.build\.outputTimestamp>(.*)Z</", pom)
    assert stamp
    with zipfile.ZipFile(ALL[jar_name]) as jar:
        entries = jar.infolist()

    assert {datetime(*entry.date_time) for entry in entries} == {datetime.fromisoformat(stamp[1])}
    assert [entry.filename for entry in entries[2:]] == sorted(entry.filename for entry in entries[2:])


@pytest.mark.parametrize("jar", JARS, ids=lambda jar: jar.cdap)
def test_where_the_service_requires_client_certificates_the_properties_name_one(jar: ExtensionJar) -> None:
    tls = {"tls_certificate": "cert.pem", "tls_key": "key.pem"}
    without, required = (
        dict(site_properties(jar, "/opt/jar", parse_settings({"service": service}, origin="a test")))
        for service in (tls, tls | {"tls_client_ca": "clients.pem"})
    )

    prefix = "security.authorization.extension.config.tls"
    assert {name: value for name, value in required.items() if name not in without} == {
        f"{prefix}.certificate.file": "/etc/cdap/conf/ranger-client.pem",
        f"{prefix}.key.file": "/etc/cdap/conf/ranger-client.key",
    }


@pytest.mark.parametrize("jar", JARS, ids=lambda jar: jar.cdap)
def test_no_property_holds_a_secret(jar: object) -> None:
    for name, value in site_properties(jar, "/opt/jar", Settings()):  # type: ignore[arg-type]
        assert "secret" not in name or (name.endswith(".secret.file") and value.startswith("/"))


@pytest.mark.parametrize(
    ("service", "url"),
    [
        ({}, "http://127.0.0.1:6500"),
        ({"port": 6502}, "http://127.0.0.1:6502"),
        ({"host": "::1"}, "http://[::1]:6500"),
        ({"host": "0.0.0.0", "tls_certificate": "cert.pem"}, "https://127.0.0.1:6500"),
        ({"host": "cdap1.example.com", "tls_certificate": "cert.pem"}, "https://cdap1.example.com:6500"),
    ],
)
def test_the_properties_are_those_of_the_settings(service: dict[str, object], url: str) -> None:
    """What is pasted asks the service that is configured, as the instance and the user that are."""
    tables = {"service": service, "cdap": {"instance": "prod"}, "master": {"user": "svc-cdap"}}

    told = dict(site_properties(JARS[0], "/opt/jar", parse_settings(tables, origin="a test")))

    prefix = "security.authorization.extension.config"
    assert (told[f"{prefix}.url"], told[f"{prefix}.instance.name"], told[f"{prefix}.master.user"]) == (
        url, "prod", "svc-cdap"
    )  # fmt: skip
