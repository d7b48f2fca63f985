"""`ranger-cdap import sentry` as a user sees it, with an embedded Ranger Admin; the page shows what it prints."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cdap.entity import parse_entity, to_resource
from ranger_cdap.cli import ranger_changes
from ranger_cdap.cli.main import main
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.ranger.client.downloader import Downloader
from ranger_cdap.ranger.client.ranger_roles import RoleClient
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies, decode_service_tags
from ranger_cdap.testing import EmbeddedRanger, embedded_ranger
from tests.docs.markdown_pages import ROOT, text_of
from tests.testing.admin.caller import V2, Caller

PAGE = text_of(ROOT / "docs" / "how-to" / "import-from-sentry.md")
AFTER_A_CHANGE = re.findall(r"^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[1]
FILE, COMMAND, OUTPUT = (
    re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[0] for kind in ("ini", "sh", "text")
)
IMPORT = shlex.split(COMMAND)[1:]
ROLES = ("sales_readers", "sales_loaders")


@pytest.fixture(scope="module")
def shared() -> Iterator[EmbeddedRanger]:
    with embedded_ranger() as ranger:
        caller = Caller(ranger.url, password=ranger.password.reveal())
        caller("POST", "/service/xusers/secure/groups", {"name": "sales-devs"})
        yield ranger


@pytest.fixture
def ranger(shared: EmbeddedRanger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddedRanger:
    """A Ranger Admin without roles and without policies for them; the page's file is in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANGER_CDAP_SETUP_PASSWORD", shared.password.reveal())
    (tmp_path / "ranger-cdap.toml").write_text(f'[ranger]\nurl = "{shared.url}"\nservice = "{shared.service}"\n')
    (tmp_path / IMPORT[2]).write_text(FILE)
    for one in shared.admin.list_policies(shared.service):
        if one.name.startswith("sentry:"):
            shared.admin.delete_policy(one.id)
    for role in shared.admin.roles.all():
        shared.admin.roles.delete(shared.service, role.name)
    return shared


def state(ranger: EmbeddedRanger) -> tuple[Any, Any]:
    raw = Caller(ranger.url, password=ranger.password.reveal())
    return raw("GET", f"{V2}/roles")[1], raw("GET", f"{V2}/service/{ranger.service}/policy?pageSize=1000")[1]


def allowed(ranger: EmbeddedRanger, entity: str, action: str, *groups: str) -> bool:
    by = Downloader.here("cdap", ranger.service)
    policies = ranger.admin.download_policies(ranger.service, last_known_version=-1, by=by)
    roles = ranger.admin.download_roles(ranger.service, last_known_version=-1, by=by)
    tags = ranger.admin.download_tags(ranger.service, last_known_version=-1, by=by)
    assert policies
    assert roles
    assert tags
    engine = PolicyEngine.build(
        decode_service_policies(policies), roles=decode_roles(roles), tags=decode_service_tags(tags)
    )
    resource = to_resource(parse_entity(entity), ranger.instance)
    asked = AccessRequest(resource=resource, access_type=action, user="someone", groups=frozenset(groups))
    return engine.evaluate(asked).allowed


def test_the_file_of_the_page_is_imported_once(ranger: EmbeddedRanger, capsys: pytest.CaptureFixture[str]) -> None:
    before = state(ranger)
    assert main([*IMPORT[:3], "--dry-run"]) == 2
    assert capsys.readouterr().out == OUTPUT
    assert state(ranger) == before
    assert main(IMPORT) == 0
    shown = capsys.readouterr()
    assert shown.out == OUTPUT
    assert "7 changes made" in shown.err
    imported = state(ranger)
    assert main(IMPORT) == 0
    assert capsys.readouterr().out.splitlines()[3:] == [
        f"keep role `{name}`: it has these members and rights" for name in ROLES
    ]
    assert state(ranger) == imported


def test_a_member_may_do_what_the_file_says_and_no_more(ranger: EmbeddedRanger) -> None:
    assert main(["--quiet", *IMPORT]) == 0
    assert allowed(ranger, "namespace:sales", "read", "sales-devs")
    assert allowed(ranger, "dataset:sales.other", "read", "sales-devs")
    assert allowed(ranger, "dataset:sales.raw_1", "admin", "sales-devs")
    assert not allowed(ranger, "namespace:sales", "write", "sales-devs")
    assert not allowed(ranger, "dataset:sales.other", "write", "sales-devs")
    assert not allowed(ranger, "application:sales.app", "read", "sales-devs")
    assert not allowed(ranger, "instance:", "read", "sales-devs")
    assert not allowed(ranger, "dataset:sales.raw_1", "read", "others")


