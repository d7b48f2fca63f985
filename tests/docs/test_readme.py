"""What the README shows is what happens."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ranger_cdap.cli.main import main
from ranger_cdap.config import Secret, load_settings, parse_settings
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
PASSWORD = Secret("Correct-Horse-1")


def block(language: str, number: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)[number]


def test_the_python_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    resources = {"instance": "cdap", "namespace": "ns1", "dataset": "purchases"}
    with EmbeddedAdmin(admin_password=PASSWORD.reveal()) as embedded:
        with RangerAdmin(AdminConnection(embedded.url, username="admin", password=PASSWORD)) as admin:
            for name in ("cdapplugin", "alice"):
                admin.create_user(name, PASSWORD)
            wanted = DesiredState("cdapdev", "cdap", plugin_account="cdapplugin")
            service_setup.set_up(admin, wanted)
            for depth in (2, 3):
                admin.create_policy(
                    Policy(
                        service="cdapdev",
                        name=f"policy {depth}",
                        resources={k: PolicyResource(values=[v]) for k, v in list(resources.items())[:depth]},
                        policy_items=[PolicyItem(users=["alice"], accesses=[PolicyItemAccess(type="read")])],
                    )
                )
        monkeypatch.chdir(tmp_path)
        (tmp_path / "ranger-cdap.toml").write_text(
            f'[ranger]\nurl = "{embedded.url}"\n[plugin]\nusername = "cdapplugin"\n'
            f'password = "{PASSWORD.reveal()}"\ncache_dir = "{tmp_path}/cache"\n'
        )

        exec(compile(block("python", 1), "README.md", "exec"), {})

    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("True allowed (")
    assert second == "[EntityId(type='dataset', parts=('ns1', 'purchases'))]"


def test_the_configuration_example_is_accepted(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    text = block("toml").replace("/run/secrets/cdapsync", str(secret))

    settings = parse_settings(tomllib.loads(text), origin="README", environ={"CDAP_PLUGIN_PASSWORD": "x"})

    assert settings.ranger.url == "https://ranger.example.com:6182"
    assert settings.sync.password == Secret("s3cret")
    assert load_settings(None, {}).cdap.profile == "default"


def test_the_transcript_is_what_the_demo_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    # Policies are written several at a time, so the ids differ.
    assert re.sub("policy [0-9]+", "policy 4", capsys.readouterr().out) == block("text")


def test_the_test_of_a_program_passes(tmp_path: Path) -> None:
    (tmp_path / "test_program.py").write_text(block("python"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_program.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr
