"""The console's pages as HTML: without scripts, with every name escaped."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Final

import msgspec

from ranger_cdap.cdap.profile import Profile
from ranger_cdap.cdap.requirements import requirement_sentences
from ranger_cdap.cli.display import page_template
from ranger_cdap.console import texts
from ranger_cdap.console.answer_rows import (
    AskAnswer,
    ImpactAnswer,
    StatusAnswer,
    WhatAnswer,
    WhoAnswer,
)
from ranger_cdap.console.forms import FIELDS, ConsoleForm, ConsoleView, options
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.service.http.reply import Refused, Reply
from ranger_cdap.tools.questions.matrix import LETTERS
from ranger_cdap.tools.questions.matrix_document import MatrixNotes
from ranger_cdap.tools.questions.namespace_matrix import NamespaceMatrix

PageAnswer = AskAnswer | WhoAnswer | WhatAnswer | NamespaceMatrix | ImpactAnswer

HTML: Final = "text/html; charset=utf-8"
CSS: Final = "text/css; charset=utf-8"

MAX_FILE: Final = 100_000_000
"""Bytes of an uploaded file: an export of 100,000 policies is shorter."""
STYLE: Final = "/style.css"
PATHS: Final[Mapping[ConsoleView, str]] = {
    ConsoleView.ASK: "/",
    ConsoleView.WHO: "/who",
    ConsoleView.WHAT: "/what",
    ConsoleView.MATRIX: "/matrix",
    ConsoleView.IMPACT: "/impact",
    ConsoleView.STATUS: "/status",
}
_NAMES: Final[Mapping[ConsoleView, str]] = {
    ConsoleView.ASK: "Ask",
    ConsoleView.WHO: "Who has access",
    ConsoleView.WHAT: "What a user reaches",
    ConsoleView.MATRIX: "Matrix",
    ConsoleView.IMPACT: "Impact of a change",
    ConsoleView.STATUS: "Status",
}

Link = Callable[[int], str]
"""Return the URL of a policy in Ranger's web UI; empty if unknown."""


class PageContext(msgspec.Struct, frozen=True):
    """Values of a page beside its form and answer: who asks, the address of Ranger's web UI."""

    caller: str
    ranger_ui: str


def view_page(
    form: ConsoleForm,
    context: PageContext,
    engine: PolicyEngine | None,
    *,
    answer: PageAnswer | None,
    profile: Profile,
    status: StatusAnswer,
) -> bytes:
    """Return the page of a view with its form, and its answer if there is one."""
    return (
        page_template(__package__, f"{form.view}.html")
        .render(
            view=form.view,
            paths=PATHS,
            names=_NAMES,
            caller=context.caller,
            longest=MAX_FILE,
            texts=texts,
            letters=LETTERS,
            sentences=requirement_sentences(),
            form=form,
            fields=FIELDS[form.view],
            options=options(profile, engine),
            answer=answer,
            notes=MatrixNotes(answer.index) if isinstance(answer, NamespaceMatrix) else None,
            status=status,
            link=links_below(context.ranger_ui, engine, _policies_of(answer, status)),
        )
        .encode()
    )


def html_error(refused: Refused) -> Reply:
    """Return an error as a web page."""
    page = page_template(__package__, "error.html").render(
        title=HTTPStatus(refused.status).phrase,
        message=refused.message,
        needs_role=refused.status in (401, 403),
        view="",
    )
    return Reply(refused.status, page.encode(), HTML)


def links_below(base: str, engine: PolicyEngine | None, policy_ids: Collection[int]) -> Link:
    """Return the URLs of policies in the web UI at an address; the path is that of Ranger's React UI (2.4 on)."""
    known = engine.service_ids(policy_ids) if engine is not None else {}

    def link(policy_id: int) -> str:
        service_id = known.get(policy_id)
        if service_id is None or not base.startswith(("http://", "https://")):
            return ""
        return f"{base}/index.html#/service/{service_id}/policies/{policy_id}/edit"

    return link


def _policies_of(answer: PageAnswer | None, status: StatusAnswer) -> Collection[int]:
    """Return the ids of the policies that a page links to."""
    found: list[int | None] = []
    match answer:
        case AskAnswer():
            for one in (reason for alternative in answer.alternatives for reason in alternative):
                found += [one.examined.decision.policy_id, *(item.policy_id for item in one.items)]
                found += [other.policy_id for other in one.others]
        case WhoAnswer():
            found += [entry.policy_id for one in answer.holders for entry in one.accesses.values()]
            found += [row.policy_id for row in answer.rows]
        case WhatAnswer():
            found += [row.policy_id for row in (*answer.allowed, *answer.denied)]
        case NamespaceMatrix():
            found += texts.matrix_policies(answer.matrix)
        case ImpactAnswer():
            found += [row.policy_id for row in answer.rows]
        case None:
            found += [one.policy_id for one in status.problems]
    return {one for one in found if one is not None and one >= 0}


@cache
def style() -> bytes:
    """Return the style sheet."""
    return files(__package__).joinpath("templates", "style.css").read_bytes()
