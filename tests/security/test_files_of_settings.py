"""Law: no file that a setting names is waited for; a pipe in its place is an error, or leaves in use what was read."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import pytest

from ranger_cdap.config import ServiceSettings, Settings, Table
from ranger_cdap.config.core_site import core_site_layer
from ranger_cdap.config.secret import resolve_secret
from ranger_cdap.errors import ConfigError
from ranger_cdap.ldap.connection import ldap_tls_context
from ranger_cdap.net.tls import show_certificate, tls_context
from ranger_cdap.service.http.server_tls import ServerTls
from spark_sync.sources.cdap_http import bearer_token
from tests.certificates import Authority

SOON = 10.0  # seconds, in which a busy machine opens a file


def shown(certificate: Path, key: Path | None = None) -> None:
    show_certificate(ssl.create_default_context(), certificate, key)


def server(directory: Path, **files: Path) -> ServerTls:
    certificate, key = Authority("here").server().put(directory / "certificate.pem", directory / "key.pem")
    return ServerTls(ServiceSettings(**{"tls_certificate": certificate, "tls_key": key, **files}))


def with_key(pipe: Path) -> None:
    certificate, _ = Authority("here").client().put(pipe.with_name("client.pem"), pipe.with_name("client.key"))
    shown(certificate, pipe)


Read = Callable[[Path], object]
READERS: dict[str, Read] = {
    "audit.kafka_cert_file": shown,
    "audit.kafka_key_file": with_key,
    "hadoop.core_site": core_site_layer,
    "network.ca_file": lambda pipe: tls_context(str(pipe), None, None),
    "ranger.cert_file": shown,
    "ranger.key_file": with_key,
    "service.tls_certificate": lambda pipe: server(pipe.parent, tls_certificate=pipe),
    "service.tls_client_ca": lambda pipe: server(pipe.parent, tls_client_ca=pipe),
    "service.tls_key": lambda pipe: server(pipe.parent, tls_key=pipe),
    "service.tls_probe_certificate": shown,
    "service.tls_probe_key": with_key,
    "sync.cert_file": shown,
    "sync.confirm.token_file": bearer_token,
    "sync.key_file": with_key,
    "sync.sources.token_file": bearer_token,
}
NOT_READ = {"sync.metrics_file"}
"""We write it."""
MORE: dict[str, Read] = {
    "a secret": lambda pipe: resolve_secret(f"file:{pipe}"),
    "the authorities of a directory": lambda pipe: ldap_tls_context(str(pipe)),
}


def files_of(table: str, struct: type[Table]) -> Iterator[str]:
    for field in msgspec.structs.fields(struct):
        inner: Any = get_args(field.type)[0] if get_origin(field.type) is tuple else field.type
        name = f"{table}.{field.name}".lstrip(".")
        if isinstance(inner, type) and issubclass(inner, Table):
            yield from files_of(name, inner)
        elif field.name.endswith(("_file", "_site", "_certificate", "_key", "_ca")):
            yield name


def test_every_setting_that_names_a_file_is_here() -> None:
    assert set(files_of("", Settings)) == READERS.keys() | NOT_READ


@pytest.mark.parametrize("name", READERS | MORE)
def test_a_pipe_in_place_of_a_file_is_an_error_at_once(tmp_path: Path, name: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[BaseException | None] = []

    def read() -> None:
        try:
            (READERS | MORE)[name](pipe)
            found.append(None)
        except Exception as e:
            found.append(e)

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    reading.join(SOON)
    (problem,) = found
    assert isinstance(problem, ConfigError)
    assert str(pipe) in str(problem)


def test_a_pipe_that_takes_the_place_of_a_certificate_leaves_it_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ranger_cdap.config.watched_files.LOOK_SECONDS", 0.0)
    tls = server(tmp_path)
    before = tls.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_side=True).context
    (tmp_path / "certificate.pem").unlink()
    os.mkfifo(tmp_path / "certificate.pem")
    reading = threading.Thread(target=tls.read_if_changed, daemon=True)
    reading.start()
    reading.join(SOON)
    assert not reading.is_alive()
    assert tls.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_side=True).context is before
