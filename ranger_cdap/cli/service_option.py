"""`--service URL`: a command asks a running decision service instead of deciding by policies of its own."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from ranger_cdap.cli.parameters import FILE
from ranger_cdap.config import AddressSetting, Secret, checked_address, resolve_secret
from ranger_cdap.errors import ConfigError, InvalidInput

SECRET_VARIABLE: Final = "RANGER_CDAP_SERVICE_SECRET"  # noqa: S105 the name of a variable, not a secret
TOKEN_VARIABLE: Final = "RANGER_CDAP_SERVICE_TOKEN"  # noqa: S105 the name of a variable, not a token
_ADDRESS: Final = AddressSetting("--service", "https://decisions.example:6500")


@dataclass(frozen=True, slots=True)
class AskedService:
    """The decision service to ask, and how: options of a command, and a secret of the environment."""

    url: str
    caller: str = ""
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def client(self, plain_hosts: tuple[str, ...]) -> Any:
        """Return the client, a `DecisionClient`; it reaches `plain_hosts` without TLS.

        Raises:
            ConfigError: an option or a secret cannot be used, or the extra `client` is not installed.
        """
        url = checked_address(self.url, _ADDRESS, plain_hosts)
        try:
            from ranger_cdap.client import ClientSettings, DecisionClient
        except ImportError:
            raise ConfigError(
                "`--service` needs a package that is not installed: pip install 'ranger-cdap[client]'"
            ) from None
        token = _of_environment("" if self.caller else TOKEN_VARIABLE)
        secret = _of_environment(SECRET_VARIABLE if self.caller else "")
        if not (token.is_set or secret.is_set):
            raise ConfigError(
                f"set {SECRET_VARIABLE} to the secret of the caller `{self.caller}`, or to `file:PATH`"
                if self.caller
                else f"name a caller of the service with `--caller`, or set {TOKEN_VARIABLE} to a token"
            )
        return DecisionClient(
            ClientSettings(
                url=url,
                caller=self.caller,
                secret=secret,
                token=token,
                ca_file=self.ca_file,
                cert_file=self.cert_file,
                key_file=self.key_file,
                plain_hosts=plain_hosts,
            )
        )


def service_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--service` and what belongs to it; the command gets an `AskedService` or None as `service`."""

    @functools.wraps(command)
    def with_service(
        *args: Any,
        service: str | None,
        caller: str,
        ca_file: Path | None,
        cert_file: Path | None,
        key_file: Path | None,
        **more: Any,
    ) -> Any:
        if service is None:
            if caller or ca_file or cert_file or key_file:
                raise InvalidInput("`--caller` and the files of certificates need `--service`")
            return command(*args, service=None, **more)
        asked = AskedService(service, caller, ca_file, cert_file, key_file)
        return command(*args, service=asked, **more)

    wrapped: Callable[..., Any] = with_service
    for decorate in (
        click.option("--key-file", type=FILE, metavar="FILE", help="The key of the client certificate."),
        click.option("--cert-file", type=FILE, metavar="FILE", help="The client certificate to present."),
        click.option("--ca-file", type=FILE, metavar="FILE", help="Authorities to trust instead of the system's."),
        click.option(
            "--caller",
            default="",
            metavar="NAME",
            help=f"The caller to ask as; {SECRET_VARIABLE} is its secret, or file:PATH. Without one, "
            f"{TOKEN_VARIABLE} is a bearer token.",
        ),
        click.option(
            "--service", metavar="URL", help="Let this decision service decide instead of the policies on this host."
        ),
    ):
        wrapped = decorate(wrapped)
    return wrapped


def _of_environment(variable: str) -> Secret:
    return resolve_secret(os.environ.get(variable, "")) if variable else Secret("")
