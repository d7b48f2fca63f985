"""What an engine is made of, from a full download and from deltas (ranger-semantics.md §3, §17)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from ranger_cdap.engine.compiled.conditions import date_script
from ranger_cdap.engine.compiled.load import Loaded, Record, load_policies
from ranger_cdap.engine.compiled.options import AUDIT_FILTERS, EngineOptions, Privileged, privileged
from ranger_cdap.engine.compiled.policy import PolicyCompiler
from ranger_cdap.engine.compiled.roles import RoleTable
from ranger_cdap.engine.compiled.service_def import ServiceModel, compile_service_def
from ranger_cdap.engine.decide.audit_filter import CompiledFilter, compile_filters
from ranger_cdap.engine.decide.tags import TagRepository, TagTable, for_component, policy_for_component
from ranger_cdap.engine.lookup.delta import apply_changes, apply_to_list, read_changes
from ranger_cdap.engine.lookup.repository import Policies, Repository
from ranger_cdap.engine.lookup.zones import NOBODY, UNREADABLE_ZONE, ZoneTable
from ranger_cdap.engine.model import wire
from ranger_cdap.engine.model.problem import Doubt, Problem, ProblemCode, of_download
from ranger_cdap.errors import PolicySetError

_TAG_SERVICE = "tag"


@dataclass(frozen=True, slots=True)
class Parts:
    """What an engine is made of; a new engine shares with the old one what has not changed."""

    policies: wire.ServicePolicies
    model: ServiceModel
    compiler: PolicyCompiler
    tag_compiler: PolicyCompiler | None
    default: Policies
    zones: Mapping[str, Policies]
    zone_table: ZoneTable
    tag_zones: frozenset[str]
    tag_repository: TagRepository | None
    tag_table: TagTable
    audit_filters: tuple[CompiledFilter, ...]
    tag_audit_filters: tuple[CompiledFilter, ...]
    roles: RoleTable
    privileged: Privileged
    options: EngineOptions
    policy_problems: tuple[Problem, ...]
    tag_policy_problems: tuple[Problem, ...]
    filter_doubts: tuple[Doubt, ...]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All that could not be used as it was meant, policies first."""
        others = (*self.zone_table.doubts, *self.tag_table.doubts, *self.roles.doubts, *self.filter_doubts)
        return (*self.policy_problems, *self.tag_policy_problems, *of_download(others))


def assemble(
    policies: wire.ServicePolicies,
    service: str | None,
    roles: wire.RangerRoles | None,
    tags: wire.ServiceTags | None,
    options: EngineOptions,
) -> Parts:
    """The parts of a full download; PolicySetError as `PolicyEngine.build`."""
    if service is not None and policies.serviceName != service:
        raise PolicySetError(f"the policies are those of service `{policies.serviceName}`, not of `{service}`")
    if policies.serviceDef is None:
        raise PolicySetError(f"the policies of service `{policies.serviceName}` come without a service definition")
    lenient = not options.cautious
    model = compile_service_def(policies.serviceDef, lenient=lenient)
    compiler = PolicyCompiler(model, options.cautious, options.conditions)
    problems: list[Problem] = []
    zone_table = ZoneTable(policies.securityZones, model, lenient=lenient)
    zones = {
        name: Repository(load_policies(zone.policies, compiler, problems), model)
        for name, zone in policies.securityZones.items()
    }
    default = Repository(load_policies(policies.policies or (), compiler, problems), model)
    if options.cautious:
        _refuse_unusable_tags(policies, tags)
    tag_problems: list[Problem] = []
    tag_repository, tag_compiler = _tag_repository(policies, options, tag_problems)
    filter_doubts: list[Doubt] = []
    return Parts(
        policies=_envelope(policies),
        model=model,
        compiler=compiler,
        tag_compiler=tag_compiler,
        default=default,
        zones=_with_unreadable_zone(zones, zone_table, compiler, model),
        zone_table=zone_table,
        tag_zones=_tag_zones(policies),
        tag_repository=tag_repository,
        tag_table=TagTable(tags, model, lenient=lenient, dates=_date_attributes(tag_compiler)),
        audit_filters=_filters(policies, compiler, "", filter_doubts),
        tag_audit_filters=_filters(policies.tagPolicies, tag_compiler, "tagPolicies.", filter_doubts),
        roles=RoleTable(roles),
        privileged=privileged(options, policies.serviceConfig),
        options=options,
        policy_problems=tuple(problems),
        tag_policy_problems=tuple(tag_problems),
        filter_doubts=tuple(filter_doubts),
    )


def after_deltas(old: Parts, document: wire.ServicePolicies) -> Parts:
    """The parts after the deltas of a download; PolicySetError as `PolicyEngine.with_deltas`."""
    problems: list[Problem] = []
    if document.serviceDef is not None and document.serviceDef != old.policies.serviceDef:
        raise PolicySetError("the service definition has changed with the deltas: download all policies")
    if document.serviceName and document.serviceName != old.policies.serviceName:
        raise PolicySetError(
            f"the deltas are those of service `{document.serviceName}`, not `{old.policies.serviceName}`"
        )
    if document.policies or document.policyDeltas is None:
        raise PolicySetError("the document holds policies where deltas are expected")
    types = {_TAG_SERVICE, old.model.name}
    changes = read_changes(document.policyDeltas, types)
    own = [c for c in changes if c.service_type in ("", old.model.name)]
    envelope, zones = _with_zones(old, document, problems)
    touched = {c.policy_id for c in changes}
    linked = old.policies.tagPolicies
    if linked is not None and len(own) < len(changes):
        others = [c for c in changes if c.service_type not in ("", old.model.name)]
        linked = wire.replaced(linked, policies=apply_to_list(linked.policies, others))
    envelope = wire.replaced(envelope, policyVersion=document.policyVersion, tagPolicies=linked)
    tag_repository, tag_compiler, tag_problems = old.tag_repository, old.tag_compiler, list(old.tag_policy_problems)
    if linked is not old.policies.tagPolicies:
        tag_problems = []
        tag_repository, tag_compiler = _tag_repository(envelope, old.options, tag_problems)
    default = apply_changes(old.default, own, old.compiler, problems)
    zone_table = old.zone_table
    if zones is not old.zones:
        zone_table = ZoneTable(envelope.securityZones, old.model, lenient=not old.options.cautious)
    return replace(
        old,
        policies=envelope,
        default=default,
        zones=_with_unreadable_zone(zones, zone_table, old.compiler, old.model),
        zone_table=zone_table,
        tag_zones=_tag_zones(envelope),
        tag_repository=tag_repository,
        tag_compiler=tag_compiler,
        policy_problems=tuple([p for p in old.policy_problems if p.policy_id not in touched] + problems),
        tag_policy_problems=tuple(tag_problems),
    )


