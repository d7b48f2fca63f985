"""`ranger-cdap console`: run the console until a signal stops it."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import ExitStack
from typing import Final

import click
from msgspec.structs import replace

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.errors import InvalidInput, ServerError

_LAST_PORT: Final = 65_535
MAX_MEMORY: Final = 8 << 30
"""Address space in bytes: the policies twice, while new ones are compiled, and the answers."""


@click.command(
    cls=Command,
    runs_on=True,
    examples=(
        "ranger-cdap console",
        "ranger-cdap console --policies download.json,roles.json",
        "ranger-cdap --config /etc/ranger-cdap/ranger-cdap.toml console --listen 127.0.0.1:8080",
    ),
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:6501",
    show_default=True,
    help="The address to listen on; any other than loopback needs `service.tls_certificate`. Port 0: any free one.",
)
@policy_files
@pass_invocation
def console(invocation: Invocation, listen: str, files: PolicyFiles | None) -> None:
    """Run the console until Ctrl-C or SIGTERM: pages that answer questions about the policies in effect.

    Without any settings it is a playground: the policies are those of a made-up company, or of files (`--policies`),
    and it answers on this machine only, without sign-in. With settings, its callers are those of
    `[[service.callers]]` with the role `delegate`.

    It logs to standard error. Its address is printed to standard output.
    """
    try:
        from ranger_cdap.console.app import Console
        from ranger_cdap.console.playground import company, example_questions, needs_sign_in
    except ModuleNotFoundError as e:
        raise ServerError(f"`{e.name}` is not installed; install it with: pip install 'ranger-cdap[service]'") from None
    host, _, port = listen.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) <= _LAST_PORT):
        raise InvalidInput(f"`{listen}` is not HOST:PORT, like `127.0.0.1:6501`")
    service = replace(invocation.settings.service, host=host.strip("[]"), port=int(port))
    invocation.start_log()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY if most == resource.RLIM_INFINITY else most, most))
    origins = invocation.configuration.origins
    is_company = files is None and not origins
    files = company() if is_company else files
    is_open = not needs_sign_in(files, origins)
    with ExitStack() as stack:
        chosen = files and authorizer_by(invocation, files, invocation.messages.print)
        fixed = stack.enter_context(chosen) if chosen else None
        running = Console(
            replace(invocation.settings, service=service),
            fixed,
            is_open=is_open,
            examples=example_questions() if is_company else (),
        )
        stack.callback(running.close)
        invocation.show({"url": running.url}, [f"listening on {running.url}"])
        sys.stdout.flush()
        if is_open:
            what = "a made-up company" if is_company else f"`{files}`"
            invocation.messages.print(f"the policies are those of {what}; no sign-in, on this machine only")
        elif not any("delegate" in caller.roles for caller in service.callers):
            invocation.messages.print(
                "no caller has the role `delegate`; every request will be rejected: name one in `[[service.callers]]`"
            )
        running.run()
    if running.must_start_again:
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606 - the same program with the same arguments
