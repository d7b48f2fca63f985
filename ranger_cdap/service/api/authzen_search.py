"""`/access/v1/search`: AuthZEN's searches for subjects, resources and actions, by pages; for delegates, not audited.

Law: each result is permitted by `/access/v1/evaluation` with the same other parts, and the same policies at that time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

import msgspec
from msgspec.structs import astuple

from ranger_cdap.analysis.permitted_resources import NamedPart, Patterned, PermittedSearch, ResourcePattern
from ranger_cdap.engine import ANY_ACCESS, NO_POLICY, AccessRequest, MatchingScope
from ranger_cdap.engine.compiled.service_def import Path
from ranger_cdap.engine.decide.acl import ANONYMOUS_USER
from ranger_cdap.engine.model.request import SUPER_USER_ACCESS
from ranger_cdap.questions.permitted_subjects import known_groups, known_roles, known_users
from ranger_cdap.service.api.authzen_request import (
    USER,
    access_context,
    claims_of,
    decider_of,
    given,
    is_operation,
    resource_of,
    text_of,
)
from ranger_cdap.service.api.pdp import access_request, claimed_request
from ranger_cdap.service.decisions.delegation import verify_claims
from ranger_cdap.service.decisions.resource_name import NameTemplate
from ranger_cdap.service.decisions.search_page import PageTokens, SearchPage, page_of
from ranger_cdap.service.decisions.service_decider import DeciderRegistry, ServiceDecider
from ranger_cdap.service.http.reply import Refused, Reply, json_reply
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.service.wire.authzen_wire import (
    AuthZenActionName,
    AuthZenActions,
    AuthZenResources,
    AuthZenSubjects,
    ExceptedResources,
    FoundEntity,
    LevelPatternInfo,
    Levels,
    PageInfo,
    PermittedPattern,
    SearchContext,
    SearchRequest,
)
from ranger_cdap.service.wire.pdp_wire import PolicyInfo

SEARCH_SUBJECT: Final = "/access/v1/search/subject"
SEARCH_RESOURCE: Final = "/access/v1/search/resource"
SEARCH_ACTION: Final = "/access/v1/search/action"

MOST_SUBJECTS: Final = 200_000
"""Subjects that a search evaluates."""

_MORE_SUBJECTS: Final = f"there are more than {MOST_SUBJECTS:,} subjects; those after the last one were not evaluated"
_MORE_NAMES: Final = "policies name more resources than a search evaluates; some may be missing from the results"
_MORE_PATTERNS: Final = "more policies allow by wildcards than a search names; some may be missing from the patterns"

_T = TypeVar("_T")


def search_subject(call: HandlerCall) -> Reply:
    """List the users, groups or roles that have a permission on a resource, in the circumstances of the context."""
    body: SearchRequest = call.body
    kind = text_of("subject.type", given("subject", body.subject).type)
    action, resource, context = given("action", body.action), given("resource", body.resource), access_context(body)
    permission = text_of("action.name", action.name)
    claims = verify_claims(call.caller, claims_of(None, action, resource, body.context))
    place = resource_of(DeciderRegistry(call.state.services), resource, context)
    if place is None:
        return json_reply(AuthZenSubjects(results=[]))
    decider, values = place
    _check_permission(call, decider, permission)
    base = claimed_request(decider, claims, context, values, MatchingScope.SELF)
    base = msgspec.structs.replace(base, access_type=permission, user=ANONYMOUS_USER)
    names, request_of = _subjects(decider, kind, base)
    asked = names[:MOST_SUBJECTS]
    found, page = _paged(
        call, decider, SEARCH_SUBJECT, asked, lambda name: decider.engine.evaluate(request_of(name)).allowed
    )
    left_out = [_MORE_SUBJECTS] if len(names) > len(asked) else []
    results = [FoundEntity(type=kind, id=name) for name in found.results]
    return json_reply(AuthZenSubjects(page=page, context=_context((), left_out), results=results))


def _subjects(
    decider: ServiceDecider, kind: str, base: AccessRequest
) -> tuple[list[str], Callable[[str], AccessRequest]]:
    """Return the subjects of a type to evaluate, and the request of each; a group's is that of an unnamed member."""
    engine, replaced = decider.engine, msgspec.structs.replace
    if kind == "group":
        return known_groups(engine), lambda name: replaced(base, groups=frozenset({name}))
    if kind == "role":
        return known_roles(engine), lambda name: replaced(base, roles=frozenset({name}))
    if kind != USER:
        return [], lambda name: base
    in_request = (*map(str, base.resource.values()), base.owner or "")
    service = decider.service
    names = known_users(engine, service.stored_users.of(service.snapshot.documents), in_request)
    return names, lambda name: service.completed(replaced(base, user=name))


