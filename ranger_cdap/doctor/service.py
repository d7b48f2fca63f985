"""Checks of the decision service: callers, address, stored files, and whether it runs and agrees with CDAP."""

from __future__ import annotations

import http.client
import re
import ssl
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Final

from ranger_cdap.config import CallerSettings, ServiceSettings, Settings
from ranger_cdap.config.named_file import opened_for_library
from ranger_cdap.doctor.directories import examine_events
from ranger_cdap.doctor.finding import Finding, failed, note, skipped, well
from ranger_cdap.doctor.network import has_field, no_connection
from ranger_cdap.doctor.users import Users
from ranger_cdap.errors import ConfigError, reason
from ranger_cdap.net.tls import show_certificate
from ranger_cdap.service.http.callers import CallerRole, Callers
from ranger_cdap.service.http.server import check_exposure

_TIMEOUT: Final = 5.0
_NAME: Final = "ranger-pdp"
_OF_CDAP: Final = frozenset({CallerRole.ENFORCE, CallerRole.AUDIT, CallerRole.GRANT})
_EVERY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - the listening address, as clients reach it
_DIFFERENCES: Final = re.compile(rb"^ranger_cdap_hello_differences (\S+)$", re.MULTILINE)


def examine_decision_service(settings: Settings, users: Users) -> Iterator[Finding]:
    """Run all checks of the decision service; none without callers."""
    service = settings.service
    if not service.callers:
        return
    yield from _callers(service)
    yield _address(service)
    yield _grants(settings)
    if any(CallerRole.AUDIT in caller.roles for caller in service.callers):
        yield examine_events(service, users)
        if settings.service.inventory is None:
            yield note(
                "applications that exist",
                "without `service.inventory`, deploying a new application needs ADMIN on it, as deploying over another",
                "take an inventory (docs/how-to/run-in-production.md#8-record-existing-entities)",
            )
    yield from _running(service)


def _callers(service: ServiceSettings) -> Iterable[Finding]:
    check = "callers of the decision service"
    secrets = (service.proxy.secret, *(caller.secret for caller in service.callers))
    if problem := next((secret.problem for secret in secrets if secret is not None and secret.problem), ""):
        return [note(check, f"not checked: {problem}", "run this as the user of the decision service as well")]
    try:
        Callers.of(service)
    except ConfigError as e:
        return [failed(check, str(e), "correct `[[service.callers]]` or `[service.proxy]`")]
    named = "; ".join(f"{caller.name}: {', '.join(caller.roles) or 'nothing'}" for caller in service.callers)
    return [well(check, named), *chain.from_iterable(map(_purposes, service.callers))]


def _purposes(caller: CallerSettings) -> Iterator[Finding]:
    """Check that each role of CDAP's extension has a secret of its own, so that a stolen one gives one role."""
    several = _OF_CDAP.intersection(caller.roles)
    if len(several) > 1 or (several and CallerRole.DELEGATE in caller.roles):
        yield note(
            f"roles of caller `{caller.name}`",
            f"one secret has the roles {', '.join(sorted(caller.roles))}",
            "add a caller with a secret of its own for each role",
        )


def _address(service: ServiceSettings) -> Finding:
    check = "address of the decision service"
    try:
        check_exposure(service)
    except ConfigError as e:
        return failed(check, str(e), "correct `[service]`")
    if not service.tls_certificate:
        return well(check, f"{service.host}, for programs on this machine only")
    required = " and client certificates" if service.tls_client_ca else ""
    return well(check, f"{service.host}, with TLS{required}")


def _grants(settings: Settings) -> Finding:
    check, service = "grants from CDAP", settings.service
    if service.grants == "refuse":
        return well(check, "refused: policies are edited in Ranger")
    if not service.bridge_username:
        return failed(check, "the bridge has no account", "set `service.bridge_username` and `.bridge_password`")
    if service.bridge_username in (settings.plugin.username, settings.sync.username, settings.master.name):
        return failed(
            check,
            f"the bridge uses account `{service.bridge_username}`, which has another purpose",
            "create a separate account for the bridge",
        )
    if not any(CallerRole.GRANT in caller.roles for caller in service.callers):
        return failed(check, "no caller has the role `grant`", "add one for CDAP's extension, or set `grants = refuse`")
    what = "forwarded to Ranger for users with ADMIN and delegateAdmin"
    if service.grants == "bridge-with-roles":
        what += ", roles too, for administrators of the instance"
    return note(check, what, "works with CDAP 6.11 and later")


