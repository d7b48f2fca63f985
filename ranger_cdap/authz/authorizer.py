"""`Authorizer`: the embeddable entry point for deciding operations in CDAP."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Self

from ranger_cdap.authz.access_review import review_engine
from ranger_cdap.authz.decider import NOTHING_ELSE, Decider, verified
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.checks.checks import see_row
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.plan import RequiredPrivilege, plan
from ranger_cdap.closing import Closing
from ranger_cdap.config import Settings, load_settings
from ranger_cdap.disk import os_errors_as
from ranger_cdap.engine import ResourceAccess
from ranger_cdap.errors import InvalidInput, PolicySetError
from ranger_cdap.ranger.refresh.fixed import documents
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot


@dataclass(frozen=True, slots=True)
class Partition:
    """Entities of one bulk operation (`delete all`): those it is allowed on, and the answers for the others."""

    allowed: tuple[EntityId, ...]
    refused: tuple[Answer, ...]


@dataclass(eq=False, repr=False)
class Authorizer(Closing):
    """Authorizer of CDAP operations by Ranger policies; safe to share between threads.

    One call uses one set of policies and one time for all its evaluations. Undecidable operations are denied. A user's
    groups are those passed, those Ranger knows, and those of hooks. A context manager that closes itself. In a forked
    process it continues independently: it refreshes if its parent does, and audits its own answers. It cannot be
    sent to another process.
    """

    decider: Decider
    """It is shared with other parts of this package, and may change with any release."""

    @classmethod
    def open(cls, settings: Settings | None = None, *, refresh_in_background: bool = True) -> Self:
        """Return an authorizer for the settings (default: `load_settings()`).

        Policies are downloaded, or read from the cache. Without either it is returned all the same: it denies, and
        retries in the background.

        Raises:
            InvalidInput: a setting is not usable.
            PluginError: an installed plugin is not usable.
        """
        return cls(Decider.open(settings or load_settings(), refresh_in_background=refresh_in_background))

    @classmethod
    def from_policies(
        cls,
        policies: str | PathLike[str],
        *,
        roles: str | PathLike[str] | None = None,
        tags: str | PathLike[str] | None = None,
        userstore: str | PathLike[str] | None = None,
        settings: Settings | None = None,
    ) -> Self:
        """Return an authorizer for the policies of a file, without Ranger Admin, cache, refresh or audit.

        The files are downloads of Ranger Admin; a plugin's cache files have that format. Without settings the defaults
        apply; no settings file is read.

        Raises:
            InvalidInput: a file cannot be read, or holds something else.
            PluginError: an installed plugin is not usable.
        """
        files = {
            name: _content(path) for name, path in (("roles", roles), ("tags", tags), ("users", userstore)) if path
        }
        try:
            return cls(Decider.of_documents(documents(_content(policies), **files), settings or Settings()))
        except PolicySetError as e:
            raise InvalidInput(f"`{policies}` cannot be used: {e}") from None

    @property
    def snapshot(self) -> Snapshot:
        """Return the policies in effect and how fresh they are."""
        return self.decider.snapshot

    def check(
        self,
        user: str,
        groups: Collection[str],
        operation: str,
        entity: EntityId,
        *,
        context: Context = NOTHING_ELSE,
        client_ip: str | None = None,
    ) -> Answer:
        """Decide if the user, with those groups, may perform the operation (`dataset.get`) on the entity; audited.

        `context` holds related entities and the impersonated user; the master user is that of the settings.

        Raises:
            InvalidInput: there is no such operation, or it does not apply to such an entity.
        """
        row = self.decider.config.profile.operation(operation)
        return self.decider.check_rows(user, groups, [(row, entity)], context=context, client_ip=client_ip)[0]

    def check_all(
        self,
        user: str,
        groups: Collection[str],
        questions: Iterable[tuple[str, EntityId]],
        *,
        context: Context = NOTHING_ELSE,
        client_ip: str | None = None,
    ) -> list[Answer]:
        """Return the answers of `check` for each (operation, entity), by one set of policies at one time.

        Raises:
            InvalidInput: as `check`, for any of them; then none is answered.
        """
        profile = self.decider.config.profile
        rows = [(profile.operation(operation, entity.type), entity) for operation, entity in questions]
        return self.decider.check_rows(user, groups, rows, context=context, client_ip=client_ip)

    def explain(
        self,
        user: str,
        groups: Collection[str],
        operation: str,
        entity: EntityId,
        *,
        context: Context = NOTHING_ELSE,
    ) -> Answer:
        """Return the answer of `check`, with all evaluated privileges, not audited.

        Raises:
            InvalidInput: as `check`.
        """
        row = self.decider.config.profile.operation(operation, entity.type)
        return self.decider.evaluate_rows(user, groups, [(row, entity)], context=context)[0]

    def partition(self, user: str, groups: Collection[str], operation: str, entities: Iterable[EntityId]) -> Partition:
        """Split entities into those the user may perform the operation on, and the answers for the others; audited.

        CDAP's *delete all* deletes what the user may delete and reports errors for the rest (core policy 3).

        Raises:
            InvalidInput: as `check`.
        """
        answers = self.check_all(user, groups, [(operation, entity) for entity in entities])
        return Partition(
            allowed=tuple(answer.entity for answer in answers if answer.allowed),
            refused=tuple(answer for answer in answers if not answer.allowed),
        )

    def plan(
        self, user: str, operation: str, entity: EntityId, *, context: Context = NOTHING_ELSE
    ) -> tuple[tuple[RequiredPrivilege, ...], ...]:
        """Return the privileges required, per alternative; policies are not evaluated.

        Raises:
            InvalidInput: as `check`.
        """
        config = self.decider.config
        return plan(
            config.profile.operation(operation, entity.type), entity, user, config.with_master(context), config.options
        )

    def visible(self, user: str, groups: Collection[str], entities: Iterable[EntityId]) -> list[EntityId]:
        """Return the entities on which, or below which, the user has any privilege, in the order given; not audited.

        Raises:
            InvalidEntity: one of them has parts that CDAP does not allow.
        """
        checked = list(map(verified, entities))
        visibilities = self.decider.visibility_of(user, groups, checked, see_row)
        return [entity for entity, visibility in zip(checked, visibilities, strict=True) if visibility.visible]

    def who(self, entity: EntityId) -> ResourceAccess:
        """Return who can do what on the entity, in Ranger's access types; only users that policies name.

        A policy that has ended counts for nothing. It looks through all policies: made for a review, not for a check.

        Raises:
            InvalidEntity: it has parts that CDAP does not allow.
            NotReady: there are no policies.
        """
        resource = to_resource(verified(entity), self.decider.config.instance)
        return review_engine(self.snapshot, self.decider.now()).who_can(resource)

    def refresh(self, *, wait: bool = True, at_least: int | None = None, timeout: float = 10.0) -> Snapshot:
        """Download changes from Ranger Admin and return the policies then in effect; without `wait`, request that soon.

        With `at_least` it returns when policies of that version (Ranger's `policyVersion`) or newer are in effect, and
        downloads only until then: a grant that Ranger has is in effect on return. If a download fails, the policies in
        effect stay. Without `wait` it returns the policies already in effect, and `snapshot` reports a failure later.
        After a failed login only `wait` without `at_least` contacts Ranger Admin before the retry time: five failures
        within 300 s lock the account.

        Raises:
            VersionPending: policies `at_least` that new are not in effect within `timeout` seconds.
            RangerCdapError: the download failed: a subclass by the cause.
            InvalidInput: without `wait`, and policies are not refreshed in the background.
        """
        policies = self.decider.policies
        if not wait:
            if at_least is None or not self.snapshot.has(at_least):
                policies.request_refresh()
            return self.snapshot
        return policies.refresh_now() if at_least is None else policies.refresh_to(at_least, timeout)

    def close(self) -> None:
        """Stop the background refresh and close the audit sinks.

        From then on every operation is denied, without an audit record: `ready` of the answers is false. In a forked
        process this closes nothing of its parent; one that ends by `os._exit` must be closed before.
        """
        self.decider.close()

    def __reduce__(self) -> str:
        """Refuse to be pickled."""
        raise InvalidInput("an authorizer cannot be sent to another process; open one there")


def _content(path: str | PathLike[str]) -> bytes:
    with os_errors_as(InvalidInput, f"`{path}` cannot be read"):
        return Path(path).read_bytes()
