"""`setup --from-cdap-site`: what CDAP's configuration proposes becomes settings as they stand, or a sentence."""

from __future__ import annotations

import json
import re
import tomllib
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.grant import check_grantee
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.config import read_configuration
from ranger_cdap.config.cdap_site import (
    DOCUMENTED,
    ProposedSetting,
    SiteProperty,
    SiteProposal,
    as_toml,
    known_properties,
    proposal,
)
from ranger_cdap.config.loader import parse_settings
from ranger_cdap.errors import ConfigError
from tests.docs.markdown_pages import ROOT

ADMINS = "security.authorization.admin.users"
SITE = {"instance.name": "prod", "security.authorization.admin.users": "ann, bob,", "hdfs.user": "yarn"}


def site(directory: Path, properties: dict[str, str]) -> Path:
    path = directory / "cdap-site.xml"
    rows = (f"<property><name>{escape(k)}</name><value>{escape(v)}</value></property>" for k, v in properties.items())
    path.write_text(f"<configuration>{''.join(rows)}</configuration>", encoding="utf-8")
    return path


def proposed(path: Path) -> SiteProposal:
    return proposal(path, check_user=partial(check_grantee, non_creators=()), master="cdap")


def test_the_proposal_is_a_settings_file_with_the_documented_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["setup", "--from-cdap-site", str(site(tmp_path, SITE))]) == ExitCode.OK
    shown = capsys.readouterr()
    assert "nothing was set up" in shown.err
    file = tmp_path / "ranger-cdap.toml"
    file.write_text(shown.out, encoding="utf-8")
    settings = read_configuration(file).settings
    assert (settings.cdap.instance, settings.cdap.profile, settings.admin.users) == ("prod", "cdap-6", ("ann", "bob"))


def test_without_names_only_the_profile_is_proposed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["setup", "--from-cdap-site", str(site(tmp_path, {})), "--json"]) == ExitCode.OK
    shown = json.loads(capsys.readouterr().out)
    assert [(one["setting"], one["value"]) for one in shown["settings"]] == [("cdap.profile", DOCUMENTED)]
    assert shown["other_properties"] == []


@given(text=st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=20))
def test_any_printable_value_is_read_back_from_the_lines(text: str) -> None:
    settings = [ProposedSetting("cdap.instance", text, "x"), ProposedSetting("admin.users", (text, "bob"), "x")]
    assert tomllib.loads(as_toml(SiteProposal(tuple(settings), ()))) == {
        "cdap": {"instance": text},
        "admin": {"users": [text, "bob"]},
    }


NOT_PROPOSED = [
    ("instance.name", "${instance}", "has a variable"),
    ("instance.name", "*", "has `*`, with which"),
    ("instance.name", "p?d,{USER}\\", "has `,` `?` `\\` `{` `}`, with which"),
    *(("instance.name", value, "control characters") for value in ("a\tb", "a\u202eb", "a\u0085b")),
    (ADMINS, ", ,", "names no one"),
    (ADMINS, "*", "`*` is not proposed: it is not the name of a single user"),
    (ADMINS, "{OWNER}", "`{OWNER}` is not proposed"),
    (ADMINS, "Public", "`Public` is not proposed"),
    (ADMINS, "a\nb", r"`a\nb` is not proposed"),
    (ADMINS, "${admins}", "`${admins}` is not proposed"),
    (ADMINS, "a\ud7fc", r"`a\ud7fc` is not proposed: it has characters that cannot be shown"),
    (ADMINS, "cdap", "`cdap` is not proposed: it is the user CDAP itself runs as"),
]


@pytest.mark.parametrize(("name", "value", "why"), NOT_PROPOSED)
def test_a_value_that_would_do_harm_is_not_proposed_and_named(name: str, value: str, why: str, tmp_path: Path) -> None:
    found = proposed(site(tmp_path, {name: value}))
    assert [one.name for one in found.settings] == ["cdap.profile"]
    assert [(one.name, why in one.fate) for one in found.others] == [(name, True)], found.others
    assert re.search(r"; (set|name)( users in)? `(cdap.instance|admin.users)`", found.others[0].fate)


def test_the_other_administrators_are_proposed(tmp_path: Path) -> None:
    found = proposed(site(tmp_path, {ADMINS: f"ann, *, bob, ann, {'x' * 100}*"}))
    assert found.settings[-1] == ProposedSetting("admin.users", ("ann", "bob"), ADMINS)
    assert [one.fate.partition(" is ")[0] for one in found.others] == ["`*`", f"`{'x' * 60}…`"]


