"""`Secret`: a text that is never printed, and its source.

Law: a secret in a file is read again when the file changes, without a restart. An empty or unreadable file leaves the
previous secret in use. The previous secret is accepted for another minute after a change, so that both sides need not
change at once.

Law: a variable that is not set, and a file that is missing or that this process may not read, is an error only where
its secret is needed. Programs of different users can therefore share one configuration, and none can read the secrets
of another.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from ranger_cdap.config.named_file import read_regular
from ranger_cdap.config.watched_files import WatchedFiles
from ranger_cdap.errors import ConfigError, reason

_log = logging.getLogger(__name__)

BOTH_COUNT_SECONDS: Final = 60.0
"""Seconds for which the previous secret is accepted after a change."""


class Secret:
    """A text that prints as `*****`; `reveal()` returns it to the one place that needs it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @property
    def file(self) -> Path | None:
        """The file that holds the secret; None if it is not in a file."""
        return None

    @property
    def problem(self) -> str:
        """The reason why the secret is unavailable now; empty if it is available."""
        return ""

    @property
    def is_set(self) -> bool:
        """True if there is a secret, even an unavailable one."""
        return bool(self._text)

    def reveal(self) -> str:
        """Return the secret itself.

        Raises:
            ConfigError: its variable is not set, or its file does not exist or this process may not read it.
        """
        return self._text

    def accepted(self, *, recheck: bool = False) -> tuple[str, ...]:
        """Return the texts that prove knowledge of the secret; with `recheck`, read again if the file has changed."""
        _ = recheck
        return (self.reveal(),)

    def __repr__(self) -> str:
        return "Secret('*****')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._identity() == self._identity()

    def __hash__(self) -> int:
        return hash(Secret)  # the text of a secret in a file may change

    def _identity(self) -> str | Path:
        """The value for comparisons: the text, or the file if that cannot be read."""
        return self._text


class UnsetSecret(Secret):
    """A secret in a variable that is not set."""

    __slots__ = ("_variable",)

    def __init__(self, variable: str) -> None:
        super().__init__("")
        self._variable = variable

    @property
    def problem(self) -> str:
        """The reason why it is unavailable."""
        return f"environment variable `{self._variable}`, named by a secret in the configuration, is not set"

    @property
    def is_set(self) -> bool:
        """True: a secret is configured."""
        return True

    def reveal(self) -> str:
        """Raise ConfigError: there is no secret."""
        raise ConfigError(self.problem)

    def _identity(self) -> str | Path:
        return self.problem


class FileSecret(Secret):
    """A secret in a file.

    Raises:
        ConfigError: the path leads to no file of text.
    """

    __slots__ = ("_files", "_path", "_state")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = WatchedFiles((path,))
        # The secret, the previous one, and until when that is accepted: one tuple, replaced atomically. None
        # as long as the file could not be read.
        self._state: tuple[str, str, float] | None = None
        with suppress(FileNotFoundError, PermissionError):
            self._state = (_content(path), "", 0.0)
        super().__init__("")

    @property
    def file(self) -> Path:
        """The file that holds the secret."""
        return self._path

    @property
    def problem(self) -> str:
        """The reason why the file cannot be read; empty if it can, or could before."""
        try:
            self._known()
        except ConfigError as e:
            return str(e)
        return ""

    @property
    def is_set(self) -> bool:
        """True if the file holds a secret, or cannot be read."""
        return bool(self.problem or self.reveal())

    def reveal(self) -> str:
        """Return the secret itself, at most a second old.

        Raises:
            ConfigError: the file does not exist or this process may not read it, and never could.
        """
        return self._known()[0]

    def accepted(self, *, recheck: bool = False) -> tuple[str, ...]:
        """Return the secret and, for a minute after a change, the previous one."""
        text, before, until = self._known(recheck=recheck)
        return (text, before) if time.monotonic() < until else (text,)

    def _known(self, *, recheck: bool = False) -> tuple[str, str, float]:
        if self._state is None:
            try:
                self._state = (_content(self._path), "", 0.0)
            except OSError as e:
                raise _unreadable(self._path, e) from None
        self._files.if_changed(self._read, recheck=recheck)
        return self._state

    def _identity(self) -> str | Path:
        return self._path if self.problem else self.reveal()

    def _read(self) -> None:
        text_before = self._state[0] if self._state else ""
        try:
            text = _content(self._path)
        except (ConfigError, OSError) as e:
            problem = _unreadable(self._path, e) if isinstance(e, OSError) else e
            _log.warning("%s; the previous secret stays in use", problem)
            return
        if not text:
            _log.warning("secret file `%s` is empty; the previous secret stays in use", self._path)
        elif text != text_before:
            self._state = (text, text_before, time.monotonic() + BOTH_COUNT_SECONDS)
            _log.info("secret file `%s` was reloaded", self._path)


def resolve_secret(text: str, environ: Mapping[str, str] | None = None) -> Secret:
    """Resolve `env:NAME` to a variable, `file:PATH` to a file without its last line break, anything else to itself.

    A variable may hold `file:PATH`, but no name of another variable.

    Raises:
        ConfigError: the path leads to no file of text.
    """
    environ = os.environ if environ is None else environ
    if text.startswith("env:"):
        name = text[4:]
        return resolve_secret(environ[name], {}) if name in environ else UnsetSecret(name)
    if text.startswith("file:"):
        if not text[5:].strip():
            raise ConfigError("a secret in the configuration is `file:` without a path; name the file that holds it")
        return FileSecret(Path(text[5:]))
    return Secret(text)


def _content(path: Path) -> str:
    """Return the contents of the file.

    Raises:
        OSError: it does not exist, or this process may not read it.
        ConfigError: the path leads to no file of text.
    """
    try:
        return read_regular(path).decode("utf-8").rstrip("\r\n")
    except (FileNotFoundError, PermissionError):
        raise
    except (OSError, UnicodeDecodeError) as e:
        raise _unreadable(path, e) from None


def _unreadable(path: Path, error: OSError | UnicodeError) -> ConfigError:
    return ConfigError(f"secret file `{path}` cannot be read: {reason(error)}")
