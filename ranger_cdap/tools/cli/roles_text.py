"""Presets of job roles for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from ranger_cdap.cdap.presets import Preset, ldap_without_preset, load_preset, preset_names, preset_profiles
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.ranger.changes.setup_rights import in_order
from ranger_cdap.tools.analysis.row_text import LevelText
from ranger_cdap.tools.questions.entity_spelling import entity_spelling
from ranger_cdap.tools.roles.role_plan import WantedRole


def print_presets(invocation: Invocation) -> None:
    """Print all presets, with the roles of the LDAP binding that each stands for, and those without one."""
    presets = [load_preset(name, preset_profiles()[0]) for name in preset_names()]
    without = ldap_without_preset()
    if invocation.as_json:
        rows = [{"preset": one.name, "description": one.description, "ldap": list(one.ldap)} for one in presets]
        others = [{"role": role, "instead": instead} for role, instead in without.items()]
        invocation.print_json({"presets": rows, "ldap_without_preset": others})
        return
    invocation.print_table(["preset", "description"], [[one.name, one.description] for one in presets])
    invocation.console.print("\nroles of the LDAP binding:")
    for one in presets:
        invocation.console.print(f"  {', '.join(one.ldap)}: {one.name}")
    for role, instead in without.items():
        invocation.console.print(f"  {role}: no preset; {instead}")


def print_preset(invocation: Invocation, preset: Preset, wanted: WantedRole) -> None:
    """Print what a preset may do, the policies of its role, and what these allow besides."""
    spelling = entity_spelling(invocation.settings.cdap.instance)
    policies = [
        (
            one.policy_name,
            spelling(tuple(one.resource), [LevelText((value,)) for value in one.resource.values()]),
            in_order(one.accesses),
        )
        for one in wanted.rights
    ]
    if invocation.as_json:
        rows = [{"policy": name, "resource": resource, "accesses": accesses} for name, resource, accesses in policies]
        invocation.print_json(
            {
                "preset": preset.name,
                "description": preset.description,
                "role": wanted.name,
                "operations": list(preset.operations),
                "operations_in_system": list(preset.system_operations),
                "also": dict(preset.also),
                "also_in_system": dict(preset.system_also),
                "policies": rows,
                "ldap": list(preset.ldap),
            }
        )
        return
    say = invocation.console.print
    say(f"{preset.name}: {preset.description}")
    say(f"role: {wanted.name}\n\noperations in the namespace:")
    for line in _by_kind(preset.operations):
        say(f"  {line}")
    if preset.system_operations:
        say("\noperations in the namespace system:")
        for line in _by_kind(preset.system_operations):
            say(f"  {line}")
    _print_also(invocation, "\nallowed besides by the same privileges:", preset.also)
    _print_also(invocation, "\nallowed besides in the namespace system:", preset.system_also)
    say("\npolicies:")
    for _, resource, accesses in policies:
        say(f"  {resource}: {', '.join(accesses)}")
    say("\nEverything else is denied, unless other policies allow it.")


def _print_also(invocation: Invocation, title: str, also: Mapping[str, str]) -> None:
    if also:
        invocation.console.print(title)
    for reason in dict.fromkeys(also.values()):
        names = ", ".join(name for name, why in also.items() if why == reason)
        invocation.console.print(f"  {names}: {reason}")


def _by_kind(operations: tuple[str, ...]) -> list[str]:
    """Return a line for each entity type, `dataset: list, get`."""
    kinds = dict.fromkeys(name.partition(".")[0] for name in operations)
    return [
        f"{kind}: {', '.join(verb for one, _, verb in (name.partition('.') for name in operations) if one == kind)}"
        for kind in kinds
    ]
