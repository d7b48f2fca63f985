"""Which policies: the one grammar by which commands name them, and an authorizer that decides by them.

`FILE` and `DIR` in any form of policies; `ranger:` for those of Ranger Admin now; `history:7d` for those that this host
used at a time; `cache:` for those it has cached, or `cache:DIR` for a copy of a plugin's cache. A file or directory may
be followed by the rest, `policies.json,roles.json,tags.json,users.json,zones.json`, identified by their content; by
`ranger:`, which has all that is not named; and by `service=NAME`, the one of several services that is meant.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec
from click.shell_completion import CompletionItem
from msgspec import structs

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decider import Decider, other_service_type
from ranger_cdap.cli.files import Report, decoded, naming, read_policies, usable
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.parameters import moment_of
from ranger_cdap.config import Settings, addresses
from ranger_cdap.errors import AccessForbidden, InvalidInput, NotReady
from ranger_cdap.ranger.changes.saved_policy import saved_download
from ranger_cdap.ranger.client.listed import LISTED, listed_policies
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.client.sign_in import AccountSource
from ranger_cdap.ranger.client.versions import NO_VERSION
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger.files.policy_file import ZONES, accompanying, zones_of
from ranger_cdap.ranger.refresh.cache import PolicyCache, command_downloader
from ranger_cdap.ranger.refresh.documents import Documents, needs_tags, pieces
from ranger_cdap.ranger.refresh.fixed import documents
from ranger_cdap.ranger.refresh.history import policies_at

WHICH_HELP: Final = "FILE or DIR of policies, `ranger:`, `history:7d` or `cache:`."
WITHOUT_TAGS: Final = "warning: there are tag policies, but without a tag download no resource carries a tag"
EMPTY: Final = b"{}"
"""Download of roles or tags that are not given."""
RANGER, HISTORY, CACHE = "ranger:", "history:", "cache:"
_SERVICES: Final = ("https://", "http://")
_SERVICE: Final = "service="
_Saved = TypeVar("_Saved")


@dataclass(frozen=True, slots=True)
class PolicyFiles:
    """Policies as they are named on the command line."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> Path | None:
        """The file or directory of the policies; None for those of another place."""
        if self.name.startswith((RANGER, HISTORY, CACHE)):
            return None
        return Path(self.name if Path(self.name).exists() else self.name.split(",")[0])

    def read(
        self,
        invocation: Invocation,
        report: Report | None = None,
        there: Documents | None = None,
        *,
        listed: bool = False,
    ) -> Documents:
        """Return the policies with what belongs to them, as far as files do not say it as it is `there`.

        With `report` the policies of files are as Ranger Admin would save them, and it gets what changed. Those of
        Ranger Admin may be `listed`, for what decides no access.

        Raises:
            InvalidInput: they cannot be read, or have other content.
            NotReady: Ranger Admin or the cache has none.
            RangerAdminError: Ranger Admin is unavailable, or the account lacks a right.
        """
        settings = invocation.settings
        if self.name == RANGER:
            return ranger_documents(settings, report if listed else None)
        if self.name.startswith(HISTORY):
            return self._historic(settings)
        if self.name.startswith(CACHE):
            return self._cached(invocation)
        service, names = self._accompanied()
        if RANGER in names:
            names.remove(RANGER)
            there = ranger_documents(settings)
        return self._of_files(settings.ranger.service, service, _accompanying(names), report, there)

    def collection(self, invocation: Invocation, report: Report) -> PolicyCollection:
        """Return the policies as `read` does, without their ids."""
        path, (service, names) = self.path, self._accompanied()
        if path is None:
            return PolicyCollection.of_download(b"".join(pieces(self.read(invocation).policies)))
        if names:
            raise InvalidInput(f"`{names[0]}` would have no effect here: only policies are written")
        found = read_policies(path, service)
        with naming(path):
            found = found if isinstance(found, PolicyCollection) else PolicyCollection.of_download(found)
            return _reported(path, found.as_saved(), report)

    def _of_files(
        self,
        own: str,
        service: str,
        more: Mapping[str, bytes],
        report: Report | None,
        there: Documents | None,
    ) -> Documents:
        assert self.path is not None
        found = read_policies(self.path, service)
        with naming(self.path):
            if isinstance(found, PolicyCollection):
                if zones := more.get(ZONES):
                    found = found.with_zones(zones_of(zones), service or own)
                if there is not None:
                    whole = PolicyCollection.of_download(b"".join(pieces(there.policies)), keeps_definition=True)
                    found = found.within(whole, keeps_grants=self.path.is_dir())  # an exported one has no grants
                found = found.download(service or own)
            elif ZONES in more:
                raise InvalidInput("a policy download comes with its security zones; give no others")
            if report is not None:
                found = _reported(self.path, saved_download(found), report)
            read = documents(found, more.get("roles"), more.get("tags"), more.get("users"))
        return read if there is None else completed(read, there)

    def _accompanied(self) -> tuple[str, list[str]]:
        """Return the service that is chosen, and the names of what accompanies the policies."""
        names = [] if str(self.path) == self.name else self.name.split(",")[1:]
        chosen = [name.removeprefix(_SERVICE) for name in names if name.startswith(_SERVICE)]
        if len(chosen) > 1:
            raise InvalidInput(f"`{self}` names two services; name one")
        return "".join(chosen), [name for name in names if not name.startswith(_SERVICE)]

    def _historic(self, settings: Settings) -> Documents:
        directory, now = settings.plugin.history_dir, time.time_ns() // 1_000_000
        if directory is None:
            raise InvalidInput(f"`{self}` needs `plugin.history_dir`: no history of the policies is kept here")
        at = moment_of(HISTORY, self.name.removeprefix(HISTORY), now, now)
        return policies_at(directory, settings.ranger.service, at).documents

    def _cached(self, invocation: Invocation) -> Documents:
        settings, directory = invocation.settings, self.name.removeprefix(CACHE)
        cache = PolicyCache(
            Path(directory) if directory else settings.plugin.cache_dir,
            settings.ranger.service,
            report=invocation.messages.print,
            with_users=settings.plugin.needs_users,
            addresses=addresses(settings.ranger.url),
            accepted=settings.plugin.accept_cache_of,
        )
        found = cache.peek(time.time())
        if found is None:
            raise NotReady(f"`{self}` has no policies of service `{settings.ranger.service}`: no `{cache.path()}`")
        return found[0].documents


