"""The embedded Ranger Admin as a process: where it listens, what it keeps, how it ends, and its command."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ranger_cdap.errors import InvalidInput, ServerError
from ranger_cdap.testing.admin import EmbeddedAdmin, Store
from ranger_cdap.testing.admin.model.documents import AdminRole
from servicedef import service_definition
from tests.testing.admin.caller import PASSWORD, V2, Caller, policy
from tests.testing.admin.exchanges import basic, send

# As from a terminal: what a shell starts in the background ignores interrupts.
INTERRUPTIBLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
COMMAND = [
    sys.executable,
    "-c",
    f"{INTERRUPTIBLE}; from ranger_cdap.testing.command import embedded_admin as run; run()",
]


@contextmanager
def command(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command as a process of its own, and its address."""
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        assert process.stderr is not None
        first = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", first)
        assert found, first
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


def filled(url: str, password: str = PASSWORD) -> Caller:
    admin = Caller(url, password=password)
    assert admin("POST", f"{V2}/servicedef", service_definition())[0] == 200
    assert admin("POST", f"{V2}/service", {"name": "cdapdev", "type": "cdap"})[0] == 200
    return admin


# Where it listens


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.org", "", "127.0.0.1.example.org"])
def test_it_listens_on_this_machine_only(host: str) -> None:
    with pytest.raises(InvalidInput, match=r"not for production.*127\.0\.0\.1"):
        EmbeddedAdmin(admin_password=PASSWORD, host=host)


def test_an_empty_password_is_refused() -> None:
    with pytest.raises(InvalidInput, match="password"):
        EmbeddedAdmin(admin_password="")


