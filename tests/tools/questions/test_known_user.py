"""Users of the commands on a whole set of policies: their roles through roles and groups, and failing lookups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.plugins.hookspecs import hookimpl
from ranger_cdap.plugins.manager import plugin_manager
from ranger_cdap.ranger_model.role import RangerRoles, Role, RoleMember
from ranger_cdap.tools.analysis.subject import Subject
from ranger_cdap.tools.questions.known_user import role_chain
from tests.cli.fixtures import named

ROLES = {
    "direct": {"users": ["ann"]},
    "by_group": {"groups": ["etl"]},
    "outer": {"roles": ["middle"]},
    "middle": {"roles": ["unknown", "by_group"]},
    "one": {"roles": ["other"]},
    "other": {"roles": ["one", "direct"]},
    "open": {"groups": ["public"]},
    "longer": {"roles": ["outer", "direct"]},
}


def definitions() -> RangerRoles:
    def members(names: list[str]) -> list[RoleMember]:
        return [RoleMember(name=name) for name in names]

    return RangerRoles(
        ranger_roles=[
            Role(name=name, **{kind: members(names) for kind, names in of.items()}) for name, of in ROLES.items()
        ]
    )


@pytest.mark.parametrize(
    ("role", "chain"),
    [
        ("direct", ["role direct", "user ann"]),
        ("by_group", ["role by_group", "group etl"]),
        ("outer", ["role outer", "role middle", "role by_group", "group etl"]),
        ("one", ["role one", "role other", "role direct", "user ann"]),
        ("open", ["role open", "everyone"]),
        ("longer", ["role longer", "role direct", "user ann"]),
        ("undefined", ["role undefined"]),
    ],
)
def test_a_role_is_followed_by_a_shortest_chain(role: str, chain: list[str]) -> None:
    assert role_chain(definitions(), role, Subject("ann", frozenset({"etl"}))) == tuple(chain)


def test_roles_that_contain_each_other_end() -> None:
    assert role_chain(definitions(), "one", Subject("bob")) == ("role one",)


class Groups:
    """A plugin whose group lookup fails for one user."""

    @hookimpl
    def ranger_cdap_groups(self, user: str) -> Any:
        if user == "zed":
            raise OSError("no directory")
        return ["etl"]


@pytest.mark.parametrize(
    ("user", "is_in_etl", "note"),
    [("nick", True, ""), ("zed", False, "warning: the group lookup for `zed` failed, so only the groups shown count")],
)
def test_groups_of_a_plugin_count_and_a_failed_lookup_is_named(
    user: str,
    is_in_etl: bool,
    note: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plugins = plugin_manager()
    plugins.register(Groups())
    monkeypatch.setattr("ranger_cdap.authz.decider.plugin_manager", lambda settings: plugins)
    assert main(["access", "--user", user, *named(tmp_path)]) == ExitCode.OK
    told = capsys.readouterr()
    assert ("in group etl" in told.out) is is_in_etl
    assert (note in told.err.splitlines()) is bool(note)
