"""Take the screenshots of docs/how-to/edit-policies-in-ranger.md of a Ranger Admin's web UI; changes nothing there.

RANGER_URL names it, RANGER_USER (default `admin`) and RANGER_PASSWORD an account that may see the service
RANGER_SERVICE (default `cdapdev`). Needs Chromium (Debian: `apt install chromium`) and its driver (`pip install
playwright`), which nothing else here does. Pages and selectors are those of Ranger 2.9.0's React source.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import requests

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
API: Final = "/service/public/v2/api"
SECONDS: Final = float(os.environ.get("RANGER_PAGE_SECONDS", "20"))
"""Patience for one page."""
CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Step:
    """A picture: its file, the page's route, and what the page has once it shows what it is about."""

    picture: str
    route: str
    shown: str


STEPS: Final = (
    Step("ranger-services.png", "/policymanager/resource", '[data-name="viewService"]'),
    Step("ranger-service.png", "/service/{definition}/edit/{service}", '[data-cy="save"]'),
    Step("ranger-policies.png", "/service/{service}/policies/0", '[data-cy="addNewPolicy"]'),
    Step("ranger-new-policy.png", "/service/{service}/policies/create/0", '[data-cy="policyName"]'),
    Step("ranger-policy.png", "/service/{service}/policies/{policy}/edit", '[data-cy="policyName"]'),
    Step("ranger-plugin-status.png", "/reports/audit/pluginStatus", ".table-responsive table"),
)


class Refused(Exception):
    """Raised with a sentence for the person who runs this."""


def ask(url: str, account: tuple[str, str], path: str) -> Any:
    """Return an answer of Ranger's REST interface; a wrong password is found here, by one request that counts."""
    try:
        answer = requests.get(f"{url}{path}", auth=account, timeout=SECONDS)
    except requests.RequestException as e:
        why = f"does not answer: {type(e).__name__}; start it, or correct RANGER_URL"
        raise Refused(f"Ranger Admin at `{url}` {why}") from None
    if answer.status_code == requests.codes.unauthorized:
        raise Refused(f"Ranger Admin rejects the login of `{account[0]}`; correct RANGER_USER or RANGER_PASSWORD")
    try:
        answer.raise_for_status()
        return answer.json()
    except (requests.RequestException, ValueError):
        raise Refused(f"`GET {path}` returned HTTP {answer.status_code}; does RANGER_SERVICE exist there?") from None


def ids(url: str, account: tuple[str, str], service: str) -> Mapping[str, int]:
    """Return the ids that the routes name: of the service, its definition, and its first policy."""
    found = ask(url, account, f"{API}/service/name/{service}")
    definition = ask(url, account, f"{API}/servicedef/name/{found['type']}")
    policies = ask(url, account, f"{API}/service/{service}/policy")
    if not policies:
        raise Refused(f"the service `{service}` has no policy to show; write one first")
    return {"service": found["id"], "definition": definition["id"], "policy": min(one["id"] for one in policies)}


def take(url: str, account: tuple[str, str], known: Mapping[str, int], program: str, out: Path) -> Iterator[Path]:
    """Sign in, go through the steps, and yield each picture that was written."""
    from playwright.sync_api import TimeoutError as PageTimeout
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(SECONDS * 1000)
        what = "the page of the login"
        try:
            page.goto(f"{url}/login.jsp")
            page.fill("#username", account[0])
            page.fill("#password", account[1])
            page.click("#signIn")
            page.wait_for_url("**/index.html*")
            for step in STEPS:
                what = f"the page `#{step.route}`"
                page.goto(f"{url}/index.html#{step.route.format(**known)}")
                page.wait_for_selector(step.shown)
                page.wait_for_load_state("networkidle")
                page.screenshot(path=out / step.picture, full_page=True)
                yield out / step.picture
        except PageTimeout:
            raise Refused(
                f"{what} did not show what it has in Ranger 2.9.0 within {SECONDS:g} s; is this that release?"
            ) from None
        finally:
            browser.close()


def pictures(out: Path) -> Iterator[Path]:
    """Take all pictures of the Ranger Admin that the environment names."""
    url, password = os.environ.get("RANGER_URL", "").rstrip("/"), os.environ.get("RANGER_PASSWORD")
    if not url or password is None:
        raise Refused("set RANGER_URL and RANGER_PASSWORD: the Ranger Admin to look at, and its user's password")
    account = (os.environ.get("RANGER_USER", "admin"), password)
    known = ids(url, account, os.environ.get("RANGER_SERVICE", "cdapdev"))
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        raise Refused("Chromium is not installed (Debian: apt install chromium)")
    return take(url, account, known, program, out)


def main() -> None:
    """Take all pictures, into docs/images or the folder given."""
    try:
        for picture in pictures(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES):
            sys.stdout.write(f"{picture}\n")
    except ModuleNotFoundError as e:
        sys.exit(f"`{e.name}` is not installed; install it with: pip install {e.name}")
    except Refused as e:
        sys.exit(str(e))


if __name__ == "__main__":
    main()
