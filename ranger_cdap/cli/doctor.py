"""`ranger-cdap doctor`: does everything work, is it safe, and what is to be done?"""

from __future__ import annotations

from dataclasses import asdict

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.doctor import Health, examine


@click.command(
    cls=Command,
    examples=("ranger-cdap doctor", "ranger-cdap --config /etc/ranger-cdap.toml doctor --json"),
    exits={ExitCode.OK: "all is well; there may be notes", ExitCode.NO: "something failed"},
)
@pass_invocation
@click.pass_context
def doctor(context: click.Context, invocation: Invocation) -> None:
    """Check the network, the accounts and their rights, the service, the cache and the settings; change nothing.

    The rights of an account are checked in both directions: it must have those of its purpose, and no others.
    """
    with invocation.messages.status("looking at network, accounts, service and cache"):
        findings = tuple(examine(invocation.configuration))
    if invocation.as_json:
        invocation.print_json([asdict(finding) for finding in findings])
    else:
        rows = [[finding.health.value, finding.check, finding.seen, finding.advice] for finding in findings]
        invocation.print_table(["", "check", "seen", "what to do"], rows)
    failed = any(finding.health is Health.FAILED for finding in findings)
    context.exit(ExitCode.NO if failed else ExitCode.OK)
