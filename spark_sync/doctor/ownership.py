"""Checks of what protects ownership: journalled checks, watermarks, and the confirmation by CDAP."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from ranger_cdap.config import Location, Settings, SourceSettings, SyncSettings
from ranger_cdap.doctor.finding import AS_SYNC, Finding, failed, note, skipped, well
from ranger_cdap.errors import CdapError, CdapUnreachable, ConfigError, LedgerLost
from ranger_cdap.wire.event_names import missing_in
from ranger_cdap.wire.watermark import WatermarkFile
from spark_sync.ledger.ledger_health import files_read
from spark_sync.reconcile.evaluation_client import EvaluationClient
from spark_sync.reconcile.inventory import ALWAYS_THERE
from spark_sync.sources.cdap_http import CdapHttp
from spark_sync.sources.line_reader import MOST_AHEAD
from spark_sync.sources.service_watermarks import KIND, NAME_NO_SENDER, watermark_file

_ASKING: Final = "asking CDAP what exists"
_TIMEOUT: Final = 5.0
_SEES_NOTHING: Final = "correct `sync.confirm.url` and `.token_file`; give the account READ on everything"


def examine_ownership(settings: Settings, now: float) -> Iterator[Finding]:
    """Check the sync job's evidence, if the job has sources; `now` is in seconds since 1970."""
    if not settings.sync.sources:
        return
    yield _corroboration(settings.sync)
    for source in settings.sync.sources:
        if source.kind == KIND and source.path is not None:
            yield _watermark(source, source.path, settings.sync, now)
    if settings.sync.confirm.url:
        yield _cdap(settings)
        yield _decision(settings)
    else:
        yield note(
            _ASKING,
            "`sync.confirm.url` is not set: a grant in doubt stays suspended or contested until a person settles it",
            "set `[sync.confirm]` (docs/how-to/operate-the-sync.md#confirmation-by-cdap)",
        )
    yield from _hold_back(settings.sync)
    yield from _deletions(settings.sync)


def _corroboration(sync: SyncSettings) -> Finding:
    check = "corroboration of records"
    if sync.uncorroborated == "hold":
        return well(check, "records without a journalled check have no effect")
    return note(
        check,
        "`sync.uncorroborated` is `grant`: with one stolen secret or one writable source, others can become creators",
        "remove it if CDAP uses a decision service: its journal corroborates the records",
    )


def _watermark(source: SourceSettings, path: Location, sync: SyncSettings, now: float) -> Finding:
    check = f"check journal of source `{source.name}`"
    if (file := watermark_file(source)) is None:
        return skipped(check, f"`{path}` is not one directory of this machine")
    directory = file.parent
    try:
        if not directory.is_dir():
            return skipped(check, f"`{directory}` is not there; the sync job may run on another machine")
        is_there = file.exists()
        found = WatermarkFile(directory, directory).read()
    except PermissionError:
        return skipped(check, f"`{directory}` is out of reach of this user; run this as the user of the sync job")
    if found is None:
        what = "cannot be read" if is_there else "is not there"
        return failed(
            check,
            f"`{file}` {what}, so its events are decided after the hold-back only",
            "start the decision service, of this version and with a caller that has `audit`",
        )
    missing, read = 0, files_read(sync.state_dir, source.name)
    with suppress(OSError):
        missing = missing_in(directory, read, found.newest) if read else 0
    if missing:
        seen = f"`{directory}/{missing:015d}-….jsonl` is gone and not in the ledger, which may be a copy from before"
        return failed(check, seen, f"Put such files back, or: {LedgerLost.remedy}")
    age = now - found.watermark / 1000
    if age < -MOST_AHEAD / 1000:
        return failed(
            check,
            f"its watermark is {-age:.0f} s ahead of this clock, so it decides nothing, and the hold-back applies",
            "correct the clock that is wrong; if the service's was, give it an empty `service.events_dir`, restart it, "
            "and take a new baseline",
        )
    if age > max(sync.hold_back, _TIMEOUT):
        return failed(
            check,
            f"the decision service last renewed its watermark {age:.0f} s ago, so the hold-back applies",
            "start the decision service: `ranger-cdap serve`",
        )
    if found.records is False:
        return note(
            check,
            "CDAP's extension delivers no records, so lost requests are not detected; the hold-back applies",
            "with CDAP 6.11 and later, give the extension the secret of a caller that has `audit`",
        )
    return well(check, f"its watermark is {max(0.0, age):.0f} s old")


