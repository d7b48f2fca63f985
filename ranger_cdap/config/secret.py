"""`Secret`: a text that is never printed, and where it is written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ranger_cdap.errors import ConfigError, reason


class Secret:
    """A text that prints as `*****`; `reveal()` gives it to the one place that needs it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The secret itself."""
        return self._text

    def __repr__(self) -> str:
        return "Secret('*****')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))


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
        path = Path(text[5:])
        try:
            return Secret(path.read_text(encoding="utf-8").rstrip("\r\n"))
        except (OSError, UnicodeDecodeError) as e:
            raise ConfigError(f"secret file `{path}` can't be read: {reason(e)}") from None
    return Secret(text)