@pytest.mark.parametrize("name", ["*", "", " a", "a,b", "{USER}", "pr?d", "a\tb"])
def test_the_loader_refuses_an_instance_that_is_not_one(name: str) -> None:
    with pytest.raises(ConfigError, match=r"`cdap\.instance` (has|is)"):
        parse_settings({"cdap": {"instance": name}}, origin="here")


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"<a/>", b"<!DOCTYPE x [<!ENTITY a 'b'>]><configuration>&a;</configuration>"]
)
def test_another_file_is_refused(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cdap-site.xml"
    path.write_bytes(content)
    assert main(["setup", "--from-cdap-site", str(path)]) == ExitCode.INVALID_INPUT
    assert "is not a Hadoop configuration file" in capsys.readouterr().err
    assert main(["setup", "--from-cdap-site", str(tmp_path / "none.xml")]) == ExitCode.INVALID_INPUT
    assert "does not exist" in capsys.readouterr().err
    assert main(["setup", "--from-cdap-site", "x" * 5000]) == ExitCode.INVALID_INPUT
    assert "cannot be read" in capsys.readouterr().err


def test_a_long_file_with_one_name_twice_has_the_last(tmp_path: Path) -> None:
    path = tmp_path / "cdap-site.xml"
    rows = "".join(f"<property><name>instance.name</name><value>{n}</value></property>" for n in range(1000))
    path.write_text(f"<configuration>{rows}</configuration>", encoding="utf-8")
    assert proposed(path).settings[0] == ProposedSetting("cdap.instance", "999", "instance.name")


def test_a_final_value_and_an_empty_one_count_as_in_cdap(tmp_path: Path) -> None:
    path = tmp_path / "cdap-site.xml"
    rows = (("instance.name", "prod", "<final>true</final>"), ("instance.name", "test", ""), (ADMINS, "alice", ""))
    texts = (f"<property><name>{name}</name><value>{value}</value>{more}</property>" for name, value, more in rows)
    empty = f"<property><name>{ADMINS}</name><value></value></property>"
    path.write_text(f"<configuration>{''.join(texts)}{empty}</configuration>")
    proposals = {one.name: one.value for one in proposed(path).settings}
    assert (proposals["cdap.instance"], proposals["admin.users"]) == ("prod", ("alice",))


EXTENSION = "security.authorization.extension.config."
JAR = {"security.authorization.extension.jar.path": "/opt/cdap/master/ext/security/cdap-ranger-binding-0.19.jar"}


@pytest.mark.parametrize(
    ("properties", "instance"),
    [
        # The predecessor's bindings: their own property, or `cdap`, whatever CDAP itself is called.
        (JAR, "cdap"),
        (JAR | {"instance.name": "prod"}, "cdap"),
        (JAR | {"instance.name": "prod", EXTENSION + "instance.name": "west"}, "west"),
        ({"instance.name": "prod"}, "prod"),
    ],
)
def test_the_instance_is_the_one_that_policies_name(properties: dict[str, str], instance: str, tmp_path: Path) -> None:
    (found,) = (one.value for one in proposed(site(tmp_path, properties)).settings if one.name == "cdap.instance")
    assert found == instance


def test_the_folder_with_the_files_of_the_plugin_is_proposed(tmp_path: Path) -> None:
    conf = tmp_path / "ranger conf"
    conf.mkdir()
    (conf / "ranger-cdap-security.xml").write_text("<configuration/>")
    key = "security.authorization.extension.extra.classpath"
    named = f"relative:/nowhere/lib/*:{conf}/*"
    found = proposed(site(tmp_path, {key: named}))
    assert ProposedSetting("hadoop.conf_dir", str(conf), key) in found.settings
    assert found.others == ()
    (conf / "ranger-cdap-security.xml").write_text("<other/>")
    broken = proposed(site(tmp_path, {key: named}))
    assert "hadoop.conf_dir" not in {one.name for one in broken.settings}
    assert [(one.name, "is not a Hadoop configuration file" in one.fate) for one in broken.others] == [(key, True)]
    too_long = proposed(site(tmp_path, {key: f"/{'x' * 5000}/*"}))
    assert [one.name for one in too_long.others] == [key]
    elsewhere = proposed(site(tmp_path, {key: "/nowhere:${HOME}/conf"}))
    assert [one.name for one in elsewhere.others] == [key]
    assert "hadoop.conf_dir" not in {one.name for one in elsewhere.settings}


def test_every_other_property_about_authorization_has_its_fate(tmp_path: Path) -> None:
    found = proposed(
        site(
            tmp_path,
            {
                "hdfs.user": "yarn",
                "security.authorization.enabled": "true",
                EXTENSION + "sentry.site.url": "file:///etc/sentry/sentry-site.xml",
                EXTENSION + "ldap.pool.timeout": "1",
                EXTENSION + "no.such.key": "1",
                "kerberos.auth.enabled": "true",
            },
        )
    )
    assert {one.name: one.fate.partition(":")[0] for one in found.others} == {
        "security.authorization.enabled": "stays",
        EXTENSION + "sentry.site.url": "not used",
        EXTENSION + "ldap.pool.timeout": "not used",
        EXTENSION + "no.such.key": "unknown",
        "kerberos.auth.enabled": "stays",
    }


@given(name=st.text(min_size=1, max_size=30), fate=st.sampled_from(["stays: as it is", "becomes `cdap.instance`"]))
def test_no_name_of_a_property_gets_out_of_its_comment(name: str, fate: str) -> None:
    text = as_toml(SiteProposal((), (SiteProperty(name, fate),)))
    assert tomllib.loads(text) == {}


def test_no_value_of_another_property_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    properties = {EXTENSION + "ldap.lookup.bind.password": "hunter2", EXTENSION + "x": "hunter3"}
    for form in ([], ["--json"]):
        assert main(["setup", "--from-cdap-site", str(site(tmp_path, properties)), *form]) == ExitCode.OK
        shown = capsys.readouterr()
        assert "ldap.lookup.bind.password" in shown.out
        assert "hunter" not in shown.out + shown.err


MISSPELT = {
    "security.authorisation.enabled": "security.authorization.enabled",
    "security.authorizaton.admin.users": "security.authorization.admin.users",
    "Security.Authorization.Enabled": "security.authorization.enabled",
    "security-authorization-enabled": "security.authorization.enabled",
    "security.enable": "security.enabled",
    "instance.nam": "instance.name",
    "security.authorization.extension.jarpath": "security.authorization.extension.jar.path",
    "security.autorization.extension.config.instance.name": EXTENSION + "instance.name",
    EXTENSION + "instance.nam": EXTENSION + "instance.name",
    EXTENSION + "ldap.uri": EXTENSION + "ldap.url",
    EXTENSION + "sentry.site.uri": EXTENSION + "sentry.site.url",
}


@pytest.mark.parametrize(("name", "meant"), MISSPELT.items())
def test_a_misspelt_property_is_named_with_the_one_that_may_be_meant(name: str, meant: str, tmp_path: Path) -> None:
    [one] = proposed(site(tmp_path, {name: "x"})).others
    assert (one.name, one.fate) == (
        name,
        f"unknown: not a property of CDAP or of a binding; did you mean `{meant}`?",
    )


def test_no_property_that_cdap_has_counts_as_misspelt(tmp_path: Path) -> None:
    names = (ROOT / "tests" / "data" / "cdap-property-names.txt").read_text(encoding="utf-8").split()
    assert {"security.enabled", "security.auth.server.bind.port", "kerberos.auth.enabled"} <= set(names)
    found = proposed(site(tmp_path, dict.fromkeys(names, "x")))
    assert [one for one in found.others if one.fate.startswith("unknown")] == []


PROPOSED = ("instance.name", EXTENSION + "instance.name", ADMINS)
KNOWN = [one.name.replace("*", "some") for one in known_properties()]


LONG_ENOUGH = [one for one in KNOWN if len(one) > 10 and not one.endswith(".some")]


@given(st.sampled_from(LONG_ENOUGH), st.data())
def test_one_wrong_letter_is_enough_to_be_mentioned(name: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(name) - 1))
    letter = data.draw(st.sampled_from(["", "q"]))
    wrong = f"{name[:place]}{letter}{name[place + 1 :]}"
    with TemporaryDirectory() as directory:
        found = proposed(site(Path(directory), {wrong: "x"}))
    assert [one.name for one in found.others] == [wrong]


