"""Names in filters and in distinguished names: no user name changes a filter, or finds another user's entry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.config.group_checks import name_clauses
from ranger_cdap.ldap.connection import ldap_library
from ranger_cdap.ldap.names import (
    IN_CHAIN,
    escaped,
    group_name,
    is_of_user,
    members_filter,
    name_attributes,
    user_filter,
)
from tests.ldap.slapd_server import rdn_value

AD = "(&(objectClass=user)(sAMAccountName={user}))"
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
HOSTILE = st.one_of(NAMES, st.text("*()\\\0&|=!,a 2561", min_size=1, max_size=12))


def test_names_that_are_filters_are_values() -> None:
    assert user_filter(AD, "*)(uid=*") == r"(&(objectClass=user)(sAMAccountName=\2a\29\28uid=\2a))"
    assert user_filter(AD, "a\\b\0") == r"(&(objectClass=user)(sAMAccountName=a\5cb\00))"


@given(HOSTILE)
def test_a_filter_has_the_shape_of_its_template_whatever_the_name(user: str) -> None:
    """By another parser: the library's own."""
    ldap_library()
    from ldap3.operation.search import MATCH_EQUAL, parse_filter
    from ldap3.protocol.convert import prepare_filter_for_sending

    parsed = parse_filter(user_filter(AD, user), None, False, None, None, False).elements[0]
    object_class, account = parsed.elements
    assert [one.tag for one in parsed.elements] == [MATCH_EQUAL, MATCH_EQUAL]
    assert object_class.assertion == {"attr": "objectClass", "value": b"user"}
    assert account.assertion["attr"] == "sAMAccountName"
    assert prepare_filter_for_sending(account.assertion["value"]) == user.encode()


@given(HOSTILE)
def test_an_escaped_text_has_no_character_of_a_filter(text: str) -> None:
    assert not set("*()\0") & set(escaped(text))


@given(HOSTILE, HOSTILE)
def test_an_entry_is_the_users_only_if_its_name_is(user: str, other: str) -> None:
    for spelling in (other, user.swapcase(), user.upper()):
        assert is_of_user(AD, user, {"samaccountname": [spelling]}) is (user == spelling)


@pytest.mark.parametrize(
    ("user", "value", "is_theirs"),
    [
        ("alice", "alice", True),
        ("alice", "Alice", False),
        ("ALICE", "alice", False),
        ("jose", "José", False),
        ("strasse", "straße", False),
        ("kate", "\N{KELVIN SIGN}ate", False),
        ("alice", "alice ", False),
        ("alice", "bob", False),
    ],
)
def test_directories_compare_more_loosely_than_we_do(user: str, value: str, is_theirs: bool) -> None:
    assert is_of_user(AD, user, {"sAMAccountName": [value]}) is is_theirs


def test_an_entry_without_the_compared_attribute_is_no_ones() -> None:
    assert not is_of_user(AD, "alice", {"cn": ["alice"]})


def test_text_around_the_name_belongs_to_the_value() -> None:
    template = "(|(uid={user})(userPrincipalName={user}@example.com)(cn:caseExactMatch:=x {user}))"
    assert name_clauses(template) == (("uid", "", ""), ("userPrincipalName", "", "@example.com"), ("cn", "x ", ""))
    assert name_attributes(template) == ("uid", "userPrincipalName", "cn")
    assert is_of_user(template, "al", {"userprincipalname": ["al@EXAMPLE.com"]})
    assert not is_of_user(template, "al", {"userprincipalname": ["AL@example.com"]})
    assert not is_of_user(template, "al", {"userprincipalname": ["al"]})


def test_members_are_searched_by_their_distinguished_names() -> None:
    group = "(objectClass=group)"
    assert members_filter(group, "member", ["CN=a,DC=x", r"CN=b\, (c),DC=x"]) == (
        r"(&(objectClass=group)(|(member=CN=a,DC=x)(member=CN=b\5c,\20\28c\29,DC=x)))"
    )
    assert members_filter(group, "member", ["CN=a"], in_chain=True) == f"(&{group}(|(member:{IN_CHAIN}:=CN=a)))"


@pytest.mark.parametrize(
    ("dn", "name"),
    [
        ("CN=Sales,OU=Groups,DC=example", "Sales"),
        ("cn = Sales , OU=Groups", "Sales"),
        (r"CN=Sales\, EMEA,OU=Groups", "Sales, EMEA"),
        (r"CN=Sales\2C EMEA,OU=Groups", "Sales, EMEA"),
        (r"CN=M\C3\BCller,OU=Groups", "Müller"),
        (r'CN="Sales, EMEA",OU=Groups', "Sales, EMEA"),
        (r"CN=a\+b\=c\\d,OU=Groups", r"a+b=c\d"),
        (r"CN=\20blanks\20,OU=Groups", " blanks "),
        (r"CN=blank\ ,OU=Groups", "blank "),
        ("OU=x+CN=Sales,DC=example", "Sales"),
        ("OU=Sales,CN=x,DC=example", None),
        ("CN=#04024869,DC=example", None),
        (r"CN=\FF,DC=example", None),
        ("CN=,DC=example", None),
        ("Sales", None),
        ("", None),
    ],
)
def test_the_name_of_a_group_in_its_distinguished_name(dn: str, name: str | None) -> None:
    assert group_name(dn, "cn") == name


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).map(str.strip).filter(bool))
def test_a_name_written_in_a_distinguished_name_is_read_back(name: str) -> None:
    assert group_name(f"CN={rdn_value(name)},OU=Groups,DC=example", "CN") == name


@given(st.text())
def test_any_text_as_a_distinguished_name_has_a_name_or_none(text: str) -> None:
    found = group_name(text, "cn")
    assert found is None or found
