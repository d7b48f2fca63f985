"""The sets of policies that `policies impact` compares: files, those of Ranger Admin, or those of an earlier time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from click.shell_completion import CompletionItem
from msgspec import structs

from ranger_cdap.cdap.grant import is_creators_policy
from ranger_cdap.cli.administrator import administrator
from ranger_cdap.cli.files import Report, checked, read_policies, reported, usable
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.policy_files import HistoricFiles
from ranger_cdap.cli.ranger_documents import ranger_documents
from ranger_cdap.errors import InvalidInput, PolicySetError
from ranger_cdap.policies.manage.policy_collection import PolicyCollection
from ranger_cdap.policies.manage.policy_directory import read_directory
from ranger_cdap.policies.manage.transfer import policy_key
from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.policies.refresh.fixed import documents
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies, decode_service_tags

Json = dict[str, Any]

_RANGER: Final = "ranger:"
_HISTORY: Final = "history:"
_NOTHING: Final = Documents(b"", b"")


@dataclass(frozen=True, slots=True)
class RangerSource:
    """The policies that Ranger Admin has now."""

    def __str__(self) -> str:
        return _RANGER


@dataclass(frozen=True, slots=True)
class HistorySource:
    """The policies that this host used at a time, as given."""

    when: str

    def __str__(self) -> str:
        return f"{_HISTORY}{self.when}"


PolicySource = Path | RangerSource | HistorySource


class PolicySourceParameter(click.ParamType):  # type: ignore[type-arg]  # generic only in newer versions of click
    """A file or directory of policies, `ranger:`, or `history:`."""

    name = "policies"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> PolicySource:
        """Return the path, or what `ranger:` or `history:` names; a file of such a name is written `./ranger:`."""
        if isinstance(value, RangerSource | HistorySource):
            return value
        if str(value).startswith(_HISTORY):
            return HistorySource(str(value).removeprefix(_HISTORY))
        return RangerSource() if value == _RANGER else Path(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete names of files, `ranger:` and `history:`."""
        others = [CompletionItem(one) for one in (_RANGER, _HISTORY) if incomplete and one.startswith(incomplete)]
        return [*others, CompletionItem(incomplete, type="file")]


def read_sources(
    invocation: Invocation, ranger_user: str, sources: Sequence[PolicySource], roles: Path | None, tags: Path | None
) -> list[Documents]:
    """Read sets of policies that belong to one service, with the same roles and tags but for those of a history.

    Roles and tags come from the files, else from Ranger Admin if one of the sets does, else from a history. Ranger
    Admin is read once.

    Raises:
        InvalidInput: a file cannot be read, or the history has none so old.
        RangerAdminError: Ranger Admin is unavailable, or the account lacks a right.
        NotReady: Ranger Admin has no policies of the service.
    """
    settings, service = invocation.settings, invocation.settings.ranger.service
    role_download = checked(roles, decode_roles) if roles else None
    tag_download = checked(tags, decode_service_tags) if tags else None
    historic = {
        source: HistoricFiles.of(invocation, _HISTORY, source.when).read(service)
        for source in sources
        if isinstance(source, HistorySource)
    }
    now = None
    if any(isinstance(source, RangerSource) for source in sources):
        with administrator(invocation, ranger_user) as admin:
            now = ranger_documents(admin, settings)
    beside = now or next(iter(historic.values()), _NOTHING)
    read: list[Documents] = []
    for source in sources:
        found = historic[source] if isinstance(source, HistorySource) else beside
        roles_of, tags_of = role_download or found.roles, tag_download or found.tags
        with usable(Path(str(source))):
            if isinstance(source, Path):
                read.append(documents(_of_path(invocation, source, now), roles_of, tags_of))
            else:
                read.append(structs.replace(found, roles=roles_of, tags=tags_of))
    return read


def _of_path(invocation: Invocation, path: Path, now: Documents | None) -> bytes:
    """Return the policies of a path, as Ranger Admin would save them."""
    settings, report = invocation.settings, invocation.messages.print
    if now is None or not path.is_dir():
        return read_policies(path, settings.ranger.service, report)
    assert isinstance(now.policies, bytes)
    return _in_service(path, now.policies, settings.ranger.service, report)


def _in_service(directory: Path, now: bytes, service: str, report: Report) -> bytes:
    """Return the policies of a directory in the service as it is now: `policies apply` changes policies only.

    What the directory does not say of the service is Ranger's, and so are the grants of the sync job.
    """
    wanted, there = read_directory(directory), PolicyCollection.of_download(now)
    known = set(map(policy_key, wanted.policies))
    kept = [one for one in there.policies if is_creators_policy(one) and policy_key(one) not in known]
    own, present = wanted.service, there.service
    definition = msgspec.json.decode(now).get("serviceDef") if own.type == present.type else None
    entry = structs.replace(
        own,
        definition=own.definition or definition,
        zones=present.zones if own.zones is None else own.zones,
        config=own.config or present.config,
        tags=own.tags or present.tags,
    )
    try:
        saved = reported(directory, replace(wanted, service=entry).as_saved(), report)
        tag_policies = saved.tag_policies if own.tags else there.tag_policies
        return PolicyCollection(entry, (*saved.policies, *kept), tag_policies).checked().download(service)
    except InvalidInput as e:
        raise InvalidInput(f"`{directory}` cannot be used: {e}") from None


def with_policies(download: bytes, policies: Iterable[tuple[str, Json]], without: Collection[object] = ()) -> bytes:
    """Return a policy download with each policy in place of the one with its id, which may be missing.

    A policy has the name of its source before it, for messages; those with an id in `without` are left out.

    Raises:
        InvalidInput: a policy belongs to another service, or to a security zone that the service lacks.
        PolicySetError: the download is unreadable.
    """
    document, places = _policy_lists(download)
    _take_out(places, without)
    services = [name for name, _ in places]
    for source, policy in policies:
        service, zone = str(policy.get("service") or ""), str(policy.get("zoneName") or "")
        if service not in services:
            raise InvalidInput(
                f"`{source}`: policy {policy.get('id')} belongs to service `{service}`, not to `{services[0]}`; "
                "`ranger.service` is the service whose policies are compared"
            )
        place = places.get((service, zone if service == services[0] else ""))
        if place is None:
            raise InvalidInput(
                f"`{source}`: policy {policy.get('id')} was in security zone `{zone}`, which the service no longer has"
            )
        at = next((n for n, one in enumerate(place) if one.get("id") == policy.get("id")), len(place))
        _take_out(places, {policy.get("id")})
        place.insert(at, policy)
    return msgspec.json.encode(document)


def _take_out(places: Mapping[tuple[str, str], list[Json]], ids: Collection[object]) -> None:
    for policies in places.values():
        policies[:] = [one for one in policies if one.get("id") not in ids]


def _policy_lists(download: bytes) -> tuple[Json, dict[tuple[str, str], list[Json]]]:
    """Return a download, and its lists of policies by service and zone: its own, those of zones and those of tags."""
    decode_service_policies(download)
    try:
        document = msgspec.json.decode(download, type=Json)
        own = document.get("serviceName", "")
        places = {(own, ""): document.setdefault("policies", [])}
        for name, zone in (document.get("securityZones") or {}).items():
            places[own, name] = zone.setdefault("policies", [])
        if tags := document.get("tagPolicies"):
            places[tags.get("serviceName", ""), ""] = tags.setdefault("policies", [])
    except (msgspec.MsgspecError, AttributeError, TypeError):
        raise PolicySetError("the downloaded policies cannot be read: not of the form of a download") from None
    return document, places
