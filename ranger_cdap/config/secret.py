"""`Secret`: a text that is never printed, and where it is written.

Law: a secret in a file is read again when the file changes, without a restart. A file that is empty, or that cannot be
read, changes nothing; whoever must prove the secret may show the one before for another minute, so that both sides need
not change at once.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ranger_cdap.config.watched_files import WatchedFiles
from ranger_cdap.errors import ConfigError, reason

_log = logging.getLogger(__name__)

BOTH_COUNT_SECONDS: Final = 60.0
"""How long the secret before a change is accepted besides the new one."""


class Secret:
    """A text that prints as `*****`; `reveal()` gives it to the one place that needs it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The secret itself."""
        return self._text

    def accepted(self, *, look_now: bool = False) -> tuple[str, ...]:
        """What proves that somebody knows it; with `look_now` not even a second old."""
        _ = look_now
        return (self.reveal(),)

    def __repr__(self) -> str:
        return "Secret('*****')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal() == self.reveal()

    def __hash__(self) -> int:
        return hash(Secret)  # the text of some may change


class FileSecret(Secret):
    """A secret in a file.

    Raises:
        ConfigError: the file can't be read when this object is made.
    """

    __slots__ = ("_files", "_path", "_state")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = WatchedFiles((path,))
        # The secret, the one before, and until when that counts: replaced as a whole, for threads that read it.
        self._state = (_content(path), "", 0.0)
        super().__init__("")

    def reveal(self) -> str:
        """The secret itself, as the file had it a second ago at most."""
        self._files.if_changed(self._read)
        return self._state[0]

    def accepted(self, *, look_now: bool = False) -> tuple[str, ...]:
        """The secret and, for a minute after a change, the one before."""
        self._files.if_changed(self._read, look_now=look_now)
        text, before, until = self._state
        return (text, before) if time.monotonic() < until else (text,)

    def _read(self) -> None:
        text_before, *_ = self._state
        try:
            text = _content(self._path)
        except ConfigError as e:
            _log.warning("%s; the secret read before stays in use", e)
            return
        if not text:
            _log.warning("secret file `%s` is empty; the secret read before stays in use", self._path)
        elif text != text_before:
            self._state = (text, text_before, time.monotonic() + BOTH_COUNT_SECONDS)
            _log.info("secret file `%s` was read again", self._path)


def resolve_secret(text: str, environ: Mapping[str, str] | None = None) -> Secret:
    """`env:NAME` is that variable, `file:PATH` that file without its last line break, anything else the text itself.

    Raises:
        ConfigError: the variable is not set or the file can't be read.
    """
    environ = os.environ if environ is None else environ
    if text.startswith("env:"):
        name = text[4:]
        if name not in environ:
            raise ConfigError(f"environment variable `{name}`, named by a secret in the configuration, is not set")
        return Secret(environ[name])
    if text.startswith("file:"):
        return FileSecret(Path(text[5:]))
    return Secret(text)


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"secret file `{path}` can't be read: {reason(e)}") from None
