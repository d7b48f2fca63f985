"""Hadoop's group mapping as settings: as the page says, and nothing that would find other groups left out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from ranger_cdap.cli.main import main
from ranger_cdap.config import read_configuration
from ranger_cdap.config.loader import Configuration
from ranger_cdap.errors import ConfigError

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "take-groups-from-ldap.md"
SECURITY = "org.apache.hadoop.security."
MAPPING = "hadoop.security.group.mapping"
LDAP = f"{MAPPING}.ldap."
STATIC = "hadoop.user.group.static.mapping.overrides"

DIRECTORY = {
    MAPPING: f"{SECURITY}LdapGroupsMapping",
    f"{LDAP}url": "ldaps://one.example, ldaps://two.example:1636",
    f"{LDAP}bind.user": "CN=reader",
    f"{LDAP}bind.password": "hunter2",
    f"{LDAP}base": "dc=example",
}


def core_site(folder: Path, properties: Mapping[str, str]) -> Path:
    entries = "".join(
        f"<property><name>{key}</name><value>{escape(value)}</value></property>" for key, value in properties.items()
    )
    file = folder / "core-site.xml"
    file.write_text(f"<configuration>{entries}</configuration>")
    return file


def configuration(folder: Path, properties: Mapping[str, str], toml: str = "") -> Configuration:
    file = core_site(folder, properties)
    config = folder / "ranger-cdap.toml"
    config.write_text(f'[hadoop]\ncore_site = "{file}"\n{toml}')
    return read_configuration(config, {})


def error(folder: Path, properties: Mapping[str, str]) -> str:
    with pytest.raises(ConfigError) as raised:
        configuration(folder, properties)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_directory_as_hadoop_has_it(tmp_path: Path) -> None:
    found = configuration(
        tmp_path,
        {
            **DIRECTORY,
            f"{LDAP}groupbase": "ou=groups,dc=example",
            f"{LDAP}search.filter.user": "(&(objectClass=inetOrgPerson)(uid={0}))",
            f"{LDAP}search.filter.group": "(objectClass=groupOfNames)",
            f"{LDAP}search.attr.memberof": "memberOf",
            f"{LDAP}search.attr.member": "uniqueMember",
            f"{LDAP}search.attr.group.name": "ou",
            f"{LDAP}search.group.hierarchy.levels": "3",
            STATIC: "dr.who=;etl=batch,ops;alone",
            "hadoop.security.groups.cache.secs": "120",
            "hadoop.security.groups.negative-cache.secs": "-1",
        },
    )
    groups, ldap = found.settings.groups, found.settings.ldap
    assert (groups.sources, groups.ttl, groups.negative_ttl) == (("ldap",), 120, 0)
    assert groups.static == {"dr.who": (), "etl": ("batch", "ops"), "alone": ()}
    assert ldap.urls == ("ldaps://one.example", "ldaps://two.example:1636")
    assert (ldap.bind_dn, ldap.bind_password.reveal()) == ("CN=reader", "hunter2")
    assert (ldap.user_base, ldap.group_base) == ("dc=example", "ou=groups,dc=example")
    assert ldap.user_filter == "(&(objectClass=inetOrgPerson)(uid={user}))"
    assert (ldap.group_filter, ldap.member_attribute) == ("(objectClass=groupOfNames)", "uniqueMember")
    assert (ldap.memberof_attribute, ldap.name_attribute, ldap.nested_depth) == ("memberOf", "ou", 3)
    assert (ldap.member_value, ldap.gid_attribute) == ("dn", "")
    assert found.origins["ldap.user_base"].endswith(f"core-site.xml: {LDAP}base")
    assert not found.not_used


def test_defaults_are_those_of_hadoop(tmp_path: Path) -> None:
    assert configuration(tmp_path, {}).settings.groups.sources == ("posix",)
    assert configuration(tmp_path, {}).settings.groups.static == {"dr.who": ()}
    ldap = configuration(tmp_path, DIRECTORY).settings.ldap
    assert (ldap.user_filter, ldap.group_filter) == (
        "(&(objectClass=user)(sAMAccountName={user}))",
        "(objectClass=group)",
    )
    assert (ldap.user_base, ldap.group_base) == ("dc=example", "dc=example")


def test_posix_groups_where_both_filters_name_their_classes(tmp_path: Path) -> None:
    posix = {
        **DIRECTORY,
        f"{LDAP}search.filter.user": "(&(objectClass=posixAccount)(uid={0}))",
        f"{LDAP}search.filter.group": "(objectClass=posixGroup)",
        f"{LDAP}search.attr.member": "memberUid",
        f"{LDAP}posix.attr.uid.name": "uid",
    }
    ldap = configuration(tmp_path, posix).settings.ldap
    assert (ldap.member_value, ldap.gid_attribute) == ("uid", "gidNumber")
    other = {key: value for key, value in posix.items() if not key.endswith("filter.group")}
    assert configuration(tmp_path, other).settings.ldap.member_value == "dn"


def test_blanks_that_hadoop_does_not_keep_do_not_matter(tmp_path: Path) -> None:
    around = {key: f"\n  {DIRECTORY[key]}\n" for key in (MAPPING, f"{LDAP}base")}
    found = configuration(tmp_path, {**DIRECTORY, **around, f"{LDAP}search.group.hierarchy.levels": " 2 "}).settings
    assert (found.groups.sources, found.ldap.user_base, found.ldap.nested_depth) == (("ldap",), "dc=example", 2)


def test_ssl_is_ldaps(tmp_path: Path) -> None:
    plain = {**DIRECTORY, f"{LDAP}url": "ldap://one.example:636"}
    assert "others can read and change" in error(tmp_path, plain)
    ssl = configuration(tmp_path, {**plain, f"{LDAP}ssl": "true"})
    assert ssl.settings.ldap.urls == ("ldaps://one.example:636",)


@pytest.mark.parametrize(
    ("name", "rule", "case"),
    [("RuleBasedLdapGroupsMapping", "to_lower", "lower"), ("RuleBasedLdapGroupsMapping", "none", "keep"),
     ("LdapGroupsMapping", "to_lower", "keep")],
)  # fmt: skip
def test_the_rule_for_names_counts_for_its_class_only(tmp_path: Path, name: str, rule: str, case: str) -> None:
    found = configuration(tmp_path, {**DIRECTORY, MAPPING: SECURITY + name, f"{LDAP}conversion.rule": rule})
    assert found.settings.ldap.name_case == case


@pytest.mark.parametrize(
    ("name", "sources"),
    [
        ("JniBasedUnixGroupsMapping", ("posix",)),
        ("JniBasedUnixGroupsMappingWithFallback", ("posix",)),
        ("ShellBasedUnixGroupsMapping", ("posix",)),
        ("NullGroupsMapping", ()),
    ],
)
def test_classes_without_a_directory_leave_its_keys_alone(tmp_path: Path, name: str, sources: tuple[str, ...]) -> None:
    found = configuration(tmp_path, {**DIRECTORY, MAPPING: SECURITY + name})
    assert found.settings.groups.sources == sources
    assert found.settings.ldap.urls == ()


def composite(*providers: tuple[str, str], **more: str) -> dict[str, str]:
    keys = {f"{MAPPING}.provider.{name}": f"{SECURITY}{of}" for name, of in providers}
    names = ",".join(name for name, _ in providers)
    return {MAPPING: f"{SECURITY}CompositeGroupsMapping", f"{MAPPING}.providers": names, **keys, **more}


def test_a_composite_has_the_sources_of_its_providers_in_their_order(tmp_path: Path) -> None:
    own = {key.replace(LDAP, f"{MAPPING}.provider.ad.ldap."): value for key, value in DIRECTORY.items() if LDAP in key}
    both = composite(("shell", "ShellBasedUnixGroupsMapping"), ("ad", "LdapGroupsMapping"), **own)
    settings = configuration(tmp_path, both).settings
    assert (settings.groups.sources, settings.groups.combined) == (("posix", "ldap"), True)
    assert settings.ldap.urls == ("ldaps://one.example", "ldaps://two.example:1636")
    first = configuration(tmp_path, {**both, f"{MAPPING}.providers.combined": "false"})
    assert first.settings.groups.combined is False


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({MAPPING: "com.example.Own"}, "class `com.example.Own` is not supported"),
        ({MAPPING: f"{SECURITY}JniBasedUnixGroupsNetgroupMapping"}, "is not supported"),
        (composite(), "no user would have groups"),
        (composite(("x", "LdapGroupsMapping")) | {f"{MAPPING}.providers": "x,y"}, "provider.y`: it is not set"),
        (composite(("a", "LdapGroupsMapping"), ("b", "LdapGroupsMapping")), "provider.b`: groups come from one"),
        ({**DIRECTORY, f"{LDAP}group.search.filter.pattern": "userDN"}, "by other attributes"),
        ({**DIRECTORY, f"{LDAP}search.filter.user": "(&(a={0})(b={1}))"}, "only `{0}` is replaced"),
        ({**DIRECTORY, f"{LDAP}search.filter.group": "(a=${x})"}, "variable that only Java resolves"),
        ({**DIRECTORY, f"{LDAP}search.group.hierarchy.levels": "many"}, "its value is invalid"),
        ({**DIRECTORY, f"{LDAP}search.newer.option": "x"}, "search.newer.option`: it is unknown"),
        ({STATIC: "a=b=c"}, "it is not like"),
        ({"hadoop.security.groups.cache.secs": "0"}, "its value is invalid"),
        ({"hadoop.security.groups.cache.secs": "1_0"}, "its value is invalid"),
        ({STATIC: "alice=g1, g2; bob=g3"}, "reads `{'alice': ['g1', ' g2'], ' bob': ['g3']}`, and without them it"
                                           " would be `{'alice': ['g1', 'g2'], 'bob': ['g3']}`"),
        ({STATIC: "\n alice=g1"}, r"reads `{'\n alice': ['g1']}`"),
        ({STATIC: "alice=g1;\nbob=g2"}, r"'\nbob': ['g2']"),
        ({**composite(("a", "NullGroupsMapping"), ("b", "NullGroupsMapping")), f"{MAPPING}.providers": "a, b"},
         "reads `['a', ' b']`, and without them it would be `['a', 'b']`"),
        ({**DIRECTORY, f"{LDAP}search.attr.memberof": " memberOf"}, "Hadoop keeps the blanks around it"),
        ({**DIRECTORY, f"{LDAP}url": "ldaps://a,\n ldaps://b"}, "one with a line break"),
    ],
)  # fmt: skip
def test_what_would_find_other_groups_is_an_error(tmp_path: Path, properties: dict[str, str], message: str) -> None:
    told = error(tmp_path, properties)
    assert message in told
    assert "hunter2" not in told


def test_a_java_key_store_and_other_keys_of_no_effect_are_notes(tmp_path: Path) -> None:
    found = configuration(
        tmp_path, {**DIRECTORY, f"{LDAP}ssl.truststore": "/etc/ca.jks", f"{LDAP}num.attempts": "3", "fs.defaultFS": "x"}
    )
    assert [key.key.removeprefix(LDAP) for key in found.not_used] == ["ssl.truststore", "num.attempts"]


def test_the_file_of_a_password_and_ours_before_hadoops(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of-the-file\n")
    keys = {key: value for key, value in DIRECTORY.items() if not key.endswith("password")}
    found = configuration(tmp_path, {**keys, f"{LDAP}bind.password.file": str(secret)})
    assert found.settings.ldap.bind_password.reveal() == "of-the-file"
    both = configuration(tmp_path, {**DIRECTORY, f"{LDAP}bind.password.file": str(secret)})
    assert both.settings.ldap.bind_password.reveal() == "hunter2"  # as in Hadoop
    ours = configuration(tmp_path, DIRECTORY, '[ldap]\nbind_password = "ours"\n[groups]\nttl = 5\n')
    assert (ours.settings.ldap.bind_password.reveal(), ours.settings.groups.ttl) == ("ours", 5)
    assert ours.settings.ldap.bind_dn == "CN=reader"


def test_a_world_readable_file_with_the_password_is_named(tmp_path: Path) -> None:
    found = configuration(tmp_path, DIRECTORY)
    (tmp_path / "core-site.xml").chmod(0o644)
    assert configuration(tmp_path, DIRECTORY).exposed == (tmp_path / "core-site.xml",)
    assert found.settings.ldap.bind_password.reveal() == "hunter2"


def test_nothing_is_read_unless_it_is_named_and_that_is_said(tmp_path: Path) -> None:
    core_site(tmp_path, DIRECTORY)
    (tmp_path / "ranger-cdap-security.xml").write_text("<configuration/>")
    config = tmp_path / "ranger-cdap.toml"
    config.write_text(f'[hadoop]\nconf_dir = "{tmp_path}"\n')
    found = read_configuration(config, {})
    assert found.settings.groups.sources == ()
    assert [(key.key, "set `hadoop.core_site" in key.why) for key in found.not_used] == [(MAPPING, True)]


def test_a_file_that_is_named_must_be_there_and_be_one(tmp_path: Path) -> None:
    config = tmp_path / "ranger-cdap.toml"
    config.write_text(f'[hadoop]\ncore_site = "{tmp_path / "none.xml"}"\n')
    with pytest.raises(ConfigError, match=r"none\.xml` cannot be read"):
        read_configuration(config, {})
    config.write_text(f'[hadoop]\ncore_site = "{config}"\n')
    with pytest.raises(ConfigError, match="not a Hadoop configuration file"):
        read_configuration(config, {})


def test_the_command_shows_the_origin_and_masks_the_password(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configuration(tmp_path, {**DIRECTORY, f"{LDAP}num.attempts": "3"})
    assert main(["--config", str(tmp_path / "ranger-cdap.toml"), "config", "--json"]) == 0
    told = capsys.readouterr().out
    assert "hunter2" not in told
    shown = {row["setting"]: row for row in json.loads(told)["settings"]}
    assert shown["ldap.bind_dn"]["origin"].endswith(f"core-site.xml: {LDAP}bind.user")
    assert [row["key"] for row in json.loads(told)["not_used"]] == [f"{LDAP}num.attempts"]


def test_the_page_shows_settings_that_load(tmp_path: Path) -> None:
    directory, posix, _ = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    config = tmp_path / "ranger-cdap.toml"
    for text in (directory, directory.replace("nested_depth = 5\n", "") + posix.replace("[ldap]\n", "")):
        config.write_text(text.replace("file:/etc/ranger-cdap/ldap-password", "text"))
        assert read_configuration(config, {}).settings.groups.sources == ("ldap",)