def _running(service: ServiceSettings) -> Iterable[Finding]:
    check = "running decision service"
    if not service.port:
        return [skipped(check, "`service.port` is 0, so its port is unknown")]
    if service.tls_client_ca and not service.tls_probe_certificate:
        return [skipped(check, "it requires a client certificate, and `service.tls_probe_certificate` is not set")]
    try:
        connection = _connect(service)
    except ssl.SSLError:
        return [failed(check, f"`{service.tls_certificate}` holds no certificate", "correct `service.tls_certificate`")]
    except ConfigError as e:
        return [failed(check, str(e), "correct `service.tls_probe_certificate` and `.tls_probe_key`")]
    except OSError as e:
        seen = f"its certificate `{service.tls_certificate}` cannot be read: {reason(e)}"
        denied = isinstance(e, PermissionError)
        return [skipped(check, seen) if denied else failed(check, seen, "correct `service.tls_certificate`")]
    try:
        status, body = _get(connection, "/health/ready")
        _, metrics = _get(connection, "/metrics")
    except ssl.SSLCertVerificationError:
        return [failed(check, "its certificate is not `service.tls_certificate`", "restart it")]
    except http.client.HTTPException:
        status, body, metrics = 0, b"", b""
    except OSError as e:
        return [_no_response(service, e)]
    finally:
        connection.close()
    if not has_field(body, "service", _NAME):
        return [
            failed(
                check,
                f"something else answers on port {service.port}",
                "choose another `service.port`, also in the `url` of CDAP's extension",
            )
        ]
    if status == http.HTTPStatus.OK:
        return [well(check, "it is ready"), _agreement(metrics)]
    no_policies = failed(check, "it runs, but has no policies", "see the checks of Ranger Admin, and its log")
    return [no_policies, _agreement(metrics)]


def _no_response(service: ServiceSettings, error: OSError) -> Finding:
    if service.tls_client_ca and isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
        return failed(
            "running decision service",
            f"it does not accept `service.tls_probe_certificate` `{service.tls_probe_certificate}`: {error.reason}",
            "name one that is valid, for clients, and of an authority of `service.tls_client_ca`",
        )
    return failed(
        "running decision service",
        f"it does not answer on port {service.port}: {no_connection(error)}",
        "start it: `ranger-cdap serve`",
    )


def _agreement(metrics: bytes) -> Finding:
    check, differences = "settings that differ from CDAP's", _DIFFERENCES.search(metrics)
    count = 0
    with suppress(ValueError):
        count = int(float(differences[1])) if differences else 0
    return (
        failed(
            check,
            f"{count} of CDAP's settings differ; ours are used",
            "see the page or the log of the service; correct `cdap.instance`, `master.user`, `admin.users`, or CDAP",
        )
        if count
        else well(check, "none")
    )


def _connect(service: ServiceSettings) -> http.client.HTTPConnection:
    host = _EVERY_ADDRESS.get(service.host, service.host)
    if not service.tls_certificate:
        return http.client.HTTPConnection(host, service.port, timeout=_TIMEOUT)
    # The holder of exactly this certificate is the service, whatever name it was issued for.
    with opened_for_library(service.tls_certificate) as certificate:
        context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if service.tls_client_ca and service.tls_probe_certificate:
        show_certificate(context, service.tls_probe_certificate, service.tls_probe_key)
    return http.client.HTTPSConnection(host, service.port, timeout=_TIMEOUT, context=context)


def _get(connection: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    connection.request("GET", path, headers={"Host": "localhost", "User-Agent": "ranger-cdap"})
    response = connection.getresponse()
    return response.status, response.read()