def test_the_roles_follow_a_file_that_changed(ranger: EmbeddedRanger, tmp_path: Path) -> None:
    assert main(["--quiet", *IMPORT]) == 0
    (tmp_path / IMPORT[2]).write_text(FILE.replace("action=all->", "action=read->"))
    assert main(["--quiet", *IMPORT]) == 0
    assert allowed(ranger, "dataset:sales.raw_1", "read", "sales-devs")
    assert not allowed(ranger, "dataset:sales.raw_1", "admin", "sales-devs")


def groups_of(ranger: EmbeddedRanger, role: str) -> set[str]:
    found = ranger.admin.roles.find(ranger.service, role)
    return {one.name for one in found.groups} if found else set()


def test_groups_that_left_the_file_leave_the_role_and_those_of_people_stay(
    ranger: EmbeddedRanger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Caller(ranger.url, password=ranger.password.reveal())("POST", "/service/xusers/secure/groups", {"name": "by-hand"})
    assert main(["--quiet", *IMPORT]) == 0
    (tmp_path / IMPORT[2]).write_text(FILE.replace("sales_readers, sales_loaders", "sales_readers"))
    capsys.readouterr()
    assert main([*IMPORT[:3], "--dry-run"]) == 2
    shown = capsys.readouterr().out.splitlines(keepends=True)
    assert "".join(shown[3:]) == AFTER_A_CHANGE
    assert groups_of(ranger, "sales_loaders") == {"sales-devs"}
    ranger.admin.roles.grant(ranger.service, "sales_loaders", grantor="admin", groups=["by-hand"])
    assert main(IMPORT) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[3].endswith("no longer wanted; it also has group `by-hand`")
    assert groups_of(ranger, "sales_loaders") == {"by-hand"}
    assert groups_of(ranger, "sales_readers") == {"sales-devs"}
    assert not allowed(ranger, "dataset:sales.raw_1", "admin", "sales-devs")
    assert allowed(ranger, "dataset:sales.raw_1", "admin", "by-hand")
    imported = state(ranger)
    assert main(IMPORT) == 0
    assert state(ranger) == imported


def test_a_role_that_left_the_file_is_named_and_deleted_with_delete(
    ranger: EmbeddedRanger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--quiet", *IMPORT]) == 0
    file = "[groups]\nsales-devs = sales_readers\n[roles]\n" + FILE.splitlines()[3]
    (tmp_path / IMPORT[2]).write_text(file)
    imported = state(ranger)
    capsys.readouterr()
    assert main(IMPORT) == 0
    assert "keep role `sales_loaders`: it was imported before and the file does not have it" in capsys.readouterr().out
    assert state(ranger) == imported
    assert main([*IMPORT, "--delete"]) == 0
    assert "delete role `sales_loaders`: with group `sales-devs`" in capsys.readouterr().out
    assert {one["name"] for one in state(ranger)[0]} == {"sales_readers"}
    assert not allowed(ranger, "dataset:sales.raw_1", "admin", "sales-devs")


def test_a_role_with_a_strange_name_and_a_label_of_ours_stops_no_import(ranger: EmbeddedRanger) -> None:
    assert main(["--quiet", *IMPORT]) == 0
    raw = Caller(ranger.url, password=ranger.password.reveal())
    assert raw("POST", f"{V2}/roles", {"name": "a/b"})[0] == 200
    [policy, *_] = [one for one in state(ranger)[1] if one["name"].startswith("sentry:")]
    policy["policyItems"].append({"roles": ["a/b"], "accesses": [{"type": "read"}]})
    policy["policyLabels"].append("cdap-role:read:role:a/b")
    try:
        assert raw("PUT", f"{V2}/policy/{policy['id']}", policy)[0] == 200
        assert main(["--quiet", *IMPORT]) == 0
    finally:
        ranger.admin.delete_policy(policy["id"])
        [number] = [one["id"] for one in state(ranger)[0] if one["name"] == "a/b"]
        raw("DELETE", f"{V2}/roles/{number}")


def test_a_role_of_others_blocks_everything(ranger: EmbeddedRanger, capsys: pytest.CaptureFixture[str]) -> None:
    ranger.admin.roles.create(ranger.service, ROLES[1], description="of others\x1b[2J")
    before = state(ranger)
    assert main(IMPORT) == 3
    shown = capsys.readouterr()
    assert f"nothing was done: role `{ROLES[1]}` is blocked: it exists, described as `of others\\x1b[2J`" in shown.err
    assert "\x1b" not in shown.out + shown.err
    assert state(ranger) == before


@pytest.mark.parametrize("how", ["--yes", "--dry-run"])
def test_groups_that_ranger_does_not_have_are_named_first(
    ranger: EmbeddedRanger, tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = state(ranger)
    (tmp_path / IMPORT[2]).write_text(FILE.replace("sales-devs", "ghosts"))
    assert main([*IMPORT[:3], how]) == 3
    assert "Ranger has no group `ghosts`" in capsys.readouterr().err
    assert state(ranger) == before


def test_json_has_what_is_left_out_and_every_step(ranger: EmbeddedRanger, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*IMPORT, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    told = [f"  {one['place']}: {one['what']}: {one['why']}" for one in found["left_out"]]
    told += [f"{one['change']} {one['kind']} `{one['name']}`: {one['detail']}" for one in found["steps"]]
    assert told == OUTPUT.splitlines()[1:]
    assert {one["change"] for one in found["steps"]} <= {"create", "update"}
    assert {one["name"] for one in state(ranger)[0]} == set(ROLES)


def test_without_a_terminal_and_without_yes_nothing_is_done(
    ranger: EmbeddedRanger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    before = state(ranger)
    assert main(IMPORT[:3]) == 3
    assert "`--yes` confirms beforehand" in capsys.readouterr().err
    assert state(ranger) == before


def test_a_plan_that_changed_while_it_was_confirmed_is_not_carried_out(
    ranger: EmbeddedRanger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def meanwhile(question: str) -> None:
        assert question.startswith("Make 7 changes in ")
        assert ranger.admin.roles.create(ranger.service, ROLES[0], description="of others")

    monkeypatch.setattr(ranger_changes, "confirm", meanwhile)
    policies = state(ranger)[1]
    assert main(IMPORT[:3]) == 1
    assert "the plan has changed since it was shown, and nothing was done" in capsys.readouterr().err
    assert state(ranger)[1] == policies


def test_an_interrupted_import_says_how_far_it_came(
    ranger: EmbeddedRanger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(RoleClient, "grant", interrupt)
        assert main(IMPORT) == 130
    assert "5 of 7 changes were made; the same command goes on from there" in capsys.readouterr().err
    assert not allowed(ranger, "namespace:sales", "read", "sales-devs")
    assert main(IMPORT) == 0
    assert allowed(ranger, "namespace:sales", "read", "sales-devs")


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"[groups]\n[roles]\n\xff", 3, "`f` cannot be imported: it is not UTF-8"),
        (b'{"roles": {}}', 3, "`f` cannot be imported: it has no section `groups`"),
        ("pipe", 3, "`f` cannot be imported: it has no section"),
        (None, 3, "`f` cannot be read"),
    ],
)
def test_a_file_that_is_none_is_named_before_a_password_is_needed(
    content: bytes | str | None,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if isinstance(content, bytes):
        Path("f").write_bytes(content)
    elif content:
        os.mkfifo("f")
    assert main(["import", "sentry", "f"]) == code
    assert said in capsys.readouterr().err


def test_the_same_as_json_is_imported_as_the_same(
    ranger: EmbeddedRanger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--quiet", *IMPORT]) == 0
    imported = state(ranger)
    sections: dict[str, dict[str, list[str]]] = {}
    for line in FILE.splitlines():
        if line.startswith("["):
            entries = sections.setdefault(line.strip("[]"), {})
        else:
            name, _, values = line.partition(" = ")
            entries[name] = values.split(", ")
    (tmp_path / "export.json").write_text(json.dumps(sections))
    capsys.readouterr()
    assert main(["import", "sentry", "export.json", "--yes"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "2 things of the file left out:"
    assert all(line.startswith("  `roles.sales_loaders`: ") for line in shown[1:3])
    assert shown[3:] == [f"keep role `{name}`: it has these members and rights" for name in ROLES]
    assert state(ranger) == imported


@pytest.mark.usefixtures("ranger")
def test_a_file_without_roles_of_cdap_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("f").write_text("[groups]\ng = r\n[roles]\nr = server=s\x1b[2J->action=all\n")
    assert main(["import", "sentry", "f", "--yes"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 things of the file left out:\n")
    assert out.endswith("nothing to do: the file has no role that can be imported\n")
    assert "\x1b" not in out
