"""Certification authorities, and the certificates they sign, as the PEM files that servers and clients are given."""

from __future__ import annotations

import inspect
import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

HERE = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
ELSEWHERE = x509.IPAddress(ipaddress.ip_address("127.0.0.2"))
FOR_CLIENTS, FOR_SERVERS = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH


@dataclass(frozen=True)
class Signed:
    """A certificate with the chain above it but the root, and its key, as PEM."""

    chain: bytes
    key: bytes

    def put(self, certificate: Path, key: Path) -> tuple[Path, Path]:
        """Replace both files, each as a whole; the key is for its owner only."""
        put(certificate, self.chain)
        put(key, self.key)
        return certificate, key


class Authority:
    """A certification authority; with `above` one whose certificate that other one has signed."""

    def __init__(self, name: str, above: Authority | None = None, days: float = 2) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        ca = x509.BasicConstraints(ca=True, path_length=None)
        signs = dict.fromkeys(inspect.signature(x509.KeyUsage).parameters, False) | {
            "key_cert_sign": True,
            "crl_sign": True,
        }
        self.certificate = (above or self)._sign(self._name, self._key, [ca, x509.KeyUsage(**signs)], days)
        self._chain = [*above._chain, self.pem] if above else []

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def revoked(self) -> bytes:
        """A list of revoked certificates, which is empty."""
        now = datetime.now(UTC)
        builder = x509.CertificateRevocationListBuilder().issuer_name(self._name)
        builder = builder.last_update(now).next_update(now + timedelta(days=1))
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def signed(
        self,
        name: str,
        *extensions: x509.ExtensionType,
        days: float = 2,
        key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | None = None,
    ) -> Signed:
        key = key or ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        own = self._sign(subject, key, extensions, days).public_bytes(serialization.Encoding.PEM)
        return Signed(own + b"".join(reversed(self._chain)), pem_of(key))

    def server(self, host: x509.GeneralName = HERE, days: float = 2) -> Signed:
        """For a server at that host."""
        return self.signed("service", x509.SubjectAlternativeName([host]), days=days)

    def client(
        self,
        name: str = "client",
        *,
        days: float = 2,
        purpose: x509.ObjectIdentifier = FOR_CLIENTS,
        key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | None = None,
    ) -> Signed:
        """For a client, unless `purpose` says otherwise."""
        return self.signed(name, x509.ExtendedKeyUsage([purpose]), days=days, key=key)

    def _sign(self, subject: x509.Name, key: Any, extensions: Any, days: float) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=50))
        builder = builder.not_valid_after(now + timedelta(days=days))
        # Python 3.13 refuses a certificate without these.
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        for extension in (*extensions, x509.SubjectKeyIdentifier.from_public_key(key.public_key()), issuer):
            critical = isinstance(extension, x509.BasicConstraints | x509.KeyUsage)
            builder = builder.add_extension(extension, critical=critical)
        return builder.sign(self._key, hashes.SHA256())


def pem_of(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, password: bytes | None = None) -> bytes:
    """A private key in PKCS#8."""
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


def put(file: Path, content: bytes) -> Path:
    """Replace a file as a whole, for its owner only."""
    beside = file.with_name(f"{file.name}.new")
    beside.write_bytes(content)
    beside.chmod(0o600)
    return beside.replace(file)
