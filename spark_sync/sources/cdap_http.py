"""HTTP client for CDAP: token, time-outs, bounds, retries; failures are typed errors.

Only for calls that change nothing: each may be retried.
"""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import stamina

from ranger_cdap.closing import Closing
from ranger_cdap.config import AddressSetting, NetworkSettings, checked_address
from ranger_cdap.config.address import CONFIRM
from ranger_cdap.config.named_file import read_regular
from ranger_cdap.errors import CdapError, CdapForbidden, CdapNotFound, CdapUnreachable, ConfigError, reason
from ranger_cdap.net.exchange import Exchange, NoResponse, TooLarge, TooSlow
from ranger_cdap.net.tls import TlsFiles
from ranger_cdap.ranger_model.json_text import decode

_LARGEST_ANSWER: Final = 1 << 28
_NO_NETWORK: Final = NetworkSettings()


class CdapHttp(Closing):
    """Client of a CDAP router or of an internal service of CDAP.

    `setting` is named in errors about the address. The token file is read when the client is created. `read_timeout`:
    seconds.

    Raises:
        ConfigError: the address, the token or the file of certificates cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        setting: AddressSetting = CONFIRM,
        network: NetworkSettings = _NO_NETWORK,
        token_file: Path | None = None,
        read_timeout: float = 30.0,
        attempts: int = 3,
    ) -> None:
        self.url = checked_address(url, setting, network.plain_hosts)
        retrying = stamina.retry(on=CdapUnreachable, attempts=attempts, timeout=None, wait_initial=0.2, wait_max=5.0)
        self._call = retrying(self._send)
        tls = TlsFiles(network.ca_file)
        self._exchange = Exchange(tls, read_timeout=read_timeout)
        if token_file is not None:
            self._exchange.session.headers["Authorization"] = f"Bearer {bearer_token(token_file)}"

    def close(self) -> None:
        """Close the session."""
        self._exchange.close()

    def get_json(self, path: str, query: dict[str, str] | None = None) -> Any:
        """Return the JSON value of CDAP's answer.

        Raises:
            CdapError: one of its subclasses, by the kind of failure.
        """
        body = self._call("GET", path, query=query)
        return decode(
            body,
            refuse=lambda _: CdapError(
                f"the answer to `GET {path}` is not JSON; is `{self.url}` the address of a CDAP router?"
            ),
        )

    def post(self, path: str, body: bytes, content_type: str) -> bytes:
        """Return CDAP's answer to a query that needs a body.

        Raises:
            CdapError: one of its subclasses, by the kind of failure.
        """
        return self._call("POST", path, body=body, headers={"Content-Type": content_type})

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> bytes:
        try:
            response = self._exchange.ask(
                self.url, method, path, query=query, body=body, headers=headers, largest=_LARGEST_ANSWER
            )
        except TooLarge as e:
            raise CdapError(str(e)) from None
        except TooSlow as e:
            raise CdapUnreachable(str(e)) from None
        except NoResponse as e:
            raise CdapUnreachable(f"CDAP at `{self.url}` cannot be reached: {e}") from None
        if response.status != HTTPStatus.OK:
            raise self._error(response.status, f"`{method} {path}`")
        return response.body

    def _error(self, status: int, call: str) -> CdapError:
        """Return the error of a status, without the answer's text, which may come from anyone."""
        match status:
            case HTTPStatus.UNAUTHORIZED:
                return CdapForbidden(f"CDAP at `{self.url}` does not accept the token (401 to {call})")
            case HTTPStatus.FORBIDDEN:
                return CdapForbidden(f"the account may not do {call} in CDAP at `{self.url}` (403)")
            case HTTPStatus.NOT_FOUND:
                return CdapNotFound(f"CDAP at `{self.url}` answers 404 to {call}")
            case status if 300 <= status < 400:
                return CdapError(
                    f"CDAP at `{self.url}` answers {call} with a redirect ({status}), which is not followed"
                )
            case status if status >= 500:
                return CdapUnreachable(f"CDAP at `{self.url}` answers {status} to {call}")
        return CdapError(f"CDAP at `{self.url}` answers {status} to {call}")


def bearer_token(path: Path) -> str:
    """Return the token in a file.

    Raises:
        ConfigError: the file cannot be read, or holds something else.
    """
    try:
        token = read_regular(path).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"the token file `{path}` cannot be read: {reason(e)}") from None
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(f"the token file `{path}` must hold one word of ASCII")
    return token
