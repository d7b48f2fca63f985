"""The command `ranger-cdap`: the top group, the global options, and error handling."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import click

from ranger_cdap.cli.command import CommandGroup, add_lazily
from ranger_cdap.cli.display import visible
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode, Terminated
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.errors import ConfigError, InvalidInput, NotReady, RangerAdminError, RangerCdapError, reason
from ranger_cdap.plugins.hookspecs import hookimpl
from ranger_cdap.plugins.manager import plugin_manager

COMMANDS: Final = {
    "check": "ranger_cdap.cli.check:check",
    "groups": "ranger_cdap.cli.groups:groups_command",
    "eval": "ranger_cdap.cli.evaluate:evaluate",
    "setup": "ranger_cdap.cli.setup:setup",
    "doctor": "ranger_cdap.cli.doctor:doctor",
    "serve": "ranger_cdap.cli.serve:serve",
    "config": "ranger_cdap.cli.config:config_command",
    "audit": "ranger_cdap.cli.audit:audit_group",
    "plugins": "ranger_cdap.cli.plugins:plugins",
    "extension": "ranger_cdap.cli.extension:extension",
    "units": "ranger_cdap.cli.units:units_command",
}
"""The commands of the base install."""

SECTIONS: Final = (
    ("Decide", ("check", "access", "needs", "groups", "eval")),
    ("Policies", ("policies", "roles", "import")),
    ("Grants to creators", ("sync",)),
    (
        "Operate",
        (
            "setup",
            "doctor",
            "serve",
            "console",
            "config",
            "demo",
            "audit",
            "shadow",
            "plugins",
            "extension",
            "units",
            "embedded-admin",
        ),
    ),
)
"""Sections of the help, which name commands of plugins too; all other commands follow."""

_COMPLETING = "_RANGER_CDAP_COMPLETE"
_INTERNAL = "internal-error"
_BY_SETTINGS = (ConfigError, NotReady, RangerAdminError)

# Loggers of a long-running program; a command reports the outcome itself, once.
REPORTED_BY_COMMAND = ("stamina", "ranger_cdap.ranger.refresh.policy_refresher")


class BuiltInCommands:
    """The commands of the base install."""

    @hookimpl
    def ranger_cdap_register_commands(self, cli: click.Group) -> None:
        """Add the commands."""
        add_lazily(cli, COMMANDS)


def command_line() -> click.Group:
    """Return the top group with the commands of all plugins.

    Raises:
        PluginError: an installed plugin cannot be loaded.
    """

    @click.group(
        cls=CommandGroup,
        sections=SECTIONS,
        context_settings={"help_option_names": ["-h", "--help"]},
        answers=True,
        has_outcome=True,
        exits=MEANINGS,
        examples=(
            "ranger-cdap check alice dataset.get dataset:ns1.purchases",
            "ranger-cdap --config /etc/ranger-cdap.toml --set ranger.service=cdapdev doctor",
        ),
    )
    @click.version_option(package_name="ranger-cdap", prog_name="ranger-cdap")
    @pass_invocation
    def cli(invocation: Invocation) -> None:
        """Apache Ranger authorization for CDAP.

        --config, --set, --json and --quiet are accepted before and after the command. NO_COLOR in the environment
        disables colours.
        """
        invocation.plugins = plugins

    plugins = plugin_manager()
    plugins.register(BuiltInCommands(), name="built-in commands")
    plugins.hook.ranger_cdap_register_commands(cli=cli)
    return cli


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; no traceback reaches a user unless RANGER_CDAP_DEBUG is set.

    An error is a sentence on standard error; with `--json`, `{code, message}` on standard output as well, unless the
    command has printed its answer already.
    """
    invocation = Invocation()
    if _COMPLETING in os.environ:  # click looks for our shells before any command is imported
        import ranger_cdap.cli.completion  # noqa: F401
    try:
        outcome = command_line().main(
            args=list(arguments), prog_name="ranger-cdap", standalone_mode=False, obj=invocation
        )
    except click.exceptions.Exit as e:
        return e.exit_code
    except (click.Abort, KeyboardInterrupt) as e:  # the latter while plugins are loaded
        failure = _TERMINATED if isinstance(e.__cause__ or e, Terminated) else _INTERRUPTED
        click.echo(failure.message, err=True)
    except click.ClickException as e:
        e.show()
        failure = _CommandFailure(ExitCode.INVALID_INPUT, InvalidInput.code, e.format_message())
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.ERROR
    except Exception as e:
        if not isinstance(e, RangerCdapError) and os.environ.get("RANGER_CDAP_DEBUG"):
            raise
        failure = _failure_of(e)
        if isinstance(e, _BY_SETTINGS) and (note := invocation.missing_file):
            click.echo(f"ranger-cdap: {note}", err=True)
        hint = f" ({failure.code})" if isinstance(e, RangerCdapError) else "; RANGER_CDAP_DEBUG=1 shows where"
        click.echo(f"ranger-cdap: {failure.message}{hint}", err=True)
    else:
        return outcome if isinstance(outcome, int) else 0
    if "--json" in arguments and not invocation.has_answered:
        with suppress(OSError):  # what could not be written may be this output itself
            # On one line: a command that runs on prints a document a line.
            click.echo(json.dumps({"code": failure.code, "message": failure.message}))
    return failure.exit_code


@dataclass(frozen=True, slots=True)
class _CommandFailure:
    """Failure of a command: the exit code, the stable code of the error, and the sentence."""

    exit_code: int
    code: str
    message: str


_INTERRUPTED: Final = _CommandFailure(ExitCode.INTERRUPTED, "interrupted", "interrupted")
_TERMINATED: Final = _CommandFailure(ExitCode.TERMINATED, "terminated", "terminated")


def _failure_of(error: Exception) -> _CommandFailure:
    if isinstance(error, RangerCdapError):
        return _CommandFailure(error.exit_code, error.code, visible(str(error)))
    if isinstance(error, OSError):
        what = f"`{visible(str(error.filename))}` cannot be used" if error.filename else "the answer cannot be written"
        return _CommandFailure(ExitCode.ERROR, RangerCdapError.code, f"{what}: {reason(error)}")
    return _CommandFailure(ExitCode.ERROR, _INTERNAL, f"internal error {type(error).__name__}: {error}")


def run() -> None:
    """Run the console script; `ranger_cdap.__main__.run` also covers the time before and after it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a character shows its code
    level = logging.ERROR if "--quiet" in sys.argv else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s: %(message)s", stream=sys.stderr)
    for name in REPORTED_BY_COMMAND:
        logging.getLogger(name).setLevel(logging.ERROR)
    sys.exit(main(sys.argv[1:]))
