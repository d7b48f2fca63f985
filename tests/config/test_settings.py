"""Settings: precedence, unknown keys, secrets."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_origin

import msgspec
import pytest
from pages.settings import table_of

from ranger_cdap.config import Secret, Settings, Table, load_settings, read_configuration, resolve_secret
from ranger_cdap.errors import ConfigError

NOTIFIED = '[[sync.notify]]\nurl = "https://s"\ncaller = "c"\nsecret = "s"\n'


def write(path: Path, text: str) -> Path:
    file = path / "ranger-cdap.toml"
    file.write_text(text)
    return file


def test_the_environment_goes_before_the_file_and_the_file_before_the_default(tmp_path: Path) -> None:
    file = write(tmp_path, '[ranger]\nurl = "https://one:6182"\nservice = "a"\n')

    settings = load_settings(file, {"RANGER_CDAP_RANGER__URL": "https://two:6182"})

    assert settings.ranger.url == "https://two:6182"
    assert settings.ranger.service == "a"
    assert settings.cdap.instance == "cdap"


def test_without_a_file_the_defaults_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert load_settings(None, {}).ranger.service == "cdapdev"


def test_numbers_can_come_from_the_environment(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, ""), {"RANGER_CDAP_PLUGIN__POLL_INTERVAL": "2.5"})

    assert settings.plugin.poll_interval == 2.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[ranger]\nurll = "http://x"', "did you mean `ranger.url`"),
        ("[rangr]", "did you mean `ranger`"),
        ("[[sync.sources]]\nnme = 1", r"did you mean `sync.sources\[0\].name`"),
        ('[ranger]\nurl = "ftp://x"', "must be an address like `https://ranger.example:6182`"),
        ('[ranger]\nurl = "http://u:p@x"', "must not hold a user name"),
        ("[plugin]\npoll_interval = 0", "greater than zero"),
        ("[plugin]\npoll_interval = inf", "greater than zero"),
        ("[plugin]\npoll_interval = true", "poll_interval"),
        (
            "[plugin]\nonly_ranger_groups = true\nuse_ranger_groups = false",
            "`plugin.only_ranger_groups` needs `plugin.use_ranger_groups`",
        ),
        ('[sync.confirm]\nurl = "https://c"', "`sync.confirm.url` is set, so `sync.confirm.user` must be set too"),
        ('[sync.confirm]\nurl = "https://c"\nuser = "u"', "so `sync.confirm.caller` must be set too"),
        ('[sync.confirm]\nurl = "https://c"\nuser = "u"\ncaller = "c"', "so `sync.confirm.secret` must be set too"),
        (
            '[sync]\nkey_file = "k"',
            "`sync.key_file` is set and `sync.cert_file` is not; set both",
        ),
        ('[service]\ntls_probe_key = "k"', "`service.tls_probe_key` is set and `service.tls_probe_certificate` is not"),
        ("[[sync.notify]]", r"`sync.notify\[0\]`: object missing required field `url`"),
        ('[[sync.notify]]\nurl = "https://s"\ncaller = "c"', r"`sync.notify\[0\]`: .* missing required field `secret`"),
        ('[[sync.notify]]\ncaler = "c"', r"did you mean `sync.notify\[0\].caller`"),
        (NOTIFIED.replace('"c"', '""'), r"`sync.notify\[0\].caller` is empty; set it, or remove"),
        (NOTIFIED.replace('"s"', '""'), r"`sync.notify\[0\].secret` is empty"),
        (NOTIFIED.replace('"https://s"', '""'), r"`sync.notify\[0\].url` is empty"),
        ('[sync.confirm]\nurll = "x"', "did you mean `sync.confirm.url`"),
        ("[ranger", "is not TOML"),
        ('[plugin]\npassword = "file:/"', "secret file `/` cannot be read"),
        ('[plugin]\npassword = "file:"', "`file:` without a path"),
        ("[plugin]\npassword = 5", "`plugin.password`: expected a text, got a whole number"),
        ("[admin]\nusers = 5", "`admin.users`: expected a list"),
        ("[plugin]\nuse_ranger_groups = 'perhaps'", "`plugin.use_ranger_groups`: expected true or false, got a text"),
    ],
)
def test_a_bad_setting_is_one_sentence_that_names_it(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        load_settings(write(tmp_path, text), {})

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "environ", "message"),
    [
        (["ranger.ulr=x"], {}, "flag --set ranger.ulr: unknown setting `ranger.ulr`; did you mean `ranger.url`?"),
        (["ranger.attempts=0"], {}, "flag --set ranger.attempts: `ranger.attempts` must be greater than zero"),
        (["rangr.url=x"], {}, "flag --set rangr.url: unknown setting `rangr`; did you mean `ranger`?"),
        (
            [],
            {"RANGER_CDAP_RANGER__URL": "x"},
            "environment RANGER_CDAP_RANGER__URL: `ranger.url` must be an address like",
        ),
        (
            [],
            {"RANGER_CDAP_RANGER_URL": "x"},
            "environment RANGER_CDAP_RANGER_URL: it sets nothing; write `RANGER_CDAP_RANGER__URL`, with two",
        ),
        ([], {}, "file other.toml: `plugin.poll_interval`: expected a number, got a text"),
    ],
)
def test_an_error_names_the_place_where_the_value_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], environ: dict[str, str], message: str
) -> None:
    """Not only the file, which may be right, and not the environment when it is empty."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.toml").write_text('[plugin]\npoll_interval = "soon"' if not flags and not environ else "")

    with pytest.raises(ConfigError, match=re.escape(message)):
        read_configuration(Path("other.toml"), environ, flags)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[enforce]\noutside = "never"', "`enforce.outside`: invalid enum value 'never'; it is one of `"),
        ('[[service.callers]]\nname = "a"\nroles = ["king"]', "invalid enum value 'king'; it is one of `enforce`, `"),
    ],
)
def test_a_value_that_is_none_of_the_known_is_answered_with_these(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        load_settings(write(tmp_path, text), {})


def paths_of(struct: type[Table], place: str = "") -> Iterator[str]:
    """Yield the place of each setting that is a path; `[]` ends the name of a table of a list."""
    for field in msgspec.structs.fields(struct):
        inner = table_of(field.type)
        if inner is not None:
            yield from paths_of(inner, f"{place}{field.name}{'[]' if get_origin(field.type) is tuple else ''}.")
        elif Path in (field.type, *get_args(field.type)):
            yield f"{place}{field.name}"


@pytest.mark.parametrize("address", ["hdfs://namenode/x", "s3a://bucket/x", "file:///x", "s3://key:sesame@bucket/x"])
def test_no_setting_that_is_a_path_accepts_an_address(tmp_path: Path, address: str) -> None:
    places = list(paths_of(Settings))
    assert {"plugin.cache_dir", "sync.jars_dir"} < {*places}
    assert not {"sync.state_dir", "sync.sources[].path"} & {*places}
    wrong = []
    for place in places:
        table, _, key = place.rpartition(".")
        heading = f"[[{table[:-2]}]]\nname = 'a'\nkind = 'data-plane'" if table.endswith("[]") else f"[{table}]"
        file = write(tmp_path, f"{heading}\n{key} = '{address}'")
        try:
            load_settings(file, {})
        except ConfigError as e:
            said = str(e)
        else:
            said = "accepted"
        if f".{key}`: `{address.partition('/')[0]}//…` is an address" not in said or "sesame" in said:
            wrong.append((place, said))
    assert not wrong


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        load_settings(tmp_path / "other.toml", {})


def test_secrets_come_from_the_environment_a_file_or_the_text(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("from file\n")

    assert resolve_secret("env:X", {"X": "from env"}).reveal() == "from env"
    assert resolve_secret(f"file:{file}", {}).reveal() == "from file"
    assert resolve_secret("plain", {}).reveal() == "plain"
    assert resolve_secret("env:X", {"X": f"file:{file}"}).reveal() == "from file"
    for held in ("env:X", "env:Y"):  # else a loop would never end
        with pytest.raises(ConfigError, match="is not set"):
            resolve_secret("env:X", {"X": held, "Y": "from env"}).reveal()


def test_a_secret_is_never_printed(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, '[plugin]\npassword = "hunter2"'), {})

    assert "hunter2" not in f"{settings!r} {settings} {settings.plugin.password!r} {Secret('hunter2')}"
    assert settings.plugin.password == Secret("hunter2")


def test_cdap_is_asked_only_where_an_address_is_set(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[sync.confirm]\nuser = "u"\n')
    assert load_settings(config, {}).sync.confirm.url == ""
    config.write_text('[sync.confirm]\nurl = "https://c"\nuser = "u"\ncaller = "c"\nsecret = "env:S"\n')
    confirm = load_settings(config, {"S": "a secret"}).sync.confirm
    assert (confirm.url, confirm.secret.reveal()) == ("https://c", "a secret")
    assert "a secret" not in repr(confirm)