class PolicyFilesParameter(click.ParamType):  # type: ignore[type-arg]  # generic only in newer versions of click
    """Policies, as `PolicyFiles` names them."""

    name = "policies"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> PolicyFiles:
        """Return what is named; a file of such a name is written `./ranger:`.

        Raises:
            InvalidInput: it is a decision service, or follows `ranger:`.
        """
        if isinstance(value, PolicyFiles):
            return value
        if not all(value.split(",")):
            raise InvalidInput(f"`{value}` names no policies: a name is empty")
        if value.startswith(_SERVICES):
            raise InvalidInput(f"`{value}` gives no policies out; on its host, `cache:` and `history:` name them")
        if value.startswith(RANGER) and value != RANGER:
            raise InvalidInput(f"`{value}`: write `ranger:` alone, for the policies that Ranger Admin has now")
        return PolicyFiles(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete names of files, `ranger:`, `history:` and `cache:`."""
        others = [each for each in (RANGER, HISTORY, CACHE) if incomplete and each.startswith(incomplete)]
        return [*map(CompletionItem, others), CompletionItem(incomplete, type="file")]


WHICH: Final = PolicyFilesParameter()


def policy_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option that names policies; the command gets them as `files`, None for those that this host uses."""
    return click.option(
        "--policies",
        "files",
        type=WHICH,
        metavar="WHICH",
        help=f"{WHICH_HELP.removesuffix('.')}; default: the policies that this host uses.",
    )(command)


@contextmanager
def _open_authorizer(invocation: Invocation) -> Iterator[Authorizer]:
    """Open an authorizer for Ranger's policies; problems with its policies are reported on standard error.

    Raises:
        InvalidInput: the service of the settings is not one of CDAP.
    """
    with Authorizer.open(invocation.settings, refresh_in_background=False) as authorizer:
        snapshot = authorizer.snapshot
        if other := other_service_type(snapshot.engine):
            raise InvalidInput(f"`{invocation.settings.ranger.service}` (`ranger.service`) is the name {other}")
        if snapshot.engine is not None and snapshot.reason:
            invocation.messages.print(f"warning: cached policies are used ({snapshot.state.value}): {snapshot.reason}")
        if snapshot.cache_problem:
            invocation.messages.print(f"warning: {snapshot.cache_problem}")
        if not authorizer.decider.config.enforcement.everything:
            invocation.messages.print(f"note: {authorizer.decider.config.enforcement}")
        yield authorizer


def authorizer_by(
    invocation: Invocation, files: PolicyFiles | None, report: Report | None = None
) -> AbstractContextManager[Authorizer]:
    """Open an authorizer for named policies, or for those of this host; named ones are neither cached nor audited.

    `report` is that of `read_policies`.

    Raises:
        InvalidInput: the policies cannot be read or used.
        NotReady: there are no policies from Ranger yet.
    """
    if files is None:
        return _open_authorizer(invocation)
    with usable(Path(str(files))):
        found = files.read(invocation, report)
        decider = Decider.of_documents(found, invocation.settings)
    warn_of_tags(invocation, found)
    return Authorizer(decider)


def warn_of_tags(invocation: Invocation, found: Documents) -> None:
    """Warn if there are tag policies without tags."""
    if found.tags == EMPTY:
        invocation.messages.print(WITHOUT_TAGS)


def ranger_documents(settings: Settings, report: Report | None = None) -> Documents:
    """Return the policies that Ranger Admin has now, with what belongs to them, by the plugin's account.

    With `report` an account that may not download them gets those that Ranger lists, for what decides no access.

    Raises:
        NotReady: Ranger Admin has no policies of the service.
        RangerAdminError: Ranger Admin is unavailable, or the account lacks a right.
    """
    plugin, service, by = settings.plugin, settings.ranger.service, command_downloader(settings)
    with RangerAdmin.connect(settings, plugin.username, plugin.password, source=AccountSource.PLUGIN) as admin:
        try:
            policies = admin.download_policies(service, last_known_version=NO_VERSION, by=by)
        except AccessForbidden as e:
            if report is None:
                raise
            policies = listed_policies(admin, service, plugin.username, e)
            report(LISTED)
            found = [role for name in admin.roles.names(service) if (role := admin.roles.find(service, name))]
            return documents(policies, msgspec.json.encode({"rangerRoles": found}))
        if policies is None:
            raise NotReady(f"Ranger Admin has no policies of service `{service}`")
        roles = admin.download_roles(service, last_known_version=NO_VERSION, by=by)
        tags = admin.download_tags(service, last_known_version=NO_VERSION, by=by) if needs_tags(policies) else None
        users = admin.download_user_store(service, last_known_version=NO_VERSION, by=by) if plugin.needs_users else None
    return documents(policies, roles, tags, users)


def completed(one: Documents, by: Documents) -> Documents:
    """Return documents with the roles, tags and users of others, as far as they have none."""
    tags = one.tags
    if tags in (None, EMPTY):
        tags = (by.tags or EMPTY) if needs_tags(b"".join(pieces(one.policies))) else None
    return structs.replace(
        one, roles=by.roles if one.roles == EMPTY else one.roles, tags=tags, users=one.users or by.users
    )


def _reported(path: Path, saved: tuple[_Saved, tuple[str, ...]], report: Report) -> _Saved:
    """Return policies as Ranger Admin would save them, after a note about each change."""
    for change in saved[1]:
        report(f"note: `{path}`: {change}")
    return saved[0]


def _accompanying(names: Iterable[str]) -> dict[str, bytes]:
    """Return the content of files that accompany policies, by kind.

    Raises:
        InvalidInput: one cannot be read, or is no such document or the second of its kind.
    """
    found: dict[str, bytes] = {}
    for name in names:
        path = Path(name)
        kind, content = decoded(path, accompanying)
        if kind in found:
            raise InvalidInput(f"`{path}` is a second download of {kind}; give one")
        found[kind] = content
    return found
