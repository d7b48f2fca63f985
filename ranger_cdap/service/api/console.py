"""Handlers of the console: pages for people, and the same answers as JSON. They change nothing and audit nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import InvalidInput, NotReady
from ranger_cdap.policies.refresh.policy_refresher import Snapshot
from ranger_cdap.service.api.console_answers import FILE, ask_answer
from ranger_cdap.service.api.console_form import (
    FIELDS,
    ConsoleForm,
    ConsoleView,
    asked_holders,
    asked_matrix,
    asked_operation,
    asked_user,
    blank,
    filled,
)
from ranger_cdap.service.api.page import HTML, page_context, status_page, view_page
from ranger_cdap.service.decisions.question_process import Result, question
from ranger_cdap.service.http.reply import Reply, json_reply
from ranger_cdap.service.http.uploads import UploadedFile
from ranger_cdap.service.state.app_state import AppState
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.service.wire.console_wire import AskAnswer, PolicyProblem, ServiceStatus, StatusAnswer

MOST_PROBLEMS: Final = 100
DOCUMENT: Final = "document"
"""Name of policies that come as a JSON body."""

QUERIES: Final[Mapping[ConsoleView, Mapping[str, str]]] = {
    view: {one.name: one.description for one in fields} for view, fields in FIELDS.items()
}
"""Query parameters of each view, with their descriptions."""


# --- ask --------------------------------------------------------------------------------------------------------------


def ask_page(call: HandlerCall) -> Reply:
    """Return the page of permission checks, with status 400 if the form has problems."""
    status = _status(call.state, time.time())
    form, result = _asked(call, filled(ConsoleView.ASK, call.query), status)
    if isinstance(result, Result) and not result.problems:
        return Reply(200, result.body, HTML)
    authorizer = call.state.authorizer
    page = view_page(
        form,
        page_context(call),
        authorizer.snapshot.engine,
        answer=result if isinstance(result, AskAnswer) else None,
        profile=authorizer.decider.config.profile,
        more={"status": status},
    )
    return _page(form, page)


def ask_json(call: HandlerCall) -> Reply:
    """Return a permission check with its reasons.

    Raises:
        InvalidInput: a parameter is not usable.
        NotReady: there are no policies.
    """
    form, result = _asked(call, _filled(call, ConsoleView.ASK), None)
    if isinstance(result, AskAnswer) and not result.ready:
        raise NotReady(result.reason)
    if form.problems or result is None:
        raise _problems(form.problems)
    return Reply(200, result.body) if isinstance(result, Result) else json_reply(result)


def _asked(
    call: HandlerCall, form: ConsoleForm | None, status: StatusAnswer | None
) -> tuple[ConsoleForm, AskAnswer | Result | None]:
    """Return the form and its answer: from the child process, or from here if there is nothing to read for it.

    Hooks decide here only: the child does not have the environment that they may need.
    """
    authorizer = call.state.authorizer
    asked = asked_operation(form, authorizer.decider.config.profile) if form is not None else None
    if form is None or asked is None:
        return form or blank(ConsoleView.ASK), None
    groups, entity = asked
    with form.beside("entity"):
        answer = authorizer.explain(form.typed["user"], groups, form.typed["operation"], entity)
        pending = call.state.pending([answer])
        is_here = authorizer.snapshot.documents is None or authorizer.decider.has_decision_hooks
        if is_here or not answer.ready:
            return form, ask_answer(form, authorizer, pending)
        result = _result(call, form, as_page=status is not None, status=status, pending=pending)
        form.problems.update(result.problems)
        return form, result
    return form, None


# --- questions about a whole set of policies --------------------------------------------------------------------------


def who_page(call: HandlerCall) -> Reply:
    """Return the page of who has access."""
    return _question_page(call, ConsoleView.WHO)


def who_json(call: HandlerCall) -> Reply:
    """Return who has access."""
    return _question_json(call, ConsoleView.WHO)


def what_page(call: HandlerCall) -> Reply:
    """Return the page of what a user has access to."""
    return _question_page(call, ConsoleView.WHAT)


def what_json(call: HandlerCall) -> Reply:
    """Return what a user has access to."""
    return _question_json(call, ConsoleView.WHAT)


def matrix_page(call: HandlerCall) -> Reply:
    """Return the page of the matrix of a namespace."""
    return _question_page(call, ConsoleView.MATRIX)


def matrix_json(call: HandlerCall) -> Reply:
    """Return the matrix of a namespace."""
    return _question_json(call, ConsoleView.MATRIX)


def impact_form(call: HandlerCall) -> Reply:
    """Return the page on which a file is chosen."""
    return _form_page(call, blank(ConsoleView.IMPACT))


def impact_page(call: HandlerCall) -> Reply:
    """Return the page of what changes if the policies in effect become those of the uploaded file."""
    uploaded: UploadedFile = call.body
    form = filled(ConsoleView.IMPACT, {"access": "", **uploaded.values}) or blank(ConsoleView.IMPACT)
    if not uploaded.name:
        form.problems.setdefault(FILE, "choose a file: a policy download, a plugin's cache file, or an export")
    if form.problems:
        return _form_page(call, form)
    result = _result(call, form, as_page=True, file=uploaded)
    form.problems.update(result.problems)
    return _form_page(call, form) if form.problems else Reply(200, result.body, HTML)


def impact_json(call: HandlerCall) -> Reply:
    """Return what changes if the policies in effect become those of the body.

    Raises:
        InvalidInput: the policies or the access types are not usable.
        NotReady: there are no policies.
    """
    form = filled(ConsoleView.IMPACT, call.query) or blank(ConsoleView.IMPACT)
    return _json(_result(call, form, as_page=False, file=UploadedFile(DOCUMENT, call.body)))


def _question_page(call: HandlerCall, view: ConsoleView) -> Reply:
    form = filled(view, call.query)
    if form is None:
        return _form_page(call, blank(view))
    if not _is_wrong(form, _engine(call)):
        result = _result(call, form, as_page=True)
        if not result.problems:
            return Reply(200, result.body, HTML)
        form.problems.update(result.problems)
    return _form_page(call, form)


def _question_json(call: HandlerCall, view: ConsoleView) -> Reply:
    form, engine = _filled(call, view), _engine(call)
    if _is_wrong(form, engine):
        raise _problems(form.problems)
    return _json(_result(call, form, as_page=False))


def _is_wrong(form: ConsoleForm, engine: PolicyEngine) -> bool:
    """Return whether a form has a problem that shows before its question is asked."""
    match form.view:
        case ConsoleView.WHO:
            return asked_holders(form, engine) is None
        case ConsoleView.WHAT:
            return asked_user(form, engine) is None
        case _:
            return asked_matrix(form) is None


def _result(
    call: HandlerCall,
    form: ConsoleForm,
    *,
    as_page: bool,
    file: UploadedFile | None = None,
    status: StatusAnswer | None = None,
    pending: str = "",
) -> Result:
    if form.problems:
        return Result(problems=form.problems)
    state = call.state
    snapshot, engine = state.authorizer.snapshot, _engine(call)
    if snapshot.documents is None:
        raise NotReady(snapshot.reason or "the documents of the policies are not kept")
    asked = question(
        form.view,
        form.typed,
        page_context(call) if as_page else None,
        snapshot.documents,
        service=engine.service_name,
        settings=state.settings,
        now=time.time_ns() // 1_000_000,
        file=file.content if file is not None else b"",
        file_name=file.name if file is not None else "",
        status=status,
        pending=pending,
    )
    return state.questions.ask(call.caller.name, asked)


def _engine(call: HandlerCall) -> PolicyEngine:
    snapshot = call.state.authorizer.snapshot
    if snapshot.engine is None:
        raise NotReady(snapshot.reason)
    return snapshot.engine


def _form_page(call: HandlerCall, form: ConsoleForm) -> Reply:
    return _page(form, view_page(form, page_context(call), call.state.authorizer.snapshot.engine))


def _page(form: ConsoleForm, page: bytes) -> Reply:
    return Reply(400 if form.problems else 200, page, HTML)


def _filled(call: HandlerCall, view: ConsoleView) -> ConsoleForm:
    return filled(view, {**dict.fromkeys(QUERIES[view], ""), **call.query}) or blank(view)


def _json(result: Result) -> Reply:
    if result.problems:
        raise _problems(result.problems)
    return Reply(200, result.body)


def _problems(problems: Mapping[str, str]) -> InvalidInput:
    return InvalidInput("; ".join(f"`{name}`: {sentence}" for name, sentence in problems.items()))


# --- status -----------------------------------------------------------------------------------------------------------


def status_json(call: HandlerCall) -> Reply:
    """Return the freshness and the problems of the policies."""
    return json_reply(_status(call.state, time.time()))


def status_html(call: HandlerCall) -> Reply:
    """Return the page of the freshness and the problems of the policies."""
    engines = {name: service.snapshot.engine for name, service in call.state.services.items()}
    answer = _status(call.state, time.time())
    return Reply(200, status_page(page_context(call), engines, answer=answer), HTML)


def _status(state: AppState, now: float) -> StatusAnswer:
    config = state.authorizer.decider.config
    return StatusAnswer(
        services=[service_status(name, service.snapshot, now) for name, service in state.services.items()],
        instance=config.instance,
        profile=config.profile.name,
        profile_title=config.profile.title,
        enforcement=str(config.enforcement),
        everything_enforced=config.enforcement.everything,
        master=config.master,
        grants=state.settings.service.grants,
        differences=list(state.settings_drift.differences),
    )


def service_status(name: str, snapshot: Snapshot, now: float) -> ServiceStatus:
    """Return the status of a Ranger service; `now` in seconds since 1970."""
    problems = snapshot.engine.problems if snapshot.engine is not None else ()
    contact_at = snapshot.contact_at
    return ServiceStatus(
        name=name,
        state=snapshot.state.value,
        decides=snapshot.state.decides,
        reason=snapshot.reason,
        version=snapshot.versions.policies if snapshot.versions.policies >= 0 else None,
        confirmed=None if contact_at is None else f"{datetime.fromtimestamp(contact_at, UTC):%Y-%m-%d %H:%M:%S UTC}",
        age_seconds=None if contact_at is None else max(0.0, now - contact_at),
        cache_problem=snapshot.cache_problem,
        problem_count=len(problems),
        problems=[
            PolicyProblem(one.policy_id, one.policy_name, one.place, one.code.value, one.message)
            for one in problems[:MOST_PROBLEMS]
        ],
    )
