"""Over https the service is asked only if its certificate is valid, trusted by Java and its own."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID
from extension_driver import Extension, missing_tool
from scripted_service import ALLOWED, DENIED, ScriptedService

pytestmark = pytest.mark.java

HERE = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
ELSEWHERE = x509.IPAddress(ipaddress.ip_address("127.0.0.2"))
PASSWORD = b"changeit"


class Authority:
    """A certification authority whose certificates Java trusts by the file it writes."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._number = 0
        ca = x509.BasicConstraints(ca=True, path_length=None)
        self.certificate = self._signed(self._name, self._key, ca, days=2)

    def _signed(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType, days: int
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        self._number += 1
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(self._name).public_key(key.public_key())
        builder = builder.serial_number(self._number).not_valid_before(now - timedelta(days=5))
        builder = builder.not_valid_after(now + timedelta(days=days)).add_extension(extension, critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def server(self, folder: Path, host: x509.GeneralName, days: int = 2) -> ssl.SSLContext:
        """What a server with a certificate for that host listens with."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "service")])
        certificate = self._signed(name, key, x509.SubjectAlternativeName([host]), days)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (folder / "server.pem").write_bytes(pem + certificate.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem")
        return context

    def trust_store(self, file: Path) -> Path:
        entry = pkcs12.PKCS12Certificate(self.certificate, b"authority")
        encryption = serialization.BestAvailableEncryption(PASSWORD)
        file.write_bytes(pkcs12.serialize_java_truststore([entry], encryption))
        return file


@pytest.fixture(scope="module")
def trusted() -> Authority:
    return Authority("trusted")


@pytest.fixture(scope="module")
def trusting(trusted: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Extension]:
    if sentence := missing_tool():
        pytest.skip(sentence)
    store = trusted.trust_store(tmp_path_factory.mktemp("trust") / "store.p12")
    options = (f"-Djavax.net.ssl.trustStore={store}", f"-Djavax.net.ssl.trustStorePassword={PASSWORD.decode()}")
    with Extension("6.11", *options) as extension:
        yield extension


def test_a_service_with_its_certificate_is_asked_over_one_connection(
    trusting: Extension, trusted: Authority, properties: dict[str, str], tmp_path: Path
) -> None:
    with ScriptedService(trusted.server(tmp_path, HERE)) as service:
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
    with ScriptedService(authority.server(tmp_path, host, -1 if wrong == "expired" else 2)) as service:
        trusting.start(properties | {"url": service.url})
        service.answers(ALLOWED)

        assert "(no connection)" in trusting.enforce()["text"]
        assert service.hellos == service.asked == []
