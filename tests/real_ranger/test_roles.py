"""Job roles by `ranger-cdap roles`: applied once, shared, and removed without a trace."""

from __future__ import annotations

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import is_creators_policy
from ranger_cdap.cli.main import main
from tests.real_ranger.estate import PASSWORD, V2, Estate
from tests.spark_sync.grants.fixtures import MemoryLedger, gone, life, push_by


def run(estate: Estate, what: str, *words: str, job: str = "developer") -> int:
    """A command about a job in the namespace `sales`, with a role of the flow's own."""
    confirmed = [] if "--dry-run" in words else ["--yes"]
    return estate.run("roles", what, job, "--namespace", "sales", "--name", estate.name(job), *words, *confirmed)


def test_a_job_is_given_once_decides_and_is_removed_without_a_trace(estate: Estate) -> None:
    estate.set_up()
    ann, crew = estate.user("ann", "crew"), estate.group("crew")
    before, plain = estate.state(), estate.policies()
    assert run(estate, "apply", "--dry-run", "--group", crew) == 2
    assert estate.state() == before
    assert run(estate, "apply", "--group", crew) == 0
    assert run(estate, "apply", "--dry-run", "--group", crew) == 0
    versions = estate.versions()
    assert run(estate, "apply", "--group", crew) == 0
    assert estate.versions() == versions
    with estate.plugin() as plugin:
        app = {"namespace": "sales", "application": "orders"}
        assert [estate.may(plugin, user, "admin", **app) for user in (ann, estate.user("bob"))] == [True, False]
        assert run(estate, "remove") == 0
        assert not estate.may(plugin, ann, "admin", **app)
    assert estate.policies() == plain
    assert [role for role in estate.listed("roles") if role["name"] == estate.name("developer")] == []
    assert run(estate, "remove") == 0


@pytest.mark.parametrize("first", ["viewer", "developer"])
def test_two_jobs_in_one_namespace_are_removed_one_after_the_other(estate: Estate, first: str) -> None:
    estate.set_up()
    crew, before = estate.group("crew"), estate.policies()
    for job in ("viewer", "developer"):
        assert run(estate, "apply", "--group", crew, job=job) == 0
    other = "developer" if first == "viewer" else "viewer"
    assert run(estate, "remove", job=first) == 0
    assert run(estate, "apply", "--dry-run", "--group", crew, job=other) == 0
    assert run(estate, "remove", job=other) == 0
    assert estate.policies() == before


def test_somebody_ranger_does_not_know_gets_no_job(estate: Estate, capsys: pytest.CaptureFixture[str]) -> None:
    estate.set_up()
    before = estate.state()
    assert run(estate, "apply", "--user", estate.name("ghost")) == 3
    assert f"`{estate.name('ghost')}`" in capsys.readouterr().err
    assert estate.state() == before


def test_a_job_has_policies_beside_the_creators(estate: Estate) -> None:
    estate.set_up()
    alice, crew, before = estate.user("alice"), estate.group("crew"), estate.policies()
    ledger = MemoryLedger([life(alice, EntityId("namespace", ("sales",)))])
    assert push_by(estate.settings, ledger).error is None
    ours = {name: one for name, one in estate.policies().items() if name not in before}
    assert all(map(is_creators_policy, ours.values()))
    versions = estate.versions()
    assert run(estate, "apply", "--group", crew) == 0
    assert {name: estate.policies()[name] for name in ours} == ours
    assert versions.items() - estate.versions().items() <= {("policies", versions["policies"])}
    assert push_by(estate.settings, MemoryLedger(map(gone, ledger.rows.values()))).error is None
    assert run(estate, "remove") == 0
    assert ours.keys().isdisjoint(estate.policies())


@pytest.mark.parametrize("job", ["viewer", "developer"])
def test_the_administrator_of_the_instance_gives_jobs(
    estate: Estate, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], job: str
) -> None:
    """They are no administrator of Ranger, whose lists show them only themselves and their own groups."""
    ann, bob, crew = estate.user("ann"), estate.user("bob"), estate.group("crew")
    estate.set_up(service_admin_users=",".join([ann, estate.user("sync")]))
    before = estate.policies()
    monkeypatch.setenv("RANGER_CDAP_SETUP_PASSWORD", PASSWORD.reveal())
    words = ["roles", "apply", job, "--namespace", "sales", "--name", estate.name(job), "--ranger-user", ann, "--yes"]
    by_ann = ["--config", str(estate.config), *words]
    for kind in ("user", "group"):
        assert main([*by_ann, f"--{kind}", estate.name("ghost")]) == 3
        assert f"Ranger has no {kind} `{estate.name('ghost')}`" in capsys.readouterr().err
    assert estate.policies() == before
    assert main([*by_ann, "--group", crew, "--user", bob]) == 0
    role = estate.done("GET", f"{V2}/roles/name/{estate.name(job)}?serviceName={estate.service}", by=ann)
    assert [[row["name"] for row in role[kind]] for kind in ("users", "groups")] == [[bob], [crew]]
