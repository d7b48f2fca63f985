"""Checks of the decision services that the sync job notifies: reachable, and with the role."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ranger_cdap.config import NotifySettings, Settings
from ranger_cdap.doctor.finding import AS_SYNC, Finding, failed, note, well
from spark_sync.notification import NotifyResult, notify


def examine_notification(settings: Settings) -> Iterator[Finding]:
    """Check each service of `[[sync.notify]]` by a notification, which at most makes it download the policies."""
    services = settings.sync.notify
    known = tuple(service for service in services if not service.secret.problem)
    results = iter(notify(_with(settings, known)))
    for service in services:
        check = f"notifying `{service.url}`"
        if problem := service.secret.problem:
            yield note(check, f"not tried: {problem}", AS_SYNC)
        else:
            yield _finding(check, next(results))


def _with(settings: Settings, services: tuple[NotifySettings, ...]) -> Settings:
    return msgspec.structs.replace(settings, sync=msgspec.structs.replace(settings.sync, notify=services))


def _finding(check: str, result: NotifyResult) -> Finding:
    if result.problem is not None:
        return failed(check, f"it {result.problem.text}", result.problem.advice)
    return well(check, "the caller may request newer policies")
