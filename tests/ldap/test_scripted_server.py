"""Shapes of Active Directory that OpenLDAP lacks, and answers that no server should give: all groups, or none known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ranger_cdap.config.loader import parse_settings
from ranger_cdap.directory.group_directory import GroupDirectory
from ranger_cdap.errors import GroupLookupFailed
from ranger_cdap.ldap.connection import ACTIVE_DIRECTORY
from ranger_cdap.ldap.plugin import ranger_cdap_group_sources
from tests.ldap.scripted_server import REFERRAL, SIZE_LIMIT, SUCCESS, ScriptedEntry, ScriptedServer

ALICE = ScriptedEntry("CN=alice,DC=x", sAMAccountName=["alice"])
Start = Callable[..., ScriptedServer]


@pytest.fixture
def start() -> Iterator[Start]:
    servers = []

    def started(answer: Any) -> ScriptedServer:
        servers.append(ScriptedServer(answer))
        return servers[-1]

    yield started
    for server in servers:
        server.close()


def directory(server: ScriptedServer, **more: Any) -> GroupDirectory:
    tables = {
        "groups": {"sources": ["ldap"], "deadline": 20},
        "ldap": {"urls": [server.url], "anonymous": True, "user_base": "DC=x", **more},
    }
    parsed = parse_settings(tables, origin="the test")
    found = GroupDirectory.of(parsed, ranger_cdap_group_sources())
    assert found is not None
    return found


def of_alice(*groups: ScriptedEntry, code: int = SUCCESS) -> Any:
    def answer(base: str, search_filter: str, attributes: list[str]) -> Any:
        if not base:
            return [ScriptedEntry("", supportedCapabilities=[ACTIVE_DIRECTORY])], SUCCESS
        if "sAMAccountName=alice" in search_filter:
            return [ALICE], SUCCESS
        return list(groups), code

    return answer


def test_active_directory_follows_groups_in_groups_by_its_rule(start: Start) -> None:
    server = start(of_alice(ScriptedEntry("CN=Sales,DC=x", cn=["Sales"]), ScriptedEntry("CN=Top,DC=x", cn=["Top"])))
    assert directory(server, in_chain=True).groups_of("alice") == {"Sales", "Top"}
    assert [search_filter for _, search_filter, _ in server.asked] == [
        "(&(objectClass=user)(sAMAccountName=alice))",
        "(objectClass=*)",
        "(&(objectClass=group)(|(member:1.2.840.113556.1.4.1941:=CN=alice,DC=x)))",
    ]


def ranged(*parts: tuple[str, list[str]]) -> Any:
    """Values of `memberOf` in parts, as Active Directory returns many."""

    def answer(base: str, search_filter: str, attributes: list[str]) -> Any:
        wanted = next((one for one in attributes if ";range=" in one), "")
        first = wanted.partition("=")[2].partition("-")[0] or "0"
        for span, values in parts:
            if span.partition("-")[0] == first:
                return [
                    ScriptedEntry(ALICE.dn, sAMAccountName=["alice"], memberOf=[], **{f"memberOf;range={span}": values})
                ], 0
        return [], SUCCESS

    return answer  # fmt: skip


def test_many_values_come_in_parts_and_all_count(start: Start) -> None:
    names = [f"g{n}" for n in range(5)]
    dns = [f"CN={name},DC=x" for name in names]
    server = start(ranged(("0-1", dns[:2]), ("2-3", dns[2:4]), ("4-*", dns[4:])))
    assert directory(server, memberof_attribute="memberOf").groups_of("alice") == set(names)


def test_a_part_that_does_not_come_leaves_the_groups_unknown(start: Start) -> None:
    server = start(ranged(("0-1", ["CN=a,DC=x", "CN=b,DC=x"])))
    with pytest.raises(GroupLookupFailed):
        directory(server, memberof_attribute="memberOf").groups_of("alice")


def test_a_name_of_a_group_that_is_elsewhere_in_its_dn_is_an_error(start: Start) -> None:
    member_of = ScriptedEntry(ALICE.dn, sAMAccountName=["alice"], memberOf=["OU=x,DC=x"])
    server = start(lambda *_: ([member_of], SUCCESS))
    with pytest.raises(GroupLookupFailed, match=r"`memberOf` has no `cn`"):
        directory(server, memberof_attribute="memberOf").groups_of("alice")


STAFF = ScriptedEntry("CN=staff,DC=x", cn=["staff"])


@pytest.mark.parametrize(
    "answer",
    [
        of_alice(STAFF, code=SIZE_LIMIT),
        of_alice(STAFF, code=REFERRAL),
        of_alice(STAFF, code=80),
        of_alice(ScriptedEntry("CN=staff,DC=x")),
        of_alice(*(ScriptedEntry(f"CN=g{n},DC=x", cn=[f"g{n}"]) for n in range(5001))),
        lambda *_: b"HTTP/1.1 400 Bad Request\r\n\r\n",
        lambda *_: b"",
        lambda *_: b"\x30\x84\x7f\xff\xff\xff" + b"\x00" * 1000,
        lambda *_: b"\x30\x05\x02\x01\x63\x65\x00",
        lambda *_: bytes(range(256)) * 4,
        lambda *_: ([ScriptedEntry("CN=alice", sAMAccountName=["alice", "x"]), ALICE], SUCCESS),
        lambda *_: ([ScriptedEntry("CN=mallory", sAMAccountName=["mallory"])], SUCCESS),
        lambda *_: ([ScriptedEntry("CN=alice")], SUCCESS),
    ],
    ids=["size limit", "referral", "other error", "no name", "too many", "http", "closed", "huge", "no answer to it",
         "garbage", "two", "another", "no attribute"],
)  # fmt: skip
def test_an_answer_that_is_not_whole_leaves_the_groups_unknown(start: Start, answer: Any) -> None:
    found = directory(start(answer))
    with pytest.raises(GroupLookupFailed) as raised:
        found.groups_of("alice")
    assert "staff" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_name_of_the_group_in_its_dn_is_preferred_to_others_it_has(start: Start) -> None:
    server = start(of_alice(ScriptedEntry("CN=Sales\\, EMEA,DC=x", cn=["Verkauf", "Sales, EMEA"])))
    assert directory(server).groups_of("alice") == {"Sales, EMEA"}
