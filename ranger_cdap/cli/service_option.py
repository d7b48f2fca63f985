"""`--service URL`: a command asks a running decision service instead of deciding by policies of its own."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.parameters import FILE, with_parameters
from ranger_cdap.config import AddressSetting, checked_address, is_exposed, resolve_secret
from ranger_cdap.errors import ConfigError, InvalidInput

SECRET_VARIABLE: Final = "RANGER_CDAP_SERVICE_SECRET"  # noqa: S105 the name of a variable, not a secret
_ADDRESS: Final = AddressSetting("--service", "https://decisions.example:6500")


@dataclass(frozen=True, slots=True)
class AskedService:
    """The decision service to ask, and how: options of a command, and a secret of the environment."""

    url: str
    caller: str
    cert_file: Path | None
    key_file: Path | None

    def client(self, invocation: Invocation) -> Any:
        """Return the client, a `DecisionClient`.

        Raises:
            ConfigError: an option or a secret cannot be used, or the extra `client` is not installed.
        """
        plain_hosts = invocation.settings.network.plain_hosts if is_exposed(self.url) else ()
        url = checked_address(self.url, _ADDRESS, plain_hosts)
        try:
            from ranger_cdap.client import ClientSettings, DecisionClient
        except ImportError:
            raise ConfigError(
                "`--service` needs a package that is not installed: pip install 'ranger-cdap[client]'"
            ) from None
        secret = resolve_secret(os.environ.get(SECRET_VARIABLE, ""))
        if not (self.caller and secret.is_set):
            raise ConfigError(
                f"name a caller of the service with `--caller`, and set {SECRET_VARIABLE} to its secret, "
                "or to `file:PATH`"
            )
        ca_file = invocation.settings.network.ca_file
        return DecisionClient(
            ClientSettings(
                url=url,
                caller=self.caller,
                secret=secret,
                ca_file=Path(ca_file) if ca_file else None,
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
        cert_file: Path | None,
        key_file: Path | None,
        **more: Any,
    ) -> Any:
        if service is None:
            if caller or cert_file or key_file:
                raise InvalidInput("`--caller` and the files of certificates need `--service`")
            return command(*args, service=None, **more)
        return command(*args, service=AskedService(service, caller, cert_file, key_file), **more)

    return with_parameters(
        with_service,
        click.option("--key-file", type=FILE, metavar="FILE", help="The key of the client certificate."),
        click.option("--cert-file", type=FILE, metavar="FILE", help="The client certificate to present."),
        click.option(
            "--caller",
            default="",
            metavar="NAME",
            help=f"The caller to ask as; {SECRET_VARIABLE} is its secret, or file:PATH.",
        ),
        click.option(
            "--service", metavar="URL", help="Let this decision service decide instead of the policies on this host."
        ),
    )
