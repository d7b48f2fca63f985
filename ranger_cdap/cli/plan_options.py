"""Which options of `ranger-cdap plan` go together: an operation of a user, or a job in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

from ranger_cdap.errors import InvalidInput

_GIVES: Final = ("as_policies", "apply")

# Options that need others: of each group, one.
_NEEDED: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "role": (("namespace",),),
    "namespace": (("role",),),
    "recorded": (("for_cdap",),),
    "alternative": (_GIVES,),
    "name": (("role",), _GIVES),
    "users": (("role",), ("apply",)),
    "groups": (("role",), ("apply",)),
    "dry_run": (("apply",),),
    "yes": (("apply",),),
}
_EXCLUDED: Final = (_GIVES,)
_OF_A_JOB: Final = frozenset({"role", "namespace", "for_cdap", *_GIVES, "name", "users", "groups", "dry_run", "yes"})
_OF_BOTH: Final = frozenset({"ranger_user"})


def require_together(command: click.Context) -> None:
    """Require that the options that were typed have a meaning together, and that none of theirs is missing.

    Raises:
        InvalidInput: they have none; it names the option.
        click.MissingParameter: there is no job, and an argument is missing.
    """
    typed = _typed(command)
    for name in typed:
        for needed in _NEEDED.get(name, ()):
            if not typed.keys() & set(needed):
                raise InvalidInput(f"`{typed[name]}` needs {_any(command, needed)}")
    for several in _EXCLUDED:
        if typed.keys() >= set(several):
            raise InvalidInput(f"{' and '.join(f'`{typed[name]}`' for name in several)} exclude each other")
    if "role" in typed:
        _require_job(typed)
        return
    for parameter in command.command.params:
        if isinstance(parameter, click.Argument) and command.params.get(str(parameter.name)) is None:
            raise click.MissingParameter(ctx=command, param=parameter)


def _require_job(typed: Mapping[str, str]) -> None:
    for name, shown in typed.items():
        if name not in _OF_A_JOB | _OF_BOTH:
            raise InvalidInput(
                f"a job (`--role`) takes the place of a user's operation; `{shown}` has no meaning there"
            )
    giving = [typed[name] for name in _GIVES if name in typed]
    if giving and "for_cdap" not in typed:
        raise InvalidInput(
            f"with `--role`, `{giving[0]}` needs `--for-cdap`: the role of a job has what CDAP asks in addition as well"
        )


def _typed(command: click.Context) -> dict[str, str]:
    """Return the parameters that the user gave, as they are written."""
    source = click.core.ParameterSource
    return {
        str(one.name): _shown(one)
        for one in command.command.params
        if command.get_parameter_source(str(one.name)) is source.COMMANDLINE and command.params.get(str(one.name))
    }


def _shown(parameter: click.Parameter) -> str:
    return parameter.opts[0] if isinstance(parameter, click.Option) else parameter.human_readable_name


def _any(command: click.Context, names: tuple[str, ...]) -> str:
    options = {str(one.name): one for one in command.command.params}
    return " or ".join(f"`{_shown(options[name])}`" for name in names)
