"""Without extras everything starts, and what needs one says in one sentence which; nothing else is needed for help."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cli.exit_codes import ExitCode

# What each extra brings, by the names that are imported.
EXTRAS = {
    "client": ["httpcore", "httpx"],
    "service": ["anyio", "httptools", "prometheus_client", "starlette"],
    "spark": ["py4j", "pyspark"],
    "sync": ["deltalake", "prometheus_client", "pyarrow"],
    "kerberos": ["gssapi", "requests_gssapi"],
    "ldap": ["ldap3", "pyasn1"],
    "yaml": ["yaml"],
}
NEEDS = {
    "serve": "service",
    "embedded-admin --port 0": "service",
    "demo": "sync",
    "access --format parquet --inventory x --out y": "sync",
    "sync run": "sync",
    "sync run --follow": "sync",
    "sync status": "sync",
    "sync baseline --inventory x": "sync",
    "sync reconcile": "sync",
    "sync retry": "sync",
    "sync assign dataset:ns1.kv alice": "sync",
    "sync forget dataset:ns1.kv": "sync",
    "--set ranger.auth=kerberos policies export --out x": "kerberos",
    "--set groups.sources=ldap --set ldap.urls=ldap://127.0.0.1:1 --set ldap.anonymous=true --set ldap.user_base=dc=x "
    "groups alice": "ldap",
    "policies lint --policies x.yaml": "yaml",
}

PROGRAM = """
import contextlib, io, json, sys
without, needs = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(without))
import click
from ranger_cdap.cli.main import command_line, main

def leaves(command, words):
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from leaves(inner, [*words, name])
    else:
        yield words

def told(words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return code, err.getvalue()

helps = {" ".join(words): told([*words, "--help"]) for words in leaves(command_line(), [])}
print(json.dumps([helps, {line: told(line.split()) for line in needs}]))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What each command ends with and says, where nothing of any extra is installed."""
    without = sorted({name for names in EXTRAS.values() for name in names})
    folder = tmp_path_factory.mktemp("base")
    for name, text in (("x", ""), ("x.yaml", "policies: []")):
        Path(folder, name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([without, list(NEEDS)])],
        env={"RANGER_CDAP_SETUP_PASSWORD": "x", "HOME": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_command_has_its_help(told: Any) -> None:
    helps, _ = told
    assert len(helps) > 20
    assert {command: told for command, told in helps.items() if told != [0, ""]} == {}


@pytest.mark.parametrize("command", NEEDS)
def test_what_is_missing_is_one_sentence(told: Any, command: str) -> None:
    code, message = told[1][command]
    # That Kerberos or LDAP is wanted is a setting and that YAML is, a file, so they count as invalid input.
    assert code == (ExitCode.INVALID_INPUT if NEEDS[command] in ("kerberos", "ldap", "yaml") else ExitCode.ERROR)
    assert message.startswith("ranger-cdap: ")
    assert message.count("\n") == 1
    assert f"pip install 'ranger-cdap[{NEEDS[command]}]'" in message
