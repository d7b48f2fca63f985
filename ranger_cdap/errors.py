"""The errors of this project: one tree, with one stable code, one message and one remedy per class.

A message is for the person who must act: what happened, where, what to do. It is lower case, has no full stop,
quotes foreign text in backticks and never holds a secret. Exceptions of other libraries are translated at the boundary.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, ClassVar, Final

_CUTOFF: Final = 0.4  # the least similarity of a suggestion


class RangerCdapError(Exception):
    """The root of all errors: catch this to catch everything this project raises on purpose."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    remedy: ClassVar[str] = "Read the message; it names what failed and where."

    def __init_subclass__(cls, *, code: str = "", exit_code: int = 0, remedy: str = "") -> None:
        """Give a class its own code, exit code and remedy; what it does not name is that of its parent."""
        super().__init_subclass__()
        for name, value in (("code", code), ("exit_code", exit_code), ("remedy", remedy)):
            if value:
                setattr(cls, name, value)


class InvalidInput(
    RangerCdapError, code="invalid-input", exit_code=3, remedy="Correct what the message quotes, and run it again."
):
    """The input of a user or a program is not acceptable; nothing was done."""


class ConfigError(
    InvalidInput,
    code="config",
    remedy="Correct the setting the message names; `ranger-cdap config` shows where each value comes from.",
):
    """A setting is unknown, missing or has a value that is not allowed."""


class UnknownEntityType(
    InvalidInput,
    code="unknown-entity-type",
    remedy="Use one of the types the message proposes; `ranger-cdap needs` lists them with their operations.",
):
    """CDAP has no such entity type, or this project does not know it."""


class InvalidEntity(
    InvalidInput, code="invalid-entity", remedy="Write the entity as `type:part.part`, like `dataset:ns1.purchases`."
):
    """The parts do not make an entity of that type."""


class UnknownOperation(
    InvalidInput, code="unknown-operation", remedy="Use an operation of `ranger-cdap needs`, or another `cdap.profile`."
):
    """The profile has no such operation."""


class UnsafeGrant(
    InvalidInput,
    code="unsafe-grant",
    remedy="Grant it manually in Ranger if intended, or name another creator: `ranger-cdap sync assign`.",
):
    """The grant would reach further than one user on one entity, so it is not sent."""


class NotReady(
    RangerCdapError,
    code="not-ready",
    exit_code=4,
    remedy=(
        "Run `ranger-cdap doctor`: Ranger Admin was never reached, its policies are too old, or the service is gone."
    ),
):
    """There are no policies to decide by, so nothing can be allowed."""


class VersionPending(
    NotReady,
    code="version-pending",
    remedy="Try again: policies in effect are replaced as soon as Ranger Admin delivers newer ones.",
):
    """The policies in effect are older than those a caller waits for."""


class PolicySetError(
    RangerCdapError, code="policy-set", remedy="Fix the problem in Ranger Admin. The previous policies stay in effect."
):
    """The set of policies as a whole cannot be used: unreadable, of another service, or its definition unusable."""


class CacheError(
    RangerCdapError,
    code="cache",
    remedy="Make `plugin.cache_dir` a directory of this user alone, with free space; it may be emptied.",
):
    """The policy cache on disk cannot be read or written."""


class PluginError(
    RangerCdapError,
    code="plugin",
    remedy="Fix or uninstall the plugin the message names; until then, operations it controls are denied.",
):
    """A plugin is missing, broken, or returned a value its hook does not allow."""


class GroupLookupFailed(
    RangerCdapError,
    code="group-lookup",
    remedy="Run `ranger-cdap groups USER`, which shows each source with its answer, and `ranger-cdap doctor`.",
):
    """The groups of a user could not be looked up, so they are unknown; a deny that names any group applies."""


class GroupSourceUnavailable(
    GroupLookupFailed,
    code="group-source-unavailable",
    remedy="Check the directory in `[ldap]` and its account; lookups start again by themselves when it answers.",
):
    """A source of groups does not answer, or rejects the account that searches; no user can be looked up."""


class AuditSinkError(
    RangerCdapError, code="audit-sink", remedy="Check the sink; records wait in `audit.spool_dir` until it works again."
):
    """An audit sink did not accept records; they may be sent again."""


