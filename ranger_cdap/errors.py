"""Every error this project raises: one tree, one stable code a class, one sentence a message.

A message is for the person who must act: what happened, where, what to do. It is lower case, has no full stop,
quotes foreign text in backticks and never holds a secret. Exceptions of other libraries are translated at the boundary.
"""

from __future__ import annotations

from typing import ClassVar


class RangerCdapError(Exception):
    """The root: catch this to catch everything this project raises on purpose."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1


class InvalidInput(RangerCdapError):
    """What a person or a program gave us is not acceptable; nothing was done."""

    code = "invalid-input"
    exit_code = 3


class ConfigError(InvalidInput):
    """A setting is unknown, missing or has a value that is not allowed."""

    code = "config"


class UnknownEntityType(InvalidInput):
    """CDAP has no such entity type, or this project does not know it."""

    code = "unknown-entity-type"


class InvalidEntity(InvalidInput):
    """The parts do not make an entity of that type."""

    code = "invalid-entity"


class UnknownOperation(InvalidInput):
    """The profile has no such operation."""

    code = "unknown-operation"


class UnsafeGrant(InvalidInput):
    """The grant would reach further than one user on one entity, so it is not sent."""

    code = "unsafe-grant"


class NotReady(RangerCdapError):
    """There are no policies to decide by, so nothing can be allowed."""

    code = "not-ready"
    exit_code = 4


class PolicySetError(RangerCdapError):
    """The set of policies as a whole can't be used: unreadable, of another service, or its definition unusable."""

    code = "policy-set"


class CacheError(RangerCdapError):
    """The policy cache on disk can't be read or written."""

    code = "cache"


class PluginError(RangerCdapError):
    """A plugin is missing, broken, or answered what its hook does not allow."""

    code = "plugin"


class AuditSinkError(RangerCdapError):
    """An audit sink did not take records; they may be sent again."""

    code = "audit-sink"


class AuditRefused(AuditSinkError):
    """An audit sink does not want records as they are; sending them again would not help."""

    code = "audit-refused"


class SyncError(RangerCdapError):
    """The sync job can't go on."""

    code = "sync"


class SparkMissing(SyncError):
    """PySpark or its Delta jars are not installed."""

    code = "spark-missing"


class CdapError(RangerCdapError):
    """A call to CDAP did not give what was asked for."""

    code = "cdap"


class CdapUnreachable(CdapError):
    """No connection to CDAP, a time-out, or CDAP failed (5xx); the same again may do."""

    code = "cdap-unreachable"


class CdapForbidden(CdapError):
    """CDAP does not accept the token (401), or the account lacks a right (403)."""

    code = "cdap-forbidden"


class CdapNotFound(CdapError):
    """CDAP has no such thing, or no such API (404)."""

    code = "cdap-not-found"


class LeaseHeld(SyncError):
    """Another run of the sync job is going on."""

    code = "lease-held"
    exit_code = 5


class LedgerLost(SyncError):
    """The ledger does not hold what its checkpoints say was read; nothing is decided by it."""

    code = "ledger-lost"


class ServerError(RangerCdapError):
    """A server of ours can't start: its port is taken or what it is made of is not installed."""

    code = "server"


class ExtensionMissing(RangerCdapError):
    """This installation was built without the jars for CDAP's master."""

    code = "extension-missing"


class RangerAdminError(RangerCdapError):
    """A call to Ranger Admin did not give what was asked for."""

    code = "ranger-admin"

    def __init__(
        self, message: str, *, method: str = "", path: str = "", status: int | None = None, ranger_message: str = ""
    ) -> None:
        super().__init__(message)
        self.method = method
        self.path = path
        self.status = status
        self.ranger_message = ranger_message


class AdminUnreachable(RangerAdminError):
    """No connection, a time-out, or a gateway says that Ranger Admin is away."""

    code = "ranger-admin-unreachable"


class NotConnected(AdminUnreachable):
    """There was no connection, so nothing was sent: asking again, or elsewhere, does nothing twice."""


class AuthenticationFailed(RangerAdminError):
    """Ranger Admin does not accept the credentials (401); five tries lock the account."""

    code = "ranger-admin-authentication"


class AccessForbidden(RangerAdminError):
    """The account lacks a right in Ranger (403)."""

    code = "ranger-admin-forbidden"


class NotFound(RangerAdminError):
    """Ranger Admin has no such thing (404 by name, 400 with DATA_NOT_FOUND by id)."""

    code = "ranger-admin-not-found"


class ServiceNotFound(NotFound):
    """Ranger Admin says that the service does not exist (404 with RANGER_ERROR_SERVICE_NOT_FOUND)."""

    code = "ranger-service-not-found"


class ServiceDisabled(RangerAdminError):
    """The service is switched off in Ranger Admin (400 OPER_NOT_ALLOWED_FOR_STATE)."""

    code = "ranger-service-disabled"


class RequestRejected(RangerAdminError):
    """Ranger Admin refuses what was sent (400); `reason_codes` holds its numbers, like 3010."""

    code = "ranger-admin-rejected"

    def __init__(
        self,
        message: str,
        *,
        method: str = "",
        path: str = "",
        status: int | None = None,
        ranger_message: str = "",
        reason_codes: tuple[int, ...] = (),
    ) -> None:
        super().__init__(message, method=method, path=path, status=status, ranger_message=ranger_message)
        self.reason_codes = reason_codes


class ConflictingChange(RangerAdminError):
    """Somebody else changed the same thing in the same moment (400 from Ranger's database); trying again is safe."""

    code = "ranger-admin-conflict"


class AdminFailed(RangerAdminError):
    """Ranger Admin failed (5xx)."""

    code = "ranger-admin-failed"


class UnexpectedAnswer(RangerAdminError):
    """The answer is not what Ranger Admin sends: another program's page, garbage, or cut short."""

    code = "ranger-admin-unexpected"
