"""Building the state of an engine, from a full download or from deltas (ranger-semantics.md §3, §17)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from ranger_cdap.engine.compiled import cost
from ranger_cdap.engine.compiled.conditions import AttributeStore, date_script
from ranger_cdap.engine.compiled.load import PolicyEntries, PolicyEntry, load_policies
from ranger_cdap.engine.compiled.names import NameTransformation, name_transformation
from ranger_cdap.engine.compiled.options import AUDIT_FILTERS, EngineOptions, privileged
from ranger_cdap.engine.compiled.policy import PolicyCompiler
from ranger_cdap.engine.compiled.roles import RoleTable
from ranger_cdap.engine.compiled.service_def import compile_service_def
from ranger_cdap.engine.decide.audit_filter import CompiledFilter, compile_filters
from ranger_cdap.engine.decide.tags import TagRepository, TagTable, policy_for_component, service_def_for_component
from ranger_cdap.engine.lookup.delta import apply_changes, apply_to_list, read_changes
from ranger_cdap.engine.lookup.repository import PolicyRepository
from ranger_cdap.engine.lookup.zones import DENY_ALL, UNKNOWN_ZONE, UNREADABLE_ZONE, ZoneTable
from ranger_cdap.engine.model.problem import PolicyIssue, Problem, ProblemCode, download_problems
from ranger_cdap.engine.view import EngineView
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.download import ServicePolicies, TagPolicies
from ranger_cdap.ranger_model.role import RangerRoles
from ranger_cdap.ranger_model.tag import ServiceTags

_TAG_SERVICE = "tag"
_TAG_ENRICHER = "RangerTagEnricher"


@dataclass(frozen=True, slots=True)
class EngineState(EngineView):
    """State of an engine; after deltas, the new state shares the unchanged parts with the old one."""

    audit_filters: tuple[CompiledFilter, ...]
    tag_audit_filters: tuple[CompiledFilter, ...]
    policy_problems: tuple[Problem, ...]
    tag_policy_problems: tuple[Problem, ...]
    filter_issues: tuple[PolicyIssue, ...]
    names: NameTransformation
    attributes: AttributeStore | None

    @property
    def condition_steps(self) -> int:
        """Steps that custom conditions may take in one decision at most, if every policy applies."""
        of_tags = self.tag_repository.condition_steps if self.tag_repository is not None else 0
        of_resources = sum(each.condition_steps for each in self.repositories)
        return of_resources + of_tags * max(1, self.tag_table.count)

    @property
    def is_crowded(self) -> bool:
        """Return True if one decision may concern a crowd of policies, tags or zones."""
        tag_policies = self.tag_repository.entries if self.tag_repository is not None else ()
        maps = self.zone_table.resources.is_crowded or self.tag_table.resources.is_crowded
        return len(tag_policies) > cost.MAX_CROWD or maps or any(policies.is_crowded for policies in self.repositories)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems of the download, those of policies first."""
        others = (*self.zone_table.issues, *self.tag_table.issues, *self.roles.issues, *self.filter_issues)
        return (*self.policy_problems, *self.tag_policy_problems, *download_problems(others))


def build_state(
    policies: ServicePolicies,
    service: str | None,
    roles: RangerRoles | None,
    tags: ServiceTags | None,
    options: EngineOptions,
    attributes: AttributeStore | None = None,
) -> EngineState:
    """Build the state from a full download; raises PolicySetError as `PolicyEngine.build` does."""
    if service is not None and policies.service_name != service:
        raise PolicySetError(f"the policies belong to service `{policies.service_name}`, not to `{service}`")
    if policies.service_def is None:
        raise PolicySetError(f"the policies of service `{policies.service_name}` have no service definition")
    lenient = not options.fail_closed
    model = compile_service_def(policies.service_def, lenient=lenient)
    compiler = PolicyCompiler(model, options.fail_closed, options.conditions)
    problems: list[Problem] = []
    zone_table = ZoneTable(policies.security_zones, model, lenient=lenient)
    zones = {
        name: PolicyRepository(load_policies(zone.policies, compiler, problems), model)
        for name, zone in policies.security_zones.items()
    }
    default = PolicyRepository(load_policies(policies.policies or (), compiler, problems), model)
    if options.fail_closed:
        _refuse_unusable_tags(policies, tags)
    tag_problems: list[Problem] = []
    tag_repository, tag_compiler = _tag_repository(policies, options, tag_problems)
    filter_issues: list[PolicyIssue] = []
    return EngineState(
        policies=_envelope(policies),
        model=model,
        compiler=compiler,
        tag_compiler=tag_compiler,
        default=default,
        zones=_with_more_zones(zones, zone_table, compiler, policies.zones_known),
        zone_table=zone_table,
        tag_zones=frozenset(
            name for name, zone in policies.security_zones.items() if zone.contains_associated_tag_service
        ),
        tag_repository=tag_repository,
        tag_table=TagTable(
            tags, model, lenient=lenient, enriched=_has_tag_enricher(policies), dates=_date_attributes(tag_compiler)
        ),
        audit_filters=_filters(policies, compiler, "", filter_issues),
        tag_audit_filters=_filters(policies.tag_policies, tag_compiler, "tagPolicies.", filter_issues),
        roles=RoleTable(roles),
        privileged=privileged(options, policies.service_config),
        options=options,
        policy_problems=tuple(problems),
        tag_policy_problems=tuple(tag_problems),
        filter_issues=tuple(filter_issues),
        names=name_transformation(options, policies.service_config, attributes),
        attributes=attributes,
    )


