"""The client by which the sync job asks a decision service."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ranger_cdap.client import ClientSettings, DecisionClient
from ranger_cdap.config import Secret, Settings
from ranger_cdap.config.address import AddressSetting, checked_address

_TIMEOUT: Final = 5.0
_LARGEST: Final = 1 << 20


def service_client(
    settings: Settings, url: str, setting: AddressSetting, caller: str, secret: Secret
) -> DecisionClient:
    """Return a client of the service at `url`, which asks once; `setting` holds the address.

    Raises:
        ConfigError: the address, the credentials or a file of certificates cannot be used.
    """
    sync, network = settings.sync, settings.network
    asking = ClientSettings(
        url=checked_address(url, setting, network.plain_hosts),
        caller=caller,
        secret=secret,
        ca_file=Path(network.ca_file) if network.ca_file else None,
        cert_file=sync.cert_file,
        key_file=sync.key_file,
        plain_hosts=network.plain_hosts,
        timeout=_TIMEOUT,
        attempts=1,
        max_response=_LARGEST,
    )
    asking.authorization()  # a secret that cannot be read is told before anything is done
    return DecisionClient(asking)
