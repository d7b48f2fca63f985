"""Which addresses get a credential: our verdict against where a client would really connect."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterator
from urllib.parse import urlsplit

import msgspec
import pytest
import urllib3
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ranger_cdap.config import (
    Address,
    Settings,
    Table,
    checked_address,
    configured_addresses,
    is_exposed,
    parse_settings,
)
from ranger_cdap.config.address import RANGER, AddressSetting, all_can_be_plain
from ranger_cdap.errors import ConfigError
from ranger_cdap.net.exchange import Exchange, NoResponse
from ranger_cdap.net.tls import TlsFiles
from tests.config.address_spellings import LOOPBACK, TRICKS, spellings


def accepted(url: str, plain_hosts: Collection[str] = ()) -> Address | None:
    try:
        return checked_address(url, RANGER, plain_hosts)
    except ConfigError:
        return None


@pytest.fixture(scope="module")
def dialled() -> Iterator[list[str]]:
    """The hosts that urllib3 is told to connect to; no connection is made."""
    hosts: list[str] = []

    def refuse(address: tuple[str, int], *_: object, **__: object) -> None:
        hosts.append(address[0])
        raise ConnectionRefusedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(urllib3.util.connection, "create_connection", refuse)
        yield hosts


@pytest.fixture(scope="module")
def exchange() -> Iterator[Exchange]:
    exchange = Exchange(TlsFiles(None), read_timeout=1.0)
    yield exchange
    exchange.close()


@settings(max_examples=1000)
@given(spellings())
@example("http://127.0.0.1:1@evil.example/")
def test_plain_http_without_permission_is_dialled_to_this_machine_only(
    exchange: Exchange, dialled: list[str], url: str
) -> None:
    address = accepted(url)
    if address is None or address.startswith("https:"):
        return
    with pytest.raises(NoResponse):
        exchange.ask(address, "GET", "/service", query=None, body=None, headers=None, largest=1)
    assert ipaddress.ip_address(dialled.pop()).is_loopback
    assert not is_exposed(address)


@settings(max_examples=1000)
@given(spellings())
def test_all_parsers_find_one_host_in_what_is_accepted(url: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ranger_cdap.config.address.can_be_plain", lambda *_: True)
        address = accepted(url)
    if address is None:
        return
    parts = urlsplit(address)
    assert parts.scheme in ("http", "https")
    assert (parts.username, parts.query, parts.fragment) == (None, "", "")
    assert (urllib3.util.parse_url(address).host or "").strip("[]").lower() == (parts.hostname or "")
    if parts.scheme == "http":
        assert is_exposed(address) == (accepted(url) is None)


@pytest.mark.parametrize("host", LOOPBACK)
@pytest.mark.parametrize("rest", ["", "/", ":6080", ":65535/", ":1/solr/ranger_audits"])
def test_this_machine_is_reached_by_plain_http(host: str, rest: str) -> None:
    assert accepted(f"http://{host}{rest}") == f"http://{host}{rest}".rstrip("/")


@pytest.mark.parametrize("url", TRICKS)
def test_what_only_looks_like_this_machine_is_refused(url: str) -> None:
    assert accepted(url) is None


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://ranger.example", "ranger.example"),
        ("http://Ranger.Example:6080/a", "ranger.example"),
        ("http://ranger.example", "RANGER.example"),
        ("http://10.0.0.5:6080/", "10.0.0.5"),
        ("http://localhost:6080", "localhost"),
        ("http://[fd00::5]", "fd00::5"),
        ("http://[FD00::5]:6080", "[fd00::5]"),
    ],
)
def test_plain_http_beyond_this_machine_is_for_named_hosts_only(url: str, host: str) -> None:
    with pytest.raises(ConfigError, match=r"use .*https://, or add `.*` to `network\.plain_hosts`") as caught:
        checked_address(url, RANGER, ["other.example"])
    assert host.lower() in str(caught.value).lower()
    assert checked_address(url, RANGER, ["other.example", host]) == url.rstrip("/")
    with pytest.raises(ConfigError, match=r"use .*https://$"):
        checked_address(url, AddressSetting("x", "https://x.example", permission=""), [host])


@pytest.mark.parametrize(
    "host",
    [
        "sub.ranger.example",
        "example",
        "anger.example",
        "ranger.example.evil.test",
        "ranger.example.",
        "ranger_example",
        "ranger-example",
        "ranger.exampl",
    ],
)
def test_a_named_host_is_compared_whole(host: str) -> None:
    assert accepted(f"http://{host}:6080", ["ranger.example"]) is None
    assert accepted("http://ranger.example:6080", [host]) is None


@pytest.mark.parametrize(
    "entry",
    ["", "*", "*.example.com", "http://solr.example", "solr.example:8983", "a b", "a/b", "user@host", "[]", "fd00:::1"],
)
def test_a_named_host_is_a_name_or_an_address(entry: str) -> None:
    with pytest.raises(ConfigError, match=r"^here: `network\.plain_hosts` must have host names or addresses"):
        parse_settings({"network": {"plain_hosts": [entry]}}, origin="here")
    named = parse_settings({"network": {"plain_hosts": "solr.example, 10.0.0.1, fd00::1"}}, origin="here")
    assert named.network.plain_hosts == ("solr.example", "10.0.0.1", "fd00::1")


def test_for_localhost_the_error_names_the_address_to_write() -> None:
    with pytest.raises(ConfigError, match=r"use 127\.0\.0\.1 for this machine"):
        checked_address("http://localhost:6080", RANGER)


@pytest.mark.parametrize("url", [*TRICKS, "http://127.0.0.1\nHost: evil.example"])
def test_a_refusal_is_one_line_that_names_the_setting(url: str) -> None:
    with pytest.raises(ConfigError, match=r"^`ranger.url` [^\n]+$"):
        checked_address(url, RANGER)


def test_an_error_shows_no_password() -> None:
    with pytest.raises(ConfigError, match="must not hold a user name or password") as caught:
        checked_address("http://name:hunter2@127.0.0.1", RANGER)
    assert "hunter2" not in str(caught.value)


def test_a_path_cannot_name_another_server(exchange: Exchange) -> None:
    """`http://127.0.0.1:6` and `@evil.example/` would become one address."""
    with pytest.raises(ValueError, match="another server"):
        exchange.ask(
            Address("http://127.0.0.1:6"), "GET", "@evil.example/", query=None, body=None, headers=None, largest=1
        )


# --- every setting that holds an address ----------------------------------------------------------------------------

PLAIN = "http://server.example:1"
HOLDERS = {
    # settings in which the one of that name is plain http
    "ranger.url": {"ranger": {"url": f"https://first.example, {PLAIN}"}},
    "audit.solr_url": {"audit": {"solr_url": PLAIN}},
    "audit.elasticsearch_url": {"audit": {"elasticsearch_url": f"https://first.example, {PLAIN}"}},
    "sync.sources[].url": {"sync": {"sources": [{"name": "n", "kind": "audit-messaging", "url": PLAIN}]}},
    "sync.confirm.url": {"sync": {"confirm": {"url": PLAIN, "user": "u", "caller": "c", "secret": "s"}}},
    "sync.confirm.decision_service": {"sync": {"confirm": {"decision_service": PLAIN}}},
    "sync.notify[].url": {"sync": {"notify": [{"url": PLAIN, "caller": "c", "secret": "s"}]}},
}


@pytest.mark.parametrize("setting", HOLDERS)
def test_each_setting_is_checked_when_it_is_read(setting: str) -> None:
    tables = HOLDERS[setting]
    with pytest.raises(ConfigError, match="others can read and change") as caught:
        parse_settings(tables, origin="file x.toml")
    assert str(caught.value).startswith(f"file x.toml: `{setting}` is `{PLAIN}`")
    named = tables | {"network": {"plain_hosts": ["server.example"]}}
    assert "add `server.example` to `network.plain_hosts`" in str(caught.value)
    permitted = parse_settings(named, origin="file x.toml")
    assert PLAIN in [url for _, url in configured_addresses(permitted) if is_exposed(url)]


def test_no_setting_holds_an_address_that_is_not_checked() -> None:
    """A field is one by its name or by the address in its default."""
    holders = set(_address_fields(Settings, ""))
    assert holders == {*HOLDERS}


def _address_fields(struct: type[Table], above: str) -> Iterator[str]:
    for field in msgspec.structs.fields(struct):
        inner = next((one for one in (field.type, *getattr(field.type, "__args__", ())) if _is_table(one)), None)
        if inner is not None:
            yield from _address_fields(inner, f"{above}{field.name}{'' if inner is field.type else '[]'}.")
        elif field.type is str and (field.name.endswith(("url", "_ui")) or "://" in str(field.default)):
            yield f"{above}{field.name}"


def _is_table(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Table)


def test_a_named_host_permits_no_other_one() -> None:
    named = {"network": {"plain_hosts": ["first.example"]}}
    for tables in HOLDERS.values():
        with pytest.raises(ConfigError, match="others can read"):
            parse_settings(named | tables, origin="x")


def test_the_defaults_stay_on_this_machine() -> None:
    assert not [url for _, url in configured_addresses(Settings()) if is_exposed(url)]
    assert not Settings().network.plain_hosts


HERE = st.sampled_from(["127.0.0.1", "127.9.9.9", "[::1]"])
ELSEWHERE = st.sampled_from(["localhost", "k1", "10.0.0.1", "127.1", "[::ffff:127.0.0.1]", "127.0.0.1.evil.test", "0"])


@given(st.lists(HERE), st.lists(ELSEWHERE), st.booleans(), st.randoms())
def test_one_server_elsewhere_is_enough_to_require_tls(
    here: list[str], elsewhere: list[str], port: bool, random: st.DataObject
) -> None:
    servers = [*here, *elsewhere]
    random.shuffle(servers)  # type: ignore[attr-defined]
    text = ",".join(f"{one}:9092" if port else one for one in servers)
    assert all_can_be_plain(text, ()) == (not elsewhere)
    assert all_can_be_plain(text, elsewhere)
    assert all_can_be_plain(text, elsewhere[1:]) == (set(elsewhere) == set(elsewhere[1:]))
