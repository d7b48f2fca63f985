"""Download of a policy set: policies or their deltas, roles, tags and users, as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from ranger_cdap.config import Settings
from ranger_cdap.engine import EngineOptions
from ranger_cdap.errors import AdminUnreachable, AuthenticationFailed, RangerAdminError, UnexpectedAnswer
from ranger_cdap.ranger.client.downloader import Downloader
from ranger_cdap.ranger.client.versions import NO_VERSION, Versions
from ranger_cdap.ranger.refresh.documents import (
    Documents,
    PolicySet,
    after_deltas,
    compile_set,
    holds_deltas,
    needs_tags,
    no_tags,
    no_users,
    with_users,
)
from ranger_cdap.ranger.refresh.policy_text import PolicyText
from ranger_cdap.ranger.refresh.refresh_state import Instant

WHOLE_USERS_EVERY: Final = 300.0
"""Seconds. Before 2.9.0, Ranger does not raise the version of the user store when usersync changes memberships
(RANGER-5463), and nothing that a plugin is sent differs between 2.8 and 2.9."""


class Downloads(Protocol):
    """The part of `RangerAdmin` that a plugin needs."""

    def download_policies(  # noqa: D102
        self, service: str, *, last_known_version: int, by: Downloader, deltas: bool = False
    ) -> bytes | None: ...
    def download_roles(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None: ...  # noqa: D102
    def download_tags(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None: ...  # noqa: D102
    def download_user_store(self, service: str, *, last_known_version: int, by: Downloader) -> bytes | None: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


class PolicySetDownload:
    """Downloads the policy set of one service; what did not change is taken from the set in effect."""

    def __init__(
        self, admin: Downloads, settings: Settings, options: EngineOptions, clock: Callable[[], Instant]
    ) -> None:
        self._admin = admin
        self._clock = clock
        self._whole_users_at: Instant | None = None
        self._service = settings.ranger.service
        self._account = settings.plugin.username
        self._needs_users = settings.plugin.needs_users
        self._options = options

    def current(self, in_effect: PolicySet | None, known: Versions, by: Downloader) -> PolicySet:
        """Return Ranger Admin's current set: `in_effect` itself if nothing changed.

        `known` are the versions in effect; `by` is the plugin that Ranger Admin records.

        Raises:
            RangerAdminError: a download failed, by its kind.
            PolicySetError: what was downloaded cannot be used.
        """
        service = self._service
        text = self._admin.download_policies(
            service, last_known_version=known.policies, by=by, deltas=in_effect is not None
        )
        roles = self._admin.download_roles(service, last_known_version=known.roles, by=by)
        if in_effect is None:
            if text is None or roles is None:
                raise UnexpectedAnswer("Ranger Admin answered 304 to a request without a known version")
            return self._assemble(text, roles, Documents(text, roles), known, by)
        held = in_effect.documents
        roles = held.roles if roles is None else roles
        if text is not None and holds_deltas(text):
            changed = after_deltas(in_effect, text, service) if roles is held.roles else None
            if changed is None:
                text = self._admin.download_policies(service, last_known_version=NO_VERSION, by=by)
                if text is None:
                    raise UnexpectedAnswer("Ranger Admin returned policy deltas to a request for all policies")
            else:
                in_effect, held, text = changed, changed.documents, None
        return self._assemble(held.policies if text is None else text, roles, held, known, by, in_effect)

    def _assemble(
        self,
        policies: bytes | PolicyText,
        roles: bytes,
        held: Documents,
        known: Versions,
        by: Downloader,
        in_effect: PolicySet | None = None,
    ) -> PolicySet:
        """Return the set of these policies and roles with current tags and users; compiled only if necessary."""
        tags = self._tags(held.tags, known.tags, by) if needs_tags(policies) else None
        users = self._users(held.users, known.users, by) if self._needs_users else None
        if in_effect is None or policies is not held.policies or roles is not held.roles or tags is not held.tags:
            return compile_set(Documents(policies, roles, tags, users), self._service, self._options)
        return in_effect if users is held.users else with_users(in_effect, users)

    def _tags(self, held: bytes | None, known: int, by: Downloader) -> bytes:
        with self._naming_right("the service has tag policies, but its tags cannot be downloaded", "tag.download"):
            tags = self._admin.download_tags(self._service, last_known_version=known, by=by)
        if tags is not None:
            return tags
        return held if held is not None else no_tags(self._service)

    def _users(self, held: bytes | None, known: int, by: Downloader) -> bytes:
        now = self._clock()
        if self._whole_users_at is None or now.since(self._whole_users_at) >= WHOLE_USERS_EVERY:
            known = NO_VERSION
        with self._naming_right(
            "`plugin.use_ranger_groups` or `plugin.email_to_user` is on, but the users cannot be downloaded",
            "userstore.download",
        ):
            users = self._admin.download_user_store(self._service, last_known_version=known, by=by)
        if known == NO_VERSION:
            self._whole_users_at = now
        if users is not None and users != held:
            return users
        return held if held is not None else no_users()

    @contextmanager
    def _naming_right(self, what: str, right: str) -> Iterator[None]:
        """Name the possibly missing right in the error of a failed download."""
        try:
            yield
        except (AuthenticationFailed, AdminUnreachable):
            raise
        except RangerAdminError as e:
            raise UnexpectedAnswer(
                f"{what}: {e}; `{right}.auth.users` of the service must name `{self._account}`"
            ) from e
