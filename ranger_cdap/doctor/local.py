"""Checks that do not need Ranger Admin: the cache, the audit and its index, enforcement, and accounts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ranger_cdap.audit import SinkFactory, check_audit
from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.config import AuditSettings, Secret, Settings, addresses
from ranger_cdap.config.hadoop import NotUsed
from ranger_cdap.doctor.directories import (
    CACHE,
    HISTORY,
    STATE,
    examine_audit_directories,
    examine_users,
)
from ranger_cdap.doctor.finding import Finding, Health, failed, note, skipped, well
from ranger_cdap.doctor.users import ROOT, Users, name_of, owner_of
from ranger_cdap.errors import AuditSinkError, CacheError, ConfigError, InvalidInput, PluginError
from ranger_cdap.expressions import has_engine
from ranger_cdap.plugins.manager import audit_sinks, plugin_manager
from ranger_cdap.ranger.refresh.cache import PolicyCache


def examine_cache(settings: Settings, users: Users, ranger_version: int | None, now: float) -> Iterator[Finding]:
    """Check that cache and history are private, and that the cached policies are almost as new as Ranger Admin's."""
    found = CACHE.examine(settings.plugin.cache_dir, users)
    yield found
    if found.health is Health.WELL:
        owner = owner_of(settings.plugin.cache_dir)
        if owner in (users.viewer.uid, ROOT):
            yield _lag(settings, ranger_version, now)
        elif owner is not None:
            yield skipped("policies in the cache", f"only user {name_of(owner)} can check: run this as that user too")
    if settings.plugin.history_dir is not None:
        yield HISTORY.examine(settings.plugin.history_dir, users)


def examine_state(settings: Settings, users: Users) -> Iterator[Finding]:
    """Check that the sync job's directory and its Spark are private, if the job is configured."""
    if settings.sync.username or settings.sync.sources:
        yield (
            STATE.examine(state, users)
            if isinstance(state := settings.sync.state_dir, Path)
            else skipped(STATE.check, f"`{state}` is of another file system; only the sync job may write there")
        )
        yield from examine_users(settings.service, users)
    if settings.sync.allow_open_spark:
        yield note(
            "Spark on a cluster",
            "with `spark-submit`, anyone who reaches Spark's ports can run code as the sync job",
            "enable authentication and encryption in `spark-submit`, and remove `sync.allow_open_spark`",
        )


def examine_audit(settings: Settings, users: Users) -> Iterator[Finding]:
    """Check where decisions are audited, and that this can work."""
    check, audit = "audit", settings.audit
    try:
        sinks = audit_sinks(plugin_manager())
        check_audit(audit, sinks)
    except (InvalidInput, PluginError) as e:
        yield failed(check, str(e), "correct `[audit]`")
        return
    if not audit.sinks:
        yield note(check, "nothing is audited: `audit.sinks` is empty", "remove `audit.sinks` to audit to a file")
        return
    extras = ["decisions that cannot be audited are denied"] * audit.required + ["records are chained"] * audit.chain
    where = ", ".join(_shown(audit, name) for name in audit.sinks)
    yield well(check, "; ".join([f"records go to {where}", *extras]))
    yield from (
        _delivery(settings, name, sinks[name]) for name in audit.sinks if name != "file" and _settings_of(audit, name)
    )
    yield from examine_audit_directories(settings.audit, users)


def _delivery(settings: Settings, name: str, sink_of: SinkFactory) -> Finding:
    """Send an update without records: it proves address, TLS, account and collection or index, and adds nothing."""
    check, own = f"audit sink `{name}`", _settings_of(settings.audit, name)
    if own.get(f"{name}_username") and (problem := own[f"{name}_password"].problem):
        return note(check, f"not tried: {problem}", "run this as a user of a program that writes audit records as well")
    try:
        with closing(sink_of(settings)) as sink:
            sink.write(())
    except (AuditSinkError, ConfigError) as e:
        return failed(
            check,
            str(e),
            f"start its server, or correct `audit.{name}_*`; until then records wait in `{settings.audit.spool_dir}`",
        )
    return well(check, "it accepts records")


def _settings_of(audit: AuditSettings, sink: str) -> Mapping[str, Any]:
    return {name: getattr(audit, name) for name in audit.__struct_fields__ if f"{name}_".startswith(f"{sink}_")}


