"""`ranger-cdap console`: run the console until a signal stops it."""

from __future__ import annotations

import os
import resource
import sys
from typing import Final

import click
from msgspec.structs import replace

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.errors import InvalidInput, ServerError

_LAST_PORT: Final = 65_535
MAX_MEMORY: Final = 8 << 30
"""Address space in bytes: the policies twice, while new ones are compiled, and the answers."""


@click.command(
    cls=Command,
    runs_on=True,
    examples=(
        "ranger-cdap console",
        "ranger-cdap console --listen 127.0.0.1:8080 --ranger-ui https://ranger.example.org",
    ),
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:6501",
    show_default=True,
    help="The address to listen on; any other than loopback needs `service.tls_certificate`. Port 0: any free one.",
)
@click.option(
    "--ranger-ui",
    metavar="URL",
    default="",
    help="The address of Ranger's web UI, for links to policies. Default: the first of `ranger.url`.",
)
@pass_invocation
def console(invocation: Invocation, listen: str, ranger_ui: str) -> None:
    """Run the console until Ctrl-C or SIGTERM: pages that answer questions about the policies in effect.

    Its callers are those of `[[service.callers]]` with the role `delegate`. It logs to standard error. Its
    address is printed to standard output.
    """
    try:
        from ranger_cdap.console.app import Console
    except ModuleNotFoundError as e:
        raise ServerError(f"`{e.name}` is not installed; install it with: pip install 'ranger-cdap[service]'") from None
    host, _, port = listen.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) <= _LAST_PORT):
        raise InvalidInput(f"`{listen}` is not HOST:PORT, like `127.0.0.1:6501`")
    service = replace(invocation.settings.service, host=host.strip("[]"), port=int(port))
    invocation.start_log()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY if most == resource.RLIM_INFINITY else most, most))
    running = Console(replace(invocation.settings, service=service), ranger_ui=ranger_ui)
    try:
        if invocation.as_json:
            invocation.print_json({"url": running.url})
        else:
            click.echo(f"listening on {running.url}")
        sys.stdout.flush()
        if not any("delegate" in caller.roles for caller in service.callers):
            invocation.messages.print(
                "no caller has the role `delegate`; every request will be rejected: name one in `[[service.callers]]`"
            )
        running.run()
    finally:
        running.close()
    if running.must_start_again:
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606 - the same program with the same arguments
