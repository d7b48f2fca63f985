"""`ranger-cdap eval`: evaluate access requests from a file against policies from a file."""

from __future__ import annotations

import dataclasses
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, Literal

import click
import msgspec

from ranger_cdap.authz.groups import GroupResolver
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.eval_request import EvalAnswer, EvalError, read_request, to_access_request, to_answer
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.files import decoded, reading, usable
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.cli.policy_files import EMPTY, WHICH, WHICH_HELP, WITHOUT_TAGS, PolicyFiles
from ranger_cdap.disk import os_errors_as
from ranger_cdap.engine import EngineOptions, PolicyEngine
from ranger_cdap.errors import InvalidInput
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
from ranger_cdap.ranger.refresh.documents import no_tags, pieces
from ranger_cdap.ranger_model.decode import (
    decode_roles,
    decode_service_policies,
    decode_service_tags,
    decode_user_store,
)
from ranger_cdap.ranger_model.download import UserStore
from ranger_cdap.ranger_model.json_text import Undecodable, decode, decode_or_none


class _Tagged(msgspec.Struct):
    """The part of a request that says its tags."""

    tags: list[Any] = []


_tagged = msgspec.json.Decoder(_Tagged)

# Keys of the plugin's configuration, after `ranger.plugin.` or `ranger.plugin.<service type>.`.
NAME_LISTS = {
    "super.users": "super_users",
    "super.groups": "super_groups",
    "audit.exclude.users": "audit_excluded_users",
    "audit.exclude.groups": "audit_excluded_groups",
    "audit.exclude.roles": "audit_excluded_roles",
}
TRUSTED_PROXIES = "trusted.proxy.ipaddresses"
SWITCHES = {
    "use.x-forwarded-for.ipaddress": "use_forwarded_for",
    "is.fallback.supported": "fallback",
    "supports.name.transformation": "transform_names",
    "convert.emailToUser": "email_to_user",
}
USE_RANGER_GROUPS = "use.rangerGroups"
ONLY_RANGER_GROUPS = "use.only.rangerGroups"


@click.command(
    "eval",
    cls=Command,
    answers=False,
    examples=(
        "ranger-cdap eval --policies download.json --requests requests.jsonl --out answers.jsonl",
        "ranger-cdap eval --policies download.json,roles.json,tags.json,users.json --requests -",
    ),
    exits={ExitCode.OK: "every line was evaluated", ExitCode.ERROR: "a line could not be read, or the command failed"},
)
@click.option("--policies", "files", type=WHICH, metavar="WHICH", required=True, help=WHICH_HELP)
@click.option(
    "--requests", type=FILE, metavar="FILE", required=True, help="Requests as JSON lines; `-` is standard input."
)
@click.option("--deltas", type=FILE, metavar="FILE", help="A download with deltas, applied before the first request.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A key of the plugin's configuration. Repeatable.")
@click.option(
    "--compatibility",
    type=click.Choice(["safe", "ranger"]),
    default="safe",
    show_default=True,
    help="`safe`: a condition that cannot be evaluated never grants access; `ranger`: like Ranger's Java engine.",
)
@click.option("--out", type=FILE, metavar="FILE", help="Output file; default: standard output.")
@pass_invocation
def evaluate(
    invocation: Invocation,
    files: PolicyFiles,
    requests: Path,
    deltas: Path | None,
    conf: tuple[str, ...],
    compatibility: Literal["safe", "ranger"],
    out: Path | None,
) -> int:
    """Evaluate requests against policies; nothing is cached or audited.

    Each line of the output answers one line of the input, in order, as JSON; docs/reference/eval.md lists the fields.
    The exit code does not depend on the decisions. It is 1 if a line could not be read; its answer is then an error.
    Problems with policies are reported on standard error. Without tags, a resource has only those named in its request,
    and a warning is printed if there are tag policies and a request names no tag. `safe` evaluates conditions of
    plugins and conditions in JavaScript; `ranger` answers like Java without JavaScript.
    """
    options = read_options(dict(map(_key_and_value, conf)), compatibility)
    with usable(Path(str(files))):
        found = files.read(invocation)
        download = decode_service_policies(b"".join(pieces(found.policies)))
        lacks_tags = found.tags == EMPTY
        if options.fail_closed:
            options = dataclasses.replace(options, conditions=condition_factories(plugin_manager()))
        store = decode_user_store(found.users) if found.users else None
        engine = PolicyEngine.build(
            download,
            roles=decode_roles(found.roles),
            tags=decode_service_tags(found.tags or no_tags(download.service_name)),
            attributes=store,
            options=options,
        )
    if deltas:
        engine = decoded(deltas, lambda content: engine.with_deltas(decode_service_policies(content)))
    invocation.warn_of(engine.problems)
    encode = msgspec.json.Encoder().encode
    with _input(requests) as lines, _output(out) as answers:
        failed = 0
        for line in lines:
            if line.strip():
                if lacks_tags and not (decode_or_none(line, _tagged) or _Tagged()).tags:
                    invocation.messages.print(WITHOUT_TAGS)
                    lacks_tags = False
                answered = answer(engine, store or UserStore(), line)
                failed += isinstance(answered, EvalError)
                answers.write(encode(answered) + b"\n")
    if failed:
        invocation.messages.print(f"lines that could not be read: {failed}; their answers say why")
    return ExitCode.ERROR if failed else ExitCode.OK


