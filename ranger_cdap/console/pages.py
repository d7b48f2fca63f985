"""The console's pages as HTML: without scripts, with every name escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Final

import msgspec

from ranger_cdap.authz.known_names import KnownNames
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
from ranger_cdap.console.forms import FIELDS, PATHS, ConsoleForm, ConsoleView, options
from ranger_cdap.console.links import Links, about
from ranger_cdap.console.playground import ExampleQuestion
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.service.api import openapi
from ranger_cdap.service.http.reply import HTML, Refused, Reply
from ranger_cdap.tools.cli.access_matrix import SHARED, MatrixPage
from ranger_cdap.tools.questions.namespace_matrix import NamespaceMatrix

PageAnswer = AskAnswer | WhoAnswer | WhatAnswer | NamespaceMatrix | ImpactAnswer

MAX_FILE: Final = 100_000_000
"""Bytes of an uploaded file: an export of 100,000 policies is shorter."""
STYLE: Final = "/style.css"
_NAMES: Final[Mapping[ConsoleView, str]] = {
    ConsoleView.ASK: "Ask",
    ConsoleView.WHO: "Who has access",
    ConsoleView.WHAT: "What a user reaches",
    ConsoleView.MATRIX: "Matrix",
    ConsoleView.IMPACT: "Impact of a change",
    ConsoleView.STATUS: "Status",
}


class PageContext(msgspec.Struct, frozen=True):
    """Values of a page beside its form and answer: who asks, the address of Ranger's web UI, and example questions."""

    caller: str
    ranger_ui: str
    examples: Sequence[ExampleQuestion] = ()


def view_page(
    form: ConsoleForm,
    context: PageContext,
    engine: PolicyEngine | None,
    *,
    answer: PageAnswer | None,
    profile: Profile,
    names: KnownNames,
    status: StatusAnswer,
) -> bytes:
    """Return the page of a view with its form, and its answer if there is one."""
    rows = answer.rows if isinstance(answer, ImpactAnswer) else ()
    by_kind = {"user": names.users | {form.typed.get("user", "")}, "group": names.groups, "role": names.roles}
    known = {f"{kind} {name}" for kind, found in by_kind.items() for name in found}.union(*(one.who for one in rows))
    return (
        page_template(f"{form.view}.html", __package__, SHARED)
        .render(
            view=form.view,
            paths=PATHS,
            names=_NAMES,
            caller=context.caller,
            examples=context.examples,
            longest=MAX_FILE,
            texts=texts,
            sentences=requirement_sentences(),
            form=form,
            fields=FIELDS[form.view],
            options=options(profile, engine, names),
            answer=answer,
            page=MatrixPage.of(answer.matrix, answer.index) if isinstance(answer, NamespaceMatrix) else None,
            status=status,
            about=about,
            linked=Links(context.ranger_ui, engine, known).linked,
        )
        .encode()
    )


def html_error(refused: Refused) -> Reply:
    """Return an error as a web page."""
    page = page_template("error.html", __package__).render(
        title=HTTPStatus(refused.status).phrase,
        message=refused.message,
        needs_role=refused.status in (401, 403),
        view="",
        paths=PATHS,
        names=_NAMES,
    )
    return Reply(refused.status, page.encode(), HTML)


@cache
def style() -> bytes:
    """Return the style sheet, with that of a matrix."""
    return openapi.style() + files(SHARED).joinpath("templates", "matrix_table.css").read_bytes()
