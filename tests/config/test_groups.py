"""The settings of groups: what would find the wrong user, or show a password, is refused with its place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ranger_cdap.config import LdapSettings, NetworkSettings, Settings
from ranger_cdap.config.group_checks import ldap_server
from ranger_cdap.config.loader import parse_settings, read_configuration
from ranger_cdap.config.secret_files import Program, check_secrets
from ranger_cdap.errors import ConfigError
from ranger_cdap.plugins.manager import plugin_manager

GOOD = {"urls": ["ldaps://dc.example"], "bind_dn": "CN=reader", "bind_password": "hunter2", "user_base": "dc=example"}


def parsed(ldap: dict[str, Any], groups: dict[str, Any] | None = None) -> Settings:
    return parse_settings({"groups": {"sources": ["ldap"], **(groups or {})}, "ldap": {**GOOD, **ldap}}, origin="here")


def test_settings_that_are_enough() -> None:
    assert parsed({}).ldap.urls == ("ldaps://dc.example",)


def test_plain_ldap_beyond_this_machine_is_for_named_hosts_only() -> None:
    tables = {"groups": {"sources": ["ldap"]}, "ldap": GOOD | {"urls": ["ldap://dc1.example", "ldap://DC2.example"]}}
    named = {"network": {"plain_hosts": ["DC1.example", "dc2.example"]}}
    assert parse_settings(tables | named, origin="here").ldap.urls == ("ldap://dc1.example", "ldap://DC2.example")
    with pytest.raises(ConfigError, match=r"`ldap\.urls` is `ldap://DC2\.example`.* add `DC2\.example` to `network"):
        parse_settings(tables | {"network": {"plain_hosts": ["dc1.example"]}}, origin="here")


@pytest.mark.parametrize(
    ("ldap", "allowed"),
    [
        ({"urls": ["ldap://127.0.0.1:389"]}, True),
        ({"urls": ["ldap://[::1]"]}, True),
        ({"urls": ["ldap://dc.example"], "start_tls": True}, True),
        ({"urls": ["ldap://dc.example"]}, False),
        ({"urls": ["ldap://localhost"]}, False),
        ({"urls": ["ldap://127.1"]}, False),
        ({"urls": ["ldaps://dc.example", "ldap://dc.example"]}, False),
        ({"urls": ["ldaps://dc.example"], "start_tls": True}, False),
        ({"urls": ["ldaps://user@dc.example"]}, False),
        ({"urls": ["ldaps://dc.example/dc=x"]}, False),
        ({"urls": ["ldaps://dc.example:0"]}, False),
        ({"urls": ["ldaps://dc.example:99999"]}, False),
        ({"urls": ["ldapi:///var/run"]}, False),
        ({"urls": ["http://dc.example"]}, False),
        ({"urls": []}, False),
        ({"bind_password": ""}, False),
        ({"bind_dn": ""}, False),
        ({"bind_dn": "", "bind_password": "", "anonymous": True}, True),
        ({"anonymous": True}, False),
        ({"user_base": ""}, False),
        ({"user_filter": "(uid={user})"}, True),
        ({"user_filter": "(|(uid={user})(mail={user}@example.com))"}, True),
        ({"user_filter": "(uid=alice)"}, False),
        ({"user_filter": "(uid={user}*)"}, False),
        ({"user_filter": "(uid=*{user})"}, False),
        ({"user_filter": "(&(uid={user})(cn=*{user}*))"}, False),
        ({"user_filter": "(uid={0})"}, False),
        ({"user_filter": "uid={user}"}, False),
        ({"user_filter": "(uid={user}))(|(uid=*)"}, False),
        ({"group_filter": "(cn={user})"}, False),
        ({"group_filter": "(a=b)(c=d)"}, False),
        ({"member_attribute": "member)(cn=*"}, False),
        ({"name_attribute": ""}, False),
        ({"gid_attribute": "gidNumber"}, True),
        ({"member_value": "uid", "nested_depth": 1}, False),
        ({"member_value": "uid", "in_chain": True}, False),
        ({"nested_depth": -1}, False),
        ({"nested_depth": 21}, False),
        ({"name_case": "title"}, False),
    ],
)
def test_what_a_directory_needs(ldap: dict[str, Any], allowed: bool) -> None:
    if allowed:
        parsed(ldap)
        return
    with pytest.raises(ConfigError, match=r"^here: `?") as raised:
        parsed(ldap)
    assert "hunter2" not in str(raised.value)
    assert parse_settings({"ldap": {**GOOD, **ldap, "name_case": "keep"}}, origin="unused")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"sources": ["lpad"]}, "no source of groups `lpad`"),
        ({"ttl": 0}, "`groups.ttl` must be greater than zero"),
        ({"negative_ttl": -1}, "`groups.negative_ttl` must be zero or greater"),
        ({"deadline": 61}, "must be at most 60"),
        ({"static": {"alice": "staff"}}, "`groups.static[...]`: expected a list"),
    ],
)
def test_what_groups_need(groups: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parsed({}, groups)
    assert message in str(raised.value)


def test_addresses_have_the_ports_of_their_schemes() -> None:
    assert ldap_server("ldap://dc.example/") == ("ldap", "dc.example", 389)
    assert ldap_server("ldaps://[::1]") == ("ldaps", "::1", 636)
    assert ldap_server("ldaps://dc.example:1636") == ("ldaps", "dc.example", 1636)


def test_everything_but_the_fixed_table_can_come_from_the_environment(tmp_path: Path) -> None:
    environ = {
        "RANGER_CDAP_GROUPS__SOURCES": "ldap, posix",
        "RANGER_CDAP_LDAP__URLS": "ldaps://a.example,ldaps://b.example",
        "RANGER_CDAP_LDAP__BIND_DN": "CN=reader",
        "RANGER_CDAP_LDAP__BIND_PASSWORD": "env:PASSWORD",
        "RANGER_CDAP_LDAP__USER_BASE": "dc=example",
        "PASSWORD": "hunter2",
    }
    (tmp_path / "c.toml").write_text('[groups]\nstatic = { etl = ["batch"] }\n')
    settings = read_configuration(tmp_path / "c.toml", environ).settings
    assert settings.groups.sources == ("ldap", "posix")
    assert settings.groups.static == {"etl": ("batch",)}
    assert settings.ldap.bind_password.reveal() == "hunter2"
    assert "hunter2" not in repr(settings)


def test_only_the_decision_service_needs_the_password_and_only_with_a_directory() -> None:
    missing = {"bind_password": "env:NOT_SET_HERE"}
    with pytest.raises(ConfigError, match="NOT_SET_HERE"):
        check_secrets(parsed(missing), Program.SERVICE)
    check_secrets(parsed(missing), Program.SYNC)
    check_secrets(parsed(missing, {"sources": []}), Program.SERVICE)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ldap3", None)
    with pytest.raises(ConfigError, match=r"pip install 'ranger-cdap\[ldap\]'"):
        plugin_manager(parsed({}))
    plugin_manager(Settings())


def test_authorities_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for file, why in ((tmp_path / "none.pem", "network.ca_file"), (empty, "PEM")):
        with pytest.raises(ConfigError, match=why):
            plugin_manager(msgspec.structs.replace(parsed({}), network=NetworkSettings(ca_file=str(file))))


def test_no_settings_no_hook() -> None:
    assert not plugin_manager(Settings()).hook.ranger_cdap_groups.get_hookimpls()
    assert plugin_manager(parsed({})).hook.ranger_cdap_groups.get_hookimpls()
    assert LdapSettings().urls == ()
