"""A request made ready: everything about it that does not depend on a policy is worked out once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ranger_cdap.engine.compiled.conditions import Circumstances
from ranger_cdap.engine.compiled.cost import LONGEST_VALUE
from ranger_cdap.engine.compiled.matcher import Value
from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.model.request import ANY_ACCESS, AccessRequest, MatchingScope

Groups = tuple[frozenset[str], ...]

_TOKEN = "token:"  # noqa: S105 - a prefix of context keys, not a secret


@dataclass(slots=True)
class Query:
    """A request and what the engine knows about it; `path` is None where no policy can match its resource."""

    request: AccessRequest
    path: Path | None
    values: tuple[Value, ...]
    tokens: Mapping[str, str]
    who: frozenset[str]
    roles: frozenset[str]
    asked: tuple[str, ...]
    groups: Groups
    is_any: bool
    wide: bool
    circumstances: Circumstances
    assume: bool | None = None
    """Whether conditions speak for whoever asks; None: they are judged."""
    conditional: bool = False
    """Whether anything that may change by itself was looked at."""


def requested(resource: Mapping[str, Value], model: ServiceModel) -> tuple[Path | None, tuple[Value, ...]]:
    """The path and the values of a request's resource, from the root down; no path where nothing can match."""
    path = model.path_of(frozenset(resource)) if resource else ()
    if path is None:
        return None, ()
    values = tuple(_value(resource[name]) for name in path)
    if any(v is None for v in values):
        return None, ()
    return path, tuple(v for v in values if v is not None)


def too_long(request: AccessRequest) -> str:
    """Why the request cannot be matched with policies; empty where no text of it is too long (engine/cost.py)."""
    for name, value in request.resource.items():
        if any(isinstance(one, str) and len(one) > LONGEST_VALUE for one in _each(value)):
            return f"invalid: the {name} is longer than {LONGEST_VALUE} characters"
    if stand_for_too_much(tokens_of(request)):
        return f"invalid: what a macro stands for is longer than {LONGEST_VALUE} characters"
    return ""


def stand_for_too_much(tokens: Mapping[str, str]) -> bool:
    """Whether what some macro stands for cannot be matched."""
    return any(len(text) > LONGEST_VALUE for text in tokens.values())


def _each(value: Value) -> Iterable[object]:
    return value if isinstance(value, tuple | list) else (value,)


def single_values(resource: Mapping[str, Value], path: Path) -> tuple[str, ...] | None:
    """The values of a resource from the root down, if each level has a single one, and none that is too long."""
    values = tuple([resource[name] for name in path])
    for value in values:
        if type(value) is not str or len(value) > LONGEST_VALUE:
            return None
    return values  # type: ignore[return-value]


def _value(value: object) -> Value | None:
    """One value or several; None for what is neither, which nothing matches."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple | list) and all(isinstance(v, str) for v in value):
        return tuple(value)
    return None


def tokens_of(request: AccessRequest) -> dict[str, str]:
    """What macros in policy values stand for: those of the context, `{USER}` and `{OWNER}` (§4.1)."""
    tokens: dict[str, str] = {}
    if request.context:
        tokens = {k.removeprefix(_TOKEN): v for k, v in texts(request.context).items() if k.startswith(_TOKEN)}
        tokens.pop("USER", None)
    if request.user is not None:
        tokens["USER"] = request.user
    if request.owner:
        tokens["OWNER"] = request.owner
    return tokens


def texts(given: Mapping[str, object]) -> dict[str, str]:
    """A map that a caller gave, without what is no text, of which nothing can be said."""
    return {k: v for k, v in given.items() if isinstance(k, str) and isinstance(v, str)} if given else {}


def asked_of(request: AccessRequest, access: str, model: ServiceModel) -> tuple[tuple[str, ...], Groups]:
    """The access types asked, and the groups of them of which one each must be allowed (§9.1)."""
    is_any = access == ANY_ACCESS
    asked = request.all_access_types or (model.any_order if is_any else (access,))
    groups = request.all_access_type_groups
    if is_any and not request.ignore_descendant_deny and not groups:
        groups = tuple(frozenset({name}) for name in model.any_order)
    return tuple(asked), groups


def circumstances_of(
    request: AccessRequest,
    client_ip: str | None,
    roles: frozenset[str],
    tags: frozenset[str],
    certain_tags: frozenset[str],
) -> Circumstances:
    """What conditions look at."""
    return Circumstances(
        client_ip=client_ip,
        access_time=request.access_time,
        action=request.action,
        cluster_name=request.cluster_name,
        cluster_type=request.cluster_type,
        context=texts(request.context),
        tags=tags,
        uncertain_tags=tags - certain_tags,
        user=request.user,
        groups=request.groups,
        roles=roles,
        access_type=request.access_type,
        resource=request.resource,
    )


def is_wide(request: AccessRequest, access: str) -> bool:
    """Whether policies below the resource count (§5.5)."""
    return access == ANY_ACCESS or request.matching_scope is MatchingScope.SELF_OR_DESCENDANTS
