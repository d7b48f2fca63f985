"""`ClientSettings`: where the decision service is, who asks it, and the limits of a request."""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ranger_cdap.config.address import AddressSetting, checked_address
from ranger_cdap.config.secret import Secret
from ranger_cdap.errors import ConfigError
from ranger_cdap.net.tls import tls_context

_ADDRESS: Final = AddressSetting("url", "https://decisions.example:6500", "plain_hosts")
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Address, credentials and limits of a client.

    Credentials are `caller` with `secret`, or a bearer `token`; without any, only public endpoints answer. Plain http
    is accepted for this machine and for `plain_hosts`. `ca_file` names the authorities to trust instead of the
    system's, `cert_file` and `key_file` the client certificate; they are read when a client is created.

    `timeout` is the limit of a request with its repetitions, in seconds, `attempts` the number of tries, and
    `max_response` the size of a response in bytes.

    Raises:
        ConfigError: a value cannot be used.
    """

    url: str
    caller: str = ""
    secret: Secret = Secret("")  # noqa: RUF009 a value that does not change
    token: Secret = Secret("")  # noqa: RUF009 a value that does not change
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    plain_hosts: tuple[str, ...] = ()
    timeout: float = 10.0
    attempts: int = 3
    max_response: int = 16_000_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", checked_address(self.url, _ADDRESS, self.plain_hosts))
        if not (isinstance(self.secret, Secret) and isinstance(self.token, Secret)):
            raise ConfigError("`secret` and `token` must be a `Secret`, which is never printed")
        if self.token.is_set and (self.caller or self.secret.is_set):
            raise ConfigError("`token` and `caller` are both set; a caller has one kind of credentials")
        if bool(self.caller) != self.secret.is_set:
            raise ConfigError("`caller` and `secret` belong together; one of them is not set")
        if ":" in self.caller:
            raise ConfigError(
                f"`caller` is `{self.caller}` and must not have a colon: Basic authentication cannot carry it"
            )
        if self.key_file is not None and self.cert_file is None:
            raise ConfigError("`key_file` is set and `cert_file` is not; name the certificate of the key")
        if not (0 < self.timeout <= 3_600 and 0 < self.attempts <= 100 and self.max_response > 0):
            raise ConfigError("`timeout` (at most 3600), `attempts` (at most 100) and `max_response` must be positive")

    def tls(self) -> ssl.SSLContext:
        """Return a context with the current contents of the files.

        Raises:
            ConfigError: one of the files cannot be used.
        """
        files = (self.ca_file, self.cert_file, self.key_file)
        return tls_context(*(str(file) if file else None for file in files))

    def authorization(self) -> Mapping[str, str]:
        """Return the header with the credentials; a secret in a file is at most a second old.

        Raises:
            ConfigError: the secret or token cannot be read, or cannot be sent.
        """
        if self.token.is_set:
            token = self.token.reveal()
            if not _TOKEN.fullmatch(token):
                raise ConfigError("`token` is not a bearer token: it has characters that a header cannot carry")
            return {"Authorization": f"Bearer {token}"}
        if self.caller:
            pair = f"{self.caller}:{self.secret.reveal()}".encode("utf-8", "surrogateescape")
            return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
        return {}
