"""Law: in whatever accepted form the same policies come, every command gives the same answer."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from tests.cli.fixtures import COMPANY, download
from tests.ranger.files.forms import written

Json = dict[str, Any]
SERVICE = "cdapdev"
USERS, GROUPS, ACCESSES = ("alice", "bob", "{USER}"), ("etl", "public"), ("read", "write", "_READ", "_ALL")
NAMES = {"namespace": ("ns1", "ns*", "fin"), "dataset": ("kv", "k*", "*")}
CONDITIONS = (
    {"type": "_expression", "values": ["IS_IN_GROUP('etl')"]},
    {"type": "ip-range", "values": ["10.*"]},
    {"type": "nonesuch", "values": ["x"]},
)
ZONES = {"z": {"instance": ["cdap"], "namespace": ["fin"]}, "empty": {"instance": ["cdap"], "namespace": ["none"]}}

items = st.fixed_dictionaries(
    {
        "users": st.lists(st.sampled_from(USERS), max_size=2, unique=True),
        "groups": st.lists(st.sampled_from(GROUPS), max_size=1),
        "accesses": st.lists(st.sampled_from(ACCESSES), min_size=1, max_size=2, unique=True).map(
            lambda types: [{"type": one, "isAllowed": True} for one in types]
        ),
        "conditions": st.lists(st.sampled_from(CONDITIONS), max_size=1),
        "delegateAdmin": st.booleans(),
    }
)
resources = st.fixed_dictionaries(
    {"namespace": st.sampled_from(NAMES["namespace"])}, optional={"dataset": st.sampled_from(NAMES["dataset"])}
).map(
    lambda levels: {
        name: {"values": [value], "isExcludes": False, "isRecursive": False}
        for name, value in {"instance": "cdap", **levels}.items()
    }
)
policies = st.lists(
    st.fixed_dictionaries(
        {"resources": resources, "policyItems": st.lists(items, max_size=2)},
        optional={
            "denyPolicyItems": st.lists(items, max_size=1),
            "denyExceptions": st.lists(items, max_size=1),
            "zoneName": st.sampled_from(["", "z"]),
            "policyPriority": st.sampled_from([0, 1]),
            "isDenyAllElse": st.booleans(),
            "isEnabled": st.booleans(),
            "conditions": st.lists(st.sampled_from(CONDITIONS), max_size=1),
        },
    ),
    min_size=1,
    max_size=4,
).map(lambda several: [{**one, "name": f"p{number}"} for number, one in enumerate(several)])

ASKED = [
    {"resource": {"instance": "cdap", "namespace": ns, "dataset": "kv"}, "user": user, "accessType": access}
    for ns in ("ns1", "fin")
    for user in ("alice", "bob")
    for access in ("read", "write")
]
_TIME = re.compile(r"20\d\d-\d\d-\d\dT[0-9:.]+(Z|\+00:00)")
EXPECTED = '[[expect]]\nuser = "alice"\ngroups = ["etl"]\noperation = "dataset.get"\nentity = "dataset:default.kv"\n'


def commands(folder: Path) -> list[list[str]]:
    """Commands that take policies; `WHICH` stands for them."""
    (folder / "requests.jsonl").write_text("\n".join(map(json.dumps, ASKED)))
    (folder / "expect.toml").write_text(EXPECTED + 'expected = "allowed"\n')
    (folder / "other.json").write_text(json.dumps(download(COMPANY)))
    check = ["alice", "dataset.get", "dataset:ns1.kv", "--policies", "WHICH"]
    return [
        ["check", *check],
        ["check", "--why", *check, "--group", "etl", "--json"],
        ["eval", "--policies", "WHICH", "--requests", str(folder / "requests.jsonl")],
        ["eval", "--policies", "WHICH", "--requests", str(folder / "requests.jsonl"), "--compatibility", "ranger"],
        ["access", "--user", "alice", "--policies", "WHICH", "--json"],
        ["access", "--entity", "dataset:fin.kv", "--policies", "WHICH", "--json"],
        ["access", "--entity", "namespace:ns1", "--format", "matrix", "--policies", "WHICH", "--json"],
        ["groups", "alice", "--policies", "WHICH"],
        ["policies", "lint", "--policies", "WHICH", "--json"],
        ["policies", "lint", "--propose", "--policies", "WHICH", "--json"],
        ["policies", "test", str(folder / "expect.toml"), "--policies", "WHICH"],
        ["policies", "diff", str(folder / "other.json"), "WHICH", "--json"],
        ["policies", "diff", "WHICH", str(folder / "other.json")],
    ]


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(policies)
def test_every_command_gives_one_answer_in_every_form(several: list[Json]) -> None:
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        patch.setenv("RANGER_CDAP_RANGER__SERVICE", SERVICE)
        forms = written(folder, several, ZONES, SERVICE)
        for words in commands(folder):
            answers = {form: answer(words, which) for form, which in forms.items()}
            different = {form: found for form, found in answers.items() if found != answers["download.json"]}
            assert different == {}, (words, answers["download.json"], different)
            code, _, told = answers["download.json"]
            assert code in (ExitCode.OK, ExitCode.NO) or "unknown" in told, (words, answers["download.json"])


def answer(words: list[str], which: str) -> tuple[int, str, str]:
    """The answer of a command, without the names of files and the time."""
    content, err = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(content)
    with redirect_stdout(out), redirect_stderr(err):
        code = main([which if word == "WHICH" else word for word in words])
    out.flush()
    return code, *(plain(text, which) for text in (content.getvalue().decode(), err.getvalue()))


def plain(text: str, which: str) -> str:
    first = which.partition(",")[0]
    return _TIME.sub("TIME", text.replace(which, "WHICH").replace(first, "WHICH"))
