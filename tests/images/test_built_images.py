"""The images as they are built: what they hold, and what runs in them with the restrictions of compose."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.images.container import STATE, Container, container, first_process
from tests.service.serve_process import PASSWORD, SERVICE, ranger_admin, until

TARGETS = ("service", "sync")
ANY_USER = 1_234_567

pytestmark = pytest.mark.images


@pytest.fixture(params=TARGETS)
def built(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Container]:
    with container(f"localhost/ranger-cdap-{request.param}", tmp_path) as one:
        yield one


@pytest.fixture
def sync(tmp_path: Path) -> Iterator[Container]:
    with container("localhost/ranger-cdap-sync", tmp_path) as one:
        yield one


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Container]:
    with container("localhost/ranger-cdap-service", tmp_path) as one:
        yield one


def test_it_starts_our_command_as_a_user_that_is_not_root(built: Container) -> None:
    done = built.run("--version")
    assert (done.returncode, done.stdout.split(",")[0]) == (0, "ranger-cdap"), done.stderr
    assert built.user > 0


def test_what_only_builds_is_not_in_it(built: Container) -> None:
    done = built.program("python", "-c", "import pip")
    assert "No module named 'pip'" in done.stderr
    assert "No module named 'setuptools'" in built.program("python", "-c", "import setuptools").stderr
    assert not (built.root / "opt" / "build").exists()
    assert not (built.root / "src").exists()


INSTALLED = """
import json
from importlib.metadata import distributions
print(json.dumps({each.name: each.version for each in distributions()}))
"""


def test_its_bill_of_materials_names_what_is_installed_and_nothing_else(built: Container) -> None:
    done = built.program("python", "-c", INSTALLED)
    installed = json.loads(done.stdout)
    document = json.loads((built.root / "usr/share/sbom/ranger-cdap.cdx.json").read_text(encoding="utf-8"))
    listed = {canonicalize_name(one["name"]): one["version"] for one in document["components"]}
    ours = document["metadata"]["component"]
    listed[ours["name"]] = ours["version"]
    assert {canonicalize_name(name): version for name, version in installed.items()} == listed


def test_its_labels_say_what_it_is(built: Container) -> None:
    labels = built.image["Labels"]
    assert isinstance(labels, dict)
    done = built.run("--version")
    assert labels["org.opencontainers.image.version"] == done.stdout.split()[-1]
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_nothing_but_its_state_and_temporary_files_can_be_written(built: Container) -> None:
    program = "import os, sys; print([p for p in sys.argv[1:] if os.access(p, os.W_OK)])"
    places = ["/", "/etc", "/opt/ranger-cdap", "/usr/local", f"/{STATE}", "/tmp"]
    for user, group in ((built.user, built.group), (ANY_USER, 0)):
        done = built.by(user, group).program("python", "-c", program, *places)
        assert done.stdout.strip() == f"['/{STATE}', '/tmp']", done.stderr


def test_a_settings_file_in_the_writable_state_is_no_configuration(built: Container) -> None:
    for name in ("ranger-cdap.toml", ".config/ranger-cdap/ranger-cdap.toml"):
        (built.state / name).parent.mkdir(parents=True, exist_ok=True)
        (built.state / name).write_text('[ranger]\nservice = "theirs"\n', encoding="utf-8")
    done = built.run("config")
    assert done.returncode == 0, done.stderr
    assert "theirs" not in done.stdout


@pytest.mark.parametrize("user", [None, ANY_USER])
def test_the_demo_runs_as_its_user_and_as_any_other(user: int | None, sync: Container) -> None:
    done = (sync if user is None else sync.by(user)).run("demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("Done: every step succeeded, and nothing is left running.\n")


def test_every_jar_is_handed_out(built: Container) -> None:
    done = built.run("extension", "cdap", "--out", "/tmp/jars")
    assert done.returncode == 0, done.stderr
    assert built.run("extension", "ranger", "--out", "/tmp/jars").returncode == 0


SPARK = """
from ranger_cdap.config import SyncSettings
from spark_sync.spark.session import spark_session
with spark_session(SyncSettings(), master="local[1]") as spark:
    print(spark.range(3).count())
"""


def test_spark_runs_in_the_image(sync: Container) -> None:
    done = sync_with_space(sync).program("python", "-c", SPARK)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr


def test_spark_of_a_user_without_a_name_ends_with_a_sentence(sync: Container) -> None:
    done = sync_with_space(sync).by(ANY_USER).program("python", "-c", SPARK)
    assert done.returncode == 1
    assert "has no name" in done.stderr


def sync_with_space(sync: Container) -> Container:
    return replace(sync, tmp="size=1g,mode=1777,exec")


def test_process_1_ends_by_sigterm_in_the_middle_of_a_command(service: Container) -> None:
    with socket.create_server(("127.0.0.1", 0)) as ranger:  # accepts, and never answers
        started = service.start(
            "--set", f"ranger.url=http://127.0.0.1:{ranger.getsockname()[1]}", "policies", "refresh",
        )  # fmt: skip
        ranger.settimeout(60)
        with ranger.accept()[0]:
            os.kill(first_process(started), signal.SIGTERM)
            _, errors = started.communicate(timeout=60)
    assert (started.returncode, errors.strip()) == (143, "terminated")


@pytest.mark.parametrize("user", [None, ANY_USER])
def test_the_service_becomes_ready_and_its_health_check_says_so(user: int | None, service: Container) -> None:
    one = service if user is None else service.by(user)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    check = ("python", "/usr/local/lib/ranger-cdap/healthcheck.py")
    with ranger_admin() as (ranger, _):
        variables = {
            "RANGER_CDAP_RANGER__URL": ranger.url,
            "RANGER_CDAP_RANGER__SERVICE": SERVICE,
            "RANGER_CDAP_PLUGIN__USERNAME": "plugin",
            "RANGER_CDAP_PLUGIN__PASSWORD": PASSWORD.reveal(),
            "RANGER_CDAP_PLUGIN__CACHE_DIR": f"/{STATE}/cache",
            "RANGER_CDAP_SERVICE__PORT": str(port),
        }
        assert one.program(*check, **variables).returncode == 1
        started = one.start(**variables)
        try:
            until(lambda: one.program(*check, **variables).stdout == "200\n")
        finally:
            os.kill(first_process(started), signal.SIGTERM)
            _, errors = started.communicate(timeout=60)
    assert started.returncode == 0, errors
    assert (service.state / "cache").stat().st_uid == one.user