def _hold_back(sync: SyncSettings) -> Iterator[Finding]:
    """Yield the creations that wait for the hold-back; nothing if none does."""
    check = "creations that wait"
    if not sync.hold_back:
        return
    most = f"{sync.hold_back:g} s (`sync.hold_back`)"
    if all(source.kind != KIND for source in sync.sources):
        names = _listed(sync.sources)
        yield note(
            check,
            f"every creation waits {most}: only a decision service says that all events of {names} have come",
            f"add a source of the kind `{KIND}`: it decides a creation within seconds",
        )
        return
    naming = [source for source in sync.sources if source.kind not in NAME_NO_SENDER]
    if naming:
        names = _listed(naming)
        yield note(
            f"{check} for lines",
            f"uploads of jars, which CDAP runs as its master user, wait {most} for lines of {names}",
            "set `sync.hold_back` to the longest delay of these lines, plus `sync.clock_skew`",
        )
    if sync.uncorroborated == "grant":
        yield note(
            f"{check} for their rivals",
            f"creations whose record has no journalled check wait {most}",
            "use CDAP's extension of this version: its checks are journalled",
        )


def _deletions(sync: SyncSettings) -> Iterator[Finding]:
    """Yield where the rights that a creator passed on outlive the entity; nothing if creators cannot."""
    check = "rights on deleted entities"
    if not sync.delegate_admin:
        return
    if sync.on_deletion != "report":
        yield well(check, "those that no administrator gave are revoked")
        return
    yield note(
        check,
        "`sync.on_deletion` is `report`, and creators can delegate: what they gave is theirs in the next entity of that"
        " name",
        "remove `sync.on_deletion`, or set `revoke-exact`",
    )


def _listed(sources: Iterable[SourceSettings]) -> str:
    return " and ".join(f"`{source.name}`" for source in sources)


def _cdap(settings: Settings) -> Finding:
    check, confirm = _ASKING, settings.sync.confirm
    token = confirm.token_file
    if token is not None and token.exists() and not os.access(token, os.R_OK):
        return note(check, f"not tried: token file `{token}` cannot be read by this user", AS_SYNC)
    try:
        with CdapHttp(
            confirm.url, network=settings.network, token_file=token, read_timeout=_TIMEOUT, attempts=1
        ) as cdap:
            found = cdap.get_json("/v3/namespaces/default")
    except (ConfigError, CdapUnreachable) as e:
        return failed(check, str(e), "correct `[sync.confirm]` or `network.ca_file`, or start CDAP")
    except CdapError as e:
        return failed(check, str(e), _SEES_NOTHING)
    if not (isinstance(found, dict) and found.get("name") == "default"):
        seen = f"CDAP at `{confirm.url}` does not show the account the namespace `default`"
        return failed(check, seen, _SEES_NOTHING)
    return well(check, f"CDAP at `{confirm.url}` shows the namespace `default`")


def _decision(settings: Settings) -> Finding:
    check, confirm = "decisions about the account that asks CDAP", settings.sync.confirm
    if problem := confirm.secret.problem:
        return note(check, f"not tried: {problem}", AS_SYNC)
    try:
        with EvaluationClient(settings) as client:
            allowed = client.may_get(ALWAYS_THERE)
    except ConfigError as e:
        return failed(check, str(e), "correct `sync.confirm.decision_service` and `network.ca_file`")
    if client.problem:
        return failed(
            check,
            client.problem,
            "correct `sync.confirm.decision_service`, `.caller` and `.secret`; the caller needs the role `delegate`",
        )
    if not allowed:
        return failed(
            check,
            f"`{confirm.user}` may not get the namespace `default`, so it proves nothing where CDAP shows nothing",
            "give it READ on the instance and on everything in it, in Ranger",
        )
    return well(check, f"`{confirm.user}` may get the namespace `default`")
