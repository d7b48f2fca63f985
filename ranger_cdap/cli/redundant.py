"""`ranger-cdap policies lint --redundant`: access that other policies give as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import click
import msgspec

from ranger_cdap.analysis.impact import impact
from ranger_cdap.analysis.redundancy import Redundancy, RedundantPrincipal, redundancy
from ranger_cdap.analysis.removal import ItemPrincipal, without_principals
from ranger_cdap.cdap.grant import is_creators_policy
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.files import write_file
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import NotReady
from ranger_cdap.policies.manage.policy_collection import PolicyCollection
from ranger_cdap.policies.manage.strict_text import write_json
from ranger_cdap.policies.refresh.documents import Documents, compile_set, pieces
from ranger_cdap.questions.display import visible
from ranger_cdap.ranger_model.decode import decode_service_policies

_UNDECIDED_SHOWN = 5


def show_redundant(
    context: click.Context, invocation: Invocation, files: PolicyFiles | None, creators: bool, out: Path | None
) -> None:
    """Show what of policy items could be removed, write the policies that remain to `out`, and exit.

    All of it can be removed together: no request is decided otherwise then. Who is in which group may change, so a
    user's access is not redundant because a group of theirs has it. The audit may name other policies afterwards.

    Raises:
        NotReady: there are no policies.
    """
    with authorizer_by(invocation, files) as authorizer:
        documents, engine = authorizer.snapshot.documents, authorizer.snapshot.engine
    if documents is None or engine is None:
        raise NotReady("there are no policies to look at")
    download = b"".join(pieces(documents.policies))
    found = redundancy(engine, kept=() if creators else _grant_ids(download))
    remaining = without_principals(download, _removals(found.principals))
    if not _decide_alike(engine, documents, remaining):
        invocation.messages.print("error: the policies that remain decide otherwise; nothing is written")
        context.exit(ExitCode.ERROR)
    if out is not None:
        write_file(out, write_json(PolicyCollection.of_download(remaining).document()))
    _show(invocation, found, out)
    context.exit(ExitCode.NO if found.principals else ExitCode.OK)


def _grant_ids(download: bytes) -> frozenset[int]:
    """Return the ids of the grants of the sync job."""
    policies = map(msgspec.json.decode, decode_service_policies(download).policies or ())
    return frozenset(one["id"] for one in policies if isinstance(one, dict) and "id" in one and is_creators_policy(one))


def _removals(found: Iterable[RedundantPrincipal]) -> Mapping[int, list[ItemPrincipal]]:
    by_policy: dict[int, list[ItemPrincipal]] = {}
    for one in found:
        by_policy.setdefault(one.policy_id, []).append(ItemPrincipal(one.item, one.principal))
    return by_policy


def _decide_alike(engine: PolicyEngine, documents: Documents, remaining: bytes) -> bool:
    """Return whether the policies that remain allow and deny what all of them do."""
    reduced = Documents(remaining, documents.roles, documents.tags, documents.users)
    changes = impact(engine, compile_set(reduced, engine.service_name, engine.state.options).engine)
    return not (changes.gained or changes.lost or changes.contradictions)


def _show(invocation: Invocation, found: Redundancy, out: Path | None) -> None:
    if invocation.as_json:
        invocation.print_json(
            {"redundant": [msgspec.to_builtins(one) for one in found.principals], "undecided": found.undecided}
        )
        return
    rows = [
        [
            f'{one.policy_id} "{one.policy_name}"' if one.policy_name else str(one.policy_id),
            str(one.item),
            one.principal,
            ", ".join(one.accesses),
            "; ".join(one.places),
            "; ".join(one.given_by) or "nothing: it has no effect",
        ]
        for one in found.principals
    ]
    if rows:
        shown = [[visible(cell, keep="") for cell in row] for row in rows]
        invocation.print_table(["policy", "item", "who", "access", "on", "given by"], shown)
    else:
        invocation.console.print("nothing is redundant: every principal of every allow item makes a difference")
    if found.undecided:
        named = ", ".join(found.undecided[:_UNDECIDED_SHOWN])
        more = f" and {len(found.undecided) - _UNDECIDED_SHOWN} more" if len(found.undecided) > _UNDECIDED_SHOWN else ""
        invocation.messages.print(f"note: not decided, and so not shown: {named}{more}")
    if out is not None:
        next_step = f"ranger-cdap policies apply --delete --dry-run {out}"
        invocation.messages.print(f"policies that remain: `{out}`; next: {next_step}")
