"""The privileges of a job in a namespace as tables and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.cdap.job_privileges import JobNeed, job_privileges
from ranger_cdap.cdap.presets import CONNECTION, SYSTEM_NAMESPACE, load_preset
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.plan_text import actions_text
from ranger_cdap.questions.answer_documents import entity_document


def show_job(invocation: Invocation, role: str, namespace: str, *, for_cdap: bool) -> None:
    """Print what the profile requires for a job, and with `for_cdap` what CDAP asks in addition.

    Raises:
        InvalidInput: there is no such preset, or none in this profile, or CDAP allows no such namespace.
    """
    rules = AuthorizationConfig.of(invocation.settings)
    preset = load_preset(role, invocation.settings.cdap.profile)
    entity_id("namespace", (namespace,))
    operations = [(name, namespace) for name in preset.operations if name.partition(".")[0] != CONNECTION]
    operations += [(name, SYSTEM_NAMESPACE) for name in preset.system_operations]
    found = job_privileges(rules.profile, operations, rules.options)
    connections = [name for name in preset.operations if name.partition(".")[0] == CONNECTION]
    if invocation.as_json:
        document = {
            "preset": preset.name,
            "namespace": namespace,
            "needs": [_document(one) for one in found.needs],
            "not_recorded": found.not_recorded,
            "without_entity_type": connections,
        }
        if for_cdap:
            document["cdap_asks"] = [_document(one) for one in found.more]
        invocation.print_json(document)
        return
    say = invocation.console.print
    say(f"{preset.name} in namespace {namespace}: {preset.description}")
    invocation.print_table(["privilege", "on", "for"], _rows(found.needs))
    if for_cdap and found.more:
        say("CDAP also asks for:")
        rows = [
            [*row, "; ".join(dict.fromkeys(map(str, one.asked)))]
            for row, one in zip(_rows(found.more), found.more, strict=True)
        ]
        invocation.print_table(["privilege", "on", "for", "because it checks"], rows)
    elif for_cdap:
        say("CDAP asks for nothing else")
    if found.not_recorded and for_cdap:
        say(f"not recorded, only the profile's privileges are known: {', '.join(found.not_recorded)}")
    if connections:
        say(f"in no profile, `ranger-cdap roles explain {preset.name}` has their privileges: {', '.join(connections)}")


def _rows(needs: Sequence[JobNeed]) -> list[list[str]]:
    return [[actions_text(one.actions), str(one.entity), ", ".join(one.operations)] for one in needs]


def _document(need: JobNeed) -> dict[str, object]:
    checks = [
        {"check": str(one.check), "entity": entity_document(one.entity), "recorded": one.recorded} for one in need.asked
    ]
    return {
        "actions": need.actions,
        "entity": entity_document(need.entity),
        "operations": need.operations,
        **({"checks": checks} if need.asked else {}),
    }
