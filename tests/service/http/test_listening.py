"""Where the decision service listens, with which certificate, and how it ends."""

from __future__ import annotations

import json
import signal
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from starlette.applications import Starlette

from ranger_cdap.config import ServiceSettings, watched_files
from ranger_cdap.errors import ConfigError
from ranger_cdap.net.asgi_server import AsgiServer
from ranger_cdap.service.http.server import HttpServer
from tests.service.event_samples import record, stored_in
from tests.service.fixtures import serving
from tests.service.http.raw_http import answer, head, status, under_way, until


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "192.168.0.1"])
def test_beyond_this_machine_it_listens_with_a_certificate_only(host: str) -> None:
    with pytest.raises(ConfigError, match="which other machines can reach"):
        HttpServer(ServiceSettings(host=host, port=0))


@pytest.mark.parametrize("host", ["ranger.example", "", "127.0.0.1.evil"])
def test_where_it_listens_is_an_address(host: str) -> None:
    with pytest.raises(ConfigError, match="must be an address"):
        HttpServer(ServiceSettings(host=host, port=0))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_it_serves_stops_the_server(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = AsgiServer.run

    def run_late(server: AsgiServer, listening: socket.socket) -> None:
        signal.raise_signal(number)
        run(server, listening)

    monkeypatch.setattr(AsgiServer, "run", run_late)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    server = HttpServer(ServiceSettings(port=0))
    try:
        server.run(Starlette())
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        server.stop()
        signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate of localhost, and its key."""
    return self_signed(tmp_path_factory.mktemp("tls"))


def self_signed(directory: Path, serial: int = 1) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"localhost {serial}")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate, key_file = directory / "certificate.pem", directory / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(_pem(key))
    return certificate, key_file


def _pem(key: Any, password: bytes | None = None) -> bytes:
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    found: bytes = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    return found


def test_with_a_certificate_it_speaks_tls_and_nothing_else(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    file, key = certificate
    with serving([], tmp_path, tls_certificate=file, tls_key=key) as world:
        address = urlsplit(world.url)
        assert address.scheme == "https"
        where = (address.hostname or "", address.port or 0)
        context = ssl.create_default_context(cafile=str(file))
        with (
            socket.create_connection(where, timeout=10) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as connection,
        ):
            assert connection.version() in ("TLSv1.2", "TLSv1.3")
            connection.sendall(head("GET /health/live HTTP/1.1"))
            assert status(answer(connection)) == 200
        with socket.create_connection(where, timeout=10) as plain:
            plain.sendall(head("GET /health/live HTTP/1.1"))
            with pytest.raises((IndexError, ConnectionError)):
                status(answer(plain))


def test_a_certificate_that_can_not_be_used_is_told_at_the_start(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    file, key = certificate
    garbage, locked, other = tmp_path / "garbage", tmp_path / "locked", tmp_path / "other"
    garbage.write_text("hello")
    locked.write_bytes(_pem(ec.generate_private_key(ec.SECP256R1()), b"password"))
    other.write_bytes(_pem(ec.generate_private_key(ec.SECP256R1())))
    for pair in ((garbage, key), (file, garbage), (file, locked), (file, other), (tmp_path / "none", key)):
        with pytest.raises(ConfigError, match="cannot be used"):
            HttpServer(ServiceSettings(port=0, tls_certificate=pair[0], tls_key=pair[1]))
    with pytest.raises(ConfigError, match="must be set together"):
        HttpServer(ServiceSettings(port=0, tls_certificate=file))


def test_a_new_certificate_is_used_without_a_restart_and_nobody_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under load: every connection finds the one before or the one after, also while the files do not fit together."""
    monkeypatch.setattr(watched_files, "LOOK_SECONDS", 0.0)
    pairs = []
    for serial in range(1, 5):
        (tmp_path / str(serial)).mkdir()
        pairs.append(self_signed(tmp_path / str(serial), serial))
    trusted = "".join(file.read_text() for file, _ in pairs)
    used = tmp_path / "used.pem", tmp_path / "used.key"

    def put(pair: tuple[Path, Path]) -> None:
        for source, target in zip(pair, used, strict=True):
            (beside := target.with_suffix(".new")).write_bytes(source.read_bytes())
            beside.replace(target)

    put(pairs[0])
    with serving([], tmp_path, tls_certificate=used[0], tls_key=used[1]) as world:
        address = urlsplit(world.url)
        context = ssl.create_default_context(cadata=trusted)

        def asked(_: object = None) -> int:
            with (
                socket.create_connection((address.hostname or "", address.port or 0), timeout=20) as plain,
                context.wrap_socket(plain, server_hostname="localhost") as connection,
            ):
                connection.sendall(head("GET /health/live HTTP/1.1"))
                assert status(answer(connection)) == 200
                shown = connection.getpeercert(binary_form=True)
                assert shown
                return x509.load_der_x509_certificate(shown).serial_number

        seen = [asked()]
        with ThreadPoolExecutor(4) as crowd:
            for pair in pairs[1:]:
                meanwhile = crowd.map(asked, range(20))
                put(pair)
                seen += meanwhile
                seen.append(asked())
        assert (seen[0], seen[21], seen[42], seen[63]) == (1, 2, 3, 4)
        assert set(seen) == {1, 2, 3, 4}

        used[0].write_text("hello")
        assert asked() == 4, "what cannot be used changes nothing"


# --- the end ------------------------------------------------------------------------------------------------------


def test_a_stop_finishes_the_request_under_way_and_hands_its_records_over(tmp_path: Path) -> None:
    body = json.dumps({"records": [record(1)]}).encode()
    service = ExitStack()
    world = service.enter_context(serving([], tmp_path))
    address = urlsplit(world.url)
    where = (address.hostname or "", address.port or 0)
    with socket.create_connection(where, timeout=10) as slow:
        slow.sendall(head("POST /cdap/v1/audit HTTP/1.1", f"Content-Length: {len(body)}", who="audit") + body[:5])
        under_way(world, 1)
        stopping = threading.Thread(target=service.close)
        stopping.start()
        until(lambda: refuses(where))
        slow.sendall(body[5:])
        assert status(answer(slow)) == 200
    stopping.join(30)
    assert not stopping.is_alive()
    assert [line["record"] for line in stored_in(tmp_path / "events")] == [record(1)]


def refuses(where: tuple[str, int]) -> bool:
    try:
        socket.create_connection(where, timeout=10).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # it stopped listening with this connection in its queue
        return False
    return False


def test_a_stop_right_after_the_start_ends_it(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with serving([], tmp_path):
        pass
    assert not [thread.name for thread in threading.enumerate() if thread not in before]
