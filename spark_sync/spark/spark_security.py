"""Keeps other users of the machine and the network out of Spark: out of its ports, and of what it writes to disk.

Anyone who can talk to a driver's ports without a secret makes it deserialize objects of their choice, stops the job,
and reads its blocks and files.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ranger_cdap.errors import ConfigError

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkContext

CLOSED: Final = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.saslFallback": "false",
    "spark.io.encryption.enabled": "true",
}
"""Settings of our own driver: no port answers without the secret, and temporary files are encrypted."""

_SECRET: Final = "spark.authenticate.secret"  # noqa: S105 - the name of a setting
# Required if Spark is configured by others: one setting of each row.
_REQUIRED: Final = (
    ("spark.authenticate",),
    ("spark.network.crypto.enabled", "spark.authenticate.enableSaslEncryption", "spark.ssl.rpc.enabled"),
    ("spark.io.encryption.enabled",),
)


def fresh_secret() -> dict[str, str]:
    """Return the setting of a new random secret, to be set inside the driver and never on its command line.

    A small cluster of the driver's own needs it; with a local master Spark generates one itself.
    """
    return {_SECRET: secrets.token_hex(32)}


def problems(configuration: Mapping[str, str], command: str) -> list[str]:
    """Return what leaves Spark open to others: settings that are off, or a secret on the driver's command line."""
    found = [
        f"`{'` or `'.join(names)}` is not true"
        for names in _REQUIRED
        if not any(configuration.get(name, "").strip().lower() == "true" for name in names)
    ]
    if f"{_SECRET}=" in command:
        found.append(f"`{_SECRET}` is on the command line, where every user of the machine can read it")
    return found


def check_closed(configuration: Mapping[str, str], command: str, *, allowed: bool) -> None:
    """Check that Spark, as others configured it, is closed to others, unless `allowed` accepts that it is not.

    Raises:
        ConfigError: it is open; the message names each setting that is missing.
    """
    if not allowed and (found := problems(configuration, command)):
        raise ConfigError(
            f"Spark is open to others: {'; '.join(found)}; set them in the `--properties-file` of"
            " `spark-submit`, or in `spark-defaults.conf` for `--master`, or accept with `sync.allow_open_spark` that"
            " anyone who reaches its ports can run code as the sync job"
        )


def serve_no_directory(context: SparkContext) -> None:
    """Have the driver serve no directory, from which a path with `..` leads to every file that the job can read.

    Spark asks for no secret there. Each session would register the directory of its artifacts, of which we have
    none; where there is one already it does not, and nothing can be found below one that does not exist.
    """
    jvm: Any = context._jvm
    nowhere = jvm.java.io.File(f"/nonexistent-{secrets.token_hex(16)}")
    jvm.org.apache.spark.SparkEnv.get().rpcEnv().fileServer().addDirectoryIfAbsent("/artifacts", nowhere)


def authenticate_callbacks(gateway: JavaGateway) -> None:
    """Start PySpark's callback server so that it requires the gateway's token, and have the driver send it.

    PySpark starts that server without a token, and py4j's client drops its own when it learns the server's port.
    """
    from py4j.java_gateway import JavaObject
    from pyspark.java_gateway import ensure_callback_server_started

    token = gateway.gateway_parameters.auth_token
    gateway.callback_server_parameters.auth_token = token
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    client = JavaObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()
    field = gateway.jvm.java.lang.Class.forName("py4j.CallbackClient").getDeclaredField("authToken")
    field.setAccessible(True)
    field.set(client, token)
