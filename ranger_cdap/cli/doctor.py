"""`ranger-cdap doctor`: check that the installation works and is secure, and say what to fix."""

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
    exits={ExitCode.OK: "no check failed; there may be notes", ExitCode.NO: "something failed"},
)
@pass_invocation
@click.pass_context
def doctor(context: click.Context, invocation: Invocation) -> None:
    """Check the network, the accounts and their rights, the service, the cache and the settings; change nothing.

    Each account must have exactly the rights its purpose needs: missing and excessive rights are both reported.
    """
    with invocation.messages.status("checking network, accounts, service and cache"):
        findings = tuple(examine(invocation.configuration))
    if invocation.as_json:
        invocation.print_json([asdict(finding) for finding in findings])
    else:
        print_findings(invocation, findings)
    failed = any(finding.health is Health.FAILED for finding in findings)
    context.exit(ExitCode.NO if failed else ExitCode.OK)


def print_findings(invocation: Invocation, findings: Sequence[Finding]) -> None:
    """Print a line per check, with what to do below it, and the number of checks per result at the end."""
    for finding in findings:
        line = f"{finding.health.value:<{_WIDTH}}{finding.check}: {finding.seen}"
        invocation.console.print(line, style=_STYLES.get(finding.health))
        if finding.advice:
            invocation.console.print(f"{'':{_WIDTH}}{finding.advice}")
    counts = Counter(finding.health for finding in findings)
    counted = ", ".join(f"{counts[health]} {health.value}" for health in Health if counts[health])
    invocation.console.print(f"{len(findings)} checks: {counted}")