def with_attributes(old: EngineState, attributes: AttributeStore | None) -> EngineState:
    """Return the state with other attributes of users and groups."""
    names = name_transformation(old.options, old.policies.service_config, attributes)
    return replace(old, names=names, attributes=attributes)


def apply_deltas(old: EngineState, document: ServicePolicies) -> EngineState:
    """Return the state with the deltas applied; raises PolicySetError as `PolicyEngine.with_deltas` does."""
    problems: list[Problem] = []
    if document.service_def is not None and document.service_def != old.policies.service_def:
        raise PolicySetError("the service definition changed with the deltas: download all policies")
    if document.service_name and document.service_name != old.policies.service_name:
        raise PolicySetError(
            f"the deltas belong to service `{document.service_name}`, not to `{old.policies.service_name}`"
        )
    if document.policy_deltas is None or _has_policies(document):
        raise PolicySetError("the document contains policies instead of deltas")
    if any(policies.has_doubled_id for policies in old.repositories) or any(
        problem.code is ProblemCode.DUPLICATE_ID for problem in old.problems
    ):
        raise PolicySetError("two policies have the same id: download all policies")
    if name_transformation(old.options, document.service_config, old.attributes) != old.names:
        raise PolicySetError("the transformation of names changed with the deltas: download all policies")
    types = {_TAG_SERVICE, old.model.name}
    changes = read_changes(document.policy_deltas, types)
    own = [c for c in changes if c.service_type == old.model.name]
    others = [c for c in changes if c.service_type != old.model.name]
    _refuse_other_zones(old.policies, document)
    touched = {c.policy_id for c in changes}
    linked = old.policies.tag_policies
    if others:
        if document.tag_policies is None or linked is None or not _concern(linked, old.model.name):
            raise PolicySetError("the deltas hold the first policies of a tag service, or do not name it")
        linked = replaced(linked, policies=apply_to_list(linked.policies, others))
        if not _concern(linked, old.model.name):  # Ranger's enricher goes with them
            raise PolicySetError("the deltas delete the last policy of the tag service: download all policies")
    envelope = replaced(old.policies, policy_version=document.policy_version, tag_policies=linked)
    tag_repository, tag_compiler, tag_problems = old.tag_repository, old.tag_compiler, list(old.tag_policy_problems)
    if linked is not old.policies.tag_policies:
        tag_problems = []
        tag_repository, tag_compiler = _tag_repository(envelope, old.options, tag_problems)
    return replace(
        old,
        policies=envelope,
        default=apply_changes(old.default, own, old.compiler, problems),
        zones=_changed_zones(old, document, problems),
        tag_repository=tag_repository,
        tag_compiler=tag_compiler,
        policy_problems=tuple([p for p in old.policy_problems if p.policy_id not in touched] + problems),
        tag_policy_problems=tuple(tag_problems),
    )


def _envelope(policies: ServicePolicies) -> ServicePolicies:
    """Return the document without its policies, which the repositories hold."""
    zones = {name: replaced(zone, policies=[]) for name, zone in policies.security_zones.items()}
    return replaced(policies, policies=None, security_zones=zones)


def _has_policies(document: ServicePolicies) -> bool:
    """Return True if a document holds whole policies, of the service, its tag service or a zone."""
    linked = document.tag_policies
    zones = document.security_zones.values()
    return bool(document.policies or (linked and linked.policies) or any(zone.policies for zone in zones))


def _refuse_other_zones(known: ServicePolicies, document: ServicePolicies) -> None:
    """Raise PolicySetError unless the document names the known zones, which it need not do if it changes nothing."""

    def described(policies: ServicePolicies) -> dict[str, object]:
        zones = policies.security_zones.items()
        return {name: (zone.resources, zone.contains_associated_tag_service) for name, zone in zones}

    if (document.security_zones or document.policy_deltas) and described(document) != described(known):
        raise PolicySetError("the security zones changed with the deltas: download all policies")