def _envelope(policies: wire.ServicePolicies) -> wire.ServicePolicies:
    """The document without the policies, which the repositories hold."""
    zones = {name: wire.replaced(zone, policies=[]) for name, zone in policies.securityZones.items()}
    return wire.replaced(policies, policies=None, securityZones=zones)


def _tag_zones(policies: wire.ServicePolicies) -> frozenset[str]:
    return frozenset(name for name, zone in policies.securityZones.items() if zone.containsAssociatedTagService)


def _with_zones(
    old: Parts, document: wire.ServicePolicies, problems: list[Problem]
) -> tuple[wire.ServicePolicies, Mapping[str, Policies]]:
    """The envelope and the zones after the deltas of zones; a zone keeps its resources unless new ones are given."""
    if not document.securityZones:
        return old.policies, old.zones
    zones = dict(old.zones)
    infos = dict(old.policies.securityZones)
    for name, zone in document.securityZones.items():
        known = infos.get(name)
        changes = read_changes(zone.policyDeltas or (), {old.model.name})
        before = zones.get(name) or Repository(load_policies((), old.compiler, problems), old.model)
        zones[name] = apply_changes(before, changes, old.compiler, problems)
        infos[name] = wire.SecurityZoneInfo(
            zoneName=zone.zoneName or name,
            resources=zone.resources or (known.resources if known else []),
            containsAssociatedTagService=zone.containsAssociatedTagService
            or bool(known and known.containsAssociatedTagService),
        )
    return wire.replaced(old.policies, securityZones=infos), zones


def _with_unreadable_zone(
    zones: Mapping[str, Policies], table: ZoneTable, compiler: PolicyCompiler, model: ServiceModel
) -> Mapping[str, Policies]:
    """The zones with the one for what may lie in a zone that cannot be read, if there is such a thing."""
    if not table.doubts or not compiler.cautious:
        return zones
    nobody = Record(msgspec.Raw(b"null"), None, NOBODY.resources, compiler, NOBODY)
    return {**zones, UNREADABLE_ZONE: Repository(Loaded((nobody,), frozenset()), model)}


def _date_attributes(compiler: PolicyCompiler | None) -> frozenset[str]:
    """The attributes of tags that hold a date for some condition of the tag service."""
    definitions = compiler.model.conditions.values() if compiler else ()
    return frozenset(script.attribute for d in definitions if (script := date_script(d)) is not None)


def _filters(
    document: wire.ServicePolicies | wire.TagPolicies | None,
    compiler: PolicyCompiler | None,
    prefix: str,
    doubts: list[Doubt],
) -> tuple[CompiledFilter, ...]:
    """The audit filters of a service; none where they cannot be read, as in Ranger."""
    if document is None or compiler is None:
        return ()
    try:
        return compile_filters(document.serviceConfig.get(AUDIT_FILTERS, ""), compiler.model)
    except PolicySetError as e:
        place = f"{prefix}serviceConfig.{AUDIT_FILTERS}"
        doubts.append(Doubt(ProblemCode.UNREADABLE_AUDIT_FILTERS, place, f"{e}, so there are none"))
        return ()


def _refuse_unusable_tags(policies: wire.ServicePolicies, tags: wire.ServiceTags | None) -> None:
    """Raises PolicySetError where tag policies are there and cannot be judged."""
    linked = policies.tagPolicies
    name = f"service `{policies.serviceName}`"
    if linked is not None and tags is None:
        raise PolicySetError(
            f"{name} has tag policies, which cannot be judged without the service's tags: give these, too"
        )
    if linked is not None and linked.policies and (linked.serviceDef is None or not linked.serviceName):
        raise PolicySetError(f"{name} has tag policies without the definition or the name of their service")
    if tags is not None and tags.isDelta:
        raise PolicySetError(f"the tags of {name} are only what has changed of them: download all tags")


def _tag_repository(
    policies: wire.ServicePolicies, options: EngineOptions, problems: list[Problem]
) -> tuple[TagRepository | None, PolicyCompiler | None]:
    """The tag policies as this service sees them; none where no tag service is named."""
    linked = policies.tagPolicies
    if linked is None or linked.serviceDef is None or policies.serviceDef is None:
        return None, None
    if not linked.serviceName:
        return None, None
    component = policies.serviceDef.name
    lenient = not options.cautious
    model = compile_service_def(for_component(linked.serviceDef, component), lenient=lenient)
    compiler = PolicyCompiler(model, options.cautious, options.conditions)
    seen = (policy_for_component(raw, component, lenient=lenient) for raw in linked.policies)
    raws = [raw for raw in seen if raw is not None]
    return TagRepository(load_policies(raws, compiler, problems).records), compiler
