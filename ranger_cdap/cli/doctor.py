"""`ranger-cdap doctor`: does everything work, is it safe, and what is to be done?"""

from __future__ import annotations

from dataclasses import asdict

import click

from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.doctor import Health, examine

FAILED = 1


@click.command()
@pass_invocation
@click.pass_context
def doctor(context: click.Context, invocation: Invocation) -> None:
    """Check the network, the accounts and their rights, the service, the cache and the settings; change nothing.

    The rights of an account are checked in both directions: it must have those of its purpose, and no others.

    Exit code: 0 all well (there may be notes), 1 something failed, 3 invalid settings.
    """
    findings = tuple(examine(invocation.configuration))
    if invocation.as_json:
        invocation.print_json([asdict(finding) for finding in findings])
    else:
        rows = [[finding.health.value, finding.check, finding.seen, finding.advice] for finding in findings]
        invocation.print_table(["", "check", "seen", "what to do"], rows)
    context.exit(FAILED if any(finding.health is Health.FAILED for finding in findings) else 0)