def _changed_zones(
    old: EngineState, document: ServicePolicies, problems: list[Problem]
) -> Mapping[str, PolicyRepository]:
    """Return the policies of zones with the zones' deltas applied."""
    zones = dict(old.zones)
    for name, zone in document.security_zones.items():
        changes = read_changes(zone.policy_deltas or (), {old.model.name})
        zones[name] = apply_changes(zones[name], changes, old.compiler, problems)
    return zones


def _with_more_zones(
    zones: Mapping[str, PolicyRepository], table: ZoneTable, compiler: PolicyCompiler, known: bool
) -> Mapping[str, PolicyRepository]:
    """Add a zone without policies if zones are not known, or that which denies all if a zone's resource is unreadable.

    Such a zone without policies may be there whatever zones policies name.
    """
    if not known:
        return {**zones, UNKNOWN_ZONE: PolicyRepository(PolicyEntries((), frozenset()), compiler.model)}
    if not table.issues or not compiler.fail_closed:
        return zones
    deny_all = PolicyEntry.of(msgspec.Raw(b"null"), DENY_ALL, DENY_ALL.resources, compiler, DENY_ALL)
    return {**zones, UNREADABLE_ZONE: PolicyRepository(PolicyEntries((deny_all,), frozenset()), compiler.model)}


def _has_tag_enricher(policies: ServicePolicies) -> bool:
    """Return True if the tags of a request are those of the tag download (ranger-semantics.md §14.2)."""
    linked = policies.tag_policies
    definitions = (policies.service_def, linked.service_def if linked and linked.service_name else None)
    return any(
        str(enricher.get("enricher")).rpartition(".")[2] == _TAG_ENRICHER
        for definition in definitions
        if definition is not None
        for enricher in definition.context_enrichers
    )


def _date_attributes(compiler: PolicyCompiler | None) -> frozenset[str]:
    """Return the tag attributes that a condition of the tag service reads as dates."""
    definitions = compiler.model.conditions.values() if compiler else ()
    return frozenset(script.attribute for d in definitions if (script := date_script(d)) is not None)


def _filters(
    document: ServicePolicies | TagPolicies | None,
    compiler: PolicyCompiler | None,
    prefix: str,
    issues: list[PolicyIssue],
) -> tuple[CompiledFilter, ...]:
    """Return the audit filters of a service; none if they are unreadable, as in Ranger."""
    if document is None or compiler is None:
        return ()
    try:
        return compile_filters(document.service_config.get(AUDIT_FILTERS, ""), compiler.model)
    except PolicySetError as e:
        place = f"{prefix}serviceConfig.{AUDIT_FILTERS}"
        issues.append(PolicyIssue(ProblemCode.UNREADABLE_AUDIT_FILTERS, place, f"{e}, so none are used"))
        return ()


def _refuse_unusable_tags(policies: ServicePolicies, tags: ServiceTags | None) -> None:
    """Raise PolicySetError if there are tag policies that cannot be evaluated."""
    linked = policies.tag_policies
    name = f"service `{policies.service_name}`"
    if linked is not None and tags is None:
        raise PolicySetError(
            f"{name} has tag policies, which cannot be evaluated without the tags of the service: provide them, too"
        )
    if linked is not None and linked.policies and (linked.service_def is None or not linked.service_name):
        raise PolicySetError(f"{name} has tag policies without the definition or the name of their service")
    if tags is not None and tags.is_delta:
        raise PolicySetError(f"the tags of {name} are only a delta: download all tags")


def _concern(linked: TagPolicies, component: str) -> bool:
    """Return True if Ranger keeps one of the tag policies for this service (ranger-semantics.md §14.1)."""
    return any(policy_for_component(raw, component, lenient=True) is not None for raw in linked.policies)


def _tag_repository(
    policies: ServicePolicies, options: EngineOptions, problems: list[Problem]
) -> tuple[TagRepository | None, PolicyCompiler | None]:
    """Return the tag policies that apply to this service; None if no tag service is linked."""
    linked = policies.tag_policies
    if linked is None or not linked.service_name or linked.service_def is None or policies.service_def is None:
        return None, None
    component = policies.service_def.name
    lenient = not options.fail_closed
    model = compile_service_def(service_def_for_component(linked.service_def, component), lenient=lenient)
    compiler = PolicyCompiler(model, options.fail_closed, options.conditions)
    seen = (policy_for_component(raw, component, lenient=lenient) for raw in linked.policies)
    raws = [raw for raw in seen if raw is not None]
    return TagRepository(load_policies(raws, compiler, problems).entries), compiler
