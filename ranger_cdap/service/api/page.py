"""The page at `/`: how the policies are, and may somebody do something, and why. It changes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Final

import jinja2

from ranger_cdap.cdap.answer import Answer
from ranger_cdap.config import Settings, addresses
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.engine.model.problem import Problem
from ranger_cdap.engine.whereabouts import service_ids
from ranger_cdap.policies.refresh.policy_refresher import Snapshot
from ranger_cdap.service.api.question import asked, operations
from ranger_cdap.service.http.reply import Refused, Reply
from ranger_cdap.service.state.call import Call
from ranger_cdap.service.wire.durations import format_duration

HTML: Final = "text/html; charset=utf-8"
CSS: Final = "text/css; charset=utf-8"
QUERY: Final = {
    "user": "Who wants to do it.",
    "groups": "Groups of the user besides those that are known, separated by commas.",
    "operation": "What, like `dataset.get`.",
    "entity": "On what, like `dataset:ns1.purchases`.",
}
MOST_PROBLEMS: Final = 100

Link = Callable[[int], str]
"""The address of a policy in Ranger's web UI; empty where it is not known."""


@dataclass(frozen=True, slots=True)
class ServiceView:
    """One Ranger service as the page shows it."""

    name: str
    state: str
    decides: bool
    well: bool
    reason: str
    version: int | None
    age: str
    contact: str
    cache_problem: str
    problems: tuple[Problem, ...]
    more_problems: int
    link: Link


def show(call: Call) -> Reply:
    """The page; with something typed into the form, the answer, or with status 400 what is wrong with it."""
    state = call.state
    question = asked(call.query, state.authorizer)
    rules, engine = state.authorizer.decider.rules, state.authorizer.snapshot.engine
    page = (
        _templates()
        .get_template("page.html")
        .render(
            services=[
                service_view(service.name, service.snapshot, state.settings) for service in state.services.values()
            ],
            enforcement=str(rules.enforcement),
            everything=rules.enforcement.everything,
            profile=rules.profile,
            instance=rules.instance,
            master=rules.master,
            grants=state.settings.service.grants,
            differences=state.hello.differences,
            operations=operations(rules.profile),
            question=question,
            verdict=_verdict(question.answer) if question.answer else "",
            pending=state.pending([question.answer]) if question.answer else "",
            link=policy_links(engine, _policies_of(question.answer), state.settings),
            caller=call.caller.name,
        )
    )
    return Reply(400 if question.problems else 200, page.encode(), HTML)


def style(_call: Call) -> Reply:
    """The style sheet of the page."""
    return Reply(200, _style(), CSS)


def html_error(refused: Refused) -> Reply:
    """An error as a page for a person."""
    page = (
        _templates()
        .get_template("error.html")
        .render(title=HTTPStatus(refused.status).phrase, message=refused.message, status=refused.status)
    )
    return Reply(refused.status, page.encode(), HTML)


def service_view(name: str, snapshot: Snapshot, settings: Settings, now: float | None = None) -> ServiceView:
    """The status of a Ranger service, for the page; `now` in seconds since 1970."""
    problems = snapshot.engine.problems if snapshot.engine is not None else ()
    shown = problems[:MOST_PROBLEMS]
    contact_at, now = snapshot.contact_at, time.time() if now is None else now
    return ServiceView(
        name=name,
        state=snapshot.state.value,
        decides=snapshot.state.decides,
        well=snapshot.state.decides and not snapshot.reason,
        reason=snapshot.reason,
        version=snapshot.versions.policies if snapshot.versions.policies >= 0 else None,
        age="" if contact_at is None else format_duration(now - contact_at),
        contact="" if contact_at is None else f"{datetime.fromtimestamp(contact_at, UTC):%Y-%m-%d %H:%M:%S UTC}",
        cache_problem=snapshot.cache_problem,
        problems=shown,
        more_problems=len(problems) - len(shown),
        link=policy_links(snapshot.engine, {p.policy_id for p in shown if p.policy_id is not None}, settings),
    )


def policy_links(engine: PolicyEngine | None, policy_ids: Collection[int], settings: Settings) -> Link:
    """The addresses of policies in the web UI that the settings name (`service.ranger_ui`, else `ranger.url`).

    The path is that of Ranger's React UI (2.4 and later).
    """
    base = (settings.service.ranger_ui or next(iter(addresses(settings.ranger.url)), "")).rstrip("/")
    known = service_ids(engine, policy_ids) if engine is not None else {}

    def link(policy_id: int) -> str:
        service_id = known.get(policy_id)
        if service_id is None or not base.startswith(("http://", "https://")):
            return ""
        return f"{base}/index.html#/service/{service_id}/policies/{policy_id}/edit"

    return link


def _policies_of(answer: Answer | None) -> Collection[int]:
    tried = answer.tried if answer is not None else ()
    return {e.decision.policy_id for alternative in tried for e in alternative if e.decision.policy_id >= 0}


def _verdict(answer: Answer) -> str:
    if not answer.ready:
        return "not ready"
    if not answer.enforced:
        return "allowed, because it is not enforced"
    return "allowed" if answer.allowed else "denied"


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("ranger_cdap.service.api"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _style() -> bytes:
    return files(__package__).joinpath("templates", "style.css").read_bytes()
