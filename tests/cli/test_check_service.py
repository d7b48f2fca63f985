"""`ranger-cdap check --service`: the same output and exit code as by policies of this host, and how it can fail."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ranger_cdap.cli.main import main
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh.cache import PolicyCache
from ranger_cdap.ranger.refresh.documents import pieces
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from tests.cli.live_ranger import grant
from tests.service.fixtures import World, secret_of, serving

SECRET = "RANGER_CDAP_SERVICE_SECRET"
KV = "dataset:ns1.kv"


@pytest.fixture
def world(ranger: RangerAdmin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A service with the policies of the Ranger Admin that the command would ask."""
    assert main(["setup", "--yes"]) == 0
    grant(ranger, "kv", {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}, "alice", "read")
    grant(ranger, "ns1", {"instance": "cdap", "namespace": "ns1"}, "alice", "read")
    assert main(["policies", "refresh"]) == 0
    loaded = PolicyCache(Path("cache"), "cdapdev", report=print, with_users=True).load(time.time())
    assert loaded is not None
    found = loaded[0].documents
    policies = json.loads(b"".join(pieces(found.policies)))["policies"]
    monkeypatch.setenv(SECRET, secret_of("delegate"))
    with serving(policies, tmp_path / "service") as running:
        snapshot = running.state.authorizer.snapshot
        running.becomes(msgspec.structs.replace(snapshot, documents=found))
        yield running


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([*arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def warnings(err: str) -> str:
    return "".join(line for line in err.splitlines(keepends=True) if line.startswith("warning: unknown "))


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (["alice", "dataset.get", KV], 0),
        (["bob", "dataset.get", KV], 2),
        (["alice", "dataset.delete", KV], 2),
        (["alcie", "dataset.get", "dataset:ns1.kvs"], 2),
        (["bob", "program.start", "program:ns1.shop.workflow.W", "--with", "datasets=dataset:ns1.k*"], 2),
        (["bob", "application.deploy", "application:ns1.shop", "--group", "etl", "--jar", "shop-1.0.0.jar"], 2),
        (["bob", "application.deploy", "application:ns1.shop", "--impersonate", "alice"], 2),
        (["bob", "dataset.paint", KV], 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_output_is_that_of_local_policies(
    question: list[str], code: int, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["check", *question, "--service", world.url, "--caller", "delegate"]
    here, there = told(capsys, "check", *question), told(capsys, *asked)
    assert here[0] == there[0] == code
    if code < 3:
        assert there[1:] == (here[1], warnings(here[2]))
    here, there = told(capsys, "check", *question, "--json"), told(capsys, *asked, "--json")
    assert here[0] == there[0] == code
    if code < 3:
        # CDAP's own checks are evaluated by local policies only.
        local = json.loads(here[1])
        assert ("cdap_asks" in local) == (code == 0)
        assert (json.loads(there[1]), there[2]) == (
            {k: v for k, v in local.items() if k != "cdap_asks"},
            warnings(here[2]),
        )


def test_without_policies_it_ends_as_local_policies_do(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.becomes(Snapshot(None, PolicyState.NOT_READY, "Ranger Admin was never reached"))
    asked = ["check", "alice", "dataset.get", KV, "--service", world.url, "--caller", "delegate"]
    assert told(capsys, *asked) == (4, "", "ranger-cdap: Ranger Admin was never reached (not-ready)\n")
    code, out, _ = told(capsys, *asked, "--json")
    assert (code, json.loads(out)["ready"], json.loads(out)["allowed"]) == (4, False, False)


_BAD = {
    "a role is missing": (["--caller", "enforce"], {SECRET: secret_of("enforce")}, 1, "HTTP 403"),
    "a wrong secret": (["--caller", "delegate"], {SECRET: "wrong-secret-0123456789"}, 1, "HTTP 401"),
    "a secret in no file": (["--caller", "delegate"], {SECRET: "file:nowhere"}, 3, "`nowhere` cannot be read"),
    "no secret": (["--caller", "delegate"], {SECRET: ""}, 3, f"set {SECRET} to its secret"),
    "no caller": ([], {}, 3, "name a caller of the service with `--caller`"),
    "no CA file": (
        ["--caller", "delegate", "--set", "network.ca_file=nowhere.pem"], {}, 3, "`nowhere.pem` cannot be read"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", _BAD)
def test_what_fails_is_one_sentence_and_never_allowed(
    case: str, world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options, variables, code, words = _BAD[case]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found, out, err = told(capsys, "check", "alice", "dataset.get", KV, "--service", world.url, *options)
    assert (found, out) == (code, "")
    assert words in err
    assert err.count("\n") == 1
    assert "secret-0123456789" not in err


def test_without_tls_only_a_named_host_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(SECRET, "a-secret")
    asked = ["check", "alice", "dataset.get", KV, "--service", "http://decisions.invalid", "--caller", "a"]
    code, out, err = told(capsys, "--set", "network.plain_hosts=other.invalid", *asked)
    assert (code, out, "add `decisions.invalid` to `network.plain_hosts`" in err) == (3, "", True)
    _, _, err = told(capsys, "--set", "network.plain_hosts=decisions.invalid", *asked)
    assert "is unavailable" in err or "cannot be resolved" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--service", "decisions"], "`--service` must be an address like"),
        (["--caller", "a"], "need `--service`"),
        (["--service", "http://127.0.0.1:9", "--caller", "a"], "the connection was refused"),
    ],
)
def test_an_address_that_does_not_work(
    options: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(SECRET, "a-secret")
    code, out, err = told(capsys, "check", "alice", "dataset.get", KV, *options)
    assert (code in (1, 3), out, words in err, err.count("\n")) == (True, "", True, 1)
