"""Tag policies: rules about what a resource is tagged with instead of where it lies (ranger-semantics.md §14)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from ranger_cdap.engine.compiled.ancestor import doubts_of_resource, smallest_readable_ancestor
from ranger_cdap.engine.compiled.conditions import UNREADABLE_TAG
from ranger_cdap.engine.compiled.java import fold
from ranger_cdap.engine.compiled.load import Record
from ranger_cdap.engine.compiled.matcher import Element, Tokens, Value
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.compiled.resource_match import MatchType, ResourceMatcher, compile_resource
from ranger_cdap.engine.compiled.schedule import Schedule, compile_schedule
from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.compiled.tag_date import read_date
from ranger_cdap.engine.decide.evaluate import Evaluator, Progress
from ranger_cdap.engine.decide.query import texts
from ranger_cdap.engine.lookup.placed import Placed
from ranger_cdap.engine.model import wire
from ranger_cdap.engine.model.problem import Doubt, ProblemCode, shown
from ranger_cdap.engine.model.request import RequestTag
from ranger_cdap.errors import PolicySetError

Attributes = tuple[tuple[str, str], ...]
"""The attributes of a tag as pairs: two tags of one type that differ in them are two."""

_MATCH_TYPES: Mapping[str, MatchType] = {m.name: m for m in MatchType}


@dataclass(frozen=True, slots=True)
class PlacedTag:
    """A tag of a resource; outside `schedules` it does not count. One that is not `sure` counts for denials only."""

    type: str
    schedules: tuple[Schedule, ...] = ()
    sure: bool = True
    attributes: Attributes = ()

    def counts_at(self, time: int) -> bool:
        """Whether the tag counts; where the time is not known it does."""
        return not self.schedules or not time or any(s.applies(time) for s in self.schedules)


@dataclass(frozen=True, slots=True)
class RequestedTag:
    """A tag that bears on a request, and where the tagged resource lies; `certain` if it surely counts."""

    type: str
    match_type: MatchType
    certain: bool = True
    attributes: Attributes = ()


def _pairs(attributes: Mapping[str, str]) -> Attributes:
    return tuple(sorted(texts(attributes).items()))


class TagTable:
    """Which resources carry which tags. `doubts` are about tags and tagged resources that cannot be read.

    Unless `lenient`, what cannot be read counts against the user and never in their favour: a tag outside its
    unreadable validity, any tag where only its id is known, a tag anywhere its unreadable resource may lie. `dates` are
    the attributes that hold dates some condition asks for.
    """

    def __init__(
        self, tags: wire.ServiceTags | None, model: ServiceModel, *, lenient: bool, dates: Collection[str] = ()
    ) -> None:
        self._lenient = lenient
        self._dates = frozenset(dates)
        self._doubts: list[Doubt] = []
        placed: list[tuple[ResourceMatcher, PlacedTag]] = []
        self._all: tuple[PlacedTag, ...] = ()
        if tags is not None:
            known = {id_: self._tag(id_, tag) for id_, tag in tags.tags.items()}
            self._all = tuple(known.values())
            for n, resource in enumerate(tags.serviceResources):
                place = f"serviceResources[{n}]"
                carried = self._carried(resource, tags.resourceToTagIds, known, place)
                matcher, sure = self._matcher(resource, model, place) if carried else (None, True)
                if matcher is not None:
                    placed += ((matcher, tag if sure else replace(tag, sure=False)) for tag in carried)
        self._everywhere = tuple(tag for matcher, tag in placed if not matcher.path)
        self._placed = Placed(((matcher, tag) for matcher, tag in placed if matcher.path), model)
        self.doubts = tuple(dict.fromkeys(self._doubts))
        self.depends_on_asker = any(e.dynamic for matcher, _ in placed for e in matcher.elements)

    @property
    def depends_on_time(self) -> bool:
        """Whether some resource carries some tag at some times only."""
        return any(tag.schedules for tag in self._all)

    def of(
        self,
        path: Path | None,
        values: tuple[Value, ...],
        tokens: Tokens,
        given: tuple[RequestTag, ...],
        *,
        wide: bool,
        time: int,
    ) -> tuple[RequestedTag, ...]:
        """The tags of a resource: its own, those from above, those below where they count, and those given.

        Below no resource at all Ranger finds every tag of the download, also those nothing carries.
        """
        tags = [
            RequestedTag(
                t.type, _MATCH_TYPES.get(t.match_type, MatchType.SELF), t.type != UNREADABLE_TAG, _pairs(t.attributes)
            )
            for t in given
        ]
        if path is not None:
            tags += (RequestedTag(t.type, MatchType.ANCESTOR, False, t.attributes) for t in self._everywhere)
        below = [(tag, MatchType.DESCENDANT) for tag in self._all] if path == () else []
        for tag, match_type in self._placed.touching(path, values, tokens) if path and self._placed else below:
            if (match_type is not MatchType.DESCENDANT or wide) and tag.counts_at(time):
                certain = tag.sure and (bool(time) or not tag.schedules or self._lenient)
                tags.append(RequestedTag(tag.type, match_type, certain, tag.attributes))
        return tuple(dict.fromkeys(tags))

    def _tag(self, id_: str, tag: wire.Tag) -> PlacedTag:
        if not (tag.type or self._lenient):
            return PlacedTag(UNREADABLE_TAG, sure=False)
        schedules = []
        for n, period in enumerate(tag.validityPeriods):
            try:
                schedules.append(compile_schedule(period, lenient=self._lenient))
            except PolicySetError as e:
                effect = "always counts" if self._lenient else "counts for denials only, at any time"
                message = f"{e}, so tag `{shown(tag.type)}` {effect}"
                place = f"tags[{shown(id_)}].validityPeriods[{n}]"
                self._doubts.append(Doubt(ProblemCode.UNREADABLE_TAG_VALIDITY, place, message))
        attributes = _pairs(tag.attributes)
        self._doubts += self._doubts_of_dates(id_, attributes)
        if len(schedules) < len(tag.validityPeriods):
            return PlacedTag(tag.type, (), self._lenient, attributes)
        return PlacedTag(tag.type, tuple(schedules), attributes=attributes)

    def _doubts_of_dates(self, id_: str, attributes: Attributes) -> Iterator[Doubt]:
        effect = "it counts as past" if self._lenient else "nothing is allowed by a condition about it, denials apply"
        for name, value in attributes:
            if name in self._dates and read_date(value) is None:
                message = f"`{shown(value)}` is no date like 2026/11/22 or 2026-11-22T18:30:00.000Z: {effect}"
                place = f"tags[{shown(id_)}].attributes.{shown(name)}"
                yield Doubt(ProblemCode.UNREADABLE_TAG_DATE, place, message)

    def _carried(
        self, resource: wire.ServiceResource, ids: Mapping[str, list[int]], known: Mapping[str, PlacedTag], place: str
    ) -> list[PlacedTag]:
        """The tags of a resource; without an id it may carry any."""
        if resource.id is None:
            effect = "it carries no tag" if self._lenient else "any tag counts there, for denials only"
            message = f"which tags it carries is not known without an id: {effect}"
            self._doubts.append(Doubt(ProblemCode.UNREADABLE_TAGGED_RESOURCE, f"{place}.id", message))
            return [] if self._lenient else [PlacedTag(UNREADABLE_TAG, sure=False)]
        carried = []
        for id_ in map(str, ids.get(str(resource.id), ())):
            tag = known.get(id_)
            if tag is None or tag.type == UNREADABLE_TAG:
                effect = "it is left out" if self._lenient else "as any tag it counts for denials only"
                message = f"the type of the tag {shown(id_)}, which a resource carries, is not known; {effect}"
                self._doubts.append(Doubt(ProblemCode.UNKNOWN_TAG, f"tags[{shown(id_)}]", message))
                tag = None if self._lenient else PlacedTag(UNREADABLE_TAG, sure=False)
            if tag is not None:
                carried.append(tag)
        return carried

    def _matcher(
        self, resource: wire.ServiceResource, model: ServiceModel, place: str
    ) -> tuple[ResourceMatcher | None, bool]:
        """Where the resource lies, and whether that is sure; None where it is nowhere."""
        elements = resource.resourceElements
        found = list(doubts_of_resource(elements, model, f"{place}.resourceElements"))
        if not elements:
            found = [Doubt(ProblemCode.NO_HIERARCHY, f"{place}.resourceElements", "it names no level")]
        effect = "so it carries no tag" if self._lenient else "so its tags count for denials wherever it may lie"
        code = ProblemCode.UNREADABLE_TAGGED_RESOURCE
        self._doubts += (Doubt(code, d.place, f"{d.message}, {effect}") for d in found)
        if found and not self._lenient:
            return smallest_readable_ancestor(elements, model), False
        return (compile_resource(elements, model) if elements else None), True


class TagRepository:
    """Tag policies by the names of tags."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._exact: dict[str, list[CompiledPolicy]] = {}
        self._prefixed: dict[str, list[CompiledPolicy]] = {}
        for policy in (record.compiled for record in records):
            if policy.broad:
                self._prefixed.setdefault("", []).append(policy)
            for resource in policy.resources:
                for element in resource.elements[:1]:
                    self._enter(element, policy)

    def _enter(self, element: Element, policy: CompiledPolicy) -> None:
        """Ranger compares a tag only with what comes before a value's first special character (§14.3)."""
        if element.match_any or element.excludes:
            self._prefixed.setdefault("", []).append(policy)
            return
        for text in element.values:
            prefix = _before_special(text, element)
            key = fold(prefix) if element.options.ignore_case else prefix
            (self._exact if prefix == text else self._prefixed).setdefault(key, []).append(policy)
        self.folds = element.options.ignore_case

    folds = False

    def of(self, tag: str) -> Iterable[CompiledPolicy]:
        """The policies for a tag; for one whose type cannot be read, all of them."""
        if tag == UNREADABLE_TAG:
            every = (*self._exact.values(), *self._prefixed.values())
            return dict.fromkeys(policy for policies in every for policy in policies)
        name = fold(tag) if self.folds else tag
        found = list(self._exact.get(name, ()))
        for n in range(len(name) + 1):
            found += self._prefixed.get(name[:n], ())
        return dict.fromkeys(found)

    def evaluate(self, tags: Iterable[RequestedTag], zone: str, evaluator: Evaluator, progress: Progress) -> None:
        """All policies for all tags in their order; `zone` selects those of a zone, "" those of none (§14.4)."""
        found: list[tuple[CompiledPolicy, MatchType, Evaluator]] = []
        for tag in tags:
            match_type: MatchType = MatchType.SELF if tag.match_type is MatchType.ANCESTOR else tag.match_type
            of_tag = evaluator.of_tag(dict(tag.attributes), certain=tag.certain)
            found += ((policy, match_type, of_tag) for policy in self.of(tag.type) if policy.zone in (zone, None))
        found.sort(key=lambda one: one[0].sort_key)
        for policy, match_type, of_tag in found:
            of_tag.policy(policy, (match_type,), progress)
            if progress.allowed and not policy.has_deny:
                progress.determined = True
            if progress.settled:
                break
        progress.determined = progress.determined or progress.allowed


