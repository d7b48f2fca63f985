"""What can be said without Ranger Admin: the cache, the audit, what is enforced, who is who."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ranger_cdap.audit import check_audit
from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.config import AuditSettings, Settings
from ranger_cdap.config.hadoop import NotUsed
from ranger_cdap.doctor.directories import (
    examine_audit_directories,
    examine_cache_directory,
    examine_state_directory,
    examine_users,
)
from ranger_cdap.doctor.finding import Finding, Health, failed, note, skipped, well
from ranger_cdap.doctor.users import ROOT, Users, name_of, owner_of
from ranger_cdap.errors import CacheError, InvalidInput, PluginError
from ranger_cdap.plugins.manager import audit_sinks, plugin_manager
from ranger_cdap.policies.refresh.cache import PolicyCache


def examine_cache(settings: Settings, users: Users, ranger_version: int | None, now: float) -> Iterator[Finding]:
    """The cache directory is ours, and the policies in it are those of Ranger Admin, or hardly older."""
    found = examine_cache_directory(settings, users)
    yield found
    if found.health is Health.WELL:
        owner = owner_of(settings.plugin.cache_dir)
        if owner in (users.viewer.uid, ROOT):
            yield _lag(settings, ranger_version, now)
        elif owner is not None:
            yield skipped("policies in the cache", f"only user {name_of(owner)} can check: run this as that user too")


def examine_state(settings: Settings, users: Users) -> Iterator[Finding]:
    """The sync job's directory is its alone, where the job is configured, and so is its Spark."""
    if settings.sync.username or settings.sync.sources:
        yield examine_state_directory(settings, users)
        yield from examine_users(settings, users)
    if settings.sync.allow_open_spark:
        seen = "with `spark-submit`, anyone who reaches Spark's ports can run code as the sync job"
        advice = "have `spark-submit` set authentication and encryption, and take `sync.allow_open_spark` out"
        yield note("Spark on a cluster", seen, advice)


def examine_audit(settings: Settings, users: Users) -> Iterator[Finding]:
    """Where decisions are audited, and whether that can work."""
    check, audit = "audit", settings.audit
    try:
        check_audit(audit, audit_sinks(plugin_manager()))
    except (InvalidInput, PluginError) as e:
        yield failed(check, str(e), "correct `[audit]`")
        return
    if not audit.sinks:
        yield note(check, "nothing is audited: `audit.sinks` is empty", "leave `audit.sinks` out to audit to a file")
        return
    places = {
        "file": f"file `{audit.file}` ({_rotation(audit)})",
        "solr": f"Solr `{audit.solr_url}`",
        "log": "the log",
    }
    extras = ["what cannot be audited is denied"] * audit.required + ["records are chained"] * audit.chain
    where = ", ".join(places.get(name, f"`{name}`") for name in audit.sinks)
    yield well(check, "; ".join([f"records go to {where}", *extras]))
    yield from examine_audit_directories(settings, users)


def _rotation(audit: AuditSettings) -> str:
    if not audit.file_max_bytes:
        return "never rotated"
    return f"rotated at {audit.file_max_bytes:,} bytes, {audit.file_keep} kept"


def _lag(settings: Settings, ranger_version: int | None, now: float) -> Finding:
    check, told = "policies in the cache", list[str]()
    service, plugin = settings.ranger.service, settings.plugin
    cache = PolicyCache(
        plugin.cache_dir, plugin.app_id, service, report=told.append, with_users=plugin.use_ranger_groups
    )
    try:
        found = cache.look(now)
    except CacheError as e:
        return failed(check, str(e), "make the files readable for the user the plugin runs as, and for no one else")
    if found is None:
        advice = "nothing to do: the plugin downloads them when it starts"
        return failed(check, "; ".join(told), advice) if told else note(check, "none yet", advice)
    version, age = found[0].versions.policies, found[1]
    seen = f"version {version}, confirmed {age:.0f} s ago"
    if ranger_version is None:
        return skipped(check, f"{seen}; that of Ranger Admin is not known")
    if version == ranger_version:
        return well(check, f"{seen}, as in Ranger Admin")
    seen = f"{seen}; Ranger Admin has version {ranger_version}"
    if age <= 3 * plugin.poll_interval:
        return well(check, f"{seen}, which the next refresh brings")
    return failed(check, seen, "start the plugin, or look into its log: it does not refresh")


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
    elif enforce.outside == "deny":
        yield note(check, "a part is enforced, everything else is denied", "leave `[enforce]` out to enforce all")
    else:
        seen = "a part is enforced, everything else is ALLOWED and only reported"
        yield note(check, seen, "leave `[enforce]` out to enforce all")
    yield from _people(settings)


def _people(settings: Settings) -> Iterator[Finding]:
    master, admin = settings.master.name, settings.admin
    if not (admin.users or admin.groups):
        yield note(
            "administrators", "there are none", "set `admin.users` or `admin.groups`, then run `ranger-cdap setup`"
        )
    elif master in admin.users:
        yield failed("administrators", f"the master user `{master}` is one of them", "take it out of `admin.users`")
    else:
        yield well("administrators", ", ".join((*admin.users, *(f"group {group}" for group in admin.groups))))
    seen = f"`{master}`, creating: {settings.master.create}"
    if settings.master.user:
        yield well("master user", seen)
    else:
        advice = "set `master.user` to the user CDAP runs as, then run `ranger-cdap setup`: it makes its policies"
        yield note("master user", f"{seen}; that is the default, it is not set", advice)
    named = [name for name in (settings.plugin.username, settings.sync.username, master) if name]
    if len(set(named)) < len(named):
        yield note("accounts", "one account serves several purposes", "use one account for one purpose")


def examine_secrets(exposed: Sequence[Path]) -> Iterator[Finding]:
    """Files that hold a secret are not for everybody."""
    check = "secrets"
    for file in exposed:
        yield note(check, f"`{file}` holds one and can be read by everybody on this machine", f"chmod o-r {file}")
    if not exposed:
        yield well(check, "no file that holds one can be read by everybody")


def examine_java_keys(not_used: Sequence[NotUsed]) -> Iterator[Finding]:
    """Keys of the Java plugin's files that have no effect here."""
    for key in not_used:
        yield note("Java configuration", f"`{key.key}` of {key.file.name} is not used", key.why)