# Everything that XML can hold, and what ends a text, a line, a comment or a table in TOML.
NOT_IN_XML = [*map(chr, {*range(32)} - {9, 10, 13}), "\ufffe", "\uffff"]
IN_XML = st.characters(exclude_categories=["Cs"], exclude_characters=NOT_IN_XML)
ENDS = ["*", ",", "\n", "\r", '"', "'", "#", "]", "=", "\\", "{USER}", "${x}", "\u2028", "\x85", "\u202e", "\x7f"]
pieces = st.sampled_from([*ENDS, "ann", "cdap", "[admin]\n"]) | st.text(IN_XML, max_size=3)
hostile = st.lists(pieces, max_size=6).map("".join)
names = st.sampled_from([*KNOWN, *MISSPELT, "hdfs.user", "some.password"]) | hostile.filter(str.strip)


@given(st.dictionaries(names, hostile, max_size=8), st.dictionaries(st.sampled_from(KNOWN), hostile, max_size=8))
def test_whatever_the_file_says_the_proposal_loads_and_shows_no_secret(
    some: dict[str, str], others: dict[str, str]
) -> None:
    properties = {
        name: value if name.strip() in PROPOSED else f"{value}hunter{n}{value}"
        for n, (name, value) in enumerate((some | others).items())
    }
    with TemporaryDirectory() as directory:
        found = proposed(site(Path(directory), properties))
        text = as_toml(found)
        file = Path(directory, "ranger-cdap.toml")
        file.write_bytes(text.encode())
        loaded = read_configuration(file, environ={}).settings
    written = {f"{table}.{key}": value for table, keys in tomllib.loads(text).items() for key, value in keys.items()}
    assert written == {one.name: json.loads(json.dumps(one.value)) for one in found.settings}
    assert set(written) <= {"cdap.instance", "cdap.profile", "hadoop.conf_dir", "admin.users"}
    assert "hunter" not in text
    assert [line for line in text.split("\n") if not line.isprintable()] == []
    for user in loaded.admin.users:
        check_grantee(user, non_creators={"cdap"})
    assert not set("*?,{}\\") & set(loaded.cdap.instance)
    others_named = {one.name for one in found.others} | {one.why for one in found.settings}
    with_value = {name.strip() for name, value in properties.items() if value}
    assert with_value & set(KNOWN) <= others_named
