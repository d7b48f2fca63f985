"""Checks of the secret files: each program can read its own, and none of the other."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ranger_cdap.config import Settings
from ranger_cdap.config.secret_files import Program, SecretFile, secret_files
from ranger_cdap.doctor.finding import Finding, failed, note, well
from ranger_cdap.doctor.users import ROOT, LocalUser, Users


def examine_secret_files(settings: Settings, users: Users) -> Iterator[Finding]:
    """Check which program can read which secret file: of both users as root, otherwise of the current user.

    A program whose user is unknown is skipped, unless no user is known at all or root runs this.
    """
    files = secret_files(settings)
    for program in Program:
        person = users.runs.get(program)
        if person is not None and users.viewer.uid in (ROOT, person.uid):
            yield from _of_user(program, person, files, users)
        elif not users.of_viewer or users.viewer.uid == ROOT:
            yield from _of_unknown_user(program, files, users)


def _of_unknown_user(program: Program, files: tuple[SecretFile, ...], users: Users) -> Iterator[Finding]:
    hidden = [file for file in files if program in file.programs and not os.access(file.path, os.R_OK)]
    if hidden:
        names = ", ".join(f"`{file.path}`" for file in hidden)
        yield note(
            f"secrets of the {program}",
            f"user {users.viewer}, the current user, cannot read {names}; the {program} needs them",
            f"nothing to do if the {program} runs as another user or elsewhere",
        )


def _of_user(program: Program, person: LocalUser, files: tuple[SecretFile, ...], users: Users) -> Iterator[Finding]:
    if not any(program in file.programs for file in files):
        return
    check, fine = f"secrets of the {program}", True
    for file in files:
        named = f"`{file.path}` ({', '.join(f'`{name}`' for name in file.settings)})"
        readable = _can_read(person, file)
        if program in file.programs and not readable:
            fine = False
            seen = f"user {person}, who runs the {program}, cannot read {named}"
            alone = f"create the file, owned by that user (chown {_plain(person)}, chmod 600)"
            shared = "create the file, owned by root and a group of both users (chmod 640): both programs need it"
            yield failed(check, seen, shared if len(file.programs) > 1 and users.are_two else alone)
        elif program not in file.programs and readable and users.are_two and person.uid != ROOT:
            fine = False
            owner = users.other(program)
            advice = f"chown it to {_plain(owner)}, chmod 600" if owner else "chmod 600"
            yield failed(
                check, f"user {person}, who runs the {program}, can read {named}, a secret of the other program", advice
            )
    if fine:
        yield well(check, f"user {person} can read them" + (", and no others" if users.are_two else ""))


def _can_read(person: LocalUser, file: SecretFile) -> bool:
    try:
        return person.can(file.path, os.R_OK)
    except OSError:
        return False


def _plain(person: LocalUser) -> str:
    return str(person).strip("`")
