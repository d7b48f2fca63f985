"""Connection settings of a Ranger Admin client."""

from __future__ import annotations

from typing import Self

import msgspec

from ranger_cdap.config import Secret, Settings
from ranger_cdap.ranger.client.sign_in import AccountSource, AuthMethod


class AdminConnection(msgspec.Struct, frozen=True):
    """Addresses, account, certificates, time-outs and retries of a client.

    `url` may name several servers of one Ranger Admin, separated by commas. Time-outs are in seconds. `source`
    names the account in errors.
    """

    url: str
    username: str
    password: Secret
    auth: AuthMethod = "basic"
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    read_timeout: float = 30.0
    attempts: int = 3
    plain_hosts: tuple[str, ...] = ()
    source: AccountSource | None = None

    @classmethod
    def of(
        cls,
        settings: Settings,
        username: str,
        password: Secret,
        *,
        source: AccountSource | None = None,
    ) -> Self:
        """Return the connection to the Ranger Admin of the settings, with this account."""
        ranger = settings.ranger
        return cls(
            ranger.url,
            username=username,
            password=password,
            auth=ranger.auth,
            ca_file=settings.network.ca_file,
            cert_file=ranger.cert_file,
            key_file=ranger.key_file,
            read_timeout=ranger.read_timeout,
            attempts=ranger.attempts,
            plain_hosts=settings.network.plain_hosts,
            source=source,
        )

    @property
    def rejection(self) -> str:
        """The message for a rejected login: which account, where it is configured, what to do."""
        source = self.source
        if self.auth == "certificate":
            return (
                "Ranger Admin rejected the client certificate of `ranger.cert_file`; map its name to a user of Ranger"
            )
        if self.auth == "basic" and not self.username:
            what = f"`{source.username}` is not set; set it and `{source.password}`" if source else "none is configured"
            return f"Ranger Admin requires an account, and {what}"
        if self.auth == "kerberos":
            configured = f" (`{source.username}`)" if source else ""
            return f"Ranger Admin rejected the Kerberos ticket of `{self.username or 'the ticket cache'}`{configured}"
        kind = "user name and password" if self.auth == "basic" else "token"
        account = f" of `{self.username}`" if self.username else ""
        configured = f" (`{source.username}`, `{source.password}`)" if source else ""
        return (
            f"Ranger Admin rejected the {kind}{account}{configured}; check them before trying again, because five "
            "failures within 300 s lock the account"
        )
