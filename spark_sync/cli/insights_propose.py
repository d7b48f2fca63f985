"""`ranger-cdap insights propose`: policies that allow exactly what was allowed and used."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import click
import msgspec

from ranger_cdap.analysis.impact import impact
from ranger_cdap.analysis.report import impact_rows
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.engine import EngineOptions, PolicyEngine
from ranger_cdap.errors import InvalidInput
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
from ranger_cdap.policies.manage.policy_collection import PolicyCollection
from ranger_cdap.policies.manage.policy_directory import read_directory, write_directory
from ranger_cdap.policies.refresh.documents import Documents, compile_set, pieces
from spark_sync.cli.insights_input import AuditArguments, audit_arguments, read_facts
from spark_sync.insights.proposal import propose
from spark_sync.insights.table import iso

_NO_ROLES: Final = b"{}"


@click.command(
    "propose",
    cls=Command,
    examples=(
        "ranger-cdap insights propose audit.jsonl --policies current.json --proposal least",
        "ranger-cdap insights propose /var/log/ranger-cdap/audit --since 90d --proposal least",
    ),
    exits={ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY]},
)
@audit_arguments
@click.option(
    "--proposal",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    required=True,
    help="Write the policies to this new directory, one file each, as `policies apply` reads them.",
)
@pass_invocation
def propose_command(invocation: Invocation, arguments: AuditArguments, proposal: Path) -> None:
    """Write policies that allow exactly what was allowed and used in an audit, and never more.

    AUDIT is read as by `insights report`. The policies of --policies (default: Ranger's current ones) give the service
    definition and the security zones; the impact is that of replacing all of them, those of tags too. Uses that no
    policy can allow exactly are left out and counted.
    """
    if proposal.exists() and (not proposal.is_dir() or any(proposal.iterdir())):
        raise InvalidInput(f"`{proposal}` is not empty; a proposal is written into a new directory")
    read = read_facts(invocation, arguments)
    facts, current = read.facts, read.policies
    found = propose(facts, current.engine)
    collection = PolicyCollection.of_download(b"".join(pieces(current.documents.policies)))
    service = msgspec.structs.replace(collection.service, tags=None)
    write_directory(proposal, PolicyCollection(service, ()).with_policies(found.policies), "json")
    after = _compiled(read_directory(proposal), current.engine.service_name)
    changes = impact(current.engine, after)
    directions = Counter(row.gained for row in impact_rows(changes))
    gained, lost = directions[True], directions[False]
    if invocation.as_json:
        invocation.print_json(
            {
                "service": read.period.service,
                "time": iso(read.now),
                "proposal": str(proposal),
                "policies": len(found.policies),
                "allowed_accesses": sum(use.times for use in facts.uses if use.allowed),
                "left_out": [{"reason": why, "accesses": times} for why, times in found.left_out],
                "impact": {"gained": gained, "lost": lost},
            }
        )
        return
    if found.left_out:
        invocation.print_table(["left out", "accesses"], [[why, f"{times:,}"] for why, times in found.left_out])
    invocation.console.print(
        f"{len(found.policies):,} policies in `{proposal}` allow what was allowed and used from "
        f"{(iso(min(use.first for use in facts.uses)) or '')[:10]} to "
        f"{(iso(max(use.last for use in facts.uses)) or '')[:10]}"
    )
    before = arguments.files.policies if arguments.files is not None else "current.json"
    invocation.console.print(
        f"impact: rows gained: {gained:,}, lost: {lost:,}; `ranger-cdap policies impact {before} {proposal}` shows them"
    )


def _compiled(collection: PolicyCollection, service: str) -> PolicyEngine:
    options = EngineOptions(conditions=condition_factories(plugin_manager()))
    return compile_set(Documents(collection.download(service), _NO_ROLES), service, options).engine
