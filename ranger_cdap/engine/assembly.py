"""What an engine is made of, from a full download and from deltas (policy-engine.md, 3 and 17)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ranger_cdap.engine import wire
from ranger_cdap.engine.audit_filter import CompiledFilter, compile_filters
from ranger_cdap.engine.delta import apply_changes, apply_to_list, read_changes
from ranger_cdap.engine.load import Problem, load_policies
from ranger_cdap.engine.options import AUDIT_FILTERS, EngineOptions, Privileged, privileged
from ranger_cdap.engine.policy import PolicyCompiler
from ranger_cdap.engine.repository import Policies, Repository
from ranger_cdap.engine.roles import RoleTable
from ranger_cdap.engine.service_def import ServiceModel, compile_service_def
from ranger_cdap.engine.tags import TagRepository, TagTable, for_component, policy_for_component
from ranger_cdap.engine.zones import ZoneTable
from ranger_cdap.errors import PolicySetError


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
    problems: tuple[Problem, ...]


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
    model = compile_service_def(policies.serviceDef)
    compiler = PolicyCompiler(model, options.cautious)
    problems: list[Problem] = []
    zones = {
        name: Repository(load_policies(zone.policies, compiler, problems), model)
        for name, zone in policies.securityZones.items()
    }
    default = Repository(load_policies(policies.policies or (), compiler, problems), model)
    if policies.tagPolicies is not None and tags is None and options.cautious:
        raise PolicySetError(
            f"service `{policies.serviceName}` has tag policies, which can't be judged without the service's tags: "
            "download them too"
        )
    tag_repository, tag_compiler = _tag_repository(policies, options, problems)
    return Parts(
        policies=_envelope(policies),
        model=model,
        compiler=compiler,
        tag_compiler=tag_compiler,
        default=default,
        zones=zones,
        zone_table=ZoneTable(policies.securityZones, model),
        tag_zones=_tag_zones(policies),
        tag_repository=tag_repository,
        tag_table=TagTable(tags, model, lenient=not options.cautious),
        audit_filters=compile_filters(policies.serviceConfig.get(AUDIT_FILTERS, ""), model),
        tag_audit_filters=_tag_audit_filters(policies, tag_compiler),
        roles=RoleTable(roles),
        privileged=privileged(options, policies.serviceConfig),
        options=options,
        problems=tuple(problems),
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
    changes = read_changes(document.policyDeltas)
    own = [c for c in changes if c.service_type in ("", old.model.name)]
    envelope, zones = _with_zones(old, document, problems)
    touched = {c.policy_id for c in changes}
    linked = old.policies.tagPolicies
    if linked is not None and len(own) < len(changes):
        others = [c for c in changes if c.service_type not in ("", old.model.name)]
        linked = wire.replaced(linked, policies=apply_to_list(linked.policies, others))
    envelope = wire.replaced(envelope, policyVersion=document.policyVersion, tagPolicies=linked)
    tag_repository, tag_compiler = old.tag_repository, old.tag_compiler
    if linked is not old.policies.tagPolicies:
        tag_repository, tag_compiler = _tag_repository(envelope, old.options, problems)
    default = apply_changes(old.default, own, old.compiler, problems)
    return replace(
        old,
        policies=envelope,
        default=default,
        zones=zones,
        zone_table=old.zone_table if zones is old.zones else ZoneTable(envelope.securityZones, old.model),
        tag_zones=_tag_zones(envelope),
        tag_repository=tag_repository,
        tag_compiler=tag_compiler,
        problems=tuple([p for p in old.problems if p.policy_id not in touched] + problems),
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
        changes = read_changes(zone.policyDeltas or ())
        before = zones.get(name) or Repository(load_policies((), old.compiler, problems), old.model)
        zones[name] = apply_changes(before, changes, old.compiler, problems)
        infos[name] = wire.SecurityZoneInfo(
            zoneName=zone.zoneName or name,
            resources=zone.resources or (known.resources if known else []),
            containsAssociatedTagService=zone.containsAssociatedTagService
            or bool(known and known.containsAssociatedTagService),
        )
    return wire.replaced(old.policies, securityZones=infos), zones


def _tag_audit_filters(policies: wire.ServicePolicies, compiler: PolicyCompiler | None) -> tuple[CompiledFilter, ...]:
    if policies.tagPolicies is None or compiler is None:
        return ()
    return compile_filters(policies.tagPolicies.serviceConfig.get(AUDIT_FILTERS, ""), compiler.model)


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
    compiler = PolicyCompiler(compile_service_def(for_component(linked.serviceDef, component)), options.cautious)
    raws = [kept for raw in linked.policies if (kept := policy_for_component(raw, component)) is not None]
    return TagRepository(load_policies(raws, compiler, problems).records), compiler
