"""`make site-version` keeps versions beside each other, on a branch of its own, and a reader can choose among them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.console.chromium import PROGRAM, chromium
from tests.docs.fresh_clone import fresh_clone, fresh_environment
from tests.site.waiting import until

pytestmark = pytest.mark.site


@dataclass(frozen=True)
class Clone:
    """A repository with two versions of the site."""

    root: Path
    home: Path

    def run(self, *command: str) -> str:
        environment = {**fresh_environment(self.home), "GIT_AUTHOR_NAME": "reader", "GIT_COMMITTER_NAME": "reader"}
        environment |= {"GIT_AUTHOR_EMAIL": "reader@example.com", "GIT_COMMITTER_EMAIL": "reader@example.com"}
        done = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def publish(self, version: str) -> None:
        """Make the site of a version."""
        settings = self.root / "setup.cfg"
        settings.write_text(re.sub(r"(?m)^version = .*$", f"version = {version}", settings.read_text()))
        self.run("git", "commit", "--quiet", "--all", "--message", version)
        self.run("make", "--old-file", ".venv/site/.complete", "site-version")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    directory = tmp_path_factory.mktemp("versions")
    (directory / "home").mkdir()
    clone = Clone(fresh_clone(directory / "clone"), directory / "home")
    clone.run("git", "init", "--quiet")
    clone.run("git", "add", ".")
    for version in ("1.0.0", "1.1.0"):
        clone.publish(version)
    return clone


@pytest.fixture(scope="module")
def published(clone: Clone) -> Iterator[str]:
    """The address at which the branch is served."""
    clone.run("git", "worktree", "add", "--quiet", str(clone.home / "pages"), "pages")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(clone.home / "pages"))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_both_versions_are_listed_newest_first(clone: Clone) -> None:
    versions = json.loads(clone.run("git", "show", "pages:versions.json"))

    assert [(one["version"], one["aliases"]) for one in versions] == [("1.1.0", ["latest"]), ("1.0.0", [])]


def test_each_version_has_every_page(clone: Clone) -> None:
    pages = clone.run("git", "ls-tree", "-r", "--name-only", "pages").splitlines()
    of_version = {
        version: {name.removeprefix(version) for name in pages if name.startswith(version) and name.endswith(".html")}
        for version in ("1.0.0", "1.1.0", "latest")
    }

    assert "/docs/how-to/configure.html" in of_version["1.0.0"]
    assert of_version["1.0.0"] == of_version["1.1.0"] == of_version["latest"]


def test_nothing_but_the_branch_has_changed(clone: Clone) -> None:
    assert clone.run("git", "status", "--porcelain") == ""
    assert clone.run("git", "branch", "--show-current").strip() != "pages"


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium (Debian: apt install chromium)")
def test_a_reader_comes_to_the_newest_and_can_choose(published: str, tmp_path: Path) -> None:
    with chromium(tmp_path) as browser:
        browser.screen(1280, 900, dark=False)
        browser.visit(published)

        until(lambda: browser.evaluate("document.querySelectorAll('.md-version__link').length") == 2)
        assert browser.evaluate("location.href") == f"{published}1.1.0/index.html"
        shown = browser.evaluate("[...document.querySelectorAll('.md-version__link')].map(e => e.textContent.trim())")
        assert shown == ["1.1.0", "1.0.0"]
        assert browser.complaints() == []
