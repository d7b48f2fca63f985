"""`ranger-cdap doctor`: does everything work, is it safe, and what is to be done?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.doctor import Finding, Health, examine

_STYLES: Final[Mapping[Health, str]] = {Health.FAILED: "red", Health.NOTE: "yellow", Health.SKIPPED: "dim"}
_WIDTH: Final = max(map(len, Health)) + 2


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
        show(invocation, findings)
    failed = any(finding.health is Health.FAILED for finding in findings)
    context.exit(ExitCode.NO if failed else ExitCode.OK)


def show(invocation: Invocation, findings: Sequence[Finding]) -> None:
    """A line for each check, below it what to do, and in the end how many came out how."""
    for finding in findings:
        line = f"{finding.health.value:<{_WIDTH}}{finding.check}: {finding.seen}"
        invocation.console.print(line, style=_STYLES.get(finding.health))
        if finding.advice:
            invocation.console.print(f"{'':{_WIDTH}}{finding.advice}")
    counts = Counter(finding.health for finding in findings)
    told = ", ".join(f"{counts[health]} {health.value}" for health in Health if counts[health])
    invocation.console.print(f"{len(findings)} checks: {told}")
