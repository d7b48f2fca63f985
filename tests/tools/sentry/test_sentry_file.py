"""What a policy file of Sentry says, line by line, and what of it is left out."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.errors import InvalidInput
from ranger_cdap.tools.sentry.sentry_file import LARGEST_SENTRY_FILE, SentryFile, parse_sentry_file
from ranger_cdap.tools.sentry.sentry_roles import sentry_roles

READ = "instance=cdap->namespace=a->action=read"
ALL = frozenset({"read", "write", "execute", "admin"})


def parsed(roles: str, groups: str = "") -> SentryFile:
    """The roles begin in line 3 unless groups have more lines than one."""
    return parse_sentry_file(f"[groups]\n{groups}\n[roles]\n{roles}\n".encode())


def test_roles_have_groups_and_privileges() -> None:
    found = parsed(
        f"; a comment\n# another\nr={READ},instance = cdap -> Action = ALL\nalone = {READ}", "g = r , x\nh=r"
    )
    one, alone = found.roles
    assert (one.name, one.place.text, one.groups) == ("r", "line 7", ("g", "h"))
    assert [dict(each.parts) for each in one.privileges] == [
        {"instance": "cdap", "namespace": "a"},
        {"instance": "cdap"},
    ]
    assert [each.actions for each in one.privileges] == [{"read"}, ALL]
    assert alone.groups == ()
    assert [str(each) for each in found.left_out] == ["line 2: role `x` of group `g`: `roles` does not have it"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_go_on_after_a_backslash_and_end_as_on_any_system(end: str) -> None:
    lines = ["\ufeff[groups]", "g = r,\\", "  s", "[roles]", f"r = {READ}", f"s = {READ}"]
    found = parse_sentry_file(end.join(lines).encode())
    assert [(one.name, one.place.order, one.groups) for one in found.roles] == [("r", 5, ("g",)), ("s", 6, ("g",))]
    assert not found.left_out


@pytest.mark.parametrize(
    ("action", "actions"),
    [("read", {"read"}), ("Execute", {"execute"}), ("admin", {"admin"}), ("all", ALL), ("*", ALL), ("ALL", ALL)],
)
def test_actions_count_in_any_case(action: str, actions: set[str]) -> None:
    [role] = parsed(f"r = instance=cdap->action={action}").roles
    assert role.privileges[0].actions == actions


PRIVILEGES = [
    ("server=server1->db=d->table=t->action=select", "`server` is of Hive"),
    ("instance=cdap->uri=hdfs://x->action=all", "`uri` is of Hive"),
    ("instance=cdap->namespace=a->column=c->action=read", "`column` is of Hive"),
    ("instance=cdap->stream=s->action=read", "no `stream`"),
    ("instance=cdap->action=read->action=write", "no `action` there"),
    ("instance=cdap->action=drop", "there is no action `drop`"),
    ("instance=cdap->action=", "`key=name`"),
    ("instance=cdap->action", "`key=name`"),
    ("instance=cdap", "ends with an action"),
    ("instance=cdap->action=read->", "`key=name`"),
    ("instance=->action=read", "`key=name`"),
    ("=cdap->action=read", "`key=name`"),
    ("instance=cdap->action=read->grantoption=maybe", "ends with an action"),
    ("grantoption=true", "ends with an action"),
    ("instance=cdap->grantoption=true->action=read", "no `grantoption` there"),
    ("", "`key=name`"),
]


@pytest.mark.parametrize(("text", "why"), PRIVILEGES)
def test_a_privilege_that_is_none_is_left_out_alone(text: str, why: str) -> None:
    found = parsed(f"r = {READ},{text},{READ}")
    assert [one.text for one in found.roles[0].privileges] == [READ, READ]
    [left] = found.left_out
    assert (left.place.order, left.what) == (4, f"`{text}` of role `r`")
    assert re.search(why, left.why)


def test_the_grant_option_is_left_out_once_a_role_and_the_privilege_kept() -> None:
    found = parsed(f"r = {READ}->grantoption=true,INSTANCE=cdap->action=read->grantOption=TRUE")
    assert [one.actions for one in found.roles[0].privileges] == [{"read"}, {"read"}]
    assert [(one.place.order, one.what) for one in found.left_out] == [(4, "`grantoption` of role `r`")]


LINES = [
    ("r", "not of the form"),
    (f"two words = {READ}", "not of the form"),
    (f"r : {READ}", "not of the form"),
    (f"= {READ}", "not of the form"),
    (f"r = {READ}\\", "next line that is not there"),
    ("r = x\\\n[groups]", "next line that is not there"),
    ("[databases]", "Hive"),
    ("[users]", "user sync"),
    ("[userroles]", "by groups only"),
    ("[Roles]", "unknown"),
]


@pytest.mark.parametrize(("line", "why"), LINES)
def test_a_line_of_another_kind_is_left_out(line: str, why: str) -> None:
    found = parsed(f"first = {READ}\n{line}")
    assert [one.name for one in found.roles] == ["first"]
    [left] = found.left_out
    assert left.place.order == 5
    assert why in left.why


def test_a_name_that_is_there_twice_is_not_taken_at_all() -> None:
    found = parsed(f"r = {READ}\ns = {READ}\nr = instance=cdap->action=all\nr = {READ}", "g = s")
    assert [one.name for one in found.roles] == ["s"]
    assert sorted({one.place.order for one in found.left_out}) == [4, 6, 7]
    groups = parse_sentry_file(f"[roles]\nr={READ}\n[groups]\ng = r\n[x]\n[groups]\ng = r".encode())
    assert groups.roles[0].groups == ()
    assert [one.place.order for one in groups.left_out] == [4, 5, 7]


def test_a_line_before_any_section_is_left_out() -> None:
    found = parse_sentry_file(f"g = r\n[groups]\n[roles]\nr = {READ}".encode())
    assert [(one.place.order, one.why) for one in found.left_out] == [(1, "it is before the first section")]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", r"no section `\[groups\]`"),
        (b"[groups]\ng = r", r"no section `\[roles\]`"),
        (b"[roles]\nr = x", r"no section `\[groups\]`"),
        (b'{"groups": {}, "roles": []}', "`roles` is not an object"),
        (b'{"groups": {}}', "no section `roles`"),
        (b'{"groups": {}, "roles": {"r": [], "r": []}}', "field `r` is repeated"),
        (b'{"groups": {}, "roles": {}} x', "not JSON"),
        (b'{"a":' * 100_000, "nested too deep"),
        (b"[groups]\n\xff", "UTF-8"),
        ("[groups]\n[roles]".encode("utf-16"), "UTF-8"),
        (b" " * (LARGEST_SENTRY_FILE + 1), "larger than 4 MB"),
    ],
)
def test_a_file_of_another_kind_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        parse_sentry_file(content)


def test_json_says_what_the_policy_file_says() -> None:
    document = {
        "groups": {"g": ["r", "x"], "h": "r"},
        "users": {"ann": ["g"]},
        "roles": {"r": [READ, f" {READ} ", "uri=x->action=all"], "s": [1], "t": []},
    }
    found = parse_sentry_file(b"\xef\xbb\xbf\n " + json.dumps(document).encode())
    assert [(one.name, one.groups, [each.text for each in one.privileges]) for one in found.roles] == [
        ("r", ("g",), [READ, READ]),
        ("t", (), []),
    ]
    assert [str(one) for one in found.left_out] == [
        "`groups.g`: role `x` of group `g`: `roles` does not have it",
        "`groups.h`: `h`: it is not a list of texts",
        "`users`: section `users`: it says which groups users have; Ranger knows them from user sync",
        "`roles.r`: `uri=x->action=all` of role `r`: `uri` is of Hive, not of CDAP",
        "`roles.s`: `s`: it is not a list of texts",
    ]


NAMES = st.sampled_from(("g", "h", "r", "s"))
MAPPINGS = st.dictionaries(NAMES, st.lists(st.sampled_from((READ, "r", "s", "instance=cdap->action=all")), min_size=1))


@given(MAPPINGS, MAPPINGS)
def test_both_forms_of_a_mapping_mean_the_same(groups: dict[str, list[str]], roles: dict[str, list[str]]) -> None:
    def means(file: SentryFile) -> object:
        left = [(one.what, one.why) for one in file.left_out]
        return [(one.name, one.groups, one.privileges) for one in file.roles], sorted(left)

    lines = ["[groups]", *(f"{name} = {','.join(some)}" for name, some in groups.items())]
    lines += ["[roles]", *(f"{name} = {','.join(some)}" for name, some in roles.items())]
    as_json = json.dumps({"groups": groups, "roles": roles}).encode()
    assert means(parse_sentry_file(as_json)) == means(parse_sentry_file("\n".join(lines).encode()))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just(READ),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.sampled_from(("groups", "roles", "r")), some),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(("groups", "roles", "users", "x")), JSON_VALUES))
def test_no_json_ends_in_anything_but_roles_or_a_refusal(document: dict[str, object]) -> None:
    try:
        file = parse_sentry_file(json.dumps(document).encode())
    except InvalidInput:
        return
    for role in sentry_roles(file, service="s", instance="cdap").roles:
        assert role.name in document["roles"]  # type: ignore[operator]


PIECES = st.sampled_from(
    [
        *(
            "[groups]",
            "[roles]",
            "[",
            "]",
            "\n",
            "\r",
            "\\",
            "g",
            "r",
            "=",
            "->",
            ",",
            " ",
            "instance=cdap",
            "action=read",
        ),
        *("namespace=*", "program=.", "grantoption=true", "uri=x", "#", ";", ":", "*", "?", "\u2028", "\x1b", "\x00"),
    ]
)


@given(st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=60).map("".join).map(str.encode)))
def test_no_content_ends_in_anything_but_roles_or_a_refusal(content: bytes) -> None:
    try:
        file = parse_sentry_file(b"[groups]\ng = r\n[roles]\n" + content)
    except InvalidInput:
        return
    found = sentry_roles(file, service="s", instance="cdap")
    lines = content.decode().count("\n") + content.decode().count("\r") + content.decode().count("\u2028") + 5
    assert all(0 < one.place.order <= lines and one.what and one.why for one in found.left_out)
    for role in found.roles:
        assert role.rights
        assert all(right.accesses <= ALL and right.resource["instance"] == "cdap" for right in role.rights)


@given(st.lists(st.sampled_from([READ, "server=s", "instance=cdap->action=all", "x"]), min_size=1, max_size=8))
def test_each_privilege_is_taken_or_named(privileges: list[str]) -> None:
    found = parsed("\n".join(f"r{number} = {one}" for number, one in enumerate(privileges)))
    taken = sum(len(role.privileges) for role in found.roles)
    assert taken + len(found.left_out) == len(privileges)
