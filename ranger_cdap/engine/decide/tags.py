"""Tag policies: policies on the tags of a resource rather than on its name (ranger-semantics.md §14)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from ranger_cdap.engine.compiled.conditions import UNREADABLE_TAG, ContextTag
from ranger_cdap.engine.compiled.java import fold
from ranger_cdap.engine.compiled.load import PolicyEntry
from ranger_cdap.engine.compiled.matcher import ResourceMatcher, Tokens, Value
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.compiled.resource_match import (
    MatchType,
    PolicyResourceMatcher,
    compile_resource,
    deepest_valid_ancestor,
    resource_issues,
)
from ranger_cdap.engine.compiled.schedule import Schedule, compile_schedule
from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.compiled.tag_date import read_date
from ranger_cdap.engine.decide.evaluate import PolicyEvaluator
from ranger_cdap.engine.decide.query import string_items
from ranger_cdap.engine.decide.semantics import Evaluation
from ranger_cdap.engine.lookup.resource_map import ResourceMap
from ranger_cdap.engine.model.problem import PolicyIssue, ProblemCode
from ranger_cdap.engine.model.request import ElementScope, RequestTag
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.decode import decode_policy
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.json_repair import shown
from ranger_cdap.ranger_model.policy import PolicyItem, PolicyItemAccess
from ranger_cdap.ranger_model.service_def import AccessTypeDef, ServiceDef
from ranger_cdap.ranger_model.tag import ServiceResource, ServiceTags, Tag

Attributes = tuple[tuple[str, str], ...]
"""Attributes of a tag as sorted pairs; tags of one type with different attributes are distinct."""

_MATCH_TYPES: Mapping[str, MatchType] = {m.name: m for m in MatchType}


@dataclass(frozen=True, slots=True)
class ResourceTag:
    """Tag of a resource, effective only within `schedules`. A tag that is not `certain` can only deny."""

    type: str
    schedules: tuple[Schedule, ...] = ()
    certain: bool = True
    attributes: Attributes = ()

    def effective_at(self, time: int) -> bool:
        """Return True if the tag is effective at a time; also if the time is unknown."""
        return not self.schedules or not time or any(s.applies(time) for s in self.schedules)


@dataclass(frozen=True, slots=True)
class ApplicableTag:
    """Tag that applies to a request, with the match type of the tagged resource; `certain` if it surely applies.

    One that is not `effective` is seen by conditions, not by policies.
    """

    type: str
    match_type: MatchType
    certain: bool
    attributes: Attributes
    effective: bool = True

    @property
    def in_conditions(self) -> ContextTag:
        """The tag as conditions see it."""
        return ContextTag(self.type, self.match_type.name, self.attributes)


def _pairs(attributes: Mapping[str, str]) -> Attributes:
    return tuple(sorted(string_items(attributes).items()))


class TagTable:
    """Tags by resource. `issues` are about unreadable tags and tagged resources.

    Unless `lenient`, unreadable parts count against the user and never in their favour: a tag with an unreadable
    validity is always effective, a tag of unknown type may be of any type, and an unreadable resource is anywhere below
    its readable part. `dates` are the attributes that conditions read as dates.

    With `enriched` the tags are those of the download, without it those of the request (§14.2). Those of the other
    source have no effect if `lenient`; otherwise they can only deny.
    """

    def __init__(
        self,
        tags: ServiceTags | None,
        model: ServiceModel,
        *,
        lenient: bool,
        enriched: bool = True,
        dates: Collection[str] = (),
    ) -> None:
        self._lenient = lenient
        self.enriched = enriched
        """True if the tags are those of the download; otherwise those can only deny."""
        self._dates = frozenset(dates)
        self._issues: list[PolicyIssue] = []
        resources: list[tuple[PolicyResourceMatcher, ResourceTag]] = []
        self._all_tags: tuple[ResourceTag, ...] = ()
        if tags is not None and (enriched or not lenient):
            known = {id_: self._tag(id_, tag) for id_, tag in tags.tags.items()}
            self._all_tags = tuple(known.values())
            for n, resource in enumerate(tags.service_resources):
                place = f"serviceResources[{n}]"
                resource_tags = self._tags_of(resource, tags.resource_to_tag_ids, known, place)
                matcher, certain = self._matcher(resource, model, place) if resource_tags else (None, True)
                if matcher is not None:
                    resources += ((matcher, tag if certain else replace(tag, certain=False)) for tag in resource_tags)
        self.everywhere = tuple(tag for matcher, tag in resources if not matcher.path)
        """Tags that may be on any resource, for denials only."""
        self.resources = ResourceMap(((matcher, tag) for matcher, tag in resources if matcher.path), model)
        self.issues = tuple(dict.fromkeys(self._issues))
        self.depends_on_request = any(e.dynamic for matcher, _ in resources for e in matcher.elements)

    @property
    def count(self) -> int:
        """Number of tags that resources may have."""
        return len(self._all_tags)

    @property
    def depends_on_time(self) -> bool:
        """Return True if some tag has a validity schedule."""
        return any(tag.schedules for tag in self._all_tags)

    def of(
        self,
        path: Path | None,
        values: tuple[Value, ...],
        tokens: Tokens,
        request_tags: tuple[RequestTag, ...],
        scopes: Mapping[str, ElementScope] | None = None,
        *,
        include_descendants: bool,
        time: int,
    ) -> tuple[ApplicableTag, ...]:
        """Return the tags of a resource: its own, inherited ones, those below it if included, and those of the request.

        For the root, Ranger returns every tag of the download, also unused ones, and shows conditions ineffective ones.
        """
        tags = [self._request_tag(t) for t in request_tags] if not (self.enriched and self._lenient) else []
        if path is not None:
            tags += (ApplicableTag(t.type, MatchType.ANCESTOR, False, t.attributes) for t in self.everywhere)
        if path and self.resources:
            found = self.resources.matching(path, values, tokens, scopes)
        else:
            found = [(tag, MatchType.DESCENDANT) for tag in self._all_tags] if path == () else []
        for tag, match_type in found:
            effective = tag.effective_at(time)
            if (match_type is not MatchType.DESCENDANT or include_descendants) and (effective or not path):
                certain = self.enriched and tag.certain and (bool(time) or not tag.schedules or self._lenient)
                tags.append(ApplicableTag(tag.type, match_type, certain, tag.attributes, effective))
        return tuple(dict.fromkeys(tags))

    def _request_tag(self, tag: RequestTag) -> ApplicableTag:
        match_type = _MATCH_TYPES.get(tag.match_type, MatchType.SELF)
        certain = self._lenient or (not self.enriched and tag.type not in ("", UNREADABLE_TAG))
        return ApplicableTag(tag.type or UNREADABLE_TAG, match_type, certain, _pairs(tag.attributes))

    def _tag(self, id_: str, tag: Tag) -> ResourceTag:
        if not (tag.type or self._lenient):
            return ResourceTag(UNREADABLE_TAG, certain=False)
        schedules = []
        for n, period in enumerate(tag.validity_periods):
            try:
                schedules.append(compile_schedule(period, lenient=self._lenient))
            except PolicySetError as e:
                effect = "is always effective" if self._lenient else "only denies, at any time"
                message = f"{e}, so tag `{shown(tag.type)}` {effect}"
                place = f"tags[{shown(id_)}].validityPeriods[{n}]"
                self._issues.append(PolicyIssue(ProblemCode.UNREADABLE_TAG_VALIDITY, place, message))
        attributes = _pairs(tag.attributes)
        self._issues += self._date_issues(id_, attributes)
        if len(schedules) < len(tag.validity_periods):
            return ResourceTag(tag.type or UNREADABLE_TAG, (), self._lenient, attributes)
        return ResourceTag(tag.type or UNREADABLE_TAG, tuple(schedules), attributes=attributes)

    def _date_issues(self, id_: str, attributes: Attributes) -> Iterator[PolicyIssue]:
        effect = "it is treated as past" if self._lenient else "a condition on it allows nothing, and denials apply"
        for name, value in attributes:
            if name in self._dates and read_date(value) is None:
                message = f"`{shown(value)}` is not a date like 2026/11/22 or 2026-11-22T18:30:00.000Z: {effect}"
                place = f"tags[{shown(id_)}].attributes.{shown(name)}"
                yield PolicyIssue(ProblemCode.UNREADABLE_TAG_DATE, place, message)

    def _tags_of(
        self, resource: ServiceResource, ids: Mapping[str, list[int]], known: Mapping[str, ResourceTag], place: str
    ) -> list[ResourceTag]:
        """Return the tags of a resource; without an id it may have any tag."""
        if resource.id is None:
            effect = "it has no tags" if self._lenient else "it may have any tag, for denials only"
            message = f"its tags are unknown without an id: {effect}"
            self._issues.append(PolicyIssue(ProblemCode.UNREADABLE_TAGGED_RESOURCE, f"{place}.id", message))
            return [] if self._lenient else [ResourceTag(UNREADABLE_TAG, certain=False)]
        resource_tags = []
        for id_ in map(str, ids.get(str(resource.id), ())):
            tag = known.get(id_)
            if tag is None or tag.type == UNREADABLE_TAG:
                effect = "it is ignored" if tag is None else "every tag policy applies to it"
                effect = effect if self._lenient else "it may be any tag, for denials only"
                message = f"the type of tag {shown(id_)} of a resource is unknown; {effect}"
                self._issues.append(PolicyIssue(ProblemCode.UNKNOWN_TAG, f"tags[{shown(id_)}]", message))
                tag = tag if self._lenient else ResourceTag(UNREADABLE_TAG, certain=False)
            if tag is not None:
                resource_tags.append(tag)
        return resource_tags

    def _matcher(
        self, resource: ServiceResource, model: ServiceModel, place: str
    ) -> tuple[PolicyResourceMatcher | None, bool]:
        """Return the matcher of a tagged resource, None if it matches nothing, and whether all of it is readable."""
        elements = resource.resource_elements
        found = list(resource_issues(elements, model, f"{place}.resourceElements"))
        if not elements:
            found = [PolicyIssue(ProblemCode.NO_HIERARCHY, f"{place}.resourceElements", "it has no levels")]
        effect = (
            "so it has no tags"
            if self._lenient
            else "so its tags apply to all resources it may cover, for denials only"
        )
        code = ProblemCode.UNREADABLE_TAGGED_RESOURCE
        self._issues += (PolicyIssue(code, d.place, f"{d.message}, {effect}") for d in found)
        if found and not self._lenient:
            return deepest_valid_ancestor(elements, model), False
        return (compile_resource(elements, model) if elements else None), True


class TagRepository:
    """Tag policies by tag name."""

    def __init__(self, entries: Sequence[PolicyEntry]) -> None:
        self.entries = entries
        self.condition_steps = sum(entry.condition_steps for entry in entries)
        """Steps that all custom conditions may take, each evaluated once; they are for each tag of a resource."""
        self._exact: dict[str, list[CompiledPolicy]] = {}
        self._prefixed: dict[str, list[CompiledPolicy]] = {}
        for policy in (entry.compiled_with_order for entry in entries):
            if policy.covers_subtree:
                self._prefixed.setdefault("", []).append(policy)
            for resource in policy.resources:
                for element in resource.elements[:1]:
                    self._add(element, policy)

    def _add(self, element: ResourceMatcher, policy: CompiledPolicy) -> None:
        """Index a policy; Ranger compares a tag only with the part before a value's first special character (§14.3)."""
        if element.match_any or element.excludes:
            self._prefixed.setdefault("", []).append(policy)
            return
        for text in element.values:
            prefix = _before_special(text, element)
            key = fold(prefix) if element.options.ignore_case else prefix
            (self._exact if prefix == text else self._prefixed).setdefault(key, []).append(policy)
        self.ignore_case = element.options.ignore_case

    ignore_case = False

    def of(self, tag: str) -> Iterable[CompiledPolicy]:
        """Return the policies for a tag; all of them if the type of the tag is unreadable."""
        if tag == UNREADABLE_TAG:
            every = (*self._exact.values(), *self._prefixed.values())
            return dict.fromkeys(policy for policies in every for policy in policies)
        name = fold(tag) if self.ignore_case else tag
        found = list(self._exact.get(name, ()))
        for n in range(len(name) + 1):
            found += self._prefixed.get(name[:n], ())
        return dict.fromkeys(found)

    def evaluate(
        self, tags: Iterable[ApplicableTag], zone: str, evaluator: PolicyEvaluator, evaluation: Evaluation
    ) -> None:
        """Evaluate the policies of all tags in order; `zone` selects a zone, "" the policies outside zones (§14.4)."""
        found: list[tuple[CompiledPolicy, MatchType, PolicyEvaluator]] = []
        for tag in tags:
            match_type: MatchType = MatchType.SELF if tag.match_type is MatchType.ANCESTOR else tag.match_type
            tag_evaluator = evaluator.for_tag(tag.in_conditions, certain=tag.certain)
            found += (
                (policy, match_type, tag_evaluator) for policy in self.of(tag.type) if policy.zone in (zone, None)
            )
        found.sort(key=lambda one: one[0].sort_key)
        for policy, match_type, tag_evaluator in found:
            tag_evaluator.evaluate_policy(policy, (match_type,), evaluation)
            evaluation.after(policy)
            if evaluation.is_final:
                break
        evaluation.end_tag_policies()


