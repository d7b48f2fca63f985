"""Real servers on loopback, each for one run of the tests: HDFS and YARN in one JVM, and S3 with conditional writes."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.differential.java_engine import java_command

HDFS: Final = Path(__file__).parents[2] / "jvm" / "hdfs"
JARS: Final = HDFS / "target" / "jars"
VERSITYGW: Final = Path(__file__).parents[2] / ".venv" / "versitygw" / "versitygw"
KEY, SECRET, BUCKET = "cluster-test-key", "marked-cluster-secret-0123456789", "ledgers"
PATIENCE: Final = 90.0


class Hdfs:
    """HDFS at `root`, and YARN in the same process. `configuration`: for Hadoop's clients; `logs`: of containers."""

    def __init__(self, process: subprocess.Popen[str], directory: Path) -> None:
        self._process = process
        self.process = process.pid
        self.root = self._answer()
        self.configuration = directory / "conf"
        self.logs = directory / "target"

    def restart_name_node(self) -> None:
        """Stop the NameNode and start it again; return when it answers."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def hdfs_server(directory: Path) -> Iterator[Hdfs]:
    """HDFS and YARN, whose files are in `directory`."""
    if java_command() is None or not JARS.is_dir():
        pytest.skip("needs HDFS, fetched by `make test-cluster`")
    command = [java_command(), "-Xmx900m", "-cp", f"{JARS}/*", HDFS / "Hdfs.java", directory]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=directory
        )
    with process:
        try:
            server = Hdfs(process, directory)
            assert server.root.startswith("hdfs://"), (directory / "log").read_text()[-2000:]
            yield server
        finally:
            process.kill()


@contextmanager
def s3_server(directory: Path) -> Iterator[dict[str, str]]:
    """An S3 server with one bucket, `BUCKET`; the variables by which clients know it."""
    if not VERSITYGW.is_file():
        pytest.skip("needs an S3 server, built by `make test-cluster`")
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (directory / "data" / BUCKET).mkdir(parents=True)
    known = {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
    with (
        (directory / "log").open("wb") as log,
        subprocess.Popen(
            [VERSITYGW, "--port", address, "posix", directory / "data"], env=os.environ | known, stdout=log, stderr=log
        ) as process,
    ):
        try:
            _wait_for(f"http://{address}", process)
            yield {
                "AWS_ACCESS_KEY_ID": KEY,
                "AWS_SECRET_ACCESS_KEY": SECRET,
                "AWS_REGION": "us-east-1",
                "AWS_ENDPOINT_URL": f"http://{address}",
                "AWS_ALLOW_HTTP": "true",
            }
        finally:
            process.kill()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"nothing answers at {url}")
