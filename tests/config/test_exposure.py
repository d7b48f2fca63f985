"""Files that hold a secret and that everybody on the machine can read are told, never the secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from ranger_cdap.config import read_configuration

TEXT = "Correct-Horse-1"
XML = "<configuration><property><name>{}</name><value>{}</value></property></configuration>"
PASSWORD_OF_JAVA = "ranger.plugin.cdap.policy.rest.client.password"

# what stands in the configuration file, in Java's, and which files hold a secret
FILES: list[tuple[str, str, str, set[str]]] = [
    ("no secret", '[plugin]\nusername = "svc"', "", set()),
    ("a password as it is", f'[plugin]\npassword = "{TEXT}"', "", {"ranger-cdap.toml"}),
    ("a password of another account", f'[sync]\npassword = "{TEXT}"', "", {"ranger-cdap.toml"}),
    ("a caller's", f'[[service.callers]]\nname = "c"\nroles = []\nsecret = "{TEXT}"', "", {"ranger-cdap.toml"}),
    (
        "an option of a source",
        f'[[sync.sources]]\nname = "k"\nkind = "k"\n[sync.sources.options]\n"kafka.x" = "{TEXT}"',
        "",
        {"ranger-cdap.toml"},
    ),
    ("a variable", '[plugin]\npassword = "env:PASSWORD"', "", set()),
    ("an empty password", '[plugin]\npassword = ""', "", set()),
    ("a file for the password alone", '[plugin]\npassword = "file:{here}/password"', "", {"password"}),
    ("a private key", '[ranger]\ncert_file = "c.pem"\nkey_file = "{here}/key.pem"', "", {"key.pem"}),
    ("a certificate with its key", '[ranger]\ncert_file = "{here}/key.pem"', "", {"key.pem"}),
    ("a key to show the service", '[sync]\ncert_file = "c.pem"\nkey_file = "{here}/key.pem"', "", {"key.pem"}),
    (
        "a secret to notify the service",
        '[[sync.notify]]\nurl = "https://s"\ncaller = "c"\nsecret = "file:{here}/password"',
        "",
        {"password"},
    ),
    ("a key to probe the service", '[service]\ntls_probe_certificate = "{here}/key.pem"', "", {"key.pem"}),
    ("Java's file", '[hadoop]\nconf_dir = "{here}"', PASSWORD_OF_JAVA, {"ranger-cdap-security.xml"}),
    (
        "one that does not count, because another goes before it",
        '[hadoop]\nconf_dir = "{here}"\n[plugin]\npassword = "env:PASSWORD"',
        PASSWORD_OF_JAVA,
        {"ranger-cdap-security.xml"},
    ),
    ("Java's file without a password", '[hadoop]\nconf_dir = "{here}"', "x", set()),
]


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o640, 0o600], ids=oct)
@pytest.mark.parametrize(("toml", "java", "holding"), [row[1:] for row in FILES], ids=[row[0] for row in FILES])
def test_a_file_that_holds_a_secret_is_not_for_everybody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, toml: str, java: str, holding: set[str], mode: int
) -> None:
    (tmp_path / "ranger-cdap.toml").write_text(toml.replace("{here}", str(tmp_path)))
    (tmp_path / "ranger-cdap-security.xml").write_text(XML.format(java, TEXT))
    for name in ("password", "key.pem"):
        (tmp_path / name).write_text(TEXT)
    for file in tmp_path.iterdir():
        file.chmod(mode)

    found = read_configuration(tmp_path / "ranger-cdap.toml", {"PASSWORD": TEXT})

    told = {file.name for file in found.exposed}
    assert told == (holding if mode & 0o004 else set())
    assert {name for name in holding | {"ranger-cdap.toml"} if f"{name}`" in caplog.text} == told
    assert TEXT not in caplog.text
