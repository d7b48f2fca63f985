"""A profile that changes, from a run to the last grant: seen, shown, carried out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.config import Settings
from spark_sync.cli.regrant import print_regrant
from spark_sync.cli.run import print_report
from spark_sync.cli.status import print_status
from spark_sync.ledger.life import GrantTerms, State
from spark_sync.reconcile.drift import Drift
from tests.spark_sync.conftest import Ranger
from tests.spark_sync.test_job import NOW, all_lives, deliver, recorded, run, source, take_baseline

ALL = {"read", "write", "admin", "execute"}


def profile(settings: Settings, name: str, **sync: Any) -> Settings:
    return replace(settings, cdap=replace(settings.cdap, profile=name), sync=replace(settings.sync, **sync))


def held(ranger: Ranger) -> dict[str, set[str]]:
    """What the first user of each policy holds, by the entity's own name."""
    return {
        next(values.values[0] for level, values in policy.resources.items() if level in ("artifact", "dataset")): {
            access.type for access in policy.policy_items[0].accesses
        }
        for policy in ranger.policies()
        if "namespace" in policy.resources and len(policy.resources) > 2
    }


def test_a_changed_profile_is_seen_shown_and_carried_out(
    ranger: Ranger,
    settings_for: Callable[..., Settings],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from spark_sync.reconcile.reconcile import reconcile
    from spark_sync.reconcile.regrant import regrant
    from spark_sync.status import status

    (tmp_path / "d").mkdir()
    former = profile(settings_for(data_plane=source(tmp_path / "d")), "001")
    take_baseline(former)
    ns1 = "/v3/namespaces/ns1"
    created = [recorded(f"{ns1}/artifacts/probeapp", method="POST"), recorded(f"{ns1}/data/datasets/ds1", method="PUT")]
    deliver(tmp_path / "d", "1.jsonl", created)
    report = run(former)
    assert held(ranger) == {"probeapp": {"admin"}, "ds1": {"admin"}}
    assert report.outdated.total == 0

    now = profile(former, "default")
    version = ranger.policy_version()
    report = run(now)
    assert (report.wrote_nothing, dict(report.outdated.former)) == (True, {GrantTerms("001"): 2})
    print_report(Invocation(), report)
    sentence = "outdated grants: 2, by former settings (001: 2) instead of those of today (default);"
    assert sentence in capsys.readouterr().out
    print_status(Invocation(), status(now, now=NOW))
    assert sentence in capsys.readouterr().out
    assert [finding.drift for finding in reconcile(now).left] == [Drift.OUTDATED] * 2

    shown = regrant(now)
    assert [step.grant.accesses for step in shown.planned] == [("read", "write", "admin", "execute")] * 2
    print_regrant(Invocation(), shown, sent=False)
    assert "nothing was sent; outdated grants: 2; `--yes` sends them" in capsys.readouterr().out
    assert ranger.policy_version() == version

    done = regrant(now, send=True)
    print_regrant(Invocation(), done, sent=True)
    assert "Ranger is up to date: 0 granted, 2 changed, 0 revoked, 0 kept" in capsys.readouterr().out
    assert held(ranger) == {"probeapp": ALL, "ds1": ALL}
    assert status(now, now=NOW).outdated.total == 0
    assert reconcile(now).left == ()
    assert regrant(now, send=True).outcomes == ()

    # The last profile gives nothing in advance: each run takes it back, also where a person took a part before.
    (dataset,) = (policy for policy in ranger.policies() if "dataset" in policy.resources)
    dataset.policy_items[0].accesses.pop()
    ranger.admin.update_policy(dataset)
    report = run(profile(now, "004", regrant="auto"))
    assert [str(life.entity) for life in report.revoked] == ["artifact:ns1.probeapp", "dataset:ns1.ds1"]
    assert report.outdated.total == 0
    assert held(ranger) == {}
    states = {str(life.entity): (life.state, bool(life.taken)) for life in all_lives(now) if life.creator}
    assert states == {"artifact:ns1.probeapp": (State.KNOWN, False), "dataset:ns1.ds1": (State.KNOWN, True)}
