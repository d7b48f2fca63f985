"""What the files for containers say, held against our settings and our command line; nothing starts a container."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

import click

from ranger_cdap.cli.main import command_line
from ranger_cdap.config import Settings, load_settings

ROOT = Path(__file__).parents[2]
SECRETS = "/run/secrets/"
PREFIX = "RANGER_CDAP_"


def settings_of(environment: Mapping[str, str], config: str | None, folder: Path) -> Settings:
    """The settings a container has: those of its variables and its file, with a secret in every place that is named."""
    for name in named_secrets(environment.values(), config or ""):
        (folder / name).parent.mkdir(exist_ok=True)
        # No two callers may have the same one.
        (folder / name).write_text(f"a-secret-for-{name}\n", encoding="utf-8")
        (folder / name).chmod(0o600)
    given = {name: text.replace(SECRETS, f"{folder}/") for name, text in environment.items()}
    if config is None:
        return load_settings(None, given)
    file = folder / "ranger-cdap.toml"
    file.write_text(config.replace(SECRETS, f"{folder}/"), encoding="utf-8")
    return load_settings(file, given)


def named_secrets(texts: Iterable[str], config: str) -> set[str]:
    """The secrets that variables and file name, below the directory of secrets."""
    return {found for text in (*texts, config) for found in re.findall(rf"{re.escape(SECRETS)}([\w./-]+)", text)}


def written(settings: Settings) -> dict[str, Path]:
    """Where a program with these settings writes, as far as they say so themselves."""
    places = {
        "plugin.cache_dir": settings.plugin.cache_dir,
        "service.events_dir": settings.service.events_dir,
        "audit.spool_dir": settings.audit.spool_dir,
        "sync.state_dir": settings.sync.state_dir,
        "sync.metrics_file": settings.sync.metrics_file,
    }
    return {name: place for name, place in places.items() if isinstance(place, Path)}


def is_below(place: Path, mounts: Sequence[str]) -> bool:
    return any(PurePosixPath(place).is_relative_to(mount) for mount in mounts)


def parse_command(arguments: Sequence[str]) -> click.Context:
    """What the command line makes of the arguments; nothing is run."""
    command: click.Command = command_line()
    context, rest = click.Context(command, info_name="ranger-cdap"), list(arguments)
    while isinstance(command, click.Group) and rest:
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command = found
        context = click.Context(command, info_name=name, parent=context)
    assert not isinstance(command, click.Group)
    return command.make_context(context.info_name, rest, parent=context.parent)
