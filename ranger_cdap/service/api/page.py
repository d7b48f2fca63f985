"""Pages of the console: each shows the answer that its JSON twin has, without scripts, with every name escaped."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Any, Final

from ranger_cdap.cdap.profile import Profile
from ranger_cdap.config import Settings, addresses
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.questions.display import page_template
from ranger_cdap.questions.matrix import LETTERS
from ranger_cdap.questions.matrix_document import MARKS
from ranger_cdap.service.api import console_texts
from ranger_cdap.service.api.console_form import FIELDS, ConsoleForm, ConsoleView, options
from ranger_cdap.service.decisions.question_process import PageContext
from ranger_cdap.service.http.reply import Refused, Reply
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.service.wire.console_wire import (
    AskAnswer,
    ConsoleAnswer,
    HolderRow,
    ImpactAnswer,
    MatrixAnswer,
    NamedPolicy,
    WhatAnswer,
    WhoAnswer,
)
from ranger_cdap.service.wire.durations import format_duration

HTML: Final = "text/html; charset=utf-8"
CSS: Final = "text/css; charset=utf-8"

PATHS: Final[Mapping[str, str]] = {
    ConsoleView.ASK: "/",
    ConsoleView.WHO: "/who",
    ConsoleView.WHAT: "/what",
    ConsoleView.MATRIX: "/matrix",
    ConsoleView.IMPACT: "/impact",
    "status": "/status",
}
_NAMES: Final[Mapping[str, str]] = {
    ConsoleView.ASK: "Ask",
    ConsoleView.WHO: "Who has access",
    ConsoleView.WHAT: "What a user reaches",
    ConsoleView.MATRIX: "Matrix",
    ConsoleView.IMPACT: "Impact of a change",
    "status": "Status",
}

Link = Callable[[int], str]
"""Return the URL of a policy in Ranger's web UI; empty if unknown."""


def page_context(call: HandlerCall) -> PageContext:
    """Return the values of a page for the caller."""
    settings = call.state.settings
    return PageContext(call.caller.name, ranger_ui(settings), settings.service.max_body)


def view_page(
    form: ConsoleForm,
    context: PageContext,
    engine: PolicyEngine | None,
    *,
    answer: ConsoleAnswer | None = None,
    profile: Profile | None = None,
    more: Mapping[str, Any] | None = None,
) -> bytes:
    """Return the page of a view with its form, and its answer if there is one."""
    return _page(
        form.view,
        context,
        form=form,
        fields=FIELDS[form.view],
        options=options(profile, engine),
        answer=answer,
        link=links_below(context.ranger_ui, engine, set(_policies_of(answer))),
        **(more or {}),
    )


def status_page(context: PageContext, engines: Mapping[str, PolicyEngine | None], **values: Any) -> bytes:
    """Return the page of the status; `engines` are those of the services by their names."""
    ids = {
        service.name: {one.policy_id for one in service.problems if one.policy_id is not None}
        for service in values["answer"].services
    }
    links = {name: links_below(context.ranger_ui, engine, ids[name]) for name, engine in engines.items()}
    return _page("status", context, links=links, **values)


def _page(view: str, context: PageContext, **values: Any) -> bytes:
    return (
        page_template(__package__, f"{view}.html")
        .render(
            view=view,
            paths=PATHS,
            names=_NAMES,
            caller=context.caller,
            longest=context.longest,
            texts=console_texts,
            letters=LETTERS,
            marks=MARKS,
            format_duration=format_duration,
            **values,
        )
        .encode()
    )


def style(_call: HandlerCall) -> Reply:
    """Return the style sheet of the pages."""
    return Reply(200, _style(), CSS)


def html_error(refused: Refused) -> Reply:
    """Return an error as a web page."""
    page = page_template(__package__, "error.html").render(
        title=HTTPStatus(refused.status).phrase,
        message=refused.message,
        needs_role=refused.status in (401, 403),
        view="",
    )
    return Reply(refused.status, page.encode(), HTML)


def ranger_ui(settings: Settings) -> str:
    """Return the address of Ranger's web UI: `service.ranger_ui`, else `ranger.url`."""
    return (settings.service.ranger_ui or next(iter(addresses(settings.ranger.url)), "")).rstrip("/")


def links_below(base: str, engine: PolicyEngine | None, policy_ids: Collection[int]) -> Link:
    """Return the URLs of policies in the web UI at an address; the path is that of Ranger's React UI (2.4 on)."""
    known = engine.service_ids(policy_ids) if engine is not None else {}

    def link(policy_id: int) -> str:
        service_id = known.get(policy_id)
        if service_id is None or not base.startswith(("http://", "https://")):
            return ""
        return f"{base}/index.html#/service/{service_id}/policies/{policy_id}/edit"

    return link


def _policies_of(answer: ConsoleAnswer | None) -> Collection[int]:
    """Return the ids of the policies that a page links to."""
    found: list[NamedPolicy | None] = []
    match answer:
        case AskAnswer():
            for one in (privilege for alternative in answer.alternatives for privilege in alternative):
                found += [one.policy, *(item.policy for item in one.items), *(other.policy for other in one.others)]
        case WhoAnswer():
            found += _of_holders(answer.holders) + [row.policy for row in answer.rows]
        case WhatAnswer():
            found += [row.policy for row in (*answer.allowed, *answer.denied)]
        case MatrixAnswer():
            cells = (cell for row in answer.rows for cell in row.cells)
            found += [action.policy for cell in cells for action in cell.actions.values()]
        case ImpactAnswer():
            found += [row.policy for row in (*answer.gained, *answer.lost)]
    return {one.id for one in found if one is not None}


def _of_holders(holders: Collection[HolderRow]) -> list[NamedPolicy | None]:
    return [held.policy for one in holders for held in one.accesses.values()]


@cache
def _style() -> bytes:
    return files(__package__).joinpath("templates", "style.css").read_bytes()
