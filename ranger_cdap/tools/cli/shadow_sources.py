"""Records that the shadow report reads: the audit of this program, or that of the Java predecessor."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from ranger_cdap.audit.verify import Place, lines_of, rotated_files
from ranger_cdap.authz.access_replay import AccessReplay
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decision_context import DecisionContext
from ranger_cdap.authz.groups import GroupResolver
from ranger_cdap.cdap.answer import EvaluatedPrivilege, evaluate_privilege
from ranger_cdap.cdap.checks.master import MasterCreate
from ranger_cdap.cdap.profile import Profile
from ranger_cdap.cli.files import reading
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.parameters import moment_of
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by
from ranger_cdap.cli.ranger_changes import counted
from ranger_cdap.config import AuditSettings, Settings
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import InvalidInput, NotReady
from ranger_cdap.tools.shadow.predecessor_audit import read_predecessor_line
from ranger_cdap.tools.shadow.shadow_replay import ShadowReplay
from ranger_cdap.tools.shadow.shadow_report import Evaluate, ShadowReport, ShadowRow, Target


@dataclass(frozen=True, slots=True)
class ShadowSource:
    """Form of the records that the report reads: one of them in words, a file that has some, and what answered them."""

    name: str
    record: str
    example: str
    compared_with: str


AUDIT: Final = ShadowSource("audit", "a record of this program", "records.jsonl", "everything being allowed")
PREDECESSOR: Final = ShadowSource(
    "predecessor", "an event of Ranger's audit", "cdap_ranger_audit.log", "the predecessor"
)
SOURCES: Final = {source.name: source for source in (AUDIT, PREDECESSOR)}

_REMEMBERED: Final = 100_000
"""Number of distinct accesses whose answers are kept: an audit repeats the same ones."""


def read_report(
    invocation: Invocation,
    source: ShadowSource,
    audit: tuple[Path, ...],
    files: PolicyFiles | None = None,
    since: str | None = None,
) -> tuple[ShadowReport, tuple[ShadowRow, ...], PolicyEngine]:
    """Read the records, and compare with the policies.

    Raises:
        InvalidInput: there is no file, one cannot be read, or `since` is no time.
        NotReady: there are no policies.
    """
    chosen = audit or _own_files(invocation.settings.audit, source)
    with authorizer_by(invocation, files) as authorizer, invocation.messages.status("reading audit records"):
        begin = moment_of("--since", since, time.time_ns() // 1_000_000, 0)
        found = ShadowReport(invocation.settings.ranger.service, begin)
        read = _reader(invocation.settings, source, found, authorizer)
        for path in chosen:
            with reading(path) as file:
                for place, line in lines_of(file, str(path)):
                    read(place, line)
        return found, tuple(found.by_now(_evaluating(authorizer))), _engine(authorizer)


def _own_files(settings: AuditSettings, source: ShadowSource) -> tuple[Path, ...]:
    if source is not AUDIT:
        raise InvalidInput(f"`--records {source.name}` needs files; name them, like `{source.example}`")
    chosen = tuple(rotated_files(settings.file))
    if not chosen:
        raise InvalidInput(f"`{settings.file}` does not exist; nothing was audited there")
    return chosen


def require_evidence(source: ShadowSource, found: ShadowReport, *, accepts_undecided: bool = False) -> None:
    """Refuse to say that nothing would change if the records do not show it.

    `accepts_undecided`: records that cannot be decided do not count.

    Raises:
        InvalidInput: lines were rejected, records cannot be decided, or none is of an operation that is only reported.
    """
    if found.rejected:
        lines, first = counted(found.rejected, "line"), found.places[0]
        raise InvalidInput(f"the audit does not show that nothing changes: it has {lines} of no record, as at {first}")
    if source is not AUDIT and not found.reported:
        raise InvalidInput(
            f"the records do not show what would change: none of them could be decided for the service "
            f"`{found.service}`"
        )
    if found.undecided and not accepts_undecided:
        why, those = next(iter(found.undecided.items()))
        records = counted(found.not_decided, "record")
        raise InvalidInput(
            f"the records do not show that nothing changes: {records} cannot be decided, as at {those.first}: {why}; "
            "`--accept-undecided` leaves such records out of account"
        )
    if not found.reported:
        raise InvalidInput(
            "the audit does not show what would change: no record is of an operation that is only reported; see "
            "`[enforce]`"
        )


def _reader(
    settings: Settings, source: ShadowSource, found: ShadowReport, authorizer: Authorizer
) -> Callable[[Place, bytes], None]:
    if source is AUDIT:
        return found.read
    service, instance = settings.ranger.service, settings.cdap.instance
    read_line = partial(read_predecessor_line, service=service, instance=instance)
    _engine(authorizer)  # without policies nothing can be compared
    replay = AccessReplay(authorizer, MasterCreate(settings.master.create))
    return ShadowReplay(found, read_line, lru_cache(maxsize=_REMEMBERED)(replay.answers_to_access)).read


def _evaluating(authorizer: Authorizer) -> Evaluate:
    """Return what the given policies say now, as they decide operations.

    Raises:
        NotReady: there are no policies.
    """
    decider, snapshot = authorizer.decider, authorizer.snapshot
    engine = _engine(authorizer)
    config, groups = decider.config, GroupResolver.of(snapshot, decider.group_hook)
    now = DecisionContext(engine, groups, config.instance, time.time_ns() // 1_000_000)

    def evaluate(user: str, operation: str, entity: Target, actions: tuple[str, ...]) -> EvaluatedPrivilege:
        inherits = config.options.inherit and not _lists(config.profile, operation)
        return evaluate_privilege(user, entity, actions, now.ask, now.names, inherits)

    return evaluate


def _engine(authorizer: Authorizer) -> PolicyEngine:
    snapshot = authorizer.snapshot
    if snapshot.engine is None:
        raise NotReady(f"there are no policies: {snapshot.reason}")
    return snapshot.engine


def _lists(profile: Profile, operation: str) -> bool:
    try:
        return bool(profile.operation(operation).lists)
    except InvalidInput:
        return False
