"""Take the screenshots of docs/images: the page of the decision service, an access matrix, an impact and insights.

Needs Chromium (Debian: `apt install chromium`), and Java for the last. Everything runs on loopback, with an embedded
Ranger Admin.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ranger_cdap.testing import embedded_ranger

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SECRET = "only-for-this-picture"  # noqa: S105 - of a service that lives for seconds
QUESTION = "user=bob&groups=analysts&operation=dataset.truncate&entity=dataset:ns1.purchases"
PRIVILEGES = {
    "alice": ["READ namespace:ns1", *(f"{action} dataset:ns1.purchases" for action in ("READ", "WRITE", "ADMIN"))],
    "bob": ["READ namespace:ns1", "READ dataset:ns1.purchases", "READ application:ns1.shop"],
    "ops": ["READ namespace:ns1", "EXECUTE application:ns1.shop", "ADMIN application:ns1.shop"],
}
SETTINGS = """
[ranger]
url = "{url}"
service = "{service}"
[plugin]
username = "cdapplugin"
password = "env:PLUGIN_PASSWORD"
cache_dir = "{directory}/cache"
[audit]
file = "{directory}/audit.jsonl"
[service]
port = 0
[[service.callers]]
name = "security-team"
roles = ["delegate"]
secret = "env:TEAM"
"""


def take(url: str, name: str, height: int) -> None:
    """Write what a browser shows of a page into docs/images."""
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}"]
        picture = [f"--window-size=1000,{height}", f"--screenshot={IMAGES / name}"]
        subprocess.run([PROGRAM or "chromium", *flags, *picture, url], check=True, capture_output=True, timeout=60)


def take_analyses(directory: Path) -> None:
    """Look at the pages of two commands that read files: those of the made-up estate."""
    command = [sys.executable, "-m", "ranger_cdap"]
    estate = directory / "estate"
    subprocess.run([sys.executable, ROOT / "examples" / "estate" / "make_estate.py", estate], check=True)
    policies = json.loads((estate / "policies.json").read_bytes())
    retired = ("migration", "hr project", "export")
    policies["policies"] = [one for one in policies["policies"] if not one["name"].startswith(retired)]
    (estate / "new.json").write_text(json.dumps(policies), encoding="utf-8")
    settings = directory / "estate.toml"
    settings.write_text('[ranger]\nservice = "cdap_estate"\n', encoding="utf-8")
    run = [*command, "--config", str(settings)]
    rest = ["--roles", "roles.json", "--tags", "tags.json"]
    pages = {
        "impact.png": ["policies", "impact", "policies.json", "new.json", *rest, "--format", "html", "--out"],
        "insights.png": [
            *("insights", "report", "audit", "--policies", "policies.json", *rest, "--userstore", "users.json"),
            *("--inventory", "inventory.jsonl", "--until", "2026-11-01", "--days", "30", "--html"),
        ],
    }
    for name, arguments in pages.items():
        page = directory / f"{name}.html"
        subprocess.run([*run, *arguments, str(page)], check=True, cwd=estate, capture_output=True)
        take(page.as_uri(), name, 1000)


def main() -> None:
    """Start a Ranger Admin and a decision service, and look at both pages; then at those of commands."""
    if PROGRAM is None:
        sys.exit("Chromium is not installed (Debian: apt install chromium)")
    IMAGES.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "ranger_cdap"]
    with embedded_ranger() as ranger, tempfile.TemporaryDirectory() as name:
        ranger.give(PRIVILEGES)
        directory = Path(name)
        settings = directory / "ranger-cdap.toml"
        settings.write_text(SETTINGS.format(url=ranger.url, service=ranger.service, directory=name), encoding="utf-8")
        settings.chmod(0o600)
        environment = {**os.environ, "PLUGIN_PASSWORD": ranger.password.reveal(), "TEAM": SECRET}
        matrix = directory / "ns1.html"
        arguments = ["--config", str(settings), "matrix", "ns1", "--out", str(matrix)]
        subprocess.run([*command, *arguments], check=True, env=environment, capture_output=True)
        take(matrix.as_uri(), "matrix.png", 640)
        arguments = ["--config", str(settings), "serve"]
        with subprocess.Popen([*command, *arguments], env=environment, stdout=subprocess.PIPE, text=True) as served:
            assert served.stdout is not None
            words = served.stdout.readline().replace(";", " ").split()
            address = next(word for word in words if word.startswith("http://"))
            take(address.replace("://", f"://security-team:{SECRET}@") + f"/?{QUESTION}", "page.png", 1000)
            served.terminate()
        take_analyses(directory)


if __name__ == "__main__":
    main()
