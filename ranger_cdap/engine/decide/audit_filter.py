"""Audit filters: the rules of a service that select which decisions are audited (ranger-semantics.md §11.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.json import Decoder

from ranger_cdap.engine.compiled.items import PUBLIC, USER_MACRO, named_principals
from ranger_cdap.engine.compiled.resource_match import SELF_KINDS, MatchType, PolicyResourceMatcher, compile_resource
from ranger_cdap.engine.compiled.service_def import ServiceModel
from ranger_cdap.engine.decide.query import Query
from ranger_cdap.engine.decide.semantics import Evaluation
from ranger_cdap.engine.decide.tags import ApplicableTag, tag_matches
from ranger_cdap.engine.model.request import ANY_ACCESS
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.download import AuditFilter
from ranger_cdap.ranger_model.json_text import decode

# An unclosed quote extends to the end, so that matching stays linear.
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)(?:'|\\?\Z)|"(?:[^"\\]|\\.)*(?:"|\\?\Z)""")


@dataclass(frozen=True, slots=True)
class CompiledFilter:
    """Compiled audit filter; with `resource` None and `any_resource` False it matches no resource.

    One with `audited` None decides nothing; for a tag it still confirms what is preset (§11.3).
    """

    result: str
    any_resource: bool
    resource: PolicyResourceMatcher | None
    access_types: frozenset[str]
    actions: frozenset[str]
    all_users: bool
    principals: frozenset[str]
    audited: bool | None

    def applies_to(self, query: Query, evaluation: Evaluation, match_type: MatchType) -> bool:
        """Return True if the filter applies to this decision, given the match type of its resource."""
        if self.audited is None or (self.result and self.result != _result(evaluation)):
            return False
        counts = match_type in SELF_KINDS or (match_type is MatchType.DESCENDANT and query.include_descendants)
        if not counts or not (self.all_users or not self.principals.isdisjoint(query.principals)):
            return False
        if not self.access_types and not self.actions:
            return True
        request = query.request
        return (request.access_type or ANY_ACCESS) in self.access_types or (request.action or "") in self.actions


_filters: Final = Decoder(list[AuditFilter], strict=False)


def compile_filters(text: str, model: ServiceModel) -> tuple[CompiledFilter, ...]:
    """Compile the filters of a configuration value. Raises PolicySetError if unreadable; Ranger then uses none."""
    if not text.strip():
        return ()
    filters = decode(_with_double_quotes(text), _filters, lambda _: PolicySetError("the audit filters cannot be read"))
    return tuple(_compile(f, model) for f in filters)


def is_audited(
    evaluation: Evaluation,
    query: Query,
    tags: Iterable[ApplicableTag],
    filters: Sequence[CompiledFilter],
    tag_filters: Sequence[CompiledFilter],
    *,
    preset: bool | None = None,
) -> bool:
    """Return True if the decision is audited: decided by the first filter that applies, those of tags first.

    `preset` is the result of the audit mode or of excluded users; a filter for a tag of the request confirms it.
    """
    for tag in tags if tag_filters else ():
        for one in tag_filters:
            if not _covers_tag(one, tag):
                continue
            if preset is not None:
                return preset
            as_self = one.any_resource or tag.match_type is MatchType.ANCESTOR
            if one.applies_to(query, evaluation, MatchType.SELF if as_self else tag.match_type):
                return bool(one.audited)
    for one in filters:
        if one.applies_to(query, evaluation, _match_type(one, query)):
            return bool(one.audited)
    return evaluation.audited


def _covers_tag(one: CompiledFilter, tag: ApplicableTag) -> bool:
    names = one.resource.elements[:1] if one.resource else ()
    return one.any_resource or any(tag_matches(element, tag.type) for element in names)


def _match_type(one: CompiledFilter, query: Query) -> MatchType:
    if one.any_resource:
        return MatchType.SELF
    if one.resource is None or query.path is None:
        return MatchType.NONE
    return one.resource.match(query.path, query.values, query.tokens, query.request.element_scopes)


def _result(evaluation: Evaluation) -> str:
    if not evaluation.determined:
        return "NOT_DETERMINED"
    return "ALLOWED" if evaluation.allowed else "DENIED"


def _compile(one: AuditFilter, model: ServiceModel) -> CompiledFilter:
    named = one.users or one.groups or one.roles
    return CompiledFilter(
        result=one.access_result,
        any_resource=not one.resources,
        resource=compile_resource(one.resources, model) if one.resources else None,
        access_types=frozenset(one.access_types),
        actions=frozenset(one.actions),
        all_users=not named or PUBLIC in one.groups or USER_MACRO in one.users,
        principals=named_principals(one.users, one.groups, one.roles),
        audited=one.is_audited,
    )


def _with_double_quotes(text: str) -> str:
    """Convert JSON with single quotes, which Ranger accepts here, to JSON."""

    def requoted(match: re.Match[str]) -> str:
        inner = match.group(1)
        return match.group(0) if inner is None else '"' + inner.replace("\\'", "'").replace('"', '\\"') + '"'

    return _QUOTED.sub(requoted, text)
