"""Which policies: the one grammar by which commands name them, and an authorizer that decides by them.

`FILE` and `DIR` in any form of policies; `ranger:` for those of Ranger Admin now; `history:7d` for those that this host
used at a time; `cache:` for those it has cached, or `cache:DIR` for a copy of a plugin's cache. A file of policies may
be followed by downloads of the rest, `policies.json,roles.json,tags.json,users.json`, identified by their content.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from click.shell_completion import CompletionItem

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decider import Decider, other_service_type
from ranger_cdap.cli.files import Report, checked, decoded, read_policies, usable
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.parameters import moment_of
from ranger_cdap.config import Settings
from ranger_cdap.errors import InvalidInput, NotReady, PolicySetError
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.client.sign_in import AccountSource
from ranger_cdap.ranger.client.versions import NO_VERSION
from ranger_cdap.ranger.refresh.cache import PolicyCache, command_downloader
from ranger_cdap.ranger.refresh.documents import Documents, needs_tags
from ranger_cdap.ranger.refresh.fixed import documents
from ranger_cdap.ranger.refresh.history import policies_at
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_tags, decode_user_store
from ranger_cdap.ranger_model.json_text import decode

POLICIES: Final = click.Path(path_type=Path)
"""A file or a directory of policies."""
POLICIES_HELP: Final = "A policy download, a plugin's cache file, an export, a list or a directory of policies"
WITHOUT_TAGS: Final = "warning: there are tag policies, but without a tag download no resource carries a tag"
EMPTY: Final = b"{}"
"""Download of roles or tags that are not given."""
RANGER, HISTORY, CACHE = "ranger:", "history:", "cache:"
_SERVICES: Final = ("https://", "http://")
_BESIDE: Final[dict[str, tuple[str, Callable[[bytes], object]]]] = {
    "rangerRoles": ("roles", decode_roles),
    "roleVersion": ("roles", decode_roles),
    "serviceResources": ("tags", decode_service_tags),
    "tagVersion": ("tags", decode_service_tags),
    "userGroupMapping": ("users", decode_user_store),
    "userAttrMapping": ("users", decode_user_store),
}
"""What tells a download of something else, its kind, and its decoder."""


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

    def read(self, invocation: Invocation, report: Report | None = None) -> Documents:
        """Return the policies with what belongs to them; `report` is that of `read_policies`.

        Raises:
            InvalidInput: they cannot be read, or have other content.
            NotReady: Ranger Admin or the cache has none.
            RangerAdminError: Ranger Admin is unavailable, or the account lacks a right.
        """
        settings = invocation.settings
        if self.name == RANGER:
            return ranger_documents(settings)
        if self.name.startswith(HISTORY):
            return self._historic(settings)
        if self.name.startswith(CACHE):
            return self._cached(invocation)
        assert self.path is not None
        beside = self.beside()
        with usable(self.path):
            return documents(read_policies(self.path, settings.ranger.service, report), **beside)

    def beside(self) -> dict[str, bytes]:
        """Return the downloads that accompany policies, by kind.

        Raises:
            InvalidInput: a file cannot be read, or is not such a download or the second of its kind.
        """
        found: dict[str, bytes] = {}
        for name in self.name.split(",")[1:] if str(self.path) != self.name else ():
            kind, content = _beside(name)
            if kind in found:
                raise InvalidInput(f"`{name}` is a second download of {kind}; give one")
            found[kind] = content
        return found

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
        help="FILE or DIR of policies, `ranger:`, `history:7d` or `cache:`; default: the policies that this host uses.",
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


@contextmanager
def authorizer_by(
    invocation: Invocation, files: PolicyFiles | None, report: Report | None = None
) -> Iterator[Authorizer]:
    """Open an authorizer for named policies, or for those of this host; named ones are neither cached nor audited.

    `report` is that of `read_policies`.

    Raises:
        InvalidInput: the policies cannot be read or used.
        NotReady: there are no policies from Ranger yet.
    """
    if files is None:
        with _open_authorizer(invocation) as authorizer:
            yield authorizer
        return
    with usable(Path(str(files))):
        found = files.read(invocation, report)
        decider = Decider.of_documents(found, invocation.settings)
    warn_of_tags(invocation, found)
    with Authorizer(decider) as authorizer:
        yield authorizer


def warn_of_tags(invocation: Invocation, found: Documents) -> None:
    """Warn if there are tag policies without tags."""
    if found.tags == EMPTY:
        invocation.messages.print(WITHOUT_TAGS)


def ranger_documents(settings: Settings) -> Documents:
    """Return the policies that Ranger Admin has now, with what belongs to them, by the plugin's account.

    Raises:
        NotReady: Ranger Admin has no policies of the service.
        RangerAdminError: Ranger Admin is unavailable, or the account lacks a right.
    """
    plugin, service, by = settings.plugin, settings.ranger.service, command_downloader(settings)
    with RangerAdmin.connect(settings, plugin.username, plugin.password, source=AccountSource.PLUGIN) as admin:
        policies = admin.download_policies(service, last_known_version=NO_VERSION, by=by)
        if policies is None:
            raise NotReady(f"Ranger Admin has no policies of service `{service}`")
        roles = admin.download_roles(service, last_known_version=NO_VERSION, by=by)
        tags = admin.download_tags(service, last_known_version=NO_VERSION, by=by) if needs_tags(policies) else None
        users = admin.download_user_store(service, last_known_version=NO_VERSION, by=by) if plugin.needs_users else None
    return documents(policies, roles, tags, users)


def _beside(name: str) -> tuple[str, bytes]:
    """Return the kind and content of a download that accompanies policies."""
    path = Path(name)
    members = decoded(path, _members)
    for member, (kind, read) in _BESIDE.items():
        if member in members:
            return kind, checked(path, read)
    raise InvalidInput(f"`{path}` is no download of roles, tags or users, which may follow a file of policies")


def _members(content: bytes) -> dict[str, msgspec.Raw]:
    return decode(content, dict[str, msgspec.Raw], lambda why: PolicySetError(f"not a JSON object: {why}"))