def _shown(audit: AuditSettings, sink: str) -> str:
    own = _settings_of(audit, sink).items()
    values = [f"{name} = `{value}`" for name, value in own if value and not isinstance(value, Secret)]
    return f"`{sink}`" + f" ({', '.join(values)})" * bool(values)


def _lag(settings: Settings, ranger_version: int | None, now: float) -> Finding:
    check, reports = "policies in the cache", list[str]()
    service, plugin = settings.ranger.service, settings.plugin
    cache = PolicyCache(
        plugin.cache_dir,
        service,
        report=reports.append,
        with_users=plugin.needs_users,
        addresses=addresses(settings.ranger.url),
        accepted=plugin.accept_cache_of,
    )
    try:
        found = cache.peek(now)
    except CacheError as e:
        return failed(check, str(e), "make the files readable for the user the plugin runs as, and for no one else")
    if found is None:
        advice = "nothing to do: the plugin downloads them at its start"
        return failed(check, "; ".join(reports), advice) if reports else note(check, "none yet", advice)
    version, age = found[0].versions.policies, found[1]
    seen = f"version {version}, confirmed {age:.0f} s ago"
    if ranger_version is None:
        return skipped(check, f"{seen}; that of Ranger Admin is not known")
    if version == ranger_version:
        return well(check, f"{seen}, as in Ranger Admin")
    seen = f"{seen}; Ranger Admin has version {ranger_version}"
    return (
        well(check, f"{seen}, which the next refresh brings")
        if age <= 3 * plugin.poll_interval
        else failed(check, seen, "start the plugin, or check its log: it does not refresh")
    )


def examine_scripts() -> Iterator[Finding]:
    """Tell that conditions in JavaScript are not evaluated, if they are not."""
    if not has_engine():
        yield note(
            "conditions that are scripts",
            "not evaluated: by policies with a condition such as `_expression` nothing is allowed",
            "if there are any: pip install 'ranger-cdap[expressions]'",
        )


def examine_rules(settings: Settings) -> Iterator[Finding]:
    """Check the enforced part, the administrators and the master user."""
    check, enforce = "enforcement", settings.enforce
    try:
        AuthorizationConfig.of(settings)
    except InvalidInput as e:
        yield failed(check, str(e), "correct `[enforce]` and `[cdap]`")
        return
    if enforce.operations is None and enforce.entity_types is None:
        yield well(check, f"everything is enforced, by profile `{settings.cdap.profile}`")
    else:
        rest = "denied" if enforce.outside == "deny" else "ALLOWED and only reported"
        yield note(
            check,
            f"enforcement is partial: everything else is {rest}",
            "remove `[enforce]` to enforce everything",
        )
    yield from _administrators(settings)


def _administrators(settings: Settings) -> Iterator[Finding]:
    master, admin = settings.master.name, settings.admin
    if not (admin.users or admin.groups):
        yield note(
            "administrators", "none are set", "set `admin.users` or `admin.groups`, then run `ranger-cdap setup`"
        )
    elif master in admin.users:
        yield failed("administrators", f"the master user `{master}` is one of them", "remove it from `admin.users`")
    else:
        yield well("administrators", ", ".join((*admin.users, *(f"group {group}" for group in admin.groups))))
    seen = f"`{master}`, creating: {settings.master.create}"
    yield (
        well("master user", seen)
        if settings.master.user
        else note(
            "master user",
            f"{seen}; that is the default, it is not set",
            "set `master.user` to the user CDAP runs as, then run `ranger-cdap setup`: it makes its policies",
        )
    )
    named = [name for name in (settings.plugin.username, settings.sync.username, master) if name]
    if len(set(named)) < len(named):
        yield note("accounts", "one account serves several purposes", "use one account per purpose")


def examine_secrets(exposed: Sequence[Path]) -> Iterator[Finding]:
    """Check that files with a secret are not world-readable."""
    check = "secrets"
    yield from (note(check, f"`{file}` holds a secret and is world-readable", f"chmod o-r {file}") for file in exposed)
    if not exposed:
        yield well(check, "no file with a secret is world-readable")


def examine_java_keys(not_used: Sequence[NotUsed]) -> Iterator[Finding]:
    """Report keys of the Java plugin's files that have no effect here."""
    yield from (note("Java configuration", f"`{key.key}` of {key.file.name} is not used", key.why) for key in not_used)
