"""Checks of the decision services that the sync job notifies: reachable, and with the role."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ranger_cdap.config import Settings
from ranger_cdap.doctor.finding import AS_SYNC, Finding, failed, note, well
from spark_sync.notification import notify


def examine_notification(settings: Settings) -> Iterator[Finding]:
    """Check each service of `[[sync.notify]]` by a notification, which at most makes it download the policies."""
    services = settings.sync.notify
    known = tuple(service for service in services if not service.secret.problem)
    asked = msgspec.structs.replace(settings, sync=msgspec.structs.replace(settings.sync, notify=known))
    results = iter(notify(asked))
    for service in services:
        check = f"notifying `{service.url}`"
        if problem := service.secret.problem:
            yield note(check, f"not tried: {problem}", AS_SYNC)
        elif failure := next(results).problem:
            yield failed(check, f"it {failure.text}", failure.advice)
        else:
            yield well(check, "the caller may request newer policies")
