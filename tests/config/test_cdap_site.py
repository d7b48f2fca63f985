"""`setup --from-cdap-site`: what CDAP's configuration proposes becomes settings as they stand, or a sentence."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.config import read_configuration
from ranger_cdap.config.cdap_site import DOCUMENTED, ProposedSetting, SiteProperty, SiteProposal, as_toml, proposal

SITE = {"instance.name": "prod", "security.authorization.admin.users": "ann, bob,", "hdfs.user": "yarn"}


def site(directory: Path, properties: dict[str, str]) -> Path:
    path = directory / "cdap-site.xml"
    rows = (f"<property><name>{k}</name><value>{escape(v)}</value></property>" for k, v in properties.items())
    path.write_text(f"<configuration>{''.join(rows)}</configuration>", encoding="utf-8")
    return path


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


@pytest.mark.parametrize("value", ["${instance}", "a\tb", "a\u202eb", "a\u0085b"])
def test_a_value_that_means_something_else_here_is_refused(
    value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["setup", "--from-cdap-site", str(site(tmp_path, {"instance.name": value}))]) == ExitCode.INVALID_INPUT
    assert "`instance.name` cannot be used as it is" in capsys.readouterr().err


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


def test_a_long_file_with_one_name_twice_has_the_last(tmp_path: Path) -> None:
    path = tmp_path / "cdap-site.xml"
    rows = "".join(f"<property><name>instance.name</name><value>{n}</value></property>" for n in range(1000))
    path.write_text(f"<configuration>{rows}</configuration>", encoding="utf-8")
    assert proposal(path).settings[0] == ProposedSetting("cdap.instance", "999", "instance.name")


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
    (found,) = (one.value for one in proposal(site(tmp_path, properties)).settings if one.name == "cdap.instance")
    assert found == instance


def test_the_folder_with_the_files_of_the_plugin_is_proposed(tmp_path: Path) -> None:
    conf = tmp_path / "ranger conf"
    conf.mkdir()
    (conf / "ranger-cdap-security.xml").write_text("<configuration/>")
    key = "security.authorization.extension.extra.classpath"
    named = f"relative:/nowhere/lib/*:{conf}/*"
    found = proposal(site(tmp_path, {key: named}))
    assert ProposedSetting("hadoop.conf_dir", str(conf), key) in found.settings
    assert found.others == ()
    elsewhere = proposal(site(tmp_path, {key: "/nowhere:${HOME}/conf"}))
    assert [one.name for one in elsewhere.others] == [key]
    assert "hadoop.conf_dir" not in {one.name for one in elsewhere.settings}


def test_every_other_property_about_authorization_has_its_fate(tmp_path: Path) -> None:
    found = proposal(
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
