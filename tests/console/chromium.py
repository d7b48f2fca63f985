"""A headless Chromium, driven over a pipe by its DevTools protocol; what a test needs of it and no more."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")


class Browser:
    """One tab."""

    def __init__(self, to: int, answers: int) -> None:
        self._to = to
        self._answers = os.fdopen(answers, "rb", buffering=0)
        self._read = b""
        self._count = 0
        self._session: str | None = None
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Accessibility"):
            self(f"{domain}.enable")
        self.events: list[dict[str, Any]] = []

    def __call__(self, method: str, **parameters: Any) -> Any:
        """What a command of the protocol gives; events that come meanwhile are kept."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def visit(self, url: str) -> None:
        """Load a page, and wait until all of it is there."""
        self.events = []
        self("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._next()

    def submit(self, css: str) -> None:
        """Press a button by its place on the screen, as a hand would, and wait for the page that comes."""
        self.evaluate(f"document.querySelector({css!r}).scrollIntoView({{behavior: 'instant', block: 'center'}})")
        x, y = self.evaluate(
            f"(b => [b.x + b.width / 2, b.y + b.height / 2])(document.querySelector({css!r}).getBoundingClientRect())"
        )
        self.events = []
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._next()

    def type_into(self, css: str, text: str) -> None:
        """Type into a field."""
        self.evaluate(f"document.querySelector({css!r}).focus()")
        self("Input.insertText", text=text)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression on the page; works where the page itself may run no script."""
        outcome = self("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in outcome, outcome
        return outcome["result"].get("value")

    def screen(self, width: int, height: int, *, dark: bool) -> None:
        """Show pages on such a screen."""
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self("Emulation.setEmulatedMedia", features=[scheme])

    def photograph(self, file: Path) -> None:
        """A picture of the whole page."""
        taken = self("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(taken["data"]))

    def complaints(self) -> list[str]:
        """What the browser did not load or allow."""
        return [e["params"]["entry"]["text"] for e in self.events if e["method"] == "Log.entryAdded"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            chunk = self._answers.read(65_536)
            assert chunk, "the browser has ended"
            self._read += chunk
        one, _, self._read = self._read.partition(b"\0")
        message: dict[str, Any] = json.loads(one)
        if "method" in message and hasattr(self, "events"):
            self.events.append(message)
        return message


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A browser with a profile of its own, ended at the end."""
    assert PROGRAM is not None
    its_input, to = os.pipe()
    answers, its_output = os.pipe()

    def place() -> None:
        # The protocol is spoken over the descriptors 3 and 4, whatever numbers the pipes have here.
        first, second = os.dup(its_input), os.dup(its_output)
        os.dup2(first, 3)
        os.dup2(second, 4)

    with subprocess.Popen(
        [PROGRAM, *_FLAGS, "--remote-debugging-pipe", f"--user-data-dir={profile}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=place,
        close_fds=False,
    ) as process:
        os.close(its_input)
        os.close(its_output)
        browser = Browser(to, answers)
        try:
            yield browser
        finally:
            os.close(to)
            browser._answers.close()
            process.terminate()
            process.wait(20)