def tag_matches(element: Element, tag: str) -> bool:
    """Whether a level that names tags covers a tag, compared as Ranger does: see `TagRepository`."""
    if element.match_any or element.excludes:
        return True
    folds = element.options.ignore_case
    name = fold(tag) if folds else tag
    for text in element.values:
        prefix = _before_special(text, element)
        key = fold(prefix) if folds else prefix
        if name == key or (prefix != text and name.startswith(key)):
            return True
    return False


def _before_special(text: str, element: Element) -> str:
    options = element.options
    special = ("*?" if options.wildcards else "") + ("{}\\" if options.replace_tokens else "")
    special += "$" if options.replace_expressions else ""
    return text[: next((i for i, c in enumerate(text) if c in special), len(text))]


def for_component(definition: wire.ServiceDef, component: str) -> wire.ServiceDef:
    """The tag service's definition as one component sees it: only its access types, without their prefix (§14.1)."""
    return wire.replaced(
        definition,
        accessTypes=[_own_access(a, component) for a in definition.accessTypes if _own(a.name, component)],
        markerAccessTypes=[_own_access(a, component) for a in definition.markerAccessTypes if _own(a.name, component)],
    )


def policy_for_component(raw: msgspec.Raw, component: str, *, lenient: bool) -> msgspec.Raw | None:
    """A tag policy as one component sees it; None where nothing of it is left. An unreadable one stays as it is."""
    try:
        policy = wire.decode_policy(raw, lenient=lenient)
    except PolicySetError:
        return raw
    lists = ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions")
    kept = {name: _own_items(getattr(policy, name), component) for name in lists}
    if not any(kept.values()) and not policy.isAuditEnabled and not policy.isDenyAllElse:
        return None
    return msgspec.Raw(msgspec.json.encode(wire.replaced(policy, **kept)))


def _own_items(items: Iterable[wire.PolicyItem], component: str) -> list[wire.PolicyItem]:
    kept = []
    for item in items:
        accesses = [
            wire.PolicyItemAccess(type=_stripped(a.type, component), isAllowed=a.isAllowed)
            for a in item.accesses
            if _own(a.type, component)
        ]
        if accesses or item.delegateAdmin:
            kept.append(wire.replaced(item, accesses=accesses))
    return kept


def _own_access(access: wire.AccessTypeDef, component: str) -> wire.AccessTypeDef:
    implied = [_stripped(name, component) for name in access.impliedGrants if _own(name, component)]
    return wire.AccessTypeDef(name=_stripped(access.name, component), impliedGrants=implied, category=access.category)


def _own(name: str, component: str) -> bool:
    return ":" not in name or name.startswith(component + ":")


def _stripped(name: str, component: str) -> str:
    return name.removeprefix(component + ":")
