"""Audit filters: a service's own rules about which decisions are worth an audit record (ranger-semantics.md §11.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from ranger_cdap.engine.compiled.items import PUBLIC, USER_MACRO, principals_of
from ranger_cdap.engine.compiled.resource_match import SELF_KINDS, MatchType, ResourceMatcher, compile_resource
from ranger_cdap.engine.compiled.service_def import ServiceModel
from ranger_cdap.engine.decide.evaluate import Progress
from ranger_cdap.engine.decide.query import Query
from ranger_cdap.engine.decide.tags import RequestedTag, tag_matches
from ranger_cdap.engine.model import wire
from ranger_cdap.engine.model.request import ANY_ACCESS
from ranger_cdap.errors import PolicySetError

# A quote that is never closed reaches to the end, so that nothing is looked at twice.
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)(?:'|\\?\Z)|"(?:[^"\\]|\\.)*(?:"|\\?\Z)""")


@dataclass(frozen=True, slots=True)
class CompiledFilter:
    """A filter ready to use; `resource` None with `anywhere` False fits no resource."""

    result: str
    anywhere: bool
    resource: ResourceMatcher | None
    what: frozenset[str]
    actions: frozenset[str]
    everybody: bool
    who: frozenset[str]
    audited: bool

    def says(self, query: Query, progress: Progress, match_type: MatchType) -> bool:
        """Whether the filter speaks of this decision on a resource it lies so to."""
        if self.result and self.result != _result(progress):
            return False
        counts = match_type in SELF_KINDS or (match_type is MatchType.DESCENDANT and query.wide)
        if not counts or not (self.everybody or not self.who.isdisjoint(query.who)):
            return False
        if not self.what and not self.actions:
            return True
        request = query.request
        return (request.access_type or ANY_ACCESS) in self.what or (request.action or "") in self.actions


def compile_filters(text: str, model: ServiceModel) -> tuple[CompiledFilter, ...]:
    """The filters of a configuration value. Raises PolicySetError where it cannot be read; Ranger then has none."""
    if not text.strip():
        return ()
    try:
        filters = msgspec.json.decode(_with_double_quotes(text), type=list[wire.AuditFilter], strict=False)
    except (ValueError, RecursionError):
        raise PolicySetError("the audit filters cannot be read") from None
    return tuple(_compile(f, f.isAudited, model) for f in filters if f.isAudited is not None)


def filtered(
    progress: Progress,
    query: Query,
    tags: Iterable[RequestedTag],
    filters: Sequence[CompiledFilter],
    tag_filters: Sequence[CompiledFilter],
) -> bool:
    """Whether the decision is audited after all: the first filter that speaks of it says so, those of tags first."""
    for tag in tags if tag_filters else ():
        match_type = MatchType.SELF if tag.match_type is MatchType.ANCESTOR else tag.match_type
        for one in tag_filters:
            names = one.resource.elements[:1] if one.resource else ()
            if (one.anywhere or any(tag_matches(e, tag.type) for e in names)) and one.says(query, progress, match_type):
                return one.audited
    for one in filters:
        if one.says(query, progress, _match_type(one, query)):
            return one.audited
    return progress.audited


def _match_type(one: CompiledFilter, query: Query) -> MatchType:
    if one.anywhere:
        return MatchType.SELF
    if one.resource is None or query.path is None:
        return MatchType.NONE
    return one.resource.match(query.path, query.values, query.tokens, query.request.element_scopes)


def _result(progress: Progress) -> str:
    if not progress.determined:
        return "NOT_DETERMINED"
    return "ALLOWED" if progress.allowed else "DENIED"


def _compile(one: wire.AuditFilter, audited: bool, model: ServiceModel) -> CompiledFilter:
    named = one.users or one.groups or one.roles
    return CompiledFilter(
        result=one.accessResult,
        anywhere=not one.resources,
        resource=compile_resource(one.resources, model) if one.resources else None,
        what=frozenset(one.accessTypes),
        actions=frozenset(one.actions),
        everybody=not named or PUBLIC in one.groups or USER_MACRO in one.users,
        who=principals_of(one.users, one.groups, one.roles),
        audited=audited,
    )


def _with_double_quotes(text: str) -> str:
    """JSON with single quotes, which Ranger accepts here, as JSON."""

    def requoted(match: re.Match[str]) -> str:
        inner = match.group(1)
        return match.group(0) if inner is None else '"' + inner.replace("\\'", "'").replace('"', '\\"') + '"'

    return _QUOTED.sub(requoted, text)
