"""`Secret`: a text that is never printed, and where it is written.

Law: a secret in a file is read again when the file changes, without a restart. A file that is empty, or that cannot be
read, changes nothing; whoever must prove the secret may show the one before for another minute, so that both sides need
not change at once.

Law: a file that is not there, or that this process may not read, is an error where its secret is needed and nowhere
else. So programs of different users share one configuration, and none can read the secrets of another.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress
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

    @property
    def file(self) -> Path | None:
        """The file it is in; None where it is in none."""
        return None

    @property
    def problem(self) -> str:
        """Why it cannot be had now; empty if it can."""
        return ""

    @property
    def is_set(self) -> bool:
        """Whether there is one; one that cannot be had counts."""
        return bool(self._text)

    def reveal(self) -> str:
        """Return the secret itself.

        Raises:
            ConfigError: it is in a file that is not there or that this process may not read.
        """
        return self._text

    def accepted(self, *, look_now: bool = False) -> tuple[str, ...]:
        """What proves that somebody knows it; with `look_now` not even a second old."""
        _ = look_now
        return (self.reveal(),)

    def __repr__(self) -> str:
        return "Secret('*****')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._identity() == self._identity()

    def __hash__(self) -> int:
        return hash(Secret)  # the text of some may change

    def _identity(self) -> str | Path:
        """What is compared: the text, or the file where that cannot be read."""
        return self._text


class FileSecret(Secret):
    """A secret in a file.

    Raises:
        ConfigError: the path leads to no file of text.
    """

    __slots__ = ("_files", "_path", "_state")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = WatchedFiles((path,))
        # The secret, the one before, and until when that counts: replaced as a whole, for threads that read it. None
        # while the file could not be read.
        self._state: tuple[str, str, float] | None = None
        with suppress(FileNotFoundError, PermissionError):
            self._state = (_content(path), "", 0.0)
        super().__init__("")

    @property
    def file(self) -> Path:
        """The file."""
        return self._path

    @property
    def problem(self) -> str:
        """Why it cannot be read now; empty if it can, or could before."""
        try:
            self._known()
        except ConfigError as e:
            return str(e)
        return ""

    @property
    def is_set(self) -> bool:
        """Whether the file holds one; one that cannot be read counts."""
        return bool(self.problem or self.reveal())

    def reveal(self) -> str:
        """Return the secret itself, as the file had it a second ago at most.

        Raises:
            ConfigError: the file is not there or this process may not read it, and could not before.
        """
        return self._known()[0]

    def accepted(self, *, look_now: bool = False) -> tuple[str, ...]:
        """The secret and, for a minute after a change, the one before."""
        text, before, until = self._known(look_now=look_now)
        return (text, before) if time.monotonic() < until else (text,)

    def _known(self, *, look_now: bool = False) -> tuple[str, str, float]:
        if self._state is None:
            try:
                self._state = (_content(self._path), "", 0.0)
            except OSError as e:
                raise _unreadable(self._path, e) from None
        self._files.if_changed(self._read, look_now=look_now)
        return self._state

    def _identity(self) -> str | Path:
        return self._path if self.problem else self.reveal()

    def _read(self) -> None:
        text_before = self._state[0] if self._state else ""
        try:
            text = _content(self._path)
        except (ConfigError, OSError) as e:
            told = _unreadable(self._path, e) if isinstance(e, OSError) else e
            _log.warning("%s; the secret read before stays in use", told)
            return
        if not text:
            _log.warning("secret file `%s` is empty; the secret read before stays in use", self._path)
        elif text != text_before:
            self._state = (text, text_before, time.monotonic() + BOTH_COUNT_SECONDS)
            _log.info("secret file `%s` was read again", self._path)


def resolve_secret(text: str, environ: Mapping[str, str] | None = None) -> Secret:
    """`env:NAME` is that variable, `file:PATH` that file without its last line break, anything else the text itself.

    Raises:
        ConfigError: the variable is not set, or the path leads to no file of text.
    """
    environ = os.environ if environ is None else environ
    if text.startswith("env:"):
        name = text[4:]
        if name not in environ:
            raise ConfigError(f"environment variable `{name}`, named by a secret in the configuration, is not set")
        return Secret(environ[name])
    if text.startswith("file:"):
        if not text[5:].strip():
            raise ConfigError("a secret in the configuration is `file:` without a path; name the file that holds it")
        return FileSecret(Path(text[5:]))
    return Secret(text)


def _content(path: Path) -> str:
    """The contents of the file.

    Raises:
        OSError: it is not there, or this process may not read it.
        ConfigError: the path leads to no file of text.
    """
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except (FileNotFoundError, PermissionError):
        raise
    except (OSError, UnicodeDecodeError) as e:
        raise _unreadable(path, e) from None


def _unreadable(path: Path, error: OSError | UnicodeError) -> ConfigError:
    return ConfigError(f"secret file `{path}` cannot be read: {reason(error)}")
