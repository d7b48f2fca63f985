"""Policies from files instead of from Ranger: the options that name the files, and an authorizer that uses them."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import click

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decider import Decider
from ranger_cdap.cli.check_arguments import open_authorizer
from ranger_cdap.cli.files import Report, checked, read_policies, usable
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.parameters import FILE, moment_of
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.policies.refresh.fixed import documents
from ranger_cdap.policies.refresh.history import policies_at
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_tags, decode_user_store

POLICIES: Final = click.Path(path_type=Path)
"""A file or a directory of policies."""
POLICIES_HELP: Final = "A policy download, a plugin's cache file, an export, a list or a directory of policies"
WITHOUT_TAGS: Final = "warning: there are tag policies, but without `--tags` no resource carries a tag"


@dataclass(frozen=True, slots=True)
class PolicyFiles:
    """Files named on the command line: policies in any form, and downloads of the rest, as in a plugin's cache."""

    policies: Path
    roles: Path | None = None
    tags: Path | None = None
    userstore: Path | None = None

    def read(self, service: str, report: Report | None = None) -> Documents:
        """Read the files; `service` and `report` are those of `read_policies`.

        Raises:
            InvalidInput: one of them cannot be read, or has other content.
            PolicySetError: the policy file is not a JSON object.
        """
        return documents(
            read_policies(self.policies, service, report),
            checked(self.roles, decode_roles) if self.roles else None,
            checked(self.tags, decode_service_tags) if self.tags else None,
            checked(self.userstore, decode_user_store) if self.userstore else None,
        )


@dataclass(frozen=True, slots=True)
class HistoricFiles(PolicyFiles):
    """Policies, roles, tags and users that this host used at a time, in epoch milliseconds."""

    directory: Path = Path()
    at: int = 0

    @classmethod
    def of(cls, invocation: Invocation, option: str, given: str) -> Self:
        """Return those of the time that an option names.

        Raises:
            InvalidInput: it names no time, or no history is kept here.
        """
        directory = invocation.settings.plugin.history_dir
        if directory is None:
            raise InvalidInput(f"`{option}` needs `plugin.history_dir`: no history of the policies is kept here")
        now = time.time_ns() // 1_000_000
        history = Path(f"history:{given}")
        return cls(history, tags=history, directory=directory, at=moment_of(option, given, now, now))

    def read(self, service: str, report: Report | None = None) -> Documents:
        """Read the documents kept last before that time, as they were in effect.

        Raises:
            InvalidInput: the history has none so old, or cannot be read.
        """
        return policies_at(self.directory, service, self.at).documents


def policy_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name the files; the command gets them as `files`, None where policies come from Ranger."""

    @functools.wraps(command)
    def with_files(
        *args: Any,
        policies: Path | None,
        roles: Path | None,
        tags: Path | None,
        userstore: Path | None,
        at: str | None,
        **more: Any,
    ) -> Any:
        if at is not None:
            if policies or roles or tags or userstore:
                raise InvalidInput("`--at` and the options that name files exclude each other")
            invocation = click.get_current_context().find_object(Invocation)
            assert invocation is not None
            return command(*args, files=HistoricFiles.of(invocation, "--at", at), **more)
        if policies is None:
            if roles or tags or userstore:
                raise InvalidInput("`--roles`, `--tags` and `--userstore` need `--policies`")
            return command(*args, files=None, **more)
        return command(*args, files=PolicyFiles(policies, roles, tags, userstore), **more)

    wrapped: Callable[..., Any] = click.option(
        "--at", metavar="TIME", help="Policies that this host used at a date, a time in UTC, or like `7d` (ago)."
    )(with_files)
    for name, meaning in (
        ("--userstore", "A user store download (users and their groups), with --policies."),
        ("--tags", "A tag download, with --policies."),
        ("--roles", "A role download, with --policies."),
    ):
        wrapped = click.option(name, type=FILE, metavar="FILE", help=meaning)(wrapped)
    meaning = f"{POLICIES_HELP}, instead of Ranger's current policies."
    return click.option("--policies", type=POLICIES, metavar="PATH", help=meaning)(wrapped)


@contextmanager
def authorizer_by(
    invocation: Invocation, files: PolicyFiles | None, report: Report | None = None
) -> Iterator[Authorizer]:
    """Open an authorizer for policies from files, or for Ranger's; files are neither cached nor audited.

    `report` is that of `read_policies`.

    Raises:
        InvalidInput: the files are not a valid set of policies.
        NotReady: there are no policies from Ranger yet.
    """
    if files is None:
        with open_authorizer(invocation) as authorizer:
            yield authorizer
        return
    with usable(files.policies):
        found = files.read(invocation.settings.ranger.service, report)
        decider = Decider.of_documents(found, invocation.settings)
    if found.tags is not None and files.tags is None:
        invocation.messages.print(WITHOUT_TAGS)
    with Authorizer(decider) as authorizer:
        yield authorizer
