"""Mutual TLS, with the service as it is: the extension shows its certificate, and everything else is denied."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from ranger_cdap.config import watched_files
from tests.certificates import FOR_SERVERS, Authority, Signed, pem_of, put
from tests.extension.driver import Extension, User, entity, missing_tool
from tests.extension.test_tls import options_to_trust
from tests.service.fixtures import READ_AND_WRITE, World, secret_of, serving

pytestmark = pytest.mark.java

PREFIX = "security.authorization.extension.config."
CERTIFICATE, KEY = "tls.certificate.file", "tls.key.file"
SERVER, TRUSTED, OTHER = Authority("authority of the server"), Authority("trusted"), Authority("other")
BRANCH = Authority("branch", above=TRUSTED)
KV = entity("DATASET", "ns1", "kv")
SET_ONE = f"it refused the TLS connection; if it requires a client certificate, set {PREFIX}{CERTIFICATE}"
CORRECT_IT = (
    f"it refused the TLS connection; the certificate of {PREFIX}{CERTIFICATE} must be valid, for clients, and of an "
    "authority in service.tls_client_ca"
)


@pytest.fixture(scope="module", params=["TLSv1.3", "TLSv1.2"])
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Extension]:
    """A Java that speaks that version only; Java 8 speaks TLS 1.2 by default."""
    if sentence := missing_tool():
        pytest.skip(sentence)
    trust = options_to_trust(SERVER, tmp_path_factory.mktemp("trust"))
    with Extension("6.11", *trust, f"-Djdk.tls.client.protocols={request.param}") as extension:
        yield extension


@pytest.fixture
def authorities(tmp_path: Path) -> Path:
    """What `service.tls_client_ca` names."""
    return put(tmp_path / "clients.pem", TRUSTED.pem)


@pytest.fixture
def world(authorities: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(watched_files, "LOOK_SECONDS", 0.0)
    certificate, key = SERVER.server().put(tmp_path / "service.pem", tmp_path / "service.key")
    tls = {"tls_certificate": certificate, "tls_key": key, "tls_client_ca": authorities}
    with serving(READ_AND_WRITE, tmp_path, **tls) as running:
        yield running


@pytest.fixture
def properties(world: World, offline: dict[str, str]) -> dict[str, str]:
    """For a service that trusts the clients of TRUSTED."""
    return offline | {"url": world.url}


@pytest.fixture
def offline(tmp_path: Path) -> dict[str, str]:
    """For a service that does not answer."""
    secret = put(tmp_path / "enforce", secret_of("enforce").encode())
    return {
        "url": "https://127.0.0.1:9",
        "cache.seconds": "0",
        "read.timeout.ms": "20000",
        "enforce.name": "enforce",
        "enforce.secret.file": str(secret),
    }


def shown(signed: Signed, folder: Path) -> dict[str, str]:
    """The settings for a certificate and its key."""
    certificate, key = signed.put(folder / "client.pem", folder / "client.key")
    return {CERTIFICATE: str(certificate), KEY: str(key)}


def decided(extension: Extension) -> str:
    """`allowed`, or what the user reads."""
    seen = extension.enforce(User("alice"), KV)
    return "allowed" if seen["allowed"] else seen["text"]


def without_chain(signed: Signed) -> Signed:
    end = b"-----END CERTIFICATE-----\n"
    return Signed(signed.chain.partition(end)[0] + end, signed.key)


RIGHT = {
    "an EC key": TRUSTED.client(),
    "an EC key of another curve": TRUSTED.client(key=ec.generate_private_key(ec.SECP384R1())),
    "an RSA key": TRUSTED.client(key=rsa.generate_private_key(65537, 2048)),
    "a chain": BRANCH.client(),
}
WRONG = {
    "of another authority": OTHER.client(),
    "expired": TRUSTED.client(days=-1),
    "for servers": TRUSTED.client(purpose=FOR_SERVERS),
    "a chain that is not complete": without_chain(BRANCH.client()),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_valid_certificate_of_the_authorities_is_accepted(
    name: str, machine: Extension, properties: dict[str, str], tmp_path: Path
) -> None:
    assert machine.command("initialize", properties=properties | shown(RIGHT[name], tmp_path)) == {}
    machine.start(properties | shown(RIGHT[name], tmp_path))
    assert decided(machine) == "allowed"


def test_without_a_certificate_all_is_denied_with_the_setting_that_is_missing(
    machine: Extension, properties: dict[str, str]
) -> None:
    machine.start(properties)
    assert SET_ONE in decided(machine)


@pytest.mark.parametrize("name", WRONG)
def test_with_a_wrong_certificate_all_is_denied_with_what_it_must_be(
    name: str, machine: Extension, properties: dict[str, str], tmp_path: Path
) -> None:
    machine.start(properties | shown(WRONG[name], tmp_path))
    assert CORRECT_IT in decided(machine)
    assert machine.visible([KV], User("alice"))["status"] == 503


@pytest.mark.parametrize("secret", ["another-secret-0123456789", secret_of("audit")])
def test_a_certificate_never_replaces_a_secret(
    secret: str, machine: Extension, properties: dict[str, str], tmp_path: Path
) -> None:
    put(Path(properties["enforce.secret.file"]), secret.encode())
    machine.start(properties | shown(TRUSTED.client("enforce"), tmp_path))
    assert "(HTTP status 401)" in decided(machine)


def test_authorities_and_certificates_change_while_both_run(
    machine: Extension, properties: dict[str, str], authorities: Path, tmp_path: Path
) -> None:
    files = shown(TRUSTED.client(), tmp_path)
    machine.start(properties | files)
    assert decided(machine) == "allowed"

    put(authorities, OTHER.pem)
    decided(machine)  # the last answer on the connection that is open
    assert CORRECT_IT in decided(machine)

    certificate, key = Path(files[CERTIFICATE]), Path(files[KEY])
    renewed = OTHER.client()
    put(certificate, renewed.chain)
    time.sleep(1.05)
    assert CORRECT_IT in decided(machine)
    assert f"{PREFIX}{KEY} names {key}, which does not hold the key of the certificate" in machine.log
    assert "the previous certificate stays in use" in machine.log
    put(key, renewed.key)
    time.sleep(1.05)
    assert decided(machine) == "allowed"

    for content in (b"", renewed.chain[:-30], b"hello"):
        put(certificate, content)
        time.sleep(1.05)
        put(authorities, OTHER.pem + content)
        assert decided(machine) == "allowed"


def cut(signed: Signed) -> bytes:
    return signed.chain[: -len(signed.chain) // 4]


OWN = TRUSTED.client()
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()
NO_CERTIFICATE = (
    f"{PREFIX}{CERTIFICATE} names {{certificate}}, which cannot be used: it must hold a certificate in PEM form"
)
NO_KEY = f"{PREFIX}{KEY} names {{key}}, which must hold one key in PEM form, as PKCS#8 and not encrypted"
ANOTHER = (
    f"{PREFIX}{KEY} names {{key}}, which does not hold the key of the certificate that {PREFIX}{CERTIFICATE} names"
)
GARBAGE = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
FILES: dict[str, tuple[bytes, bytes, str]] = {
    # the certificate's file, the key's file, what the administrator reads
    "no certificate": (b"", OWN.key, NO_CERTIFICATE),
    "a text": (b"hello", OWN.key, NO_CERTIFICATE),
    "a certificate that is cut off": (OWN.chain[:-40], OWN.key, NO_CERTIFICATE),
    "a chain that is cut off": (cut(BRANCH.client()), OWN.key, NO_CERTIFICATE),
    "a certificate of garbage": (GARBAGE, OWN.key, NO_CERTIFICATE),
    "a key instead": (OWN.key, OWN.key, NO_CERTIFICATE),
    "no key": (OWN.chain, b"", NO_KEY),
    "a key that is cut off": (OWN.chain, OWN.key[:-40], NO_KEY),
    "two keys": (OWN.chain, OWN.key * 2, NO_KEY),
    "an encrypted key": (OWN.chain, pem_of(EC_KEY, b"hunter2"), NO_KEY),
    "a key that is not PKCS#8": (
        OWN.chain, EC_KEY.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()), NO_KEY,
    ),
    "the key of another certificate": (OWN.chain, TRUSTED.client().key, ANOTHER),
    "a key of another kind": (OWN.chain, pem_of(rsa.generate_private_key(65537, 2048)), ANOTHER),
    "a key of another curve": (OWN.chain, pem_of(ec.generate_private_key(ec.SECP384R1())), ANOTHER),
    "a picture": (b"\x89PNG" * 30_000, OWN.key, f"{PREFIX}{CERTIFICATE} names {{certificate}}, which is too long"),
    "a key that is neither RSA nor EC": (
        TRUSTED.signed("client", key=ED_KEY).chain, OWN.key,  # type: ignore[arg-type]
        f"{PREFIX}{CERTIFICATE} names {{certificate}}, which cannot be used: its key must be one of RSA or EC",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_files_that_cannot_be_used_stop_the_start_in_one_sentence(
    name: str, newest: Extension, offline: dict[str, str], tmp_path: Path
) -> None:
    chain, key, sentence = FILES[name]
    files = shown(Signed(chain, key), tmp_path)

    refused = newest.command("initialize", properties=offline | files)

    assert refused["error"] == "BadSetting"
    assert refused["text"].startswith(sentence.format(certificate=files[CERTIFICATE], key=files[KEY]))
    lines = [line for line in key.decode().splitlines() if line and "-----" not in line]
    assert not [line for line in lines if line in refused["text"] + newest.log]


@pytest.mark.parametrize(
    ("mode", "refused"), [(0o600, False), (0o400, False), (0o640, True), (0o604, True), (0o620, True)]
)
def test_a_key_file_is_for_its_owner_only_and_a_certificate_for_anyone(
    mode: int, refused: bool, newest: Extension, offline: dict[str, str], tmp_path: Path
) -> None:
    files = shown(OWN, tmp_path)
    Path(files[CERTIFICATE]).chmod(0o644)
    Path(files[KEY]).chmod(mode)
    text = newest.command("initialize", properties=offline | files).get("text", "")
    assert text.startswith(f"{PREFIX}{KEY} names {files[KEY]}, which has the mode") == refused
    assert bool(text) == refused


def test_certificate_and_key_may_be_in_one_file(machine: Extension, properties: dict[str, str], tmp_path: Path) -> None:
    both = put(tmp_path / "both.pem", OWN.key + OWN.chain)
    machine.start(properties | {CERTIFICATE: str(both), KEY: str(both)})
    assert decided(machine) == "allowed"


SETTINGS = {
    "a certificate without a key": ({KEY: ""}, f"{CERTIFICATE} and tls.key.file go together"),
    "a key without a certificate": ({CERTIFICATE: ""}, f"{CERTIFICATE} and tls.key.file go together"),
    "no TLS": ({"url": "http://127.0.0.1:6500"}, f"{CERTIFICATE} needs TLS: url must begin with https"),
    "no file": ({KEY: "/nowhere/key.pem"}, f"{KEY} does not name a file by its path"),
    "a directory": ({CERTIFICATE: "/tmp"}, f"{CERTIFICATE} does not name a file by its path"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_do_not_fit_stop_the_start(
    name: str, newest: Extension, offline: dict[str, str], tmp_path: Path
) -> None:
    changed, sentence = SETTINGS[name]
    refused = newest.command("initialize", properties=offline | shown(OWN, tmp_path) | changed)
    assert (refused["error"], refused["text"].startswith(PREFIX + sentence)) == ("BadSetting", True)


def test_a_service_that_asks_for_none_is_asked_as_before(
    machine: Extension, properties: dict[str, str], tmp_path: Path
) -> None:
    certificate, key = tmp_path / "service.pem", tmp_path / "service.key"
    with serving(
        READ_AND_WRITE, tmp_path, events_dir=tmp_path / "others", tls_certificate=certificate, tls_key=key
    ) as world:
        for more in ({}, shown(OWN, tmp_path)):
            machine.start(properties | {"url": world.url} | more)
            assert decided(machine) == "allowed"
