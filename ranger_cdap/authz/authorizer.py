"""`Authorizer`: what a program embeds to ask whether a person may do something in CDAP."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self

from ranger_cdap.authz.decider import NOTHING_ELSE, Decider, verified
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.plan import Need, plan
from ranger_cdap.config import Settings, load_settings
from ranger_cdap.engine import ResourceAccess
from ranger_cdap.errors import InvalidInput, NotReady, PolicySetError, reason
from ranger_cdap.policies.refresh.fixed import documents
from ranger_cdap.policies.refresh.policy_refresher import Snapshot


@dataclass(frozen=True, slots=True)
class Partition:
    """Entities one operation was wanted on (`delete all`): those it is allowed on, and the answers for the others."""

    allowed: tuple[EntityId, ...]
    refused: tuple[Answer, ...]


class Authorizer:
    """Decides CDAP operations by Ranger policies; safe to share between threads.

    One call uses one set of policies and one time for everything it asks. What cannot be decided is denied.
    Groups of a user are those passed, those Ranger knows, and those of hooks. A context manager that closes itself.
    """

    def __init__(self, decider: Decider) -> None:
        self._decider = decider

    @classmethod
    def open(cls, settings: Settings | None = None, *, refresh_in_background: bool = True) -> Self:
        """An authorizer for the settings (default: `load_settings()`), with policies downloaded or read from the cache.

        Without either it is returned all the same: it denies, and goes on trying in the background.

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
        """An authorizer by the policies of a file, without Ranger Admin; nothing is cached, refreshed or audited.

        The files are downloads of Ranger Admin; the cache files of a plugin are such. Without settings those are used
        that an installation has which sets none; no settings file is read.

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
    def decider(self) -> Decider:
        """What decides for it, which other parts of this package share; it may change with any release."""
        return self._decider

    @property
    def snapshot(self) -> Snapshot:
        """The policies in effect and how fresh they are."""
        return self._decider.snapshot

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
        """Whether the user, with those groups, may do the operation (`dataset.get`) on the entity; audited.

        `context` says what else takes part, and whom CDAP impersonates; the master user is that of the settings.

        Raises:
            InvalidInput: there is no such operation, or it is not about such an entity.
        """
        return self.check_all(user, groups, [(operation, entity)], context=context, client_ip=client_ip)[0]

    def check_all(
        self,
        user: str,
        groups: Collection[str],
        questions: Iterable[tuple[str, EntityId]],
        *,
        context: Context = NOTHING_ELSE,
        client_ip: str | None = None,
    ) -> list[Answer]:
        """The answers `check` gives to each (operation, entity), by one set of policies at one time.

        Raises:
            InvalidInput: as `check`, for any of them; then none is answered.
        """
        profile = self._decider.rules.profile
        rows = [(profile.operation(operation), entity) for operation, entity in questions]
        return self._decider.check_rows(user, groups, rows, context=context, client_ip=client_ip)

    def explain(
        self,
        user: str,
        groups: Collection[str],
        operation: str,
        entity: EntityId,
        *,
        context: Context = NOTHING_ELSE,
    ) -> Answer:
        """The answer `check` would give, with everything that was tried, not audited.

        Raises:
            InvalidInput: as `check`.
        """
        row = self._decider.rules.profile.operation(operation)
        return self._decider.evaluate_rows(user, groups, [(row, entity)], context=context)[0]

    def partition(self, user: str, groups: Collection[str], operation: str, entities: Iterable[EntityId]) -> Partition:
        """Which of the entities the user may do the operation on, and for the others the answer to show; audited.

        CDAP's *delete all* deletes what one may delete and shows errors for the rest (core policy 3).

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
    ) -> tuple[tuple[Need, ...], ...]:
        """Who needs which privilege on which entity, for each alternative; nobody's policies are looked at.

        Raises:
            InvalidInput: as `check`.
        """
        rules = self._decider.rules
        return plan(rules.profile.operation(operation), entity, user, rules.with_master(context), rules.options)

    def visible(self, user: str, groups: Collection[str], entities: Iterable[EntityId]) -> list[EntityId]:
        """The entities on which, or below which, the user has any privilege, in the order given; not audited.

        Raises:
            InvalidEntity: one of them has parts that CDAP does not allow.
        """
        checked = list(map(verified, entities))
        seen = self._decider.visibility_of(user, groups, checked, verb="list")
        return [entity for entity, sight in zip(checked, seen, strict=True) if sight.seen]

    def who(self, entity: EntityId) -> ResourceAccess:
        """Who can do what on the entity, as Ranger's access types; only people that policies name.

        Raises:
            InvalidEntity: it has parts that CDAP does not allow.
            NotReady: there are no policies.
        """
        resource = to_resource(verified(entity), self._decider.rules.instance)
        snapshot = self.snapshot
        if snapshot.engine is None:
            raise NotReady(snapshot.reason)
        return snapshot.engine.who_can(resource)

    def refresh(self, *, wait: bool = True) -> Snapshot:
        """Ask Ranger Admin for changes now, and give what is in effect then; without `wait`, have them asked for soon.

        What was in effect goes on deciding where this fails. Without `wait` the answer is what is in effect already,
        and a failure is told by `snapshot`, later. After a failed login only `wait` asks before its time: five
        failures within 300 s lock the account.

        Raises:
            RangerCdapError: what Ranger Admin has now could not be had: one of its subclasses, by why.
            InvalidInput: not to be waited for, and policies are not refreshed in the background.
        """
        if wait:
            return self._decider.policies.refresh_now()
        self._decider.policies.request_refresh()
        return self.snapshot

    def close(self) -> None:
        """End the background refresh and close the audit sinks."""
        self._decider.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _content(path: str | PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as e:
        raise InvalidInput(f"`{path}` cannot be read: {reason(e)}") from None