def test_a_port_in_use_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ServerError, match=f"port `{port}` .* choose another port"):
            EmbeddedAdmin(admin_password=PASSWORD, port=port).start()


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("asgi_server", "http_connection", "http_exchange", "http_request"):
        monkeypatch.delitem(sys.modules, f"ranger_cdap.net.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "httptools", None)
    with pytest.raises(ServerError, match=r"`httptools` .* pip install 'ranger-cdap\[service\]'"):
        EmbeddedAdmin(admin_password=PASSWORD).start()


def test_it_can_be_stopped_twice_and_started_again() -> None:
    of_other_tests = set(threading.enumerate())
    admin = EmbeddedAdmin(admin_password=PASSWORD)
    for _ in range(2):
        admin.start()
        admin.start()
        assert Caller(admin.url)("GET", f"{V2}/service") == (200, [])
        admin.stop()
        admin.stop()
    with pytest.raises(ServerError, match="started"):
        _ = admin.url
    left = set(threading.enumerate()) - of_other_tests
    assert [thread for thread in left if thread.name == "embedded-admin"] == []


# What it keeps


def test_a_file_keeps_everything_but_the_password_that_is_given_anew(tmp_path: Path) -> None:
    database = tmp_path / "admin.sqlite"
    with EmbeddedAdmin(database, admin_password=PASSWORD) as server:
        admin = filled(server.url)
        admin.create_user("alice")
        made = admin("POST", f"{V2}/policy", policy(guid="my-guid"))[1]
    with EmbeddedAdmin(database, admin_password="Another-one-8") as server:
        assert Caller(server.url)("GET", f"{V2}/service")[0] == 401
        admin = Caller(server.url, password="Another-one-8")
        assert admin("GET", f"{V2}/policy/guid/my-guid")[1] == made
        assert admin.as_user("alice")("GET", f"{V2}/servicedef/name/cdap")[0] == 200


def test_a_download_notes_the_plugin_and_writes_nothing(tmp_path: Path) -> None:
    database = tmp_path / "admin.sqlite"
    with EmbeddedAdmin(database, admin_password=PASSWORD) as server:
        admin = filled(server.url)
        files = [database, database.with_name(f"{database.name}-wal")]
        before = [file.read_bytes() for file in files]
        path = "/service/plugins/secure/policies/download/cdapdev?lastKnownVersion=-1&pluginId=cdap@here-cdapdev"
        assert admin("GET", path)[0] == 200
        assert [row["hostName"] for row in admin("GET", f"{V2}/plugins/info")[1]] == ["here"]
        assert [file.read_bytes() for file in files] == before


def test_passwords_are_not_in_the_file(tmp_path: Path) -> None:
    database = tmp_path / "admin.sqlite"
    with EmbeddedAdmin(database, admin_password=PASSWORD) as server:
        filled(server.url).create_user("alice")
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert PASSWORD.encode() not in content
    assert b"alice" in content


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    with EmbeddedAdmin(tmp_path / "admin.sqlite", admin_password=PASSWORD):
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    text, foreign, nowhere = tmp_path / "notes.txt", tmp_path / "other.sqlite", tmp_path / "no" / "where"
    text.write_text("not a database, but long enough to look like one" * 100)
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE precious (x)")
    connection.commit()
    connection.close()
    for path in (text, foreign, nowhere):
        before = path.read_bytes() if path.exists() else None
        with pytest.raises(InvalidInput, match=re.escape(str(path))) as raised:
            EmbeddedAdmin(path, admin_password=PASSWORD).start()
        assert "Errno" not in str(raised.value)
        assert (path.read_bytes() if path.exists() else None) == before


def test_a_failing_handler_leaves_no_half_a_change() -> None:
    store = Store()

    def fail_half_way() -> None:
        with store.transaction() as tables:
            tables.principals.roles.insert(AdminRole(name="clerks"), None, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    with store.transaction() as tables:
        assert tables.principals.roles.all() == []
        assert tables.principals.counter("roles") == (1, 0)
    store.close()


def test_a_broken_database_is_an_answer_without_details(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    database = tmp_path / "admin.sqlite"
    with EmbeddedAdmin(database, admin_password=PASSWORD) as server:
        other = sqlite3.connect(database)
        other.execute("DROP TABLE service")
        other.close()
        where = {"authorization": basic("admin", PASSWORD)}
        status, headers, body = send(server.url, "GET", f"{V2}/service", headers=where, body=None)
        assert (status, headers["content-type"].partition(";")[0]) == (500, "text/html")
        assert b"table" not in body
        assert Caller(server.url)("GET", f"{V2}/servicedef")[0] == 200
    assert "no such table" in caplog.text
    assert "Traceback" not in caplog.text
    assert PASSWORD not in caplog.text


def test_a_kill_while_writing_loses_nothing_that_was_answered(tmp_path: Path) -> None:
    database = tmp_path / "admin.sqlite"
    answered: list[str] = []
    with command("--database", str(database), "--admin-password", "env:PW", PW=PASSWORD) as (process, url):
        admin = filled(url)
        admin.create_user("alice")
        enough = threading.Event()

        def write() -> None:
            for n in range(100_000):
                try:
                    status, answer = admin("POST", f"{V2}/policy", policy(f"p{n}", f"ns{n}"))
                except OSError:
                    return
                assert status == 200
                answered.append(answer["guid"])
                if n == 50:
                    enough.set()

        writer = threading.Thread(target=write)
        writer.start()
        assert enough.wait(60)
        process.send_signal(signal.SIGKILL)
        writer.join(60)
    with EmbeddedAdmin(database, admin_password=PASSWORD) as server:
        admin = Caller(server.url)
        kept = {row["guid"] for row in admin("GET", f"{V2}/service/cdapdev/policy?pageSize=1000000")[1]}
        assert len(answered) > 50
        assert set(answered) <= kept
        assert len(kept) <= len(answered) + 1
        version = admin("GET", f"{V2}/service/name/cdapdev")[1]["policyVersion"]
        assert version == 2 + len(kept)


# The command


def test_the_command_prints_a_random_password_once_and_ends_on_an_interrupt() -> None:
    with command() as (process, url):
        assert process.stdout is not None
        found = re.fullmatch(r"user: admin  password: (\S{16,})\n", process.stdout.readline())
        assert found
        assert Caller(url, password=found[1])("GET", f"{V2}/service") == (200, [])
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
        assert process.returncode == 0
        assert "Traceback" not in errors
        assert found[1] not in output + errors


def test_the_command_takes_a_password_from_the_environment_and_never_shows_it() -> None:
    with command("--admin-password", "env:PW", PW=PASSWORD) as (process, url):
        assert Caller(url)("GET", f"{V2}/service")[0] == 200
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
        assert PASSWORD not in output + errors


def test_the_command_refuses_a_password_on_the_command_line() -> None:
    from click.testing import CliRunner

    from ranger_cdap.testing.command import embedded_admin

    result = CliRunner().invoke(embedded_admin, ["--admin-password", "hunter2"])
    assert isinstance(result.exception, InvalidInput)
    assert "hunter2" not in str(result.exception)
