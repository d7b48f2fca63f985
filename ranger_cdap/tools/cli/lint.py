"""`ranger-cdap policies lint`: report policy problems and likely mistakes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click

from ranger_cdap.authz.decider import other_service_type
from ranger_cdap.authz.policy_index import readable_policies, resource_policies
from ranger_cdap.cdap.entity import entity_types
from ranger_cdap.cdap.inventory import Inventory, read_inventory
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.files import usable
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.cli.policy_files import PolicyFiles, policy_files, ranger_documents
from ranger_cdap.config import Location, PluginSettings, Settings
from ranger_cdap.engine import EngineOptions, Problem, ProblemCode
from ranger_cdap.engine.view import ServiceModel, compile_service_def
from ranger_cdap.expressions import ScriptCondition, has_engine
from ranger_cdap.plugins.manager import engine_options, plugin_manager
from ranger_cdap.ranger.refresh.documents import Documents, compile_set
from ranger_cdap.ranger_model.decode import decode_service_policies, decode_user_store
from ranger_cdap.ranger_model.policy import PolicyItemCondition, name_text
from ranger_cdap.tools.cli.audit_report import RECORDS, read_audit
from ranger_cdap.tools.cli.lint_proposals import show_least, show_proposals
from ranger_cdap.tools.policies.lint import KnownPrincipals, LintContext, LintFinding, lint
from ranger_cdap.tools.policies.zone_borders import never_in_zone

_Zones = Mapping[int | None, str]
"""Zones of policies, by their id."""


@click.command(
    "lint",
    cls=Command,
    examples=(
        "ranger-cdap policies lint",
        "ranger-cdap policies lint --policies download.json --json",
        "ranger-cdap policies lint --inventory inventory.jsonl",
        "ranger-cdap policies lint --propose --out fewer.json",
        "ranger-cdap policies lint --propose --audit /archive/audit --out least.json",
    ),
    exits={
        ExitCode.OK: "nothing found, or only notes (`ends-above`)",
        ExitCode.NO: "something found or proposed",
        ExitCode.NOT_READY: "Ranger Admin has no policies of the service",
    },
)
@click.option(
    "--inventory",
    "path",
    type=FILE,
    metavar="FILE",
    help="Inventory (`sync inventory`), to find privileges on entities that do not exist, and overly broad wildcards.",
)
@click.option("--propose", is_flag=True, help="Suggest repairs, and fewer or narrower policies.")
@click.option(
    "--audit",
    type=RECORDS,
    metavar="RECORDS",
    multiple=True,
    help="With --propose: policies that allow exactly what these audit records allowed. Repeatable.",
)
@click.option("--out", type=FILE, metavar="FILE", help="With --propose: write the policies, for `policies apply`.")
@policy_files
@pass_invocation
@click.pass_context
def lint_command(
    context: click.Context,
    invocation: Invocation,
    files: PolicyFiles | None,
    path: Path | None,
    propose: bool,
    audit: tuple[Location, ...],
    out: Path | None,
) -> None:
    """Show parts of policies that have no effect, and likely mistakes.

    Each line has a place and a code; docs/reference/policy-problems.md explains the codes.

    --propose suggests three kinds of changes: policies of the Java predecessor without lower levels that exclude
    everything; users, groups and roles that can be removed from policy items because other items already grant the same
    access; and, with --inventory, narrower values for wildcards that match more than the existing entities. --out
    writes the first two. docs/how-to/tidy-up-policies.md has examples.
    """
    if (audit or out) and not propose:
        raise click.UsageError("--audit and --out need --propose")
    if audit:
        if path:
            raise click.UsageError("--audit and --inventory exclude each other")
        context.exit(show_least(invocation, read_audit(invocation, audit, files), out))
    settings = invocation.settings
    now = time.time_ns() // 1_000_000
    documents = files.read(invocation, invocation.messages.print) if files else ranger_documents(settings)
    if propose:
        with usable(Path(str(files))):
            context.exit(show_proposals(invocation, documents, path, now, out))
    inventory = read_inventory(path, instance=settings.cdap.instance, now=now) if path else None
    with usable(Path(str(files))):
        found, zones = _look(documents, settings, inventory, now)
    if inventory:
        unlisted = sorted(entity_types().keys() - inventory.types - {"instance"})
        invocation.messages.print(
            f"note: the inventory has no {', '.join(unlisted)}; of these only what they are in is compared"
        )
    if not has_engine() and any(one.code is ProblemCode.UNUSABLE_CONDITION for one in found):
        invocation.messages.print(
            "conditions that are scripts, such as `_expression`, need the extra: pip install 'ranger-cdap[expressions]'"
        )
    invocation.show_table(
        [_document(one, zones) for one in found],
        ["policy", "place", "code", "what"],
        [[_policy(one, zones), one.place, one.code.value, one.message] for one in found],
        otherwise="no problems found: every part of the policies is effective",
    )
    mistakes = [one for one in found if not (isinstance(one, LintFinding) and one.code.is_note)]
    context.exit(ExitCode.NO if mistakes else ExitCode.OK)


def _look(
    documents: Documents, settings: Settings, inventory: Inventory | None, now: int
) -> tuple[list[Problem | LintFinding], _Zones]:
    """Return the engine's problems, then the findings, for policies inside and outside of zones; and the zones."""
    assert isinstance(documents.policies, bytes)
    document = decode_service_policies(documents.policies)
    options = engine_options(settings.plugin, plugin_manager())
    engine = compile_set(documents, document.service_name, options).engine
    known = KnownPrincipals.of(decode_user_store(documents.users)) if documents.users is not None else KnownPrincipals()
    policies = list(resource_policies(document))
    model = compile_service_def(engine.service_def)
    context = LintContext(
        known=known,
        now=now,
        lacks_attributes=partial(_lacks_attributes, model, options, settings.plugin),
        inherits=settings.cdap.inherit,
        inventory=inventory,
        is_cdap=not other_service_type(engine),
    )
    found: list[Problem | LintFinding] = [
        *engine.problems,
        *lint(policies, model, context),
        *never_in_zone(engine.view),
    ]
    return found, {policy.id: policy.zone_name for policy in readable_policies(document) if policy.zone_name}


def _lacks_attributes(
    model: ServiceModel, options: EngineOptions, plugin: PluginSettings, condition: PolicyItemCondition
) -> bool:
    """Return whether a script reads attributes that are never downloaded; others are the engine's problems or none."""
    definition = model.conditions.get(condition.type)
    if plugin.needs_users or definition is None:
        return False
    try:
        made = options.conditions[definition.evaluator](tuple(condition.values), definition.evaluator_options)
    except Exception:
        return False  # of a kind without a factory, or rejected by it: one of the engine's problems
    return isinstance(made, ScriptCondition) and made.reads_attributes


def _policy(one: Problem | LintFinding, zones: _Zones) -> str:
    number = "" if one.policy_id is None else str(one.policy_id)
    return name_text(f"{number} {one.policy_name}".strip(), zones.get(one.policy_id))


def _document(one: Problem | LintFinding, zones: _Zones) -> dict[str, object]:
    return {
        "policy_id": one.policy_id,
        "policy_name": one.policy_name,
        "zone": zones.get(one.policy_id),
        "place": one.place,
        "code": one.code.value,
        "message": one.message,
    }
