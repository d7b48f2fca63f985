"""`ranger-cdap lint`: which policies do not mean what they seem to?"""

from __future__ import annotations

from pathlib import Path

import click

from ranger_cdap.authorizer import Authorizer
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.engine import EngineOptions, PolicyEngine, Problem, decode_roles, decode_service_policies
from ranger_cdap.engine.wire import decode_service_tags
from ranger_cdap.errors import InvalidInput, NotReady
from ranger_cdap.plugins import condition_makers, plugin_manager

FOUND = 1
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option("--policies", type=_FILE, help="A policy download to look at instead of the policies in force.")
@click.option("--roles", type=_FILE, help="A role download, with --policies.")
@click.option("--tags", type=_FILE, help="A tag download, with --policies.")
@pass_invocation
@click.pass_context
def lint(
    context: click.Context, invocation: Invocation, policies: Path | None, roles: Path | None, tags: Path | None
) -> None:
    """Show every part of the policies that can't be used as it is meant, and what is made of it.

    Each problem has a place and a code; docs/reference/policy-problems.md explains the codes.

    Exit code: 0 no problem, 1 problems, 3 invalid input, 4 not ready.
    """
    if policies is None and (roles or tags):
        raise InvalidInput("roles and tags are looked at together with policies: name them with `--policies`")
    found = _in_files(policies, roles, tags) if policies else _in_force(invocation)
    if invocation.as_json:
        invocation.print_json([_document(problem) for problem in found])
    elif not found:
        invocation.console.print("no problem: every part of the policies is used as it is meant")
    else:
        rows = [[_policy(p), p.place, p.code.value, p.message] for p in found]
        invocation.print_table(["policy", "place", "code", "problem"], rows)
    context.exit(FOUND if found else 0)


def _in_files(policies: Path, roles: Path | None, tags: Path | None) -> tuple[Problem, ...]:
    options = EngineOptions(conditions=condition_makers(plugin_manager()))
    engine = PolicyEngine.build(
        decode_service_policies(_read(policies)),
        roles=decode_roles(_read(roles)) if roles else None,
        tags=decode_service_tags(_read(tags) if tags else b"{}"),
        options=options,
    )
    return engine.problems


def _in_force(invocation: Invocation) -> tuple[Problem, ...]:
    with Authorizer.open(invocation.settings, refresh_in_background=False) as authorizer:
        snapshot = authorizer.snapshot
    if snapshot.engine is None:
        raise NotReady(snapshot.reason)
    return snapshot.engine.problems


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as e:
        raise InvalidInput(f"`{path}` can't be read: {type(e).__name__}") from None


def _policy(problem: Problem) -> str:
    number = "" if problem.policy_id is None else str(problem.policy_id)
    return f"{number} {problem.policy_name}".strip()


def _document(problem: Problem) -> dict[str, object]:
    return {
        "policyId": problem.policy_id,
        "policyName": problem.policy_name,
        "place": problem.place,
        "code": problem.code.value,
        "message": problem.message,
    }
