"""`Views`: the pages of a console. They change nothing and audit nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.requests import Request

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.known_names import KnownNames
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.config import Settings
from ranger_cdap.console.answer_rows import StatusAnswer
from ranger_cdap.console.answers import ask_answer, impact_answer, matrix_answer, what_answer, who_answer
from ranger_cdap.console.forms import ConsoleForm, ConsoleView, blank, filled
from ranger_cdap.console.pages import PageAnswer, PageContext, style, view_page
from ranger_cdap.console.playground import ExampleQuestion
from ranger_cdap.console.questions import Questions
from ranger_cdap.console.uploads import UploadedFile, read_form
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.service.http.callers import Caller
from ranger_cdap.service.http.reply import CSS, HTML, Reply

MOST_PROBLEMS: Final = 100
_COMMANDS: Final = {
    ConsoleView.ASK: "check --why",
    ConsoleView.WHO: "access --entity",
    ConsoleView.WHAT: "access --user",
    ConsoleView.MATRIX: "access --format matrix",
    ConsoleView.IMPACT: "policies diff",
}
"""The commands that answer the questions of a view."""


@dataclass(frozen=True, slots=True)
class Views:
    """Pages over the policies of one authorizer."""

    authorizer: Authorizer
    settings: Settings
    ranger_ui: str
    questions: Questions
    examples: Sequence[ExampleQuestion] = ()

    async def style(self, _request: Request, _caller: Caller) -> Reply:
        """Return the style sheet of the pages."""
        return Reply(200, style(), CSS)

    async def page(self, view: ConsoleView, request: Request, caller: Caller) -> Reply:
        """Return a page: the answer if something is asked, with status 400 if the form has problems.

        Raises:
            Refused: as `Questions.ask` and `read_form`.
            NotReady: there are no policies.
        """
        file, typed = UploadedFile(), dict(request.query_params)
        if self.examples and view is ConsoleView.ASK and not typed:
            typed = dict(self.examples[0].form)
        form = filled(view, typed)
        if request.method == "POST":
            file, values = await read_form(request)
            form = filled(view, {"access": "", **values})
        # All answers of one page are by the same policies.
        authorizer = Authorizer(self.authorizer.decider.pinned())
        context = PageContext(caller.name, self.ranger_ui, self.examples)
        page = partial(self._page, authorizer, context, form or blank(view), file, form is not None)
        body = await self.questions.ask(caller.name, _COMMANDS[view], page) if form is not None else page()
        return Reply(400 if form is not None and form.problems else 200, body, HTML)

    def _page(
        self, authorizer: Authorizer, context: PageContext, form: ConsoleForm, file: UploadedFile, is_asked: bool
    ) -> bytes:
        return view_page(
            form,
            context,
            authorizer.snapshot.engine,
            names=KnownNames.of(authorizer, PolicyIndex.of(authorizer.snapshot.documents)),
            answer=_answer(authorizer, form, file) if is_asked else None,
            profile=authorizer.decider.config.profile,
            status=self.status(authorizer.snapshot, time.time()),
        )

    def status(self, snapshot: Snapshot, now: float) -> StatusAnswer:
        """Return the freshness and the problems of the policies; `now` in seconds since 1970."""
        config, contact_at = self.authorizer.decider.config, snapshot.contact_at
        problems = snapshot.engine.problems if snapshot.engine is not None else ()
        return StatusAnswer(
            service=snapshot.engine.service_name if snapshot.engine else self.settings.ranger.service,
            state=snapshot.state.value,
            decides=snapshot.state.decides,
            reason=snapshot.reason,
            version=snapshot.versions.policies if snapshot.versions.policies >= 0 else None,
            confirmed="never" if contact_at is None else confirmed(contact_at, now),
            cache_problem=snapshot.cache_problem,
            problem_count=len(problems),
            problems=problems[:MOST_PROBLEMS],
            instance=config.instance,
            profile=f"{config.profile.name}: {config.profile.title}",
            enforcement=str(config.enforcement),
            everything_enforced=config.enforcement.everything,
            master=config.master,
        )


def confirmed(contact_at: float, now: float) -> str:
    """Return when Ranger Admin confirmed the policies, as `301 s ago (2023-11-14 22:13:20 UTC)`."""
    return f"{max(0, int(now - contact_at))} s ago ({time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime(contact_at))})"


def _answer(authorizer: Authorizer, form: ConsoleForm, file: UploadedFile) -> PageAnswer | None:
    """Return the answer, or None if the form has a problem."""
    match form.view:
        case ConsoleView.ASK:
            return ask_answer(form, authorizer)
        case ConsoleView.WHO:
            return who_answer(form, authorizer)
        case ConsoleView.WHAT:
            return what_answer(form, authorizer)
        case ConsoleView.MATRIX:
            return matrix_answer(form, authorizer)
        case _:
            return impact_answer(form, authorizer, file)
