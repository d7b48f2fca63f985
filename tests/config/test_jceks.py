"""Passwords in jceks files: the sentence on how to export one, and the two lines of the page, run as they are."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.config.core_site import core_site_layer
from ranger_cdap.config.jceks import PAGE, jceks_note
from ranger_cdap.config.secret import resolve_secret
from tests.config.test_layers import read, xml
from tests.differential.java_engine import CLASS_PATH, build, missing_tool
from tests.docs.markdown_pages import ROOT, text_of

STORE = "jceks://file/etc/ranger/cdap.jceks"
KEY = "xasecure.policymgr.clientssl.keystore.credential.file"


@pytest.mark.parametrize(
    ("provider", "alias", "said"),
    [
        (STORE, "sslKeyStore", "export `sslkeystore` of `/etc/ranger/cdap.jceks` by the two lines in"),
        ("localjceks://file/a.jceks", "a", "export `a` of `/a.jceks`"),
        (f"user:///,{STORE}", "a", "export `a` of `/etc/ranger/cdap.jceks`"),
    ],
)
def test_the_file_and_the_alias_are_named(provider: str, alias: str, said: str) -> None:
    note = jceks_note(provider, alias, "set `x`")
    assert said in note
    assert note.endswith(", and set `x`")
    assert PAGE in note


@given(st.text(), st.text())
def test_any_other_value_is_not_shown(provider: str, alias: str) -> None:
    """It might be a secret that stands at the wrong place."""
    assert jceks_note(provider, alias, "set `x`") == "a jceks file can be read by Java only; set `x`"


def test_ranger_s_file_says_what_to_export(tmp_path: Path) -> None:
    (note,) = read(tmp_path, tls={KEY: STORE}).not_used
    assert "export `sslkeystore` of `/etc/ranger/cdap.jceks`" in note.why
    assert "`ranger.key_file`" in note.why


def test_hadoop_s_core_site_says_what_to_export(tmp_path: Path) -> None:
    mapping = "hadoop.security.group.mapping"
    path = xml(
        tmp_path / "core-site.xml",
        {
            mapping: "org.apache.hadoop.security.LdapGroupsMapping",
            f"{mapping}.ldap.url": "ldaps://ldap.test",
            f"{mapping}.ldap.base": "dc=test",
            f"{mapping}.ldap.bind.user": "cn=hadoop,dc=test",
            f"{mapping}.ldap.bind.password.alias": "ldap.Bind",
            "hadoop.security.credential.provider.path": STORE,
        },
    )
    _, not_used = core_site_layer(path)
    (note,) = (one for one in not_used if one.key.endswith("password.alias"))
    assert "export `ldap.bind` of `/etc/ranger/cdap.jceks`" in note.why
    assert note.why.endswith("set `ldap.bind_password`")


# --- the two lines, run -----------------------------------------------------------------------------------------------

PASSWORD, HARD_PASSWORD = "S3cret", "Pä ss\"w'$rd\\`%" + "x" * 500


def by_keytool(store: Path, password: str) -> None:
    """A store of Java's own tool, which asks for the password twice."""
    command = ["keytool", "-importpass", "-storetype", "jceks", "-keystore", store, "-storepass", "changeit"]
    given_ = f"{password}\n{password}\n"
    subprocess.run([*command, "-alias", "mine"], input=given_, text=True, check=True, capture_output=True)


def by_hadoop(store: Path, password: str) -> None:
    """A store of `hadoop credential create`, by the class behind it."""
    command = ["java", "-cp", CLASS_PATH.read_text().strip(), "org.apache.hadoop.security.alias.CredentialShell"]
    made = [*command, "create", "Mine", "-value", password, "-provider", f"jceks://file{store}"]
    subprocess.run(made, check=True, capture_output=True)


def lines_of_the_page() -> str:
    found = re.search(
        r"### Passwords in a jceks file\n.*?```sh\n(.*?)```", text_of(ROOT / PAGE.partition("#")[0]), re.S
    )
    assert found is not None
    assert len(found[1].splitlines()) == 2
    return found[1]


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "password", "store_password"),
    # Java's own tool takes letters of ASCII only.
    [(by_keytool, PASSWORD, "changeit"), (by_hadoop, PASSWORD, "none"), (by_hadoop, HARD_PASSWORD, "none")],
)
def test_the_two_lines_export_the_password(
    make: Callable[[Path, str], None], password: str, store_password: str, tmp_path: Path
) -> None:
    if missing := missing_tool():
        pytest.skip(missing)
    build()
    store, target = tmp_path / "cdap.jceks", tmp_path / "password"
    make(store, password)
    lines = (
        lines_of_the_page()
        .replace("/etc/ranger/cdap.jceks", str(store))
        .replace("/etc/ranger-cdap/password", str(target))
        .replace('"none"', f'"{store_password}"')
        .replace('"sslkeystore"', '"mine"')
    )
    subprocess.run(["sh", "-euc", lines], check=True, capture_output=True)
    assert target.read_bytes() == password.encode()
    assert target.stat().st_mode & 0o777 == 0o600
    assert resolve_secret(f"file:{target}").reveal() == password
