"""The script that takes pictures of Ranger's web UI, against a page server with the selectors of Ranger's React source.

No Ranger web UI was run: the server stands for it, with the login of `login.jsp` and, for each route, what the script
waits for. With a driver and Chromium the whole script runs; without them, all that comes before the browser.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.docs.markdown_pages import ROOT

SCRIPT = ROOT / ".ci" / "ranger_screenshots.py"
PASSWORD = "Right-Pass-1"
ANSWERS: dict[str, Any] = {
    "/service/public/v2/api/service/name/cdapdev": {"id": 4, "type": "cdap"},
    "/service/public/v2/api/servicedef/name/cdap": {"id": 203},
    "/service/public/v2/api/service/cdapdev/policy": [{"id": 12}, {"id": 9}],
}
LOGIN = """<form><input id=username><input id=password type=password><button id=signIn type=button
onclick="location.replace('index.html')">Sign In</button></form>"""
# Each route of React's router shows what Ranger's component has: data-name, data-cy, a table.
INDEX = """<div id=app></div><script>
const pages = {
  '#/policymanager/resource': '<button data-name=viewService>view</button>',
  '#/service/203/edit/4': '<button data-cy=save>Save</button>',
  '#/service/4/policies/0': '<button data-cy=addNewPolicy>Add New Policy</button>',
  '#/service/4/policies/create/0': '<input data-cy=policyName>',
  '#/service/4/policies/9/edit': '<input data-cy=policyName value=nine>',
  '#/reports/audit/pluginStatus': '<div class=table-responsive><table><tr><td>cdap</td></tr></table></div>',
};
const show = () => { app.innerHTML = pages[location.hash] || ''; };
addEventListener('hashchange', show); show();
</script>"""
needs_browser = pytest.mark.skipif(
    importlib.util.find_spec("playwright") is None or shutil.which("chromium") is None,
    reason="needs Chromium and playwright",
)


class Pages(BaseHTTPRequestHandler):
    index = INDEX

    def do_GET(self) -> None:
        status, body = 200, {"/login.jsp": LOGIN, "/index.html": self.index}.get(self.path.partition("#")[0], "")
        if self.path.startswith("/service/"):
            allowed = self.headers.get("Authorization") == self.server.expected  # type: ignore[attr-defined]
            found = ANSWERS.get(self.path)
            status, body = (401, "{}") if not allowed else (200, json.dumps(found)) if found else (404, "{}")
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if self.path.startswith("/service/") else "text/html")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def ranger() -> Iterator[str]:
    yield from served(Pages)


@pytest.fixture
def other_release() -> Iterator[str]:
    yield from served(type("Other", (Pages,), {"index": INDEX.replace("addNewPolicy", "another")}))


def served(handler: type[Pages]) -> Iterator[str]:
    from base64 import b64encode

    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.expected = f"Basic {b64encode(f'admin:{PASSWORD}'.encode()).decode()}"  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def run(out: Path, **given: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RANGER_")}
    return subprocess.run(
        [sys.executable, SCRIPT, str(out)],
        env={**plain, "RANGER_PAGE_SECONDS": "5", **given},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def refusal(out: Path, **given: str) -> str:
    """What it says as it refuses: one line, no secret, and no picture."""
    ended = run(out, **given)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.count("\n") == 1, ended.stderr
    assert PASSWORD not in ended.stderr
    assert not list(out.iterdir())
    return ended.stderr


@pytest.mark.parametrize("given", [{}, {"RANGER_URL": "http://127.0.0.1:1"}, {"RANGER_PASSWORD": PASSWORD}])
def test_without_an_address_or_a_password_it_says_what_to_set(tmp_path: Path, given: dict[str, str]) -> None:
    assert "set RANGER_URL and RANGER_PASSWORD" in refusal(tmp_path, **given)


def test_nobody_there_and_a_wrong_password_are_told_apart(tmp_path: Path, ranger: str) -> None:
    assert "does not answer" in refusal(tmp_path, RANGER_URL="http://127.0.0.1:1", RANGER_PASSWORD=PASSWORD)
    assert "rejects the login of `admin`" in refusal(tmp_path, RANGER_URL=ranger, RANGER_PASSWORD="wrong")
    found = refusal(tmp_path, RANGER_URL=ranger, RANGER_PASSWORD=PASSWORD, RANGER_SERVICE="other")
    assert "returned HTTP 404; does RANGER_SERVICE exist" in found


@needs_browser
def test_every_step_is_a_picture(tmp_path: Path, ranger: str) -> None:
    ended = run(tmp_path, RANGER_URL=ranger + "/", RANGER_PASSWORD=PASSWORD)
    assert (ended.returncode, ended.stderr) == (0, "")
    pictures = [Path(line) for line in ended.stdout.splitlines()]
    assert [one.name for one in pictures] == [
        "ranger-services.png",
        "ranger-service.png",
        "ranger-policies.png",
        "ranger-new-policy.png",
        "ranger-policy.png",
        "ranger-plugin-status.png",
    ]
    assert all(one.read_bytes().startswith(b"\x89PNG") for one in pictures)


@needs_browser
def test_a_page_of_another_release_is_named(tmp_path: Path, other_release: str) -> None:
    ended = run(tmp_path, RANGER_URL=other_release, RANGER_PASSWORD=PASSWORD, RANGER_PAGE_SECONDS="2")
    assert ended.returncode == 1
    assert ended.stderr.startswith("the page `#/service/{service}/policies/0` did not show what it has in Ranger 2.9.0")
