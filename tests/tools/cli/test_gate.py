"""Commands before a save read files as Ranger Admin would save them; `eval` and all that is in effect never do."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.config import Secret
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.files.policy_directory import write_directory
from ranger_cdap.ranger.files.strict_text import write_json, write_yaml
from ranger_cdap.ranger.refresh.documents import Documents
from ranger_cdap.ranger.refresh.history import PolicyHistory
from ranger_cdap.testing.admin.api import policy_store
from tests.cli.fixtures import COMPANY, download, item, policy
from tests.cli.live_ranger import PASSWORD
from tests.ranger.files.forms import collection_of

Json = dict[str, Any]
KV = {"namespace": "ns1", "dataset": "kv"}


def kv(*items: Json, **more: Any) -> Json:
    return policy(2, KV, *items, name="kv", **more)


READERS = item("read", groups=["etl"])
# A policy before, and after as somebody would write it: Ranger gives eve or bob something by each.
HIDDEN: dict[str, tuple[Json, Json]] = {
    "a right in capitals": (kv(READERS), kv(READERS, item("READ", users=["eve"]))),
    "a deny exception": (
        kv(READERS, denyPolicyItems=[READERS]),
        kv(READERS, denyPolicyItems=[READERS], denyExceptions=[item("Read", users=["eve"])]),
    ),
    "a denial of another right": (
        kv(item("read", users=["bob"]), denyPolicyItems=[item("read", users=["bob"])]),
        kv(item("read", users=["bob"]), denyPolicyItems=[item("WRITE", users=["bob"])]),
    ),
    "a user with blanks": (kv(READERS), kv(READERS, item("read", users=["eve "]))),
    "levels in capitals": (
        kv(READERS),
        {
            **kv(item("read", users=["eve"])),
            "resources": {"Instance": {"values": ["cdap"]}, "NAMESPACE": {"values": ["ns1"]}},
        },
    ),
}


def shapes(after: Json) -> dict[str, bytes]:
    return {
        "download.json": json.dumps(download([after])).encode(),
        "export.json": write_json({"policies": [after]}),
        "export.yaml": write_yaml({"policies": [after], "service": {"type": "cdap"}}),
        "list.json": write_json([after]),
        "one.json": write_json(after),
        "one.yaml": write_yaml(after),
    }


@pytest.mark.parametrize(("before", "after"), HIDDEN.values(), ids=HIDDEN)
def test_what_ranger_would_give_is_gained_in_every_shape(
    before: Json, after: Json, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.json"
    old.write_text(json.dumps(download([before])))
    for name, content in shapes(after).items():
        new = tmp_path / name
        new.write_bytes(content)
        code = main(["policies", "diff", str(old), str(new), "--fail-on", "gained"])
        shown = capsys.readouterr()
        assert code == ExitCode.ACCESS_CHANGED, (name, shown.out)
        assert f"note: `{new}`: " in shown.err
        assert "is saved as" in shown.err
    folder = tmp_path / "directory"
    write_directory(folder, collection_of(json.dumps(download([after])).encode(), ".json"))
    assert main(["policies", "diff", str(old), str(folder), "--fail-on", "gained"]) == ExitCode.ACCESS_CHANGED


def test_an_undecided_row_counts_as_gained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    condition = {"conditions": [{"type": "custom", "values": ["x"]}]}
    new = download([*COMPANY, policy(20, KV | {"dataset": "x"}, item("read", users=["eve"], **condition))])
    new["serviceDef"]["policyConditions"] = [{"itemId": 1, "name": "custom", "evaluator": "com.acme.Custom"}]
    (tmp_path / "old.json").write_text(json.dumps(download(COMPANY)))
    (tmp_path / "new.json").write_text(json.dumps(new))
    words = ["policies", "diff", str(tmp_path / "old.json"), str(tmp_path / "new.json")]
    assert main([*words, "--fail-on", "gained"]) == ExitCode.ACCESS_CHANGED
    assert "user eve may gain read" in capsys.readouterr().out


def test_expectations_are_tested_on_what_ranger_would_save(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect = 'user = "eve"\noperation = "dataset.get"\nentity = "dataset:ns1.kv"\nexpected = "denied"\n'
    (tmp_path / "expect.toml").write_text(f"[[expect]]\n{expect}")
    new = tmp_path / "new.json"
    new.write_text(json.dumps(download([kv(item("READ", users=["eve"]))])))
    words = ["policies", "test", str(tmp_path / "expect.toml"), "--policies", str(new)]
    assert main(words) == ExitCode.NO
    assert "access type `READ` is saved as `read`" in capsys.readouterr().err
    why = ["check", "--why", "eve", "dataset.get", "dataset:ns1.kv"]
    assert main([*why, "--policies", str(new), "--json"]) == ExitCode.NO
    shown = capsys.readouterr()
    assert json.loads(shown.out)["allowed"] is False
    assert "saved as" not in shown.err


def test_lint_reads_so_and_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = tmp_path / "new.json"
    new.write_text(json.dumps(download([kv(item("READ", users=["eve"]))])))
    main(["policies", "lint", "--policies", str(new), "--json"])
    shown = capsys.readouterr()
    assert "unknown-access-type" not in shown.out
    assert "access type `READ` is saved as `read`: policy `kv`" in shown.err


def test_a_history_is_as_it_was_in_effect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = json.dumps(download([kv(item("READ", users=["eve"]))])).encode()
    history = PolicyHistory(tmp_path / "history", "cdapdev", 10_000_000)
    history.keep(Documents(written, b"{}"), time.time_ns() // 1_000_000 - 2 * 86_400_000)
    (tmp_path / "new.json").write_bytes(written)
    words = ["--set", "ranger.service=cdapdev", "--set", f"plugin.history_dir={tmp_path / 'history'}"]
    for new, code in (("history:1d", ExitCode.OK), (str(tmp_path / "new.json"), ExitCode.ACCESS_CHANGED)):
        assert main([*words, "policies", "diff", "history:1d", new, "--fail-on", "gained"]) == code
    assert "user eve gains read on dataset:ns1.kv" in capsys.readouterr().out


def test_eval_takes_a_file_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = {"instance": "cdap", **KV}
    for access, allowed in (("READ", False), ("read", True)):
        (tmp_path / "p.json").write_text(json.dumps(download([kv(item(access, users=["eve"]))])))
        (tmp_path / "r.jsonl").write_text(json.dumps({"resource": levels, "accessType": "read", "user": "eve"}))
        words = ["eval", "--policies", str(tmp_path / "p.json"), "--requests", str(tmp_path / "r.jsonl")]
        assert main(words) == ExitCode.OK
        shown = capsys.readouterr()
        assert json.loads(shown.out)["allowed"] is allowed
        assert "saved as" not in shown.err


def test_a_policy_of_ranger_s_that_is_saved_again_is_reported(
    ranger: RangerAdmin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["setup", "--yes", "--quiet"]) == ExitCode.OK
    Path("sentry.ini").write_text(
        "[groups]\ng = r\n[roles]\nr = instance=cdap->namespace=ns1->dataset=kv->action=read\n"
    )
    for name in ("eve", "eve "):
        ranger.create_user(name, Secret(PASSWORD))
    with monkeypatch.context() as older:
        older.setattr(policy_store, "as_saved", lambda policy, _: (policy, ()))
        ranger.create_policy_document({**kv(item("read", users=["eve "])), "service": "cdapdev"})
    capsys.readouterr()
    assert main(["import", "sentry", "sentry.ini", "--dry-run"]) in (
        ExitCode.NO,
        ExitCode.INVALID_INPUT,
    )  # Ranger has no group `g`
    shown = capsys.readouterr()
    assert "note: user `eve ` is saved as `eve`: policy `kv`" in shown.err
