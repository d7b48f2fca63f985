"""The containers of docker/: valid, pinned, reached from this machine only, with few rights and settings we have.

Nothing here starts Docker.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from ranger_cdap.config import Settings
from ranger_cdap.service.http.server import check_exposure
from tests.docker.fixtures import PREFIX, ROOT, is_below, named_secrets, parse_command, settings_of, written

DOCKER = ROOT / "docker"
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("ranger-cdap")}
RANGERS = {name: service for name, service in SERVICES.items() if name not in OURS}
IMAGES = {"ranger-admin": "apache/ranger", "ranger-db": "apache/ranger-db", "ranger-solr": "apache/ranger-solr"}
SCHEMA = Path(__file__).parents[1] / "data" / "compose-spec" / "compose-spec.json"
# Settings of a command rather than of the program.
OF_COMMANDS = {"RANGER_CDAP_CONFIG", "RANGER_CDAP_SETUP_PASSWORD"}


def test_the_schema_of_compose_accepts_the_file() -> None:
    validator = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(COMPOSE)] == []
    broken = {**COMPOSE, "services": {"x": {"image": "y", "read_onli": True}}}
    assert not validator.is_valid(broken)


def test_there_are_ranger_admin_its_database_and_solr_of_one_version() -> None:
    images = {name: service["image"].partition(":") for name, service in RANGERS.items()}
    assert {name: image for name, (image, _, _) in images.items()} == IMAGES
    (version,) = {tag for _, _, tag in images.values()}
    assert re.fullmatch(r"\$\{RANGER_VERSION:-2\.\d+\.\d+\}", version)


@pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)
def test_a_service_is_in_the_network_and_its_ports_are_of_this_machine(service: dict[str, Any]) -> None:
    assert set(service["networks"]) <= COMPOSE["networks"].keys()
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    assert set(service.get("depends_on", ())) <= SERVICES.keys()


@pytest.mark.parametrize("service", RANGERS.values(), ids=RANGERS)
def test_of_ranger_nothing_is_kept(service: dict[str, Any]) -> None:
    assert not service.get("volumes")


@pytest.mark.parametrize("target", ["ranger-up", "ranger-down"])
def test_make_names_files_that_exist(target: str) -> None:
    planned = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", target], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    (file,) = re.findall(r"docker compose --file (\S+)", planned)
    assert (ROOT / file).is_file()
    assert ("ranger-cdap setup --yes" in planned) == (target == "ranger-up")


# --- ours ---------------------------------------------------------------------------------------------------------


def environment(name: str) -> dict[str, str]:
    return {key: str(value) for key, value in OURS[name]["environment"].items()}


def config(name: str) -> str | None:
    """The file that RANGER_CDAP_CONFIG names, by way of the mounts."""
    place = environment(name).get("RANGER_CDAP_CONFIG")
    if place is None:
        return None
    (source,) = [
        volume.split(":")[0] for volume in OURS[name]["volumes"] if volume.split(":")[1] == str(Path(place).parent)
    ]
    return (DOCKER / source / Path(place).name).read_text(encoding="utf-8")


def settings(name: str, folder: Path) -> Settings:
    given = environment(name)
    given.pop("RANGER_CDAP_SETUP_PASSWORD", None)
    return settings_of(given, config(name), folder)


def test_there_are_setup_decision_service_and_sync() -> None:
    assert list(OURS) == ["setup", "decision-service", "sync"]
    conditions = {name: dict(service["depends_on"]) for name, service in OURS.items()}
    assert conditions["setup"] == {"ranger-admin": {"condition": "service_healthy"}}
    assert conditions["decision-service"] == {"ranger-admin": {"condition": "service_healthy"}}
    assert conditions["sync"] == {"decision-service": {"condition": "service_healthy"}}
    profiles = {name: service["profiles"] for name, service in OURS.items()}
    assert profiles == {"setup": ["cdap"], "decision-service": ["cdap"], "sync": ["sync"]}


def test_the_health_check_of_the_service_is_that_of_its_image() -> None:
    (image,) = [rest for stage, word, rest in instructions() if stage == "service" and word == "HEALTHCHECK"]
    options, _, command = image.partition(" CMD ")
    given = dict(option.removeprefix("--").split("=") for option in options.split())
    check = OURS["decision-service"]["healthcheck"]
    assert ["CMD", *json.loads(command)] == check["test"]
    assert {name.replace("-", "_"): value for name, value in given.items()} == {
        name: str(value) for name, value in check.items() if name != "test"
    }


@pytest.mark.parametrize("answer", ["200 ", "503 Service Unavailable"])
def test_ranger_is_healthy_when_its_page_is_there(answer: str) -> None:
    (program,) = [part for part in RANGERS["ranger-admin"]["healthcheck"]["test"] if "exec" in part]
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked: list[bytes] = []

        def serve() -> None:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as lines:
                asked.extend([lines.readline(), lines.readline()])
                connection.sendall(f"HTTP/1.1 {answer}\r\n\r\n".encode())

        thread = threading.Thread(target=serve)
        thread.start()
        here = program.replace("localhost/6080", f"127.0.0.1/{server.getsockname()[1]}")
        done = subprocess.run(["bash", "-c", here], capture_output=True, timeout=60, check=False)
        thread.join()
    assert asked == [b"GET /login.jsp HTTP/1.0\r\n", b"\r\n"]
    assert (done.returncode == 0) == answer.startswith("200")


def test_room_for_temporary_files_is_bounded() -> None:
    for name in ("decision-service", "sync"):
        (mount,) = OURS[name]["tmpfs"]
        assert re.fullmatch(r"/tmp:size=\d+[mg],mode=1777(,exec)?", mount)


@pytest.mark.parametrize("name", OURS)
def test_it_has_few_rights(name: str) -> None:
    service = OURS[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.keys() & {"cap_add", "privileged", "user", "pid", "network_mode", "devices", "env_file"}


@pytest.mark.parametrize("name", OURS)
def test_its_settings_are_ours_and_safe(name: str, tmp_path: Path) -> None:
    assert all(key.startswith(PREFIX) for key in environment(name))
    assert {key for key in environment(name) if "__" not in key} <= OF_COMMANDS
    check_exposure(settings(name, tmp_path).service)


@pytest.mark.parametrize("name", OURS)
def test_its_secrets_are_files_and_it_has_those_it_names_and_no_others(name: str) -> None:
    service = OURS[name]
    named = named_secrets(environment(name).values(), config(name) or "")
    assert named == set(service["secrets"])
    assert named <= COMPOSE["secrets"].keys()
    for key, text in environment(name).items():
        if re.search(r"PASSWORD|SECRET|TOKEN|MARKER", key):
            assert text.startswith("file:/run/secrets/")


@pytest.mark.parametrize("name", OURS)
def test_its_command_is_one_of_ours(name: str) -> None:
    assert parse_command(OURS[name]["command"]).info_name in {"setup", "serve", "run"}


@pytest.mark.parametrize(
    ("name", "writes"),
    [
        ("decision-service", {"plugin.cache_dir", "service.events_dir", "audit.spool_dir"}),
        ("sync", {"sync.state_dir", "sync.metrics_file"}),
    ],
)
def test_what_it_writes_is_on_a_volume(name: str, writes: set[str], tmp_path: Path) -> None:
    mounts = [volume.split(":") for volume in OURS[name]["volumes"]]
    writable = [mount[1] for mount in mounts if mount[-1] != "ro"]
    assert all(mount[0] in COMPOSE["volumes"] for mount in mounts if mount[-1] != "ro")
    places = written(settings(name, tmp_path))
    assert {key for key in writes if not is_below(places[key], writable)} == set()


def test_the_job_reads_what_the_service_stores_of_callers_that_may_bring_it(tmp_path: Path) -> None:
    deciding = settings("decision-service", tmp_path)
    (source,) = settings("sync", tmp_path).sync.sources
    assert source.path == deciding.service.events_dir
    assert set(source.callers) <= {caller.name for caller in deciding.service.callers if "audit" in caller.roles}


def test_all_agree_about_ranger_and_cdap(tmp_path: Path) -> None:
    several = [settings(name, tmp_path) for name in OURS]
    assert len({(each.ranger, each.cdap, each.plugin.username) for each in several}) == 1
    assert several[0].sync.username == several[2].sync.username
    host = several[0].ranger.url.split("//")[1].split(":")[0]
    assert host in {service.get("hostname") for service in RANGERS.values()}


def test_the_two_containers_are_two_users_that_share_the_events_and_the_network() -> None:
    arguments = {name: OURS[name]["build"]["args"] for name in ("setup", "sync")}
    uids = {name: re.findall(r":-(\d+)\}", given["UID"])[0] for name, given in arguments.items()}
    assert uids == {"setup": "10001", "sync": "10002"}
    group = environment("decision-service")["RANGER_CDAP_SERVICE__EVENTS_GROUP"]
    assert {given["EVENTS_GID"] for given in arguments.values()} == {group}
    assert [OURS[name]["group_add"] for name in ("decision-service", "sync")] == [[group]] * 2
    assert set(OURS["decision-service"]["secrets"]).isdisjoint(OURS["sync"]["secrets"])
    volumes = [set(OURS[name]["volumes"]) for name in ("decision-service", "sync")]
    named = [{volume.partition(":")[0] for volume in each} & COMPOSE["volumes"].keys() for each in volumes]
    assert named[0] & named[1] == {"events"}
    assert "events:/var/lib/ranger-cdap-events:ro" in volumes[1]


def test_the_images_have_the_users_and_the_group_that_the_service_gives_events_to() -> None:
    for target, uid in (("service", "10001"), ("sync", "10002")):
        given = dict(
            (rest + "=").split("=")[:2] for stage, word, rest in instructions() if stage == target and word == "ARG"
        )
        given.pop("JAVA_PACKAGE", None)
        assert given == {"UID": uid, "EVENTS_GID": "10000"}
        made = " ".join(rest for stage, word, rest in instructions() if stage == target and word == "RUN")
        assert 'groupadd --gid "${EVENTS_GID}" ranger-cdap-events' in made
        assert "--groups ranger-cdap-events" in made
    assert '--group "${EVENTS_GID}" --mode 0750 /var/lib/ranger-cdap-events' in " ".join(
        rest for stage, word, rest in instructions() if stage == "service" and word == "RUN"
    )


def test_make_secrets_makes_every_secret_for_one_reader(tmp_path: Path) -> None:
    shutil.copy(DOCKER / "make-secrets", tmp_path)
    made: dict[str, bytes] = {}
    for _ in range(2):
        subprocess.run(["sh", tmp_path / "make-secrets"], check=True)
        found = {path.name: path.read_bytes() for path in (tmp_path / "secrets").iterdir()}
        assert found == (made or found), "once more must change nothing"
        made = found
    assert made.keys() == COMPOSE["secrets"].keys()
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "secrets").iterdir())
    assert {name: value["file"] for name, value in COMPOSE["secrets"].items()} == {n: f"./secrets/{n}" for n in made}
    given = re.fullmatch(
        r"RANGER_CDAP_UID=([1-9]\d*)\nRANGER_CDAP_SYNC_UID=([1-9]\d*)\n",
        (tmp_path / ".env").read_text(encoding="utf-8"),
    )
    assert given is not None
    uids = {"decision-service": int(given[1]), "setup": int(given[1]), "sync": int(given[2])}
    assert (uids["sync"] != uids["decision-service"]) is (os.geteuid() == 0)
    for service, uid in uids.items():
        assert {(tmp_path / "secrets" / name).stat().st_uid for name in OURS[service]["secrets"]} == {uid}
    ignored = (DOCKER / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"secrets/", ".env"} <= set(ignored)


# --- the images ---------------------------------------------------------------------------------------------------

DOCKERFILE = (DOCKER / "Dockerfile").read_text(encoding="utf-8")


def instructions() -> Iterator[tuple[str, str, str]]:
    """Stage, instruction and arguments, one after another."""
    stage = ""
    for line in re.sub(r"\\\n", " ", DOCKERFILE).splitlines():
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            if word == "FROM":
                stage = rest.rpartition(" AS ")[2]
            yield stage, word, " ".join(rest.split())


def copied() -> list[tuple[str, list[str]]]:
    """Where from, what."""
    found = []
    for _, word, rest in instructions():
        if word == "COPY":
            from_stage = re.match(r"--from=(\S+) ", rest)
            names = [name for name in rest.split()[:-1] if not name.startswith("--")]
            found.append((from_stage[1] if from_stage else "", names))
    return found


def test_images_it_is_built_from_name_a_version_and_digests_that_a_registry_gave() -> None:
    given = dict(re.findall(r"^ARG (\w+_IMAGE)=(\S+)$", DOCKERFILE, re.MULTILINE))
    bases = {rest.split()[0] for _, word, rest in instructions() if word == "FROM"}
    stages = {stage for stage, word, _ in instructions() if word == "FROM"}
    outside = {re.sub(r"\$\{(\w+)\}", lambda found: given[found[1]], base) for base in bases - stages}
    assert outside
    assert all(re.fullmatch(r"[a-z]+:\d+[\w.-]*(@sha256:[0-9a-f]{64})?", image) for image in outside)


def test_digests_are_added_and_renewed_where_a_registry_answers(tmp_path: Path) -> None:
    file, path = tmp_path / "Dockerfile", {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    shutil.copy(DOCKER / "Dockerfile", file)
    before = file.read_text(encoding="utf-8")
    asks = tmp_path / "skopeo"
    for number in "12":
        asks.write_text(f"#!/bin/sh\necho sha256:{number * 64}\n", encoding="utf-8")
        asks.chmod(0o755)
        subprocess.run(["sh", ROOT / ".ci" / "lock-images", file], env=path, capture_output=True, check=True)
        now = file.read_text(encoding="utf-8")
        assert re.sub(f"@sha256:{number * 64}$", "", now, flags=re.MULTILINE) == re.sub(
            r"@sha256:\w+$", "", before, flags=re.MULTILINE
        )
        assert now.count(f"@sha256:{number * 64}\n") == 2
    asks.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    refused = subprocess.run(["sh", ROOT / ".ci" / "lock-images", file], env=path, capture_output=True, check=False)
    assert refused.returncode == 1
    assert file.read_text(encoding="utf-8") == now


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    ignore = (DOCKER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    shown = {line[1:] for line in ignore if line.startswith("!")}
    stages = {stage for stage, word, _ in instructions() if word == "FROM"}
    from_tree = {name for source, names in copied() if not source for name in names}
    assert {source for source, _ in copied() if source} <= stages
    assert {name for name in from_tree if not (ROOT / name).exists()} == set()
    assert ignore[1] == "*"
    assert shown == from_tree


def test_every_package_is_checked_by_its_hash_or_is_our_wheel() -> None:
    installs = re.findall(r"(?<=/pip )([^&\n]*)", re.sub(r"\\\n", " ", DOCKERFILE))
    assert len(installs) >= 6
    for arguments in installs:
        assert "--require-hashes" in arguments or re.search(r"--no-index --no-deps.* /(dist|wheels)/\*\.whl", arguments)


@pytest.mark.parametrize("target", ["service", "sync"])
def test_an_image_does_not_run_as_root_and_starts_one_of_our_commands(target: str) -> None:
    of_stage = [(word, rest) for stage, word, rest in instructions() if stage == target]
    (user,) = [rest for word, rest in of_stage if word == "USER"]
    (uid,) = [rest.partition("=")[2] for word, rest in of_stage if word == "ARG" and rest.startswith("UID=")]
    assert user == "${UID}"
    assert int(uid) > 0
    (command,) = [rest for word, rest in of_stage if word == "CMD"]
    parse_command(json.loads(command))
    assert [rest for stage, word, rest in instructions() if stage == "base" and word == "ENTRYPOINT"] == [
        '["ranger-cdap"]'
    ]


def test_no_layer_has_a_secret() -> None:
    for _, word, rest in instructions():
        if word in ("ENV", "ARG"):
            assert not re.search(r"PASSWORD|SECRET|TOKEN|KEY", rest.upper())


def test_tags_have_the_version_that_is_built() -> None:
    version = re.findall(r"^version = (\S+)$", (ROOT / "setup.cfg").read_text(encoding="utf-8"), re.MULTILINE)[0]
    tags = {service["image"].partition(":")[2] for service in OURS.values()}
    assert tags == {version}
    assert set(re.findall(r"--tag \S+:(\S+)", DOCKERFILE)) == {version}


def test_the_files_of_config_are_toml() -> None:
    for path in (DOCKER / "config").iterdir():
        assert tomllib.loads(path.read_text(encoding="utf-8"))