def tag_matches(element: ResourceMatcher, tag: str) -> bool:
    """Return True if a resource level of tag names covers a tag, compared as in `TagRepository`."""
    if element.match_any or element.excludes or tag == UNREADABLE_TAG:
        return True
    ignore_case = element.options.ignore_case
    name = fold(tag) if ignore_case else tag
    for text in element.values:
        prefix = _before_special(text, element)
        key = fold(prefix) if ignore_case else prefix
        if name == key or (prefix != text and name.startswith(key)):
            return True
    return False


def _before_special(text: str, element: ResourceMatcher) -> str:
    options = element.options
    special = ("*?" if options.wildcards else "") + ("{}\\" if options.replace_tokens else "")
    special += "$" if options.replace_expressions else ""
    return text[: next((i for i, c in enumerate(text) if c in special), len(text))]


def service_def_for_component(definition: ServiceDef, component: str) -> ServiceDef:
    """Return the tag service definition for one component: only its access types, without their prefix (§14.1)."""
    return replaced(
        definition,
        access_types=[
            _access_type_for(a, component) for a in definition.access_types if _applies_to(a.name, component)
        ],
        marker_access_types=[
            _access_type_for(a, component) for a in definition.marker_access_types if _applies_to(a.name, component)
        ],
    )


def policy_for_component(raw: msgspec.Raw, component: str, *, lenient: bool) -> msgspec.Raw | None:
    """Return a tag policy for one component; None if nothing of it applies. An unreadable policy is unchanged.

    `lenient` drops a policy without items for the component even if it is deny-all-else, as Ranger does.
    """
    try:
        policy = decode_policy(raw, lenient=lenient)
    except PolicySetError:
        return raw
    lists = policy.item_lists().values()
    kept = allowed, denied, not_allowed, not_denied = [_items_for(items, component) for items in lists]
    if not any(kept) and not policy.is_audit_enabled and (lenient or not policy.is_deny_all_else):
        return None
    changed = replaced(
        policy,
        policy_items=allowed,
        deny_policy_items=denied,
        allow_exceptions=not_allowed,
        deny_exceptions=not_denied,
    )
    return msgspec.Raw(msgspec.json.encode(changed))


def _items_for(items: Iterable[PolicyItem], component: str) -> list[PolicyItem]:
    kept = []
    for item in items:
        accesses = [
            PolicyItemAccess(type=_without_prefix(a.type, component), is_allowed=a.is_allowed)
            for a in item.accesses
            if _applies_to(a.type, component)
        ]
        if accesses or item.delegate_admin:
            kept.append(replaced(item, accesses=accesses))
    return kept


def _access_type_for(access: AccessTypeDef, component: str) -> AccessTypeDef:
    implied = [_without_prefix(name, component) for name in access.implied_grants if _applies_to(name, component)]
    return AccessTypeDef(name=_without_prefix(access.name, component), implied_grants=implied, category=access.category)


def _applies_to(name: str, component: str) -> bool:
    return ":" not in name or name.startswith(component + ":")


def _without_prefix(name: str, component: str) -> str:
    return name.removeprefix(component + ":")
