"""`ranger-cdap policies lint --propose`: what would repair policies, or make them fewer and narrower."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from ranger_cdap.cdap.entity import to_resource
from ranger_cdap.cdap.grant import is_creators_policy
from ranger_cdap.cdap.inventory import read_entities
from ranger_cdap.cli.display import visible
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.files import write_file
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.engine.view import NO_ZONES_KNOWN
from ranger_cdap.errors import NotReady
from ranger_cdap.keyed import grouped
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger.files.strict_text import write_json
from ranger_cdap.ranger.refresh.documents import Documents, pieces
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.policy import policy_text
from ranger_cdap.tools.analysis.impact import impact
from ranger_cdap.tools.analysis.overbreadth import overbreadth
from ranger_cdap.tools.analysis.redundancy import RedundantPrincipal, redundancy
from ranger_cdap.tools.analysis.without_principals import ItemPrincipal, without_principals
from ranger_cdap.tools.cli.audit_report import AuditRead
from ranger_cdap.tools.insights.proposal import propose
from ranger_cdap.tools.policies.excluded_levels import rewrite
from ranger_cdap.tools.questions.entity_spelling import entity_spelling
from ranger_cdap.tools.questions.impact_question import compared_engine

_SHOWN: Final = 5
Row = dict[str, str]


def show_proposals(
    invocation: Invocation, documents: Documents, inventory: Path | None, now: int, out: Path | None
) -> ExitCode:
    """Show what can be rewritten, removed and narrowed, and write the policies without the first two to `out`.

    All that is removed can be removed together: no request is decided otherwise then. Who is in which group may change,
    so a user's access is not redundant because a group of theirs has it. The audit may name other policies afterwards.
    """
    service = invocation.settings.ranger.service
    download = b"".join(pieces(documents.policies))
    rewritten = rewrite(PolicyCollection.of_download(download))
    if rewritten.done:
        download = rewritten.collection.download(service)
        documents = msgspec.structs.replace(documents, policies=download)
    engine = compared_engine(documents, service)
    instance = invocation.settings.cdap.instance
    spelling = entity_spelling(instance)
    found = redundancy(engine, kept=_grant_ids(download), spelling=spelling)
    removals = grouped((one.policy_id, ItemPrincipal(one.item, one.principal)) for one in found.principals)
    remaining = without_principals(download, removals)
    if not _decide_alike(engine, compared_engine(msgspec.structs.replace(documents, policies=remaining), service)):
        invocation.messages.print("error: the policies that remain decide otherwise; nothing is written")
        return ExitCode.ERROR
    rows = [
        *(_row(one.name, "resources", "rewrite", str(one)) for one in rewritten.done),
        *(_row(one.name, "resources", "by hand", str(one)) for one in rewritten.left),
        *map(_redundant, found.principals),
    ]
    notes = [("not decided, and so not shown", found.undecided)]
    if inventory is not None:
        entities = read_entities(inventory, instance=instance, now=now)
        wide = overbreadth(engine, (to_resource(one, instance) for one in entities), spelling=spelling)
        for one in wide.values:
            enough = ", ".join(one.enough) or "nothing: it covers no entity"
            what = f"{', '.join(one.who)}: {one.level} {one.value} covers {one.entities} entities; enough is {enough}"
            rows.append(_row(policy_text(one.policy_id, one.policy_name, one.zone), one.resource, "narrow", what))
        notes.append(("the inventory has none of these, so policies on them are not judged", wide.not_judged))
    if out is not None:
        write_file(out, write_json(PolicyCollection.of_download(remaining).document()))
    _show(invocation, rows, dict(notes), out)
    return ExitCode.NO if rows else ExitCode.OK


def show_least(invocation: Invocation, read: AuditRead, out: Path | None) -> ExitCode:
    """Show what policies that allow exactly what was allowed and used would change, and write them to `out`.

    Uses that no policy can allow exactly are left out and counted.

    Raises:
        NotReady: the policies are in security zones that are not known.
    """
    if not read.engine.view.policies.zones_known:
        raise NotReady(f"{NO_ZONES_KNOWN}, in which policies are to be; name them as in `FILE,zones.json`")
    found = propose(read.facts, read.engine)
    entry = PolicyCollection.of_download(b"".join(pieces(read.documents.policies))).service
    least = PolicyCollection(msgspec.structs.replace(entry, tags=None), ()).with_policies(found.policies)
    after = compared_engine(Documents(least.download(read.engine.service_name), read.documents.roles), "")
    changes = impact(read.engine, after)
    if out is not None:
        write_file(out, write_json(least.document()))
    counts = Counter(gained=len(changes.gained), lost=len(changes.lost))
    document = {
        "policies": [one["name"] for one in found.policies],
        "left_out": [{"reason": why, "accesses": times} for why, times in found.left_out],
        "impact": counts,
    }
    lines = (
        *(f"left out: {times:,} accesses: {why}" for why, times in found.left_out),
        f"{len(found.policies):,} policies allow what was allowed and used; rights that go: {counts['lost']:,}",
    )
    invocation.show(document, lines)
    _next(invocation, out)
    return ExitCode.NO if counts.total() else ExitCode.OK


def _row(policy: str, place: str, kind: str, what: str) -> Row:
    return {"policy": policy.removeprefix("policy "), "place": place, "proposal": kind, "what": what}


def _redundant(one: RedundantPrincipal) -> Row:
    what = (
        f"{one.principal}: {', '.join(one.accesses)} on {'; '.join(one.resources)};"
        f" given by {'; '.join(one.given_by) or 'nothing: it has no effect'}"
    )
    return _row(policy_text(one.policy_id, one.policy_name, one.zone), f"item {one.item}", "remove", what)


def _show(invocation: Invocation, rows: list[Row], notes: Mapping[str, tuple[str, ...]], out: Path | None) -> None:
    if invocation.as_json:
        invocation.print_json({"proposals": rows, "notes": notes})
        return
    if rows:
        invocation.print_table([*rows[0]], [[visible(cell, keep="") for cell in row.values()] for row in rows])
    else:
        invocation.console.print("nothing to propose: every principal of every allow item makes a difference")
    for why, names in notes.items():
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            invocation.messages.print(f"note: {why}: {', '.join(names[:_SHOWN])}{more}")
    _next(invocation, out)


def _next(invocation: Invocation, out: Path | None) -> None:
    if out is not None:
        invocation.messages.print(f"policies written to `{out}`; next: ranger-cdap policies diff ranger: {out}")


def _grant_ids(download: bytes) -> frozenset[int]:
    """Return the ids of the grants of the sync job, which writes them again."""
    return frozenset(
        one["id"]
        for one in map(msgspec.json.decode, decode_service_policies(download).policies or ())
        if isinstance(one, dict) and "id" in one and is_creators_policy(one)
    )


def _decide_alike(engine: PolicyEngine, reduced: PolicyEngine) -> bool:
    """Return whether two sets of policies allow and deny the same."""
    changes = impact(engine, reduced)
    return not (changes.gained or changes.lost or changes.contradictions)
