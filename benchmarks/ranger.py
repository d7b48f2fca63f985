"""Ranger Admin for benchmarks: the embedded one as a process of its own, or a real one, with a service of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import servicedef
from ranger_cdap.config import Secret
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin

SERVICE, INSTANCE, ACCOUNT = "cdapbench", "cdap", "sync"
PASSWORD = Secret("Benchmark-Passw0rd")
"""Of the account, and of `admin` in the embedded one."""


def prepare(admin: RangerAdmin) -> None:
    """Create the service definition, the account and an empty service."""
    if admin.get_service_def("cdap") is None:
        admin.create_service_def(servicedef.service_definition())
    if not admin.user_exists(ACCOUNT):
        admin.create_user(ACCOUNT, PASSWORD)
    downloads = dict.fromkeys(("policy.download.auth.users", "tag.download.auth.users"), ACCOUNT)
    rights = {"service.admin.users": ACCOUNT, **downloads}
    if admin.get_service(SERVICE) is None:
        admin.create_service({"name": SERVICE, "type": "cdap", "isEnabled": True, "configs": rights})


@contextmanager
def server(url: str | None = None) -> Iterator[tuple[str, Secret]]:
    """Yield the address of a Ranger Admin, by default the embedded one, and the password of `admin`."""
    if url is not None:
        yield url, Secret(os.environ["RANGER_PASSWORD"])
        return
    with tempfile.TemporaryDirectory() as directory:
        database = str(Path(directory, "ranger.db"))
        command = [sys.executable, "-m", "ranger_cdap", "embedded-admin", "--port", "0", "--database", database]
        process = subprocess.Popen(
            [*command, "--admin-password", "env:BENCH_PASSWORD"],
            stderr=subprocess.PIPE,
            env={**os.environ, "BENCH_PASSWORD": PASSWORD.reveal()},
        )
        try:
            assert process.stderr is not None
            yield process.stderr.readline().decode().split()[-1], PASSWORD
        finally:
            process.terminate()  # a background job of a shell ignores SIGINT
            process.wait(20)
