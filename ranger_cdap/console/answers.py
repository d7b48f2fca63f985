"""Answers of the console: those of the commands.

Each function returns None if the form has a problem, which is then in the form.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Final

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decider import NOTHING_ELSE
from ranger_cdap.authz.explanation import Explainer, changes
from ranger_cdap.authz.known_names import KnownNames
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.console.answer_rows import AskAnswer, ImpactAnswer, WhatAnswer, WhoAnswer
from ranger_cdap.console.forms import ConsoleForm, asked_holders, asked_matrix, asked_operation, asked_user
from ranger_cdap.console.uploads import UploadedFile
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.engine.view import ANONYMOUS_USER
from ranger_cdap.errors import InvalidInput, NotReady, PolicySetError
from ranger_cdap.ranger.changes.saved_policy import saved_download
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger.files.policy_file import policies_of
from ranger_cdap.ranger.refresh.documents import Documents, pieces
from ranger_cdap.ranger.refresh.fixed import documents
from ranger_cdap.tools.analysis.example_request import ExampleRequest
from ranger_cdap.tools.analysis.impact import impact
from ranger_cdap.tools.analysis.impact_rows import impact_rows
from ranger_cdap.tools.analysis.row_text import Spelling
from ranger_cdap.tools.analysis.subject import Subject
from ranger_cdap.tools.questions.access_holders import access_holders
from ranger_cdap.tools.questions.effective_access import reached
from ranger_cdap.tools.questions.entity_spelling import entity_spelling
from ranger_cdap.tools.questions.impact_question import compared_accesses, compared_engine, refuse_unlike
from ranger_cdap.tools.questions.known_user import KnownUser, PolicyView
from ranger_cdap.tools.questions.namespace_matrix import NamespaceMatrix, namespace_matrix

MOST_NOTES: Final = 100
FILE: Final = "file"
"""Field of the form for an uploaded file."""


def ask_answer(form: ConsoleForm, authorizer: Authorizer) -> AskAnswer | None:
    """Return a permission check with its reasons, as `ranger-cdap check --why`."""
    asked = asked_operation(form, authorizer.decider.config.profile)
    if asked is None:
        return None
    groups, entity = asked
    return form.parsed("entity", lambda: _explained(form, authorizer, groups, entity))


def _explained(form: ConsoleForm, authorizer: Authorizer, groups: list[str], entity: EntityId) -> AskAnswer:
    answer = authorizer.explain(form.typed["user"], groups, form.typed["operation"], entity)
    reasons = Explainer(authorizer, answer, groups)
    tried = [[reasons.of(examined) for examined in alternative] for alternative in answer.alternatives]
    _, reversing = changes(answer, [reasons.of(examined) for examined in answer.decided_by])
    row = authorizer.decider.config.profile.operation(form.typed["operation"])
    names = KnownNames.of(authorizer, reasons.index)
    unknown = names.unknown_in(row, form.typed["user"], groups, entity, NOTHING_ELSE)
    return AskAnswer(answer, tried, reversing, reasons.index, unknown)


def who_answer(form: ConsoleForm, authorizer: Authorizer) -> WhoAnswer | None:
    """Return who has access to an entity or to the entities of a pattern, as `ranger-cdap access --entity`.

    Raises:
        NotReady: there are no policies.
    """
    view = PolicyView.of(authorizer)
    asked = asked_holders(form, view.engine)
    if asked is None:
        return None
    entity, accesses = asked
    unknown = view.names.unknown((), (), [entity])
    if isinstance(entity, EntityPattern):
        found = reached(view, accesses, pattern=entity)
        return WhoAnswer(entity, accesses, view.index, (*found.errors, *view.notes), unknown, rows=found.allowed)
    holders = tuple(access_holders(authorizer, entity, view.index))
    return WhoAnswer(entity, accesses, view.index, view.notes, unknown, holders=holders)


def what_answer(form: ConsoleForm, authorizer: Authorizer) -> WhatAnswer | None:
    """Return what a user has access to, as `ranger-cdap access --user`.

    Raises:
        NotReady: there are no policies.
    """
    view = PolicyView.of(authorizer)
    asked = asked_user(form, view.engine)
    if asked is None:
        return None
    groups, accesses = asked
    user, role = form.typed["user"], form.typed["role"]
    if user:
        known = KnownUser.of(authorizer, view, user, groups)
    else:
        known = KnownUser(Subject(ANONYMOUS_USER, frozenset(groups)), ())
    subject, roles = known.subject, view.engine.view.roles
    held = roles.of(subject.user, subject.groups) | (roles.containing(role) if role else frozenset())
    known = replace(known, subject=replace(subject, roles=held))
    found = reached(view, accesses, known)
    return WhatAnswer(
        str(subject.user) if user else f"role {role}" if role else f"group {', '.join(groups)}",
        sorted(subject.groups),
        sorted(held),
        found.allowed,
        found.denied,
        (*found.errors, *known.notes, *view.notes),
        view.names.unknown([user] if user else (), groups, roles=[role] if role else ()),
    )


def matrix_answer(form: ConsoleForm, authorizer: Authorizer) -> NamespaceMatrix | None:
    """Return the matrix of a namespace, as `ranger-cdap access`.

    Raises:
        NotReady: there are no policies.
    """
    asked = asked_matrix(form)
    if asked is None:
        return None
    namespace, more = asked
    found = partial(namespace_matrix, users=more["users"], groups=more["groups"], kinds=more["types"])
    return form.parsed("namespace", lambda: found(authorizer, namespace, now=authorizer.decider.now()))


def impact_answer(form: ConsoleForm, authorizer: Authorizer, file: UploadedFile) -> ImpactAnswer | None:
    """Return what access changes if the policies in effect become those of a file, as `ranger-cdap policies diff`.

    Their roles and tags are those of the file's, too.

    Raises:
        NotReady: there are no policies.
    """
    before, current = authorizer.snapshot.engine, authorizer.snapshot.documents
    if before is None or current is None:
        raise NotReady(authorizer.snapshot.reason)
    spelling = entity_spelling(authorizer.decider.config.instance)
    return form.parsed(FILE, lambda: _impact(form, before, current, file, spelling))


def _impact(
    form: ConsoleForm, before: PolicyEngine, current: Documents, file: UploadedFile, spelling: Spelling
) -> ImpactAnswer | None:
    name, service = file.name, before.service_name
    if not name:
        raise InvalidInput("choose a file: a policy download, a plugin's cache file, or an export")
    read, rewritten = _in_file(file.content, name, current, service)
    try:
        after = compared_engine(read, service)
    except PolicySetError as e:
        raise InvalidInput(f"`{name}` cannot be used: {e}") from None
    refuse_unlike("those in effect", before, f"those of `{name}`", after)
    accesses = form.parsed("access", lambda: compared_accesses(form.names("access"), before, after))
    if form.problems:
        return None
    found = impact(before, after, accesses=accesses or None)
    errors = (
        f"error: the engines contradict the analysis on {ExampleRequest.of(witness, spelling)}"
        for witness in found.contradictions
    )
    as_saved = (f"note: `{name}`: {change}" for change in rewritten[:MOST_NOTES])
    notes = (*errors, *as_saved, *_warnings(name, after, read, current))
    return ImpactAnswer(after.service_name, impact_rows(found, spelling), notes)


def _in_file(file: bytes, name: str, current: Documents, service: str) -> tuple[Documents, tuple[str, ...]]:
    """Return the policies of a file, as Ranger Admin would save them, with the roles and tags in effect; what changed.

    Raises:
        InvalidInput: it has no policies that can be used, or those of another service.
    """
    try:
        found = policies_of(file, PurePath(name).suffix, service)
        if isinstance(found, PolicyCollection):
            there = PolicyCollection.of_download(b"".join(pieces(current.policies)), keeps_definition=True)
            found = found.within(there).download(service)
        download, changes = saved_download(found)
        read = documents(download, current.roles, current.tags)
    except (InvalidInput, PolicySetError) as e:
        raise InvalidInput(f"`{name}` cannot be used: {e}") from None
    return read, changes


def _warnings(name: str, after: PolicyEngine, read: Documents, current: Documents) -> Iterable[str]:
    if current.tags is None and read.tags is not None:
        yield f"warning: `{name}` has tag policies, but no tags are in effect, so no resource carries a tag"
    yield from (f"warning: `{name}`: {problem}" for problem in after.problems[:MOST_NOTES])
    if (more := len(after.problems) - MOST_NOTES) > 0:
        yield f"note: {more} more problems with policies; `ranger-cdap policies lint` shows them"
