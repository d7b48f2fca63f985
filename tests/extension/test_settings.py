"""With which settings CDAP starts, and what its administrator reads otherwise."""

from __future__ import annotations

import base64
import time
from pathlib import Path

import pytest

from tests.extension.driver import Extension
from tests.extension.scripted_service import ALLOWED, ScriptedService
from tests.extension.secrets_in_text import SECRETS, secret_file

pytestmark = pytest.mark.java

PREFIX = "security.authorization.extension.config."
RANGES = "must be a whole number from"

BAD = {
    "no secret": ({"enforce.secret.file": ""}, "enforce.secret.file is missing: it names the file with the secret"),
    "a secret as setting": ({"enforce.secret": "x"}, "enforce.secret must go: settings are shown by CDAP"),
    "a password as setting": ({"password": "x"}, "password must go: settings are shown by CDAP"),
    "no web address": ({"url": "127.0.0.1:6500"}, "url is no address like http://127.0.0.1:6500"),
    "an address of a file": ({"url": "file:///etc/passwd"}, "url is no address like http://127.0.0.1:6500"),
    "an address without host": ({"url": "http:///x"}, "url is no address like http://127.0.0.1:6500"),
    "an address with a password": ({"url": "http://a:b@127.0.0.1"}, "url is no address like http://127.0.0.1:6500"),
    "plain http to another machine": ({"url": "http://10.0.0.5:6500"}, "url is http://10.0.0.5:6500, which others can"),
    "plain http to a name": ({"url": "http://localhost:6500"}, "url is http://localhost:6500, which others can"),
    "neither true nor false": ({"allow.plain.http": "yes"}, "allow.plain.http must be true or false"),
    "a name with a colon": ({"enforce.name": "a:b"}, "enforce.name must not hold a colon"),
    "no number": ({"read.timeout.ms": "5s"}, f"read.timeout.ms {RANGES} 1 to 60000"),
    "no time at all, which Java takes for all the time": ({"read.timeout.ms": "0"}, f"read.timeout.ms {RANGES} 1"),
    "too much time": ({"connect.timeout.ms": "60001"}, f"connect.timeout.ms {RANGES} 1 to 60000"),
    "less than no cache": ({"cache.seconds": "-1"}, f"cache.seconds {RANGES} 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_setting_is_told_in_a_sentence(
    name: str, extension: Extension, properties: dict[str, str], service: ScriptedService
) -> None:
    changed, sentence = BAD[name]

    refused = extension.command("initialize", properties=properties | changed)

    assert refused["error"] == "BadSetting"
    assert refused["text"].startswith(PREFIX + sentence)
    assert "a:b@" not in refused["text"]
    assert service.connections == 0


@pytest.mark.parametrize("role", ["enforce", "grant"])
@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_secret_file_may_be_its_owners_alone(
    role: str, mode: int, extension: Extension, properties: dict[str, str], tmp_path: Path
) -> None:
    file = secret_file(tmp_path, role)
    file.chmod(mode)

    assert extension.command("initialize", properties=properties | {f"{role}.secret.file": str(file)}) == {}


@pytest.mark.parametrize("role", ["enforce", "grant", "audit"])
@pytest.mark.parametrize(
    ("mode", "shown"),
    [
        (0o640, "rw-r-----"),
        (0o604, "rw----r--"),
        (0o644, "rw-r--r--"),
        (0o620, "rw--w----"),
        (0o602, "rw-----w-"),
        (0o601, "rw------x"),
        (0o700, "rwx------"),
        (0o777, "rwxrwxrwx"),
    ],
)
def test_a_secret_file_that_others_can_use_is_refused(
    role: str, mode: int, shown: str, newest: Extension, properties: dict[str, str], tmp_path: Path
) -> None:
    file = secret_file(tmp_path, role)
    file.chmod(mode)

    refused = newest.command("initialize", properties=properties | {f"{role}.secret.file": str(file)})

    assert refused["error"] == "BadSetting"
    assert refused["text"] == (
        f"{PREFIX}{role}.secret.file names {file}, which has the mode {shown}: only its owner may read it (chmod 600)"
    )


def test_a_link_to_a_secret_file_is_as_open_as_the_file(
    newest: Extension, properties: dict[str, str], tmp_path: Path
) -> None:
    file, link = secret_file(tmp_path, "enforce"), tmp_path / "link"
    link.symlink_to(file)
    assert newest.command("initialize", properties=properties | {"enforce.secret.file": str(link)}) == {}

    file.chmod(0o644)
    assert (
        "rw-r--r--" in newest.command("initialize", properties=properties | {"enforce.secret.file": str(link)})["text"]
    )


CONTENTS = {
    "nothing": (b"", "must hold one line with the secret"),
    "an empty line": (b"\n", "must hold one line with the secret"),
    "two lines": (b"a\nb\n", "must hold one line with the secret"),
    "a control character": (b"a\x07b", "must hold one line with the secret"),
    "a picture": (b"\x89PNG" * 1_000, "is too long for a secret"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_without_a_secret_is_refused(
    name: str, newest: Extension, properties: dict[str, str], tmp_path: Path
) -> None:
    content, sentence = CONTENTS[name]
    file = secret_file(tmp_path, "enforce")
    file.write_bytes(content)

    assert newest.command("initialize", properties=properties)["text"].endswith(sentence)


@pytest.mark.parametrize("content", ["{}", "{}\n", "{}\r\n"])
def test_the_line_end_is_no_part_of_the_secret(
    content: str, newest: Extension, service: ScriptedService, properties: dict[str, str], tmp_path: Path
) -> None:
    secret_file(tmp_path, "enforce").write_bytes(content.format(SECRETS["enforce"] + " \u00e4").encode())
    newest.start(properties)

    pair = base64.b64decode(service.hellos[0].headers["authorization"].removeprefix("Basic ")).decode()
    assert pair == f"cdap-enforce:{SECRETS['enforce']} \u00e4"


@pytest.mark.parametrize(
    "value", ["{folder}", "{folder}/missing", "relative", "/s3cret/+Value", "s3cretValue=", "a\0b"]
)
def test_what_is_no_file_is_not_shown_as_it_may_be_the_secret(
    value: str, extension: Extension, properties: dict[str, str], tmp_path: Path
) -> None:
    changed = {"enforce.secret.file": value.format(folder=tmp_path)}

    refused = extension.command("initialize", properties=properties | changed)

    assert refused["text"] in (
        f"{PREFIX}enforce.secret.file does not name a file by its path",
        f"{PREFIX}enforce.secret.file names a file that cannot be read (InvalidPathException)",
    )
    assert "s3cretValue" not in extension.log
    assert "s3cret/+Value" not in extension.log


def test_a_secret_is_read_again_when_its_file_changes(
    extension: Extension, service: ScriptedService, properties: dict[str, str], tmp_path: Path
) -> None:
    file = secret_file(tmp_path, "enforce")
    extension.start(properties)

    def sent(content: str | None, mode: int = 0o600) -> str:
        """The secret that is sent a second after the file came to hold this; nothing: it is gone."""
        file.unlink(missing_ok=True)
        if content is not None:
            file.write_text(content)
            file.chmod(mode)
        time.sleep(1.05)
        service.answers(ALLOWED)
        assert extension.enforce()["allowed"]
        return base64.b64decode(service.asked[-1].headers["authorization"].removeprefix("Basic ")).decode()

    assert sent("another-secret-0123\n") == "cdap-enforce:another-secret-0123"
    assert sent(None) == "cdap-enforce:another-secret-0123"
    assert sent("open-to-others-0123", 0o644) == "cdap-enforce:another-secret-0123"
    assert "rw-r--r--: only its owner may read it (chmod 600); the previous secret stays in use" in extension.log
    assert sent("a-third-secret-0123") == "cdap-enforce:a-third-secret-0123"
    assert "secret-0123" not in extension.log


def test_an_unknown_setting_is_named_and_does_nothing(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    passed_by_cdap = {"cache.max.entries": "150000", "cache.ttl.secs": "300"}
    assert extension.start(properties | passed_by_cdap | {"cache.second": "0"}) == {}

    assert f"{PREFIX}cache.second is no setting" in extension.log
    assert f"{PREFIX}cache.ttl.secs is no setting" not in extension.log


@pytest.mark.parametrize("suffix", ["", "/"])
def test_an_address_may_end_with_a_slash(
    suffix: str, newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties | {"url": service.url + suffix})
    service.answers(ALLOWED)

    assert newest.enforce()["allowed"]
    assert service.asked[0].path == "/cdap/v1/enforce"