class AuditRefused(
    AuditSinkError,
    code="audit-refused",
    remedy="Compare the sink's schema with the audit records; the rejected ones are lost and counted.",
):
    """An audit sink rejects records; sending them again would not help. `rejected` has their ids, if it names them."""

    def __init__(self, message: str, rejected: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.rejected = frozenset(rejected)


class SyncError(
    RangerCdapError,
    code="sync",
    remedy="Fix the cause in the message, then run the job again; pending grants stay in the ledger.",
):
    """The sync job failed."""


class SyncMissing(SyncError, code="sync-missing", remedy="Run `pip install 'ranger-cdap[sync]'`."):
    """The packages of the sync job's ledger are not installed."""


class SparkMissing(
    SyncError,
    code="spark-missing",
    remedy="Run `pip install 'ranger-cdap[spark]'`, and check that Java 17 and the jars of sources are installed.",
):
    """PySpark, Java, or a jar that a source needs is not installed."""


class CdapError(
    RangerCdapError, code="cdap", remedy="Check that the address is CDAP's router, then look at CDAP's log."
):
    """A call to CDAP failed."""


class CdapUnreachable(
    CdapError, code="cdap-unreachable", remedy="Check address and network; run the command again when CDAP answers."
):
    """No connection to CDAP, a time-out, or CDAP failed (5xx); safe to retry."""


class CdapForbidden(
    CdapError, code="cdap-forbidden", remedy="Use a valid token of an account that may read everything."
):
    """CDAP rejects the token (401), or the account lacks a privilege (403)."""


class CdapNotFound(
    CdapError, code="cdap-not-found", remedy="Check that the address is CDAP's router, and which version of CDAP it is."
):
    """CDAP has no such entity, or no such API (404)."""


class LeaseHeld(
    SyncError,
    code="lease-held",
    exit_code=5,
    remedy="Wait for the other run; the message names it. The lease of a killed run expires.",
):
    """Another run of the sync job is in progress."""


class LedgerLost(
    SyncError, code="ledger-lost", remedy="Take an inventory and a baseline, then `ranger-cdap sync reconcile --adopt`."
):
    """The ledger lacks events that were read, or lives that Ranger knows: nothing was granted."""


class LedgerSpoiled(
    SyncError,
    code="ledger-spoiled",
    remedy=(
        "Restore the state directory from a copy, or run `ranger-cdap sync repair`, "
        "which keeps what can be read and says what to do about the rest. `ranger-cdap doctor` reads every file."
    ),
):
    """A file of the ledger cannot be read; nothing was granted."""


class ServerError(RangerCdapError, code="server", remedy="Choose another port, or install what the message names."):
    """A server cannot start: its port is in use or a dependency is missing."""


class ExtensionMissing(
    RangerCdapError, code="extension-missing", remedy="Get a wheel with the jars, or run `make extension` in a clone."
):
    """This installation was built without the jars for CDAP's master."""


class DecisionServiceError(
    RangerCdapError,
    code="decision-service",
    remedy="Run `ranger-cdap doctor` on the host of the service, then look at its log at the time of the request.",
):
    """A decision service did not answer a question, so nothing is allowed.

    `status` is that of a response with an error, else 0; `failure` is the reason if there was no response.
    """

    def __init__(self, message: str, *, status: int = 0, failure: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.failure = failure


class DecisionServiceUnreachable(
    DecisionServiceError,
    code="decision-service-unreachable",
    remedy="Check address, network and certificates; ask again when the service answers.",
):
    """No connection, a time-out, or the service is overloaded (429, 503) or fails (5xx); safe to retry."""


class DecisionServiceForbidden(
    DecisionServiceError,
    code="decision-service-forbidden",
    remedy="Correct the caller's secret or token, or its roles in `[[service.callers]]` of the service.",
):
    """The decision service rejects the credentials (401), or the caller lacks the role (403)."""


class DecisionServiceRejected(
    DecisionServiceError,
    code="decision-service-rejected",
    exit_code=3,
    remedy="Correct the problem in the service's own message, which the error quotes.",
):
    """The decision service rejects the question (400, 413), or does not decide it (501)."""


class UnexpectedReply(
    DecisionServiceError,
    code="decision-service-unexpected",
    remedy="Check that the address leads to the decision service and not to a proxy's page.",
):
    """The reply is not that of a decision service to this question: invalid, of another request, or a redirect."""


class RangerAdminError(
    RangerCdapError,
    code="ranger-admin",
    remedy="Run `ranger-cdap doctor`, then look at Ranger Admin's log at the time of the request.",
):
    """A call to Ranger Admin failed."""

    def __init__(
        self, message: str, *, method: str = "", path: str = "", status: int | None = None, ranger_message: str = ""
    ) -> None:
        super().__init__(message)
        self.method = method
        self.path = path
        self.status = status
        self.ranger_message = ranger_message


class AdminUnreachable(
    RangerAdminError,
    code="ranger-admin-unreachable",
    exit_code=4,
    remedy="Check `ranger.url`, network and TLS with `ranger-cdap doctor`; the last policies stay in effect.",
):
    """No connection, a timeout, or a gateway reports that Ranger Admin is unavailable."""


class NotConnected(AdminUnreachable):
    """There was no connection, so nothing was sent; safe to retry, also elsewhere."""


class AuthenticationFailed(
    RangerAdminError,
    code="ranger-admin-authentication",
    remedy="Correct the account's password or token before trying again: five failures lock the account.",
):
    """Ranger Admin rejects the credentials (401); five failures lock the account."""


class AccessForbidden(
    RangerAdminError,
    code="ranger-admin-forbidden",
    remedy="Run `ranger-cdap setup` as a Ranger administrator: it gives the accounts the rights of their purpose.",
):
    """The account lacks a right in Ranger (403)."""


class NotFound(
    RangerAdminError,
    code="ranger-admin-not-found",
    remedy="Check the name the message quotes; it may have been deleted in Ranger.",
):
    """Ranger Admin has no such object (404 by name, 400 with DATA_NOT_FOUND by id)."""


class ServiceNotFound(
    NotFound,
    code="ranger-service-not-found",
    remedy="Check `ranger.service`, or run `ranger-cdap setup`; after two such answers everything is denied.",
):
    """Ranger Admin says that the service does not exist (404 with RANGER_ERROR_SERVICE_NOT_FOUND)."""


class ServiceDisabled(
    RangerAdminError,
    code="ranger-service-disabled",
    remedy="Enable the service in Ranger Admin; until then the last policies stay in effect.",
):
    """The service is disabled in Ranger Admin (400 OPER_NOT_ALLOWED_FOR_STATE)."""


class RequestRejected(
    RangerAdminError,
    code="ranger-admin-rejected",
    remedy="Correct the problem in Ranger's own message, which the error quotes.",
):
    """Ranger Admin rejects the request (400); `reason_codes` holds its numbers, like 3010."""

    def __init__(self, message: str, *, reason_codes: tuple[int, ...] = (), **about: Any) -> None:
        super().__init__(message, **about)
        self.reason_codes = reason_codes


class ConflictingChange(RangerAdminError, code="ranger-admin-conflict", remedy="Run it again."):
    """Concurrent modification (400 from Ranger's database); safe to retry."""


class AdminFailed(
    RangerAdminError,
    code="ranger-admin-failed",
    remedy="Look at Ranger Admin's log and database; run it again once Ranger Admin works.",
):
    """Ranger Admin failed (5xx)."""


class RangerTooOld(
    RangerAdminError,
    code="ranger-admin-too-old",
    remedy="Use a newer Ranger; docs/reference/compatibility.md says what each release lacks.",
):
    """Ranger Admin is too old: it accepted a request and dropped a part of it that it does not know."""


class UnexpectedAnswer(
    RangerAdminError,
    code="ranger-admin-unexpected",
    remedy="Check that `ranger.url` leads to Ranger Admin and not to a proxy's page.",
):
    """The response is not from Ranger Admin: another program's page, invalid, or truncated."""


def reason(error: OSError | UnicodeError) -> str:
    """Return why a file cannot be read or written, for the user who gave its name."""
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else "it is not UTF-8"


def suggestion(name: str, known: Iterable[str], *, prefix: str = "", list_all: bool = False) -> str:
    """Return `; did you mean ...?` with the nearest known name, never the name itself, to end a message about it.

    `prefix` stands before the nearest name. If none is near, the text is empty, or has all known names (`list_all`).
    """
    names = tuple(one for one in known if one != name)
    if near := difflib.get_close_matches(name, names, n=1, cutoff=_CUTOFF):
        return f"; did you mean `{prefix}{near[0]}`?"
    return f"; known are {', '.join(names)}" if list_all else ""
