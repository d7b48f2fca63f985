"""The web page at `/`: state of the policies, permission checks and their reasons. It changes nothing."""

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

from ranger_cdap.authz.denial_text import denial_by
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.requirements import requirement_sentences
from ranger_cdap.config import Settings, addresses
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.engine.model.problem import Problem
from ranger_cdap.policies.refresh.policy_refresher import Snapshot
from ranger_cdap.service.api.permission_form import filled_form, operations
from ranger_cdap.service.http.reply import Refused, Reply
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.service.wire.durations import format_duration

HTML: Final = "text/html; charset=utf-8"
CSS: Final = "text/css; charset=utf-8"
QUERY: Final = {
    "user": "The user.",
    "groups": "Further groups of the user, separated by commas.",
    "operation": "The operation, like `dataset.get`.",
    "entity": "The entity, like `dataset:ns1.purchases`.",
}
MOST_PROBLEMS: Final = 100

Link = Callable[[int], str]
"""Return the URL of a policy in Ranger's web UI; empty if unknown."""


@dataclass(frozen=True, slots=True)
class ServiceView:
    """Ranger service, for the page."""

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


def show(call: HandlerCall) -> Reply:
    """Return the page, with the answer if the form is filled in, or with status 400 and its problems."""
    state = call.state
    form = filled_form(call.query, state.authorizer)
    config, engine = state.authorizer.decider.config, state.authorizer.snapshot.engine
    page = (
        _templates()
        .get_template("page.html")
        .render(
            services=[
                service_view(service.name, service.snapshot, state.settings) for service in state.services.values()
            ],
            enforcement=str(config.enforcement),
            everything=config.enforcement.everything,
            profile=config.profile,
            instance=config.instance,
            master=config.master,
            grants=state.settings.service.grants,
            differences=state.settings_drift.differences,
            operations=operations(config.profile),
            form=form,
            verdict=_verdict(form.answer) if form.answer else "",
            denial_by=denial_by,
            requirement_sentences=requirement_sentences(),
            pending=state.pending([form.answer]) if form.answer else "",
            link=policy_links(engine, _policies_of(form.answer), state.settings),
            caller=call.caller.name,
        )
    )
    return Reply(400 if form.problems else 200, page.encode(), HTML)


def style(_call: HandlerCall) -> Reply:
    """Return the style sheet of the page."""
    return Reply(200, _style(), CSS)


def html_error(refused: Refused) -> Reply:
    """Return an error as a web page."""
    page = (
        _templates()
        .get_template("error.html")
        .render(title=HTTPStatus(refused.status).phrase, message=refused.message, status=refused.status)
    )
    return Reply(refused.status, page.encode(), HTML)


def service_view(name: str, snapshot: Snapshot, settings: Settings, now: float | None = None) -> ServiceView:
    """Return the status of a Ranger service, for the page; `now` in seconds since 1970."""
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
    """Return the URLs of policies in the configured web UI (`service.ranger_ui`, else `ranger.url`).

    The path is that of Ranger's React UI (2.4 and later).
    """
    base = (settings.service.ranger_ui or next(iter(addresses(settings.ranger.url)), "")).rstrip("/")
    known = engine.service_ids(policy_ids) if engine is not None else {}

    def link(policy_id: int) -> str:
        service_id = known.get(policy_id)
        if service_id is None or not base.startswith(("http://", "https://")):
            return ""
        return f"{base}/index.html#/service/{service_id}/policies/{policy_id}/edit"

    return link


def _policies_of(answer: Answer | None) -> Collection[int]:
    alternatives = answer.alternatives if answer is not None else ()
    return {e.decision.policy_id for alternative in alternatives for e in alternative if e.decision.policy_id >= 0}


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
