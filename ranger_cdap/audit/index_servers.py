"""Servers of the sinks that fill an index by HTTP: the sign-in, their turn, and what messages say of an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from ranger_cdap.config import Address, Secret
from ranger_cdap.errors import AuditRefused, AuditSinkError
from ranger_cdap.net.exchange import BasicAuth, Exchange, NoResponse, Response, TooLarge, TooSlow
from ranger_cdap.net.tls import TlsFiles

_READ_SECONDS: Final = 30.0
_LARGEST_ANSWER: Final = 1 << 24
_LONGEST_QUOTE: Final = 200


@dataclass(frozen=True, slots=True)
class IndexProduct:
    """A program that keeps an index: its name, the beginning of its settings, the status by which it refuses records.

    `accepts`: whether a body with status 200 is an answer of it.
    """

    name: str
    settings: str
    refusal: HTTPStatus
    accepts: Callable[[bytes], bool]


class IndexServers:
    """Servers of one index, in turn; TLS is verified.

    A request goes to the first of the addresses that takes it; the password goes to every one that is tried.

    Raises:
        ConfigError: the password's file or the file of certificates cannot be used.
    """

    def __init__(
        self, product: IndexProduct, urls: Sequence[Address], username: str, password: Secret, ca_file: str | None
    ) -> None:
        self._product = product
        self._urls = list(urls)
        self._username = username
        self._exchange = Exchange(TlsFiles(ca_file), read_timeout=_READ_SECONDS)
        if username:
            password.reveal()  # an unreadable password ends the start, not the delivery of records
            self._exchange.session.auth = BasicAuth(username, password)

    @property
    def first(self) -> str:
        """The server that is asked first, as messages name it: that of the last answer."""
        return f"{self._product.name} at `{self._urls[0]}`"

    def ask(
        self, method: str, path: str, body: bytes | None, content_type: str, query: Mapping[str, str] | None = None
    ) -> bytes:
        """Return the first successful answer; that server is asked first the next time.

        Raises:
            AuditRefused: a server rejects the records.
            AuditSinkError: no server is available, or one rejects the account.
        """
        problems: list[str] = []
        headers = {"Content-Type": content_type} if body else None
        for url in tuple(self._urls):
            try:
                response = self._exchange.ask(
                    url, method, path, query=query, body=body, headers=headers, largest=_LARGEST_ANSWER
                )
            except (NoResponse, TooLarge, TooSlow) as e:
                problems.append(f"{self.first} cannot be reached: {e}")
            else:
                if response.status == HTTPStatus.OK and self._product.accepts(response.body):
                    return response.body
                self._judge(response)
                problems.append(f"{self.first} returned HTTP {response.status}: {one_line(response.body)}")
            self._urls.append(self._urls.pop(0))
        raise AuditSinkError("; ".join(problems))

    def close(self) -> None:
        """Close the session."""
        self._exchange.close()

    def _judge(self, response: Response) -> None:
        """Raise the error of a status for which no other server is tried."""
        status = response.status
        if response.wants_kerberos:
            raise AuditSinkError(
                f"{self.first} accepts Kerberos only (HTTP {status}, `Negotiate`), which is not supported; "
                "enable Basic authentication there, or use another sink"
            )
        if status == self._product.refusal:
            raise AuditRefused(f"{self.first} rejects audit records (HTTP {status}): {one_line(response.body)}")
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            account = f"account `{self._username}`" if self._username else "requests without an account"
            settings = self._product.settings
            raise AuditSinkError(
                f"{self.first} rejects {account} (HTTP {status}): check `{settings}_username` and `{settings}_password`"
            )


def one_line(answer: bytes) -> str:
    """Return the beginning of an answer for a message, without line breaks."""
    return " ".join(answer[:_LONGEST_QUOTE].decode(errors="replace").split()) or "nothing"
