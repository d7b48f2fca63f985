"""Groups from a real LDAP server, with the shapes of Active Directory and of posixGroup, in good and in bad times."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.config.loader import parse_settings
from ranger_cdap.directory import group_directory
from ranger_cdap.directory.group_directory import GroupDirectory
from ranger_cdap.errors import GroupLookupFailed
from ranger_cdap.ldap import connection as ldap_connection
from ranger_cdap.ldap import groups as ldap_groups
from ranger_cdap.ldap.plugin import ranger_cdap_group_sources
from ranger_cdap.plugins.manager import ConfiguredGroups, plugin_manager
from tests.authz.fixtures import authorizer, policy
from tests.certificates import Authority, put
from tests.ldap.slapd_server import PASSWORD, READER, SlapdServer, settings_for, sid

pytestmark = pytest.mark.slow

KV = entity_id("dataset", ["ns1", "kv"])
READ = [{"type": "read"}]


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlapdServer]:
    """A directory that only its own tests change: people, groups in groups, a loop, and names that need escapes."""
    server = SlapdServer(tmp_path_factory.mktemp("slapd") / "company")
    server.start()
    try:
        server.fill()
        alice = server.add_user("alice", cn="Smith, Alice (EMEA) *")
        bob = server.add_user("bob")
        server.add_user("lonely")
        server.add_user("josé", cn="jose")
        sales = server.add_group("Sales, EMEA", [alice])
        field = server.add_group("Field+Sales", [sales, bob])
        top = server.add_group("Top", [field])
        server.change(sales, member=[alice, top])  # a loop
        server.add_group("Müller \\ Söhne #1", [alice], dn=r"CN=M\C3\BCller \5C S\C3\B6hne #1,OU=Groups,dc=example")
        server.add_group("domain users", [bob], dn="CN=Domain Users,OU=Groups,dc=example")
        server.add("uid=pat,OU=People,dc=example", "account", "posixAccount", uid="pat", cn="pat", uidNumber="1001",
                   gidNumber="2001", homeDirectory="/")  # fmt: skip
        for name, number, members in (("own", 2001, []), ("ops", 2002, ["pat"]), ("dev", 2003, ["other"])):
            more = {"memberUid": members} if members else {}
            server.add(f"cn={name},OU=Groups,dc=example", "posixGroup", cn=name, gidNumber=str(number), **more)
        yield server
    finally:
        server.close()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[SlapdServer]:
    """A directory for one test, which may do anything to it: alice is in staff."""
    server = SlapdServer(tmp_path / "slapd")
    server.start()
    try:
        server.fill()
        server.add_group("staff", [server.add_user("alice")])
        yield server
    finally:
        server.close()


def directory(
    server: SlapdServer, groups: dict[str, Any] | None = None, ca_file: str | None = None, **more: Any
) -> GroupDirectory:
    tables = {
        "groups": {"sources": ["ldap"], "deadline": 20, **(groups or {})},  # as slow as a loaded machine is
        "ldap": settings_for(server, **more),
        "network": {"ca_file": ca_file},
    }
    parsed = parse_settings(tables, origin="the test")
    found = GroupDirectory.of(parsed, ranger_cdap_group_sources())
    assert found is not None
    return found


def failure(found: GroupDirectory, user: str = "alice") -> str:
    with pytest.raises(GroupLookupFailed) as raised:
        found.groups_of(user)
    return str(raised.value)


def eventually(true: Callable[[], bool], seconds: float = 10) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


ALICE = {"Sales, EMEA", "Müller \\ Söhne #1"}


@pytest.mark.parametrize(
    ("user", "more", "groups"),
    [
        ("alice", {}, ALICE),
        ("alice", {"memberof_attribute": "memberOf"}, ALICE),
        ("alice", {"nested_depth": 1}, {*ALICE, "Field+Sales"}),
        ("alice", {"nested_depth": 9}, {*ALICE, "Field+Sales", "Top"}),
        ("alice", {"nested_depth": 9, "memberof_attribute": "memberOf"}, {*ALICE, "Field+Sales", "Top"}),
        ("alice", {"group_filter": "(&(objectClass=group)(cn=Sal*))"}, {"Sales, EMEA"}),
        ("alice", {"name_case": "upper"}, {"SALES, EMEA", "MÜLLER \\ SÖHNE #1"}),
        ("bob", {}, {"Field+Sales", "domain users"}),
        ("bob", {"nested_depth": 20}, {"Field+Sales", "domain users", "Sales, EMEA", "Top"}),
        ("lonely", {}, set()),
        ("lonely", {"memberof_attribute": "memberOf"}, set()),
        ("nobody", {}, None),
        ("*", {}, None),
        ("alice)(objectClass=*", {}, None),
    ],
)
def test_groups_in_the_shapes_of_active_directory(
    company: SlapdServer, user: str, more: dict[str, Any], groups: set[str] | None
) -> None:
    assert directory(company, **more).groups_of(user) == groups


@pytest.mark.parametrize(
    ("more", "groups"),
    [({"member_value": "uid"}, {"ops"}), ({"member_value": "uid", "gid_attribute": "gidNumber"}, {"own", "ops"})],
)
def test_posix_groups_by_name_and_by_number(company: SlapdServer, more: dict[str, Any], groups: set[str]) -> None:
    posix = {
        "user_filter": "(&(objectClass=posixAccount)(uid={user}))",
        "group_filter": "(objectClass=posixGroup)",
        "member_attribute": "memberUid",
    }
    assert directory(company, **posix, **more).groups_of("pat") == groups


def test_a_user_without_the_attribute_that_groups_hold_is_unknown(company: SlapdServer) -> None:
    found = directory(company, member_value="uid")
    assert "lacks `ldap.member_value`" in failure(found)


def test_a_filter_that_finds_several_users_finds_none(company: SlapdServer) -> None:
    found = directory(company, user_filter="(|(sAMAccountName={user})(objectClass=user))")
    assert "more than 1 entries" in failure(found)


def test_the_primary_group_of_active_directory_is_found_by_its_number(own: SlapdServer) -> None:
    """It is not among the values of `member`, may be anywhere in the domain, and has parents as any other."""
    users = own.add_group("Domain Users", [], dn="CN=Domain Users,dc=example", objectSid=sid(513))
    own.add_group("Everyone here", [users])
    own.add_user("anna", primaryGroupID="513", objectSid=sid(1104))
    own.add_group("team", ["CN=anna,OU=People,dc=example"])
    assert directory(own).groups_of("anna") == {"team", "Domain Users"}
    assert directory(own, memberof_attribute="memberOf").groups_of("anna") == {"team", "Domain Users"}
    assert directory(own, nested_depth=1).groups_of("anna") == {"team", "Domain Users", "Everyone here"}
    assert directory(own).groups_of("alice") == {"staff"}


@pytest.mark.parametrize(
    "more", [{"objectSid": sid(1104)}, {}, {"objectSid": b"\1"}], ids=["no group", "no SID", "half a SID"]
)
def test_a_primary_group_that_is_not_found_leaves_the_groups_unknown(own: SlapdServer, more: dict[str, Any]) -> None:
    own.add_user("anna", primaryGroupID="513", **more)
    assert "primary group" in failure(directory(own), "anna")


@pytest.mark.parametrize("user", ["ALICE", "Alice", "alicE"])
def test_another_spelling_of_a_name_has_unknown_groups(company: SlapdServer, user: str) -> None:
    assert "not exactly" in failure(directory(company), user)


def test_an_entry_that_only_resembles_the_user_is_not_theirs(company: SlapdServer) -> None:
    """As a directory that ignores accents does: here the filter finds it by another attribute."""
    found = directory(company, user_filter="(|(sAMAccountName={user})(&(cn={user})(objectClass=user)))")
    assert found.groups_of("josé") == frozenset()
    other = directory(company, user_filter="(&(objectClass=user)(|(sAMAccountName={user})(sn=x)(cn=jose)))",
                      user_base="CN=jose,OU=People,dc=example")  # fmt: skip
    assert "not exactly" in failure(other, "joseph")


HOSTILE = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    st.lists(st.sampled_from([*"*()\\=&| é\0", "alice", "uid", "2a", "61"]), min_size=1).map("".join),
)


def test_no_other_name_gets_the_groups_of_alice(company: SlapdServer) -> None:
    found = directory(company)

    @settings(max_examples=150, deadline=None)
    @given(HOSTILE)
    def holds(user: str) -> None:
        try:
            groups = found.groups_of(user)
        except GroupLookupFailed:
            return
        assert groups is None or user in ("alice", "bob", "lonely", "josé", "jose")

    holds()


@pytest.mark.parametrize("more", [{"user_base": "OU=Elsewhere,dc=example"}, {"group_base": "OU=Elsewhere,dc=example"}])
def test_a_base_that_does_not_exist_is_not_an_answer(company: SlapdServer, more: dict[str, str]) -> None:
    assert "noSuchObject" in failure(directory(company, **more))


def test_more_groups_than_a_page_are_all_found_and_no_limit_hides_one(own: SlapdServer) -> None:
    alice = "CN=alice,OU=People,dc=example"
    own.limit("unlimited")
    with own.root() as root:
        for n in range(620):
            assert root.add(f"CN=g{n},OU=Groups,dc=example", ["group"], {"cn": f"g{n}", "member": [alice]})
    found = directory(own).groups_of("alice")
    assert found == {"staff", *(f"g{n}" for n in range(620))}
    own.limit("100")
    assert "sizeLimitExceeded" in failure(directory(own))


def test_references_to_other_servers_are_not_followed(own: SlapdServer) -> None:
    own.add("CN=other,OU=Groups,dc=example", "referral", "extensibleObject", cn="other",
            ref="ldap://127.0.0.1:1/dc=elsewhere")  # fmt: skip
    assert directory(own).groups_of("alice") == {"staff"}


@pytest.mark.parametrize("start_tls", [False, True])
def test_tls_needs_the_right_authority_and_the_right_name(own: SlapdServer, tmp_path: Path, start_tls: bool) -> None:
    urls = [own.ldap if start_tls else own.ldaps]
    trusted = directory(own, urls=urls, start_tls=start_tls, ca_file=str(own.ca_file))
    assert trusted.groups_of("alice") == {"staff"}
    other = put(tmp_path / "other.pem", Authority("other").pem)
    for ca_file in (None, str(other)):
        untrusted = directory(own, urls=urls, start_tls=start_tls, ca_file=ca_file)
        assert "certificate is not accepted" in failure(untrusted)
    elsewhere = [url.replace("127.0.0.1", "localhost") for url in urls]
    misnamed = directory(own, urls=elsewhere, start_tls=start_tls, ca_file=str(own.ca_file))
    assert "certificate is not accepted" in failure(misnamed)


def test_a_rejected_account_is_not_tried_again_soon(own: SlapdServer, caplog: pytest.LogCaptureFixture) -> None:
    """A directory locks an account after a few attempts."""
    caplog.set_level(logging.DEBUG)
    now = [0.0]
    wrong = directory(own, bind_password="not-the-password")
    wrong._clock = lambda: now[0]
    assert "invalidCredentials" in failure(wrong)
    own.kill()
    for now[0] in (5.1, 30.0, 59.0):
        assert "invalidCredentials" in failure(wrong, f"user{now[0]}")
    now[0] = 61.0
    assert "unavailable" in failure(wrong, "other")
    assert "not-the-password" not in caplog.text


def test_a_password_that_becomes_empty_is_not_an_anonymous_search(own: SlapdServer, tmp_path: Path) -> None:
    secret = put(tmp_path / "password", PASSWORD.encode())
    found = directory(own, bind_password=f"file:{secret}")
    assert found.groups_of("alice") == {"staff"}
    (source,) = found.sources
    assert isinstance(source, ldap_groups.LdapGroups)
    source.close()
    source._settings.bind_password._state = ("", "", 0.0)  # type: ignore[attr-defined]
    assert "`ldap.bind_password` is empty" in failure(found, "bob")


def test_a_search_without_an_account_sees_what_anyone_may(own: SlapdServer) -> None:
    assert "noSuchObject" in failure(directory(own, bind_dn="", bind_password="", anonymous=True))


def test_active_directorys_own_nesting_is_refused_where_there_is_none(own: SlapdServer) -> None:
    assert "not Active Directory" in failure(directory(own, in_chain=True))


def test_the_next_server_answers_if_the_first_is_dead_or_hangs(own: SlapdServer, tmp_path: Path) -> None:
    dead = directory(own, urls=["ldap://127.0.0.1:1", own.ldap])
    assert dead.groups_of("alice") == {"staff"}
    other = SlapdServer(tmp_path / "other")
    other.start()
    try:
        other.hang()
        hanging = directory(own, {"deadline": 4}, urls=[other.ldap, own.ldap])
        assert hanging.groups_of("alice") == {"staff"}
        began = time.monotonic()
        assert hanging.groups_of("bob") is None  # by the server that answered
        assert time.monotonic() - began < 0.8
    finally:
        other.close()


def test_a_connection_that_the_server_closed_is_replaced(own: SlapdServer) -> None:
    found = directory(own, {"ttl": 0.001})
    assert found.groups_of("alice") == {"staff"}
    own.kill()
    own.start()
    assert found.groups_of("alice") == {"staff"}


def test_connections_are_used_again_and_idle_ones_are_not(own: SlapdServer, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    connect = ldap_connection.LdapConnection.__init__

    def counted(self: Any, *arguments: Any) -> None:
        opened.append(arguments[0])
        connect(self, *arguments)

    monkeypatch.setattr(ldap_connection.LdapConnection, "__init__", counted)
    found = directory(own, {"ttl": 0.001})
    for _ in range(3):
        found.groups_of("alice")
    assert len(opened) == 1
    monkeypatch.setattr(ldap_groups, "IDLE_SECONDS", 0.0)
    found.groups_of("alice")
    assert len(opened) == 2


def test_by_the_engine_through_an_outage_and_a_removal(own: SlapdServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Denied by a group stays denied, allowed by a group is denied; recovery and removal take effect by themselves."""
    monkeypatch.setattr(group_directory, "RETRY_SECONDS", 0.2)
    plugins = plugin_manager(entry_points=False)
    groups = directory(own, {"ttl": 0.3, "negative_ttl": 0.3, "deadline": 1})
    plugins.register(ConfiguredGroups(groups))
    base = policy(1, {"namespace": "ns1"}, ["alice", "bob"], ["read"])

    def on_kv(**items: Any) -> Callable[[], bool]:
        asked = authorizer([base, policy(2, {"namespace": "ns1", "dataset": "kv"}, [], [], **items)], plugins=plugins)
        return lambda: asked.check("alice", (), "dataset.get", KV).allowed

    by_group = on_kv(policyItems=[{"groups": ["staff"], "accesses": READ}])
    alice = [{"users": ["alice"], "accesses": READ}]
    not_staff = on_kv(policyItems=alice, denyPolicyItems=[{"groups": ["staff"], "accesses": READ}])
    not_guests = on_kv(policyItems=alice, denyPolicyItems=[{"groups": ["guests"], "accesses": READ}])

    assert (by_group(), not_staff(), not_guests()) == (True, False, True)
    for stop, start in ((own.kill, own.start), (own.hang, own.go_on)):
        stop()
        eventually(lambda: not by_group())
        assert (by_group(), not_staff(), not_guests()) == (False, False, False)
        began = time.monotonic()
        for _ in range(20):
            by_group()
        assert time.monotonic() - began < 10  # not 20 deadlines
        start()
        eventually(by_group)
        assert (by_group(), not_staff(), not_guests()) == (True, False, True)
    own.change("CN=staff,OU=Groups,dc=example", member=[READER])
    removed = time.monotonic()
    eventually(lambda: not by_group())
    assert time.monotonic() - removed < 3
    assert not_staff()
