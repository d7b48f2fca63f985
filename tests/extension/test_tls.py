"""Over https the service is asked only if its certificate is valid, trusted by Java and its own."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from tests.certificates import ELSEWHERE, HERE, Authority, Signed
from tests.extension.driver import Extension, missing_tool
from tests.extension.scripted_service import ALLOWED, DENIED, ScriptedService

pytestmark = pytest.mark.java

PASSWORD = b"changeit"


def context_of(server: Signed, folder: Path) -> ssl.SSLContext:
    """What a server with that certificate listens with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*server.put(folder / "server.pem", folder / "server.key"))
    return context


def options_to_trust(authority: Authority, folder: Path) -> tuple[str, str]:
    """The options by which Java trusts servers of that authority and no others."""
    entry = pkcs12.PKCS12Certificate(authority.certificate, b"authority")
    store = folder / "store.p12"
    store.write_bytes(
        pkcs12.serialize_java_truststore([entry], serialization.BestAvailableEncryption(PASSWORD)),
    )
    return f"-Djavax.net.ssl.trustStore={store}", f"-Djavax.net.ssl.trustStorePassword={PASSWORD.decode()}"


@pytest.fixture(scope="module")
def trusted() -> Authority:
    return Authority("trusted")


@pytest.fixture(scope="module")
def trusting(trusted: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Extension]:
    if sentence := missing_tool():
        pytest.skip(sentence)
    with Extension("6.11", *options_to_trust(trusted, tmp_path_factory.mktemp("trust"))) as extension:
        yield extension


def test_a_service_with_its_certificate_is_asked_over_one_connection(
    trusting: Extension, trusted: Authority, properties: dict[str, str], tmp_path: Path
) -> None:
    with ScriptedService(context_of(trusted.server(), tmp_path)) as service:
        trusting.start(properties | {"url": service.url})
        service.answers(*[ALLOWED, DENIED] * 5)

        assert [trusting.enforce()["allowed"] for _ in range(10)] == [True, False] * 5
        assert {asked.connection for asked in service.asked} == {1}


@pytest.mark.parametrize("wrong", ["of another host", "expired", "of another authority"])
def test_a_service_with_a_wrong_certificate_hears_no_secret(
    wrong: str, trusting: Extension, trusted: Authority, properties: dict[str, str], tmp_path: Path
) -> None:
    authority = Authority("another") if wrong == "of another authority" else trusted
    host = ELSEWHERE if wrong == "of another host" else HERE
    server = authority.server(host, days=-1 if wrong == "expired" else 2)
    with ScriptedService(context_of(server, tmp_path)) as service:
        trusting.start(properties | {"url": service.url})
        service.answers(ALLOWED)

        assert "(no connection)" in trusting.enforce()["text"]
        assert service.hellos == service.asked == []