def answer(engine: PolicyEngine, users: UserStore, line: bytes) -> EvalAnswer | EvalError:
    """Answer one line; a line that cannot be read is answered with an error."""
    id_: int | str | None = None
    try:
        fields = decode(line, dict[str, Any])
        id_ = given if isinstance(given := fields.get("id"), int | str) else None
        request = to_access_request(read_request(fields), now=time.time_ns() // 1_000_000)
    except (Undecodable, InvalidInput) as e:
        return EvalError(id_, " ".join(str(e).split()))
    groups = GroupResolver({request.user or "": request.groups}, users.groups_of, names=engine.names)
    return to_answer(id_, engine.evaluate(groups.completed(request)))


def read_options(keys: Mapping[str, str], compatibility: Literal["safe", "ranger"]) -> EngineOptions:
    """Return the engine's options from the plugin's configuration.

    Raises:
        InvalidInput: a key is not supported.
    """
    found: dict[str, Any] = {"compatibility": compatibility}
    groups = dict.fromkeys((USE_RANGER_GROUPS, ONLY_RANGER_GROUPS), False)
    for key, value in keys.items():
        suffix = _suffix(key)
        if suffix is None:
            raise InvalidInput(f"`{key}` is not a key of the plugin's configuration that `eval` supports")
        if suffix in NAME_LISTS:
            field = NAME_LISTS[suffix]
            found[field] = found.get(field, frozenset()) | frozenset(n for n in map(str.strip, value.split(",")) if n)
        elif suffix == TRUSTED_PROXIES:
            found["trusted_proxies"] = _proxies(value)
        elif suffix in SWITCHES:
            found[SWITCHES[suffix]] = value.strip().lower() == "true"
        else:
            groups[suffix] = value.strip().lower() == "true"
    if not groups[USE_RANGER_GROUPS]:
        found["stored_groups"] = "ignored"
    else:
        found["stored_groups"] = "only" if groups[ONLY_RANGER_GROUPS] else "added"
    return EngineOptions(**found)


def _proxies(value: str) -> frozenset[str]:
    """Return the addresses listed; a blank list trusts no address, as in Java, while no list trusts all."""
    listed = value.rstrip(",")
    return frozenset(map(str.strip, listed.split(","))) if listed else frozenset()


def _suffix(key: str) -> str | None:
    known = (*NAME_LISTS, TRUSTED_PROXIES, *SWITCHES, USE_RANGER_GROUPS, ONLY_RANGER_GROUPS)
    return next((s for s in known if re.fullmatch(rf"ranger\.plugin\.([\w-]+\.)?{re.escape(s)}", key)), None)


def _key_and_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"`--conf {text}` is not of the form KEY=VALUE")
    return key.strip(), value


def _input(path: Path) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if str(path) == "-" else reading(path)


@contextmanager
def _output(path: Path | None) -> Iterator[BinaryIO]:
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with os_errors_as(InvalidInput, f"`{path}` cannot be written"):
        file = path.open("wb")
    with file:
        yield file
