"""Take the screenshots of docs/images: the console of the decision service, an access matrix and an impact.

Needs Chromium (Debian: `apt install chromium`). Everything runs on loopback, with an embedded
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

import requests

from ranger_cdap.audit import AuditTrail
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decider import Decider
from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cdap.checks.master import MasterCreate
from ranger_cdap.config import CallerSettings, RangerSettings, Secret, ServiceSettings, Settings
from ranger_cdap.policies.refresh.fixed import documents
from ranger_cdap.service.app import create_app
from ranger_cdap.service.decisions.ranger_service import RangerService
from ranger_cdap.service.http.callers import Callers
from ranger_cdap.service.http.metrics import ServiceMetrics
from ranger_cdap.service.http.server import HttpServer
from ranger_cdap.service.state.app_state import AppState
from ranger_cdap.service.table import ROUTES
from ranger_cdap.testing import embedded_ranger

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SECRET = "only-for-this-picture"  # noqa: S105 - of a service that lives for seconds
CONSOLE = {
    "page.png": ("/?user=hugo.adeyemi&groups=hr-analysts&operation=dataset.get&entity=dataset:hr.mart_salaries", 1160),
    "console-what.png": ("/what?user=hugo.adeyemi", 1000),
    "console-matrix.png": ("/matrix?namespace=hr&types=dataset", 1000),
}
"""Views of the console over the made-up estate: their addresses, and the heights of the pictures."""
DOWNLOADS = ("policies.json", "roles.json", "tags.json", "users.json")
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
"""


def take(url: str, name: str, height: int) -> None:
    """Write what a browser shows of a page on a light screen into docs/images."""
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}"]
        light = "--blink-settings=preferredColorScheme=1"
        picture = [light, f"--window-size=1000,{height}", f"--screenshot={IMAGES / name}"]
        subprocess.run([PROGRAM or "chromium", *flags, *picture, url], check=True, capture_output=True, timeout=60)


def take_impact(directory: Path) -> None:
    """Look at the page of a command that reads files: those of the made-up estate."""
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
    page = directory / "impact.html"
    arguments = ["policies", "impact", "policies.json", "new.json", *rest, "--format", "html", "--out", str(page)]
    subprocess.run([*run, *arguments], check=True, cwd=estate, capture_output=True)
    take(page.as_uri(), "impact.png", 1000)


def take_console(estate: Path) -> None:
    """Look at the views of a decision service by whose policies the made-up estate decides."""
    caller = CallerSettings(name="security-team", roles=("delegate",), secret=Secret(SECRET))
    settings = Settings(
        ranger=RangerSettings(service="cdap_estate"),
        service=ServiceSettings(port=0, callers=(caller,)),
    )
    read = documents(*((estate / name).read_bytes() for name in DOWNLOADS))
    audit, authorizer = AuditTrail([]), Authorizer(Decider.of_documents(read, settings))
    name, policies = settings.ranger.service, authorizer.decider.policies
    state = AppState(
        settings=settings,
        authorizer=authorizer,
        enforcer=AccessEnforcer(authorizer, MasterCreate.DENY),
        services={name: RangerService(name, policies, audit)},  # type: ignore[arg-type]
        metrics=ServiceMetrics(),
    )
    server = HttpServer(settings.service)
    server.start(create_app(state, Callers.of(settings.service), ROUTES))
    try:
        url = server.url.replace("://", f"://security-team:{SECRET}@")
        for picture, (view, height) in CONSOLE.items():
            take(url + view, picture, height)
        form = {"file": (estate / "new.json").open("rb")}
        origin = {"Origin": server.url}
        answer = requests.post(
            f"{server.url}/impact", files=form, headers=origin, auth=(caller.name, SECRET), timeout=60
        )
        answer.raise_for_status()
        page = estate / "impact.html"
        style = f"<style>{requests.get(f'{server.url}/style.css', auth=(caller.name, SECRET), timeout=60).text}</style>"
        page.write_text(answer.text.replace("</head>", f"{style}</head>"), encoding="utf-8")
        take(page.as_uri(), "console-impact.png", 1000)
    finally:
        server.stop()
        state.close()


def main() -> None:
    """Look at a matrix of an embedded Ranger Admin, then at an impact and the console over the made-up estate."""
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
        environment = {**os.environ, "PLUGIN_PASSWORD": ranger.password.reveal()}
        matrix = directory / "ns1.html"
        arguments = ["--config", str(settings), "matrix", "ns1", "--out", str(matrix)]
        subprocess.run([*command, *arguments], check=True, env=environment, capture_output=True)
        take(matrix.as_uri(), "matrix.png", 640)
        take_impact(directory)
        take_console(directory / "estate")


if __name__ == "__main__":
    main()
