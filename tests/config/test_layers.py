"""Where settings come from: flags, environment, file, the Java plugin's files, defaults; and how that is shown."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import msgspec
import pytest

from ranger_cdap.cli.main import main
from ranger_cdap.config import Configuration, Settings, read_configuration
from ranger_cdap.errors import ConfigError

P = "ranger.plugin.cdap."


def xml(path: Path, properties: dict[str, str]) -> Path:
    entries = "".join(f"<property><name>{k}</name><value>{escape(v)}</value></property>" for k, v in properties.items())
    path.write_text(f'<?xml version="1.0"?><configuration>{entries}</configuration>')
    return path


def read(
    tmp_path: Path,
    *,
    security: dict[str, str] | None = None,
    audit: dict[str, str] | None = None,
    tls: dict[str, str] | None = None,
    toml: str = "",
    environ: dict[str, str] | None = None,
    flags: tuple[str, ...] = (),
) -> Configuration:
    conf = tmp_path / "conf"
    conf.mkdir()
    xml(conf / "ranger-cdap-security.xml", security or {})
    xml(conf / "ranger-cdap-audit.xml", audit or {})
    xml(conf / "ranger-policymgr-ssl.xml", tls or {})
    file = tmp_path / "ranger-cdap.toml"
    file.write_text(f'[hadoop]\nconf_dir = "{conf}"\n{toml}')
    return read_configuration(file, environ or {}, flags)


def test_each_place_goes_before_the_ones_below_it(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        security={
            P + "service.name": "of xml",
            P + "policy.rest.url": "https://xml:6182",
            P + "policy.rest.client.username": "xml",
            P + "policy.pollIntervalMs": "60000",
        },
        toml='[ranger]\nservice = "of file"\nurl = "https://file:6182"\n[plugin]\nusername = "file"',
        environ={"RANGER_CDAP_RANGER__SERVICE": "of env", "RANGER_CDAP_RANGER__URL": "https://env:6182"},
        flags=("ranger.service=of flag",),
    )

    settings = found.settings
    assert settings.ranger.service == "of flag"
    assert settings.ranger.url == "https://env:6182"
    assert settings.plugin.username == "file"
    assert settings.plugin.poll_interval == 60.0
    assert settings.cdap.instance == "cdap"
    assert found.origins["ranger.service"] == "flag --set ranger.service"
    assert found.origins["ranger.url"] == "environment RANGER_CDAP_RANGER__URL"
    assert found.origins["plugin.username"] == f"file {tmp_path / 'ranger-cdap.toml'}"
    assert found.origins["plugin.poll_interval"].endswith(f"ranger-cdap-security.xml: {P}policy.pollIntervalMs")
    assert "cdap.instance" not in found.origins


# a key of Java's files, its value, the setting and what that becomes
KEYS = [
    (P + "service.name", "cdapprod", "ranger.service", "cdapprod"),
    (P + "policy.rest.url", "https://a:6182,https://b:6182", "ranger.url", "https://a:6182,https://b:6182"),
    (P + "policy.rest.client.read.timeoutMs", "30500", "ranger.read_timeout", 30.5),
    (P + "policy.rest.client.max.retry.attempts", "3", "ranger.attempts", 4),
    (P + "policy.rest.client.username", "plugin", "plugin.username", "plugin"),
    (P + "policy.cache.dir", "/var/cache/cdap", "plugin.cache_dir", Path("/var/cache/cdap")),
    (P + "use.rangerGroups", "FALSE", "plugin.use_ranger_groups", False),
    (P + "supports.name.transformation", "TRUE", "plugin.transform_names", True),
    (P + "convert.emailToUser", "true", "plugin.email_to_user", True),
    ("xasecure.policymgr.clientssl.truststore", "/etc/ca.pem", "network.ca_file", "/etc/ca.pem"),
    (
        "xasecure.audit.destination.solr.urls",
        "https://s:8983/a, https://t:8983/a",
        "audit.solr_url",
        "https://s:8983/a, https://t:8983/a",
    ),
    ("xasecure.audit.destination.elasticsearch.index", "audits", "audit.elasticsearch_index", "audits"),
    ("xasecure.audit.destination.elasticsearch.user", "ranger", "audit.elasticsearch_username", "ranger"),
    (
        "xasecure.audit.destination.elasticsearch.urls",
        "127.0.0.1, 127.0.0.2",
        "audit.elasticsearch_url",
        "http://127.0.0.1:9200,http://127.0.0.2:9200",
    ),
    (
        "xasecure.audit.destination.elasticsearch.urls",
        "https://a.example:1",
        "audit.elasticsearch_url",
        "https://a.example:1",
    ),
    ("xasecure.audit.destination.hdfs.dir", "hdfs://nn:8020/ranger", "audit.hdfs_dir", "hdfs://nn:8020/ranger"),
    ("xasecure.audit.kafka.broker_list", "k1:9092,k2:9092", "audit.kafka_bootstrap", "k1:9092,k2:9092"),
    ("xasecure.audit.kafka.topic_name", "audits", "audit.kafka_topic", "audits"),
    ("xasecure.audit.kafka.is.enabled", "true", "audit.sinks", ("kafka",)),
    ("xasecure.audit.destination.kafka", "true", "audit.sinks", ("kafka",)),
    ("xasecure.audit.destination.kafka.batch.filespool.dir", "/spool", "audit.spool_dir", Path("/spool")),
    ("xasecure.audit.destination.hdfs", "true", "audit.sinks", ("hdfs",)),
    ("xasecure.audit.destination.elasticsearch", "true", "audit.sinks", ("elasticsearch",)),
    ("xasecure.audit.destination.solr", "true", "audit.sinks", ("solr",)),
    ("xasecure.audit.destination.solr", "false", "audit.sinks", ("file",)),
]


@pytest.mark.parametrize(("key", "text", "setting", "value"), KEYS)
def test_a_key_of_java_becomes_a_setting(tmp_path: Path, key: str, text: str, setting: str, value: object) -> None:
    settings = read(tmp_path, security={key: text}).settings

    table, _, name = setting.partition(".")
    assert getattr(getattr(settings, table), name) == value


@pytest.mark.parametrize(
    ("hosts", "more", "url"),
    [
        ("a, b", {"protocol": "https", "port": "9243"}, "https://a:9243,https://b:9243"),
        ("a", {"protocol": "https", "port": "NONE"}, "https://a:9200"),
        ("127.0.0.1", {"protocol": "NONE", "port": "1"}, "http://127.0.0.1:1"),
        ("NONE", {"protocol": "https"}, ""),
    ],
)
def test_hosts_protocol_and_port_become_addresses(tmp_path: Path, hosts: str, more: dict[str, str], url: str) -> None:
    below = {f"xasecure.audit.destination.elasticsearch.{key}": text for key, text in {"urls": hosts, **more}.items()}
    found = read(tmp_path, audit=below)
    assert found.settings.audit.elasticsearch_url == url
    assert not found.not_used


HDFS = "xasecure.audit.destination.hdfs."


def test_the_layout_that_ranger_has_by_default_is_not_reported(tmp_path: Path) -> None:
    default = {
        "subdir": "%app-type%/%time:yyyyMMdd%",
        "filename.format": "%app-type%_ranger_audit_%hostname%.log",
        "file.rollover.sec": "86400",
        "file.rollover.period": "1d",
    }
    assert not read(tmp_path, audit={f"{HDFS}{key}": text for key, text in default.items()}).not_used


def test_a_key_table_is_no_password(tmp_path: Path) -> None:
    """Ranger signs in by Kerberos where the password is the name of one; it must not be sent as a password."""
    table = tmp_path / "ranger.keytab"
    table.touch()
    key = "xasecure.audit.destination.elasticsearch.password"
    found = read(tmp_path, audit={key: str(table)})
    assert not found.settings.audit.elasticsearch_password.is_set
    (unused,) = found.not_used
    assert unused.why == "Kerberos is not supported there; set `audit.elasticsearch_password`"


@pytest.mark.parametrize(
    ("key", "text", "setting", "why"),
    [
        (
            "xasecure.policymgr.clientssl.truststore",
            "/etc/t.jks",
            "network.ca_file",
            "key stores are not supported",
        ),
        ("xasecure.policymgr.clientssl.keystore", "/etc/k.jks", "ranger.cert_file", "`ranger.cert_file`"),
        ("xasecure.policymgr.clientssl.keystore.credential.file", "jceks://file/etc/x", "ranger.key_file", "jceks"),
        (P + "policy.pollIntervalMs", "soon", "plugin.poll_interval", "value is invalid"),
        (P + "use.rangerGroups", "perhaps", "plugin.use_ranger_groups", "value is invalid"),
        (P + "policy.cache.dir", "/tmp/${user.name}", "plugin.cache_dir", "only Java resolves"),
        (P + "policy.source.impl", "org.apache.X", "ranger.service", "always downloaded by REST"),
        ("xasecure.audit.destination.amazon_cloudwatch", "true", "audit.sinks", "no equivalent setting"),
        ("xasecure.audit.destination.hdfs.config.fs.s3a.secret.key", "s3cr3t", "audit.hdfs_dir", "Hadoop's client"),
        ("xasecure.audit.destination.hdfs.subdir", "%time:yyyy%", "audit.hdfs_dir", "always in `cdap/yyyyMMdd` below"),
        (
            "xasecure.audit.destination.hdfs.filename.format",
            "a.log",
            "audit.hdfs_dir",
            "always named `cdap_ranger",
        ),
        ("xasecure.audit.destination.hdfs.file.rollover.period", "10m", "audit.hdfs_dir", "complete at midnight (UTC)"),
        ("xasecure.audit.destination.hdfs.file.rollover.sec", "3600", "audit.hdfs_dir", "complete at midnight (UTC)"),
        ("xasecure.audit.destination.solr.zookeepers", "z1:2181", "audit.solr_url", "list their addresses in `audit."),
        ("xasecure.audit.destination.solr.collection", "audits", "audit.solr_url", "the end of each address"),
        (P + "super.users", "mallory", "admin.users", "no equivalent setting"),
        (P + "policyengine.option.disable.tagpolicy.evaluation", "true", "plugin.username", "are always evaluated"),
    ],
)
def test_what_is_not_used_changes_nothing_and_is_told_without_its_value(
    tmp_path: Path, key: str, text: str, setting: str, why: str
) -> None:
    found = read(tmp_path, security={key: text})

    table, _, name = setting.partition(".")
    assert getattr(getattr(found.settings, table), name) == getattr(getattr(Settings(), table), name)
    assert [note.key for note in found.not_used] == [key]
    assert why in found.not_used[0].why
    assert text not in found.not_used[0].why


@pytest.mark.parametrize("switch", [None, "false", "true"])
def test_only_groups_of_ranger_count_where_java_counts_them(tmp_path: Path, switch: str | None) -> None:
    counted = {} if switch is None else {P + "use.rangerGroups": switch}
    found = read(tmp_path, security=counted | {P + "use.only.rangerGroups": "true"})
    assert found.settings.plugin.only_ranger_groups is (switch == "true")
    assert found.not_used == ()


@pytest.mark.parametrize("switch", [None, "false", "true"])
def test_what_java_did_not_use_as_its_switch_is_off_is_not_named(tmp_path: Path, switch: str | None) -> None:
    of = "xasecure.audit.db."
    off = {} if switch is None else {of + "is.enabled": switch}
    found = read(tmp_path, audit=off | {of + "is.async": "true", of + "async.max.queue.size": "10"})

    named = {note.key.removeprefix(of) for note in found.not_used}
    assert named == ({"is.enabled", "is.async", "async.max.queue.size"} if switch == "true" else set())


def test_both_forms_of_a_switch_are_one_sink(tmp_path: Path) -> None:
    both = {"xasecure.audit.kafka.is.enabled": "true", "xasecure.audit.destination.kafka": "true"}
    assert read(tmp_path, audit=both).settings.audit.sinks == ("kafka",)


@pytest.mark.parametrize("unset", ["", "NONE"])
def test_what_ranger_s_installer_was_not_told_is_not_set(tmp_path: Path, unset: str) -> None:
    found = read(tmp_path, audit={"xasecure.audit.destination.solr.urls": unset})

    assert found.settings.audit.solr_url == ""
    assert found.not_used == ()


def test_audit_goes_to_all_sinks_that_are_on_unless_it_is_off_as_a_whole(tmp_path: Path) -> None:
    on = {"xasecure.audit.destination.solr": "true", "xasecure.audit.destination.log4j": "true"}
    (tmp_path / "off").mkdir()

    assert read(tmp_path, audit=on).settings.audit.sinks == ("solr", "log")
    assert read(tmp_path / "off", audit={**on, "xasecure.audit.is.enabled": "false"}).settings.audit.sinks == ()


def test_a_final_value_counts_across_the_files_in_the_order_of_java(tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    audit = '<property name="xasecure.audit.is.enabled" value="false" final="true"/>'
    audit += '<property name="xasecure.audit.destination.solr" value="true"/>'
    security = f'<property name="{P}service.name" value="prod" final="true"/>'
    security += (
        f'<property name="{P}service.name" value="test"/><property name="xasecure.audit.is.enabled" value="true"/>'
    )
    conf.mkdir()
    for name, properties in {"audit": audit, "security": security}.items():
        (conf / f"ranger-cdap-{name}.xml").write_text(f"<configuration>{properties}</configuration>")
    settings = read_configuration(None, {"RANGER_CDAP_HADOOP__CONF_DIR": str(conf)}).settings
    assert (settings.ranger.service, settings.audit.sinks) == ("prod", ())


@pytest.mark.parametrize(
    ("key", "text", "setting", "told"),
    [
        (P + "service.name", "\n prod", "ranger.service", r"Java reads `'\n prod'`, with its blanks, and without"),
        (P + "service.name", "${env.SERVICE}", "ranger.service", "a variable that only Java resolves"),
        (P + "access.cluster.name", "east ", "plugin.cluster_name", "without them it would be `'east'`"),
        ("xasecure.audit.is.enabled", " true", "audit.sinks", "blanks around `true`"),
    ],
)
def test_a_key_that_decides_and_is_not_certain_must_be_set_here(
    tmp_path: Path, key: str, text: str, setting: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)) as caught:
        read(tmp_path, security={key: text})
    assert "\n" not in str(caught.value)
    file, value = tmp_path / "ranger-cdap.toml", "file" if setting == "audit.sinks" else "ours"
    found = read_configuration(file, {f"RANGER_CDAP_{setting.replace('.', '__').upper()}": value})
    assert [note.key for note in found.not_used] == [key]


def test_the_tls_file_is_found_where_the_security_file_says(tmp_path: Path) -> None:
    tls = xml(tmp_path / "elsewhere.xml", {"xasecure.policymgr.clientssl.truststore": "/etc/ca.pem"})
    security = xml(tmp_path / "ranger-cdap-security.xml", {P + "policy.rest.ssl.config.file": str(tls)})

    found = read_configuration(None, {"RANGER_CDAP_HADOOP__CONF_DIR": str(security.parent)})

    assert found.settings.network.ca_file == "/etc/ca.pem"


NAME = f"<property><name>{P}service.name</name><value>&e;</value></property>"
LAUGHS = f'<!DOCTYPE c [<!ENTITY e "ha">]><configuration>{NAME}</configuration>'
FOREIGN = f'<!DOCTYPE c [<!ENTITY e SYSTEM "file:///etc/hostname">]><configuration>{NAME}</configuration>'


@pytest.mark.parametrize("text", ["", "not xml", "<html/>", "<configuration>", LAUGHS, FOREIGN])
def test_what_is_no_hadoop_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ranger-cdap-security.xml"
    path.write_text(text)

    with pytest.raises(ConfigError, match="is not a Hadoop configuration file"):
        read_configuration(None, {"RANGER_CDAP_HADOOP__CONF_DIR": str(tmp_path)})


def test_a_directory_without_the_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there"):
        read_configuration(None, {"RANGER_CDAP_HADOOP__CONF_DIR": str(tmp_path / "nowhere")})


def test_every_row_of_the_table_names_a_setting_or_says_why_not() -> None:
    tables = {field.name: field.type for field in msgspec.structs.fields(Settings)}
    for key, row in tomllib.loads((files("ranger_cdap.config") / "hadoop.toml").read_text()).items():
        (kind,) = {"setting", "part_of", "unusable"} & row.keys()
        if kind != "unusable":
            table, _, name = row[kind].partition(".")
            assert name in tables[table].__struct_fields__, key


def test_lists_may_be_texts_with_commas_and_addresses_may_be_a_list(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        toml='[ranger]\nurl = ["https://a:6182", "https://b:6182"]',
        environ={"RANGER_CDAP_ADMIN__USERS": "ann, bob"},
    ).settings

    assert found.ranger.url == "https://a:6182,https://b:6182"
    assert found.admin.users == ("ann", "bob")


@pytest.mark.parametrize("flag", ["plugin.password=hunter2", "sync.password=hunter2", "audit.solr_password=hunter2"])
def test_no_secret_stands_on_the_command_line(flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="not allowed on the command line") as caught:
        read_configuration(None, {}, (flag,))
    assert "hunter2" not in str(caught.value)

    name = flag.split("=")[0]
    read_configuration(None, {"X": "hunter2"}, (f"{name}=env:X",))


@pytest.mark.parametrize("flag", ["service=x", "ranger.service", "=", "ranger.nothing=1", "a.b.c=1"])
def test_a_flag_that_is_no_setting_is_refused(flag: str) -> None:
    with pytest.raises(ConfigError):
        read_configuration(None, {}, (flag,))


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments, "config"]) == 0
    return capsys.readouterr().out


def test_config_show_has_every_setting_with_its_origin_and_no_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read(
        tmp_path,
        security={
            P + "service.name": "of xml",
            P + "policy.rest.client.password": "xml-secret",
            P + "odd": "odd-secret",
        },
        toml='[sync]\npassword = "toml-secret"\n[[sync.sources]]\nname = "a"\nkind = "k"\npath = "/p"',
    )
    config = ("--config", str(tmp_path / "ranger-cdap.toml"), "--set", "cdap.instance=prod")

    document: dict[str, Any] = json.loads(shown(capsys, *config, "--json"))
    table = shown(capsys, *config)

    rows = {row["setting"]: row for row in document["settings"]}
    assert rows.keys() == {
        f"{table.name}.{key}" for table in msgspec.structs.fields(Settings) for key in table.type.__struct_fields__
    }
    assert rows["cdap.instance"] == {
        "setting": "cdap.instance",
        "value": "prod",
        "origin": "flag --set cdap.instance",
    }
    assert rows["plugin.password"]["value"] == rows["sync.password"]["value"] == "*****"
    assert rows["audit.solr_password"]["value"] == ""
    assert rows["ranger.url"]["origin"] == "default"
    assert rows["sync.sources"]["value"][0]["path"] == "/p"
    assert [row["key"] for row in document["not_used"]] == [P + "odd"]
    assert not any(secret in json.dumps(document) + table for secret in ("xml-secret", "odd-secret", "toml-secret"))
    assert "of xml" in table
    assert P + "odd" in table
