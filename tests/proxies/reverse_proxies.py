"""HAProxy and nginx in front of `ranger-cdap console`, all three with what the production page shows."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from cryptography import x509

from tests.certificates import Authority
from tests.docs.markdown_pages import ROOT, blocks
from tests.service.http.raw_http import answer
from tests.service.serve_process import Served, configuration, ranger_admin, serve, until

PAGE: Final = ROOT / "docs/how-to/run-in-production.md"
UNPACKED: Final = ROOT / ".venv/proxies/root"
HOST: Final = "ranger-cdap.example.com"
PASSWORDS: Final = {"ann": "ann-signs-in", "eve": "eve-signs-in", "enforce": "a-person-with-that-name"}
"""Who can sign in at the proxy: a delegate, a caller without a role, and somebody who is named like CDAP's caller."""
SECRET: Final = "the-secret-of-the-proxy-0123456789"
PATIENCE: Final = 20.0
CONSOLE: Final = ("console", "--listen", "127.0.0.1:0")

# What the page leaves to the reader: the sections for all of HAProxy, and the file that includes nginx's.
_AROUND: Final = {
    "haproxy": "defaults\n  timeout connect 5s\n  timeout client 10s\n  timeout server 10s\n{page}",
    "nginx": "user {user};\npid {folder}/pid;\nerror_log {folder}/log;\nevents {{}}\n"
    "http {{\naccess_log off;\n{temporary}{page}}}\n",
}
_CALLS: Final = {"haproxy": ("-db", "-f"), "nginx": ("-g", "daemon off;", "-c")}
_NGINX_KEEPS: Final = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@dataclass(frozen=True)
class Reply:
    """A reply to a client: `reached` are those of the service, with the caller that its log names."""

    status: int
    reached: bool
    caller: str


@dataclass
class Behind:
    """The service, and the proxy before it."""

    service: Served
    port: int
    client: ssl.SSLContext

    def send(self, request: bytes) -> Reply:
        """Send the bytes of a request to the proxy."""
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as plain,
            self.client.wrap_socket(plain, server_hostname=HOST) as connection,
        ):
            connection.sendall(request)
            return self._heard(answer(connection))

    def send_directly(self, request: bytes) -> Reply:
        """Send them to the service, from the proxy's address."""
        with socket.create_connection(("127.0.0.1", self.service.port), timeout=PATIENCE) as connection:
            connection.sendall(request)
            return self._heard(answer(connection))

    def _heard(self, got: bytes) -> Reply:
        assert SECRET.encode() not in got
        head = got.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
        status = int(head[0].split()[1])
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        request_id = fields.get("x-request-id")
        # The log has what is refused only once a minute.
        if request_id is None or status in (401, 421):
            return Reply(status, request_id is not None, "")
        line: dict[str, Any] = until(lambda: next((x for x in self._log() if x.get("request_id") == request_id), {}))
        return Reply(status, True, str(line["caller"]))

    def _log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in list(self.service.log)]


@contextmanager
def behind(kind: str, folder: Path) -> Iterator[Behind]:
    """Run both; skips the test where there is no such proxy."""
    program, environment = _program(kind)
    with ranger_admin() as (admin, _), serve(_settings(folder, admin.url), folder, what=CONSOLE) as service:
        port = _free_port()
        authority = Authority("people")
        signed = authority.signed("proxy", x509.SubjectAlternativeName([x509.DNSName(HOST)]))
        (folder / "proxy.pem").write_bytes(signed.chain + signed.key)
        hashes = {name: _hash(password) for name, password in PASSWORDS.items()}
        (folder / "htpasswd").write_text("".join(f"{name}:{hashed}\n" for name, hashed in hashes.items()))
        # All that differs from the page.
        replaced = {
            ":443": f"127.0.0.1:{port}",
            "listen 443": f"listen 127.0.0.1:{port}",
            "127.0.0.1:6501": f"127.0.0.1:{service.port}",
            "SECRET-OF-THE-PROXY": SECRET,
            f"/etc/{kind}/ranger-cdap.pem": str(folder / "proxy.pem"),
            "/etc/nginx/ranger-cdap.htpasswd": str(folder / "htpasswd"),
            "user ann password HASH-OF-A-PASSWORD": "\n".join(f"user {n} password {h}" for n, h in hashes.items()),
        }
        text = _of_the_page("text", f"/etc/{kind}/")
        for old, new in replaced.items():
            text = text.replace(old, new)
        temporary = "".join(f"{name}_temp_path {folder / name};\n" for name in _NGINX_KEEPS)
        user = "root" if os.geteuid() == 0 else "nobody"
        file = folder / f"{kind}.conf"
        file.write_text(_AROUND[kind].format(page=text, folder=folder, temporary=temporary, user=user))
        with _running([str(program), *_CALLS[kind], str(file)], environment, port, folder / "said"):
            yield Behind(service, port, ssl.create_default_context(cadata=authority.pem.decode()))


def _program(kind: str) -> tuple[Path, dict[str, str]]:
    installed = shutil.which(kind, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if installed:
        return Path(installed), {}
    unpacked = UNPACKED / "usr/sbin" / kind
    if not unpacked.is_file():
        pytest.skip(f"{kind} is not installed, and `make test-proxies` has not unpacked it")
    libraries = ":".join(str(place) for each in ("lib", "usr/lib") for place in (UNPACKED / each).glob("*-linux-gnu*"))
    return unpacked, {"LD_LIBRARY_PATH": libraries}


def _of_the_page(language: str, shown: str) -> str:
    found = [block.text for block in blocks(PAGE, language) if shown in block.text]
    assert len(found) == 1, f"{len(found)} blocks of {PAGE.name} show {shown}"
    return found[0]


def _settings(folder: Path, ranger_url: str) -> Path:
    """The settings of the page, with the callers of a test and eve, who has no role."""
    service = tomllib.loads(_of_the_page("toml", "[service.proxy]"))["service"]
    proxy = {**service["proxy"], "secret": SECRET}
    changes = {f"service.proxy__{key}": json.dumps(value) for key, value in proxy.items()}
    file = configuration(folder, ranger_url, service__hosts=json.dumps(service["hosts"]), **changes)
    callers = [*service["callers"], {"name": "eve", "roles": []}]
    lines = [file.read_text()]
    for row in callers:
        lines += ["[[service.callers]]", *(f"{key} = {json.dumps(value)}" for key, value in row.items())]
    file.write_text("\n".join(lines))
    return file


@contextmanager
def _running(command: list[str], environment: dict[str, str], port: int, said: Path) -> Iterator[None]:
    with said.open("wb") as output:
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=output, stderr=output)
    try:
        until(lambda: _listens(port) or process.poll() is not None)
        assert process.poll() is None, said.read_text()
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def _hash(password: str) -> str:
    call = ["openssl", "passwd", "-5", password]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()
