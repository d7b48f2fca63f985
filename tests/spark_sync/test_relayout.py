"""`sync relayout`, from the files of the sources to Ranger: shown, done, repeated, interrupted, and back again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.config import Settings
from spark_sync.cli.relayout import print_relayout, to_json
from spark_sync.cli.status import print_status
from spark_sync.grants.relayout import CHANGED, OUTDATED
from spark_sync.ledger.life import State
from spark_sync.reconcile.drift import Drift
from tests.spark_sync.conftest import Ranger, Way
from tests.spark_sync.grants.fixtures import Watched, foreign, resource
from tests.spark_sync.grants.in_effect import download, engine_of
from tests.spark_sync.grants.test_layouts import allowed
from tests.spark_sync.test_job import NOW, again, all_lives, deliver, recorded, run, source, take_baseline

NS1 = "/v3/namespaces/ns1"
DATASETS = ("ds1", "ds2", "ds3")
DS1 = EntityId("dataset", ("ns1", "ds1"))


class Killed(BaseException):
    """What a test raises where the process would be killed."""


def layout(settings: Settings, name: str, **sync: Any) -> Settings:
    return replace(settings, sync=replace(settings.sync, layout=name, **sync))


def created(name: str, number: int) -> list[dict[str, Any]]:
    lines = again(recorded(f"{NS1}/data/datasets/ds1", method="PUT"), "alice", number)
    return _named(lines, name)


def _named(lines: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    text = json.dumps(lines).replace("datasets/ds1", f"datasets/{name}").replace('"ds1"', f'"{name}"')
    found: list[dict[str, Any]] = json.loads(text)
    return found


@pytest.fixture
def settings(way: Way, settings_for: Callable[..., Settings], tmp_path: Path) -> Settings:
    """Three datasets and an artifact of one user, each with a policy of its own."""
    (tmp_path / "d").mkdir()
    found = settings_for(data_plane=source(tmp_path / "d"))
    take_baseline(found)
    deliver(tmp_path / "d", "1.jsonl", [line for n, name in enumerate(DATASETS) for line in created(name, n)])
    run(found, way)
    return found


def relayout(settings: Settings, **given: Any) -> Any:
    from spark_sync.reconcile.relayout import relayout as move

    return move(settings, **given)


def test_it_is_shown_then_done_and_a_second_time_changes_nothing(
    ranger: Ranger, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    from spark_sync.status import status

    assert (status(settings, now=NOW).other_layout, status(layout(settings, "creator"), now=NOW).other_layout) == (0, 3)
    print_status(Invocation(), status(layout(settings, "creator"), now=NOW))
    assert "other layout: 3 grants" in capsys.readouterr().out
    before = allowed(ranger.policies())
    assert len(ranger.policies()) == 3
    version = ranger.policy_version()
    shown = relayout(layout(settings, "creator"))
    print_relayout(Invocation(), shown, sent=False)
    assert (
        "grants to move into layout `creator`: 3 (policies: 1 created, 0 updated, 3 deleted); `--apply` does it"
        in " ".join(capsys.readouterr().out.split())
    )
    assert ranger.policy_version() == version

    done = relayout(layout(settings, "creator"), send=True)
    print_relayout(Invocation(), done, sent=True)
    assert "grants moved into layout `creator`: 3" in capsys.readouterr().out
    assert to_json(done)["policies"] == {"create": 1, "update": 0, "delete": 3}
    assert len(ranger.policies()) == 1
    assert allowed(ranger.policies()) == before
    version = ranger.policy_version()
    assert relayout(layout(settings, "creator"), send=True).moves == ()
    assert ranger.policy_version() == version
    assert relayout(settings, send=True).deleted == 1
    assert len(ranger.policies()) == 3
    assert allowed(ranger.policies()) == before


@pytest.mark.parametrize("back", [False, True])
def test_a_kill_anywhere_leaves_every_grant_in_place_and_the_next_run_goes_on(
    way: Way, ranger: Ranger, settings: Settings, back: bool
) -> None:
    wanted = layout(settings, "creator")
    if back:
        relayout(wanted, send=True)
        wanted = settings
    before = allowed(ranger.policies())
    for kill_at in range(1, 12):

        def kill(name: str, number: int, at: int = kill_at) -> None:
            assert allowed(ranger.policies()) == before
            if number >= at and name.split("_")[0] in ("create", "update", "delete"):
                raise Killed

        try:
            relayout(wanted, send=True, ranger=Watched(ranger.sync, after=kill))
        except Killed:
            continue
        break
    run(wanted, way)
    assert allowed(ranger.policies()) == before
    assert {life.state for life in all_lives(settings) if life.creator} == {State.APPLIED}
    assert len(ranger.policies()) == (3 if back else 1)


def test_what_a_person_changed_and_what_has_a_rival_stays_and_is_named(
    ranger: Ranger, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = ranger.policies()[0]
    edited.description = "looked at"
    edited = ranger.admin.update_policy(edited)
    there = relayout(layout(settings, "creator"), send=True)
    assert [life.reason for life in there.kept] == [CHANGED]
    print_relayout(Invocation(), there, sent=True)
    assert CHANGED in " ".join(capsys.readouterr().out.split())
    assert edited in ranger.policies()
    assert len(ranger.policies()) == 2
    name = there.moves[0].entity.parts[-1]
    theirs = foreign(ranger, resources=resource(namespace="ns1", dataset=name))
    back = relayout(settings, send=True)
    assert [life.reason for life in back.kept] == [f"policy {theirs.id} (`theirs`) has exactly this resource"]
    assert len(ranger.policies()) == 4


def test_grants_by_former_settings_are_regranted_first(ranger: Ranger, settings: Settings) -> None:
    changed = layout(settings, "creator", delegate_admin=True)
    before = ranger.policies()
    assert {life.reason for life in relayout(changed, send=True).kept} == {OUTDATED}
    assert ranger.policies() == before


def test_both_layouts_work_side_by_side(way: Way, ranger: Ranger, settings: Settings, tmp_path: Path) -> None:
    deliver(tmp_path / "d", "2.jsonl", created("ds4", 5))
    now = layout(settings, "creator")
    run(now, way)
    assert len(ranger.policies()) == 4
    deleted = [
        _named(again(recorded(f"{NS1}/data/datasets/ds1", method="DELETE"), "alice", 9), name)
        for name in ("ds1", "ds4")
    ]
    deliver(tmp_path / "d", "3.jsonl", [line for lines in deleted for line in lines])
    report = run(now, way)
    assert sorted(life.entity.parts[-1] for life in report.revoked) == ["ds1", "ds4"]
    assert len(ranger.policies()) == 2


def test_drift_of_a_policy_of_several_entities(way: Way, ranger: Ranger, settings: Settings) -> None:
    from spark_sync.reconcile.reconcile import reconcile
    from spark_sync.reconcile.repair import RepairAction

    now = layout(settings, "creator")
    relayout(now, send=True)
    assert reconcile(now).left == ()
    (policy,) = ranger.policies()
    policy.additional_resources = policy.additional_resources[:1]
    ranger.admin.update_policy(policy)
    (gone,) = reconcile(now).left
    assert gone.drift is Drift.MISSING
    assert reconcile(now, action=RepairAction.ADOPT).left == ()
    assert reconcile(now).left == ()
    policy.deny_policy_items = policy.policy_items
    ranger.admin.update_policy(policy)
    assert {finding.drift for finding in reconcile(now).left} == {Drift.EDITED}
    assert len(reconcile(now).left) == 2
    assert reconcile(now, action=RepairAction.RELEASE).left == ()
    assert run(now, way).wrote_nothing
    assert engine_of(download(ranger)) is not None
