"""Administrators that CDAP proposes: none without the consent of the settings, and only users that these name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.config import (
    AdminSettings,
    MasterSettings,
    PluginSettings,
    ServiceSettings,
    Settings,
    SyncSettings,
)
from ranger_cdap.ranger.setup.proposed_admins import (
    AdminProposal,
    desired_state,
    read_proposal,
    review,
    save_proposal,
)
from ranger_cdap.ranger.setup.service_setup import plan
from ranger_cdap.ranger.setup.setup_state import CurrentState
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy

ACCOUNTS = ("plugin", "sync", "bridge", "root")


def settings(*from_cdap: str, users: tuple[str, ...] = (), directory: Path = Path("nowhere")) -> Settings:
    return Settings(
        admin=AdminSettings(users=users, from_cdap=from_cdap),
        master=MasterSettings(user="root"),
        plugin=PluginSettings(username="plugin", cache_dir=directory),
        sync=SyncSettings(username="sync"),
        service=ServiceSettings(bridge_username="bridge"),
    )


# the setting, what CDAP names, and who is accepted
CASES = [
    ((), ["ann"], ()),
    (("ann", "bob"), ["ann"], ("ann",)),
    (("ann",), ["ann", "eve"], ("ann",)),
    (("*",), ["ann", "eve", "ann"], ("ann", "eve")),
    (("an*",), ["ann"], ()),
    (("Ann",), ["ann"], ()),
    (("*",), ["{USER}", "public", "Public", "*", "a,b", " ann", "", "a\n"], ()),
    (("{USER}",), ["{USER}"], ()),
    (("*",), list(ACCOUNTS), ()),
    (ACCOUNTS, list(ACCOUNTS), ()),
    (("*",), [f"u{n}" for n in range(101)], ()),
]


@pytest.mark.parametrize(("from_cdap", "proposed", "accepted"), CASES)
def test_who_is_accepted(from_cdap: tuple[str, ...], proposed: list[str], accepted: tuple[str, ...]) -> None:
    found = review(settings(*from_cdap), proposed)
    assert found.accepted == accepted
    assert {*found.accepted, *found.refused} == set(proposed)


def test_an_administrator_of_the_settings_is_not_refused() -> None:
    assert review(settings("bob", users=("ann",)), ["ann", "bob"]) == AdminProposal(("bob",), ())


Names = st.lists(st.sampled_from(["ann", "bob", "eve", "*", "{USER}", "public", *ACCOUNTS]) | st.text(max_size=4))


@given(Names, Names)
def test_whatever_is_proposed_only_named_users_are_accepted(proposed: list[str], from_cdap: list[str]) -> None:
    accepted = review(settings(*from_cdap), proposed).accepted
    assert set(accepted) <= set(proposed)
    assert "*" in from_cdap or set(accepted) <= set(from_cdap)
    assert not {*ACCOUNTS, "*", "{USER}", "public", ""} & set(accepted)


def administrators(of: Settings, policies: list[Policy]) -> tuple[str, ...]:
    return desired_state(of, policies).admin_users


def test_a_proposal_without_consent_changes_nothing(tmp_path: Path) -> None:
    save_proposal(settings("*", directory=tmp_path), ["eve"])
    assert administrators(settings(users=("ann",), directory=tmp_path), []) == ("ann",)


def test_an_accepted_proposal_counts_until_the_next_one(tmp_path: Path) -> None:
    consenting = settings("bob", "carol", users=("ann",), directory=tmp_path)
    assert save_proposal(consenting, ["bob", "eve"])
    assert not save_proposal(consenting, ["eve", "bob"])
    assert read_proposal(consenting) == AdminProposal(("bob",), ("eve",))
    assert administrators(consenting, []) == ("ann", "bob")
    assert save_proposal(consenting, [])
    assert administrators(consenting, []) == ("ann",)


def test_without_a_readable_proposal_accepted_users_keep_their_rights(tmp_path: Path) -> None:
    consenting = settings("bob", "carol", directory=tmp_path)
    save_proposal(consenting, ["bob", "carol"])
    steps = plan(desired_state(consenting, []), CurrentState(None, None, ()))
    made = [
        replaced(msgspec.convert(step.wanted, Policy), id=n) for n, step in enumerate(steps, 1) if step.kind == "policy"
    ]
    elsewhere = tmp_path / "elsewhere"
    assert not read_proposal(settings("bob", directory=elsewhere)).known
    assert administrators(settings("bob", "eve", directory=elsewhere), made) == ("bob",)
    assert administrators(settings(directory=elsewhere), made) == ()


def by_a_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere.json"))
    path.symlink_to("elsewhere.json")


def as_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


# what another user of the machine may have done, or can do
FORGED = {
    "writable file": lambda path: path.chmod(0o666),
    "writable directory": lambda path: path.parent.chmod(0o777),
    "link": by_a_link,
    "pipe": as_a_pipe,
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_file_that_others_may_have_written_is_no_proposal(forge: Callable[[Path], None], tmp_path: Path) -> None:
    consenting = settings("*", directory=tmp_path / "cache")
    save_proposal(consenting, ["ann"])
    (path,) = (tmp_path / "cache").iterdir()
    forge(path)
    assert not read_proposal(consenting).known


@pytest.mark.parametrize("content", [b"", b"{", b'["ann", 1]', b'{"users": ["ann"]}', b"\xff"])
def test_a_damaged_file_is_no_proposal(content: bytes, tmp_path: Path) -> None:
    consenting = settings("*", directory=tmp_path)
    save_proposal(consenting, ["ann"])
    (path,) = tmp_path.iterdir()
    path.write_bytes(content)
    assert not read_proposal(consenting).known