def search_resource(call: HandlerCall) -> Reply:
    """List the resources of a type on which a user has a permission: those that policies name, and patterns."""
    body: SearchRequest = call.body
    subject, action = given("subject", body.subject), given("action", body.action)
    resource, context = given("resource", body.resource), access_context(body)
    kind, permission = text_of("resource.type", resource.type), text_of("action.name", action.name)
    is_user = text_of("subject.type", subject.type) == USER
    claims = verify_claims(call.caller, claims_of(subject, action, resource, body.context))
    decider = decider_of(DeciderRegistry(call.state.services), kind, context)
    if decider is None or not is_user:
        return json_reply(AuthZenResources(results=[]))
    _check_permission(call, decider, permission)
    template, engine = NameTemplate.of(decider.definition, kind), decider.engine
    base = access_request(decider, claims, context, {}, MatchingScope.SELF)
    base = msgspec.structs.replace(base, access_type=permission)
    path = engine.state.model.path_of(frozenset(template.levels)) or ()
    search = PermittedSearch(engine, base, path)
    named = search.named()

    def is_permitted(name: tuple[str, ...]) -> bool:
        request = msgspec.structs.replace(base, resource=dict(zip(path, name, strict=True)))
        return engine.evaluate(request).allowed

    found, page = _paged(call, decider, SEARCH_RESOURCE, named.names, is_permitted)
    left_out = [_MORE_NAMES] if named.left_out else []
    patterned = Patterned(()) if body.page and body.page.token else search.patterned()
    left_out += [_MORE_PATTERNS] if patterned.left_out else []
    patterns = [_pattern(one, path) for one in patterned.patterns]
    results = [FoundEntity(type=kind, id=template.format(dict(zip(path, name, strict=True)))) for name in found.results]
    return json_reply(AuthZenResources(page=page, context=_context(patterns, left_out), results=results))


def search_action(call: HandlerCall) -> Reply:
    """List a user's permissions on a resource."""
    body: SearchRequest = call.body
    subject, resource, context = given("subject", body.subject), given("resource", body.resource), access_context(body)
    kind = text_of("subject.type", subject.type)
    claims = verify_claims(call.caller, claims_of(subject, None, resource, body.context))
    place = resource_of(DeciderRegistry(call.state.services), resource, context)
    if place is None or kind != USER:
        return json_reply(AuthZenActions(results=[]))
    decider, values = place
    request = access_request(decider, claims, context, values, MatchingScope.SELF)
    names = [access.name for access in decider.definition.access_types]
    engine, replaced = decider.engine, msgspec.structs.replace
    found, page = _paged(
        call, decider, SEARCH_ACTION, names, lambda name: engine.evaluate(replaced(request, access_type=name)).allowed
    )
    return json_reply(AuthZenActions(page=page, results=[AuthZenActionName(name=name) for name in found.results]))


def _check_permission(call: HandlerCall, decider: ServiceDecider, permission: str) -> None:
    if is_operation(call, decider, permission):
        raise Refused(400, "a search takes a permission, not an operation of CDAP")
    if permission in (ANY_ACCESS, SUPER_USER_ACCESS):
        raise Refused(400, f"a search takes one permission of the service definition, not `{permission}`")


def _paged(
    call: HandlerCall, decider: ServiceDecider, route: str, candidates: Sequence[_T], is_result: Callable[[_T], bool]
) -> tuple[SearchPage[_T], PageInfo | None]:
    """Return the page of the request, and what the response says of it: nothing if all fits and nothing was asked."""
    body: SearchRequest = call.body
    wanted = body.page
    engine, versions = decider.engine, decider.service.snapshot.versions
    tokens = PageTokens.of(
        (route, body.subject, body.action, body.resource, body.context),
        (engine.service_name, engine.policy_version, astuple(versions)),
    )
    place = tokens.place(wanted.token if wanted else None, wanted.limit if wanted else None)
    found = page_of(candidates, is_result, place)
    if wanted is None and found.next is None:
        return found, None
    token = "" if found.next is None else tokens.token(replace(place, position=found.next))
    return found, PageInfo(next_token=token, count=len(found.results), total=found.total)


def _context(patterns: Sequence[PermittedPattern], left_out: list[str]) -> SearchContext | None:
    return SearchContext(patterns=list(patterns), undecided=left_out) if patterns or left_out else None


def _pattern(one: ResourcePattern, path: Path) -> PermittedPattern:
    return PermittedPattern(
        resource=_levels(one.part, path),
        policy=_policy(one.part),
        zone=one.part.zone,
        within=[_levels(part, path) for part in one.within],
        exceptions=[
            ExceptedResources(resource=_levels(part, path), policy=_policy(part), zone=part.zone)
            for part in one.exceptions
        ],
        undecided=one.undecided,
    )


def _levels(part: NamedPart, path: Path) -> Levels:
    named = zip(path, part.levels, strict=True)
    return {name: LevelPatternInfo(values=list(level.values), is_excludes=level.excludes) for name, level in named}


def _policy(part: NamedPart) -> PolicyInfo | None:
    if part.policy_id == NO_POLICY:
        return None
    return PolicyInfo(id=part.policy_id, version=None if part.policy_version == NO_POLICY else part.policy_version)
