"""Read-only checks for problems that break or weaken an installation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain

from ranger_cdap.config import Configuration, addresses
from ranger_cdap.doctor.accounts import accounts, examine_account, examine_service
from ranger_cdap.doctor.certificates import examine_certificates
from ranger_cdap.doctor.finding import Finding, Health
from ranger_cdap.doctor.group_sources import examine_group_sources
from ranger_cdap.doctor.local import (
    examine_audit,
    examine_cache,
    examine_java_keys,
    examine_rules,
    examine_scripts,
    examine_secrets,
    examine_state,
)
from ranger_cdap.doctor.network import examine_encryption, reach
from ranger_cdap.doctor.secret_files import examine_secret_files
from ranger_cdap.doctor.service import examine_decision_service
from ranger_cdap.doctor.users import Users
from ranger_cdap.net.exchange import CONNECT_SECONDS
from ranger_cdap.net.tls import tls_context
from ranger_cdap.plugins.manager import plugin_manager

__all__ = ["Finding", "Health", "examine"]


def examine(configuration: Configuration, now: Callable[[], float] = time.time) -> Iterator[Finding]:
    """Run all checks, from the network inwards; `now` is in seconds since 1970.

    Raises:
        ConfigError: a file of certificates cannot be used.
    """
    settings = configuration.settings
    ranger = settings.ranger
    context = tls_context(settings.network.ca_file, ranger.cert_file, ranger.key_file)
    for url in addresses(ranger.url):
        yield from reach(url, context, CONNECT_SECONDS, now)
    yield from examine_encryption(settings)
    yield from examine_certificates(settings, now())
    policies = None
    reported: set[str] = set()
    for account in accounts(settings):
        findings, downloaded = examine_account(account, settings, policies)
        yield from (finding for finding in findings if finding.check not in reported)
        reported.update(finding.check for finding in findings)
        policies = policies or downloaded
    if policies or "service" not in reported:
        yield from examine_service(settings, policies)
    users = Users.of(settings)
    yield from chain(
        examine_cache(settings, users, policies.policy_version if policies else None, now()),
        examine_rules(settings),
        examine_scripts(),
        examine_group_sources(settings.groups),
        examine_audit(settings, users),
        examine_decision_service(settings, users),
        examine_state(settings, users),
        *plugin_manager().hook.ranger_cdap_doctor_checks(settings=settings, users=users, now=now()),
        examine_secret_files(settings, users),
        examine_secrets(configuration.exposed),
        examine_java_keys(configuration.not_used),
    )
