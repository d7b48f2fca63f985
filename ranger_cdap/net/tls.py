"""TLS of clients: trusted authorities, own certificate and key."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Self

import msgspec

from ranger_cdap.config import WatchedFiles
from ranger_cdap.config.named_file import opened_for_library
from ranger_cdap.errors import ConfigError, reason


class TlsFiles(msgspec.Struct, frozen=True):
    """Certificate files of a client: trusted authorities, own certificate and key."""

    ca_file: str | None
    cert_file: str | None = None
    key_file: str | None = None

    @classmethod
    def of(cls, *files: Path | str | None) -> Self:
        """Return the files, in the order of the fields."""
        return cls(*(str(file) if file else None for file in files))

    def context(self) -> ssl.SSLContext:
        """Create a context from the current contents of the files.

        Raises:
            ConfigError: one of the files is unusable.
        """
        return tls_context(self.ca_file, self.cert_file, self.key_file)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the configured files."""
        return tuple(filter(None, (self.ca_file, self.cert_file, self.key_file)))

    def watched(self) -> WatchedFiles:
        """Identify the current contents, to notice a change."""
        return WatchedFiles(self.names)


def tls_context(ca_file: str | None, cert_file: str | None, key_file: str | None) -> ssl.SSLContext:
    """Create a context that trusts only `ca_file`, or without one the system's authorities, and presents `cert_file`.

    Raises:
        ConfigError: one of the files is unusable.
    """
    context = trusting(ca_file)
    if cert_file is not None:
        show_certificate(context, cert_file, key_file)
    elif key_file is not None:
        raise ConfigError("`ranger.key_file` is set and `ranger.cert_file` is not: a key alone says nothing")
    return context


def show_certificate(context: ssl.SSLContext, cert_file: str | Path, key_file: str | Path | None) -> None:
    """Load a client certificate into a context; without a key file, the key is in `cert_file`.

    Raises:
        ConfigError: one of the files is unusable.
    """
    try:
        with opened_for_library(cert_file) as chain, opened_for_library(key_file) as key:
            # The library would prompt for the password of a key.
            context.load_cert_chain(str(chain), key, password=lambda: "")
    except (ssl.SSLError, ValueError):
        raise ConfigError(
            f"client certificate `{cert_file}` and its key are unusable: they must be a pair in PEM format, "
            "and the key must not be encrypted"
        ) from None
    except OSError as e:
        raise ConfigError(f"client certificate or key `{e.filename}` cannot be read: {reason(e)}") from None


def trusting(ca_file: str | None) -> ssl.SSLContext:
    """Return a context that trusts the authorities of the file, or without one those of the system, and checks names.

    Raises:
        ConfigError: the file is unusable.
    """
    try:
        with opened_for_library(ca_file) as authorities:
            return ssl.create_default_context(cafile=authorities)
    except ssl.SSLError:
        raise ConfigError(f"CA file `{ca_file}` has no certificates in PEM format") from None
    except OSError as e:
        raise ConfigError(f"CA file `{ca_file}` cannot be read: {reason(e)}") from None
