"""The playground: a made-up company with questions about it, and when the console needs no sign-in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from urllib.parse import urlencode

import msgspec

from ranger_cdap.cli.policy_files import RANGER, PolicyFiles
from ranger_cdap.console.forms import PATHS, ConsoleView

_FILES = ("policies.json", "roles.json", "tags.json", "users.json")


class ExampleQuestion(msgspec.Struct, frozen=True):
    """A question about the company: the view that answers it, and what is typed there."""

    text: str
    view: ConsoleView
    form: Mapping[str, str]

    @property
    def address(self) -> str:
        """Return the path with the question."""
        return f"{PATHS[self.view]}?{urlencode(self.form)}"


class _QuestionFile(msgspec.Struct, frozen=True):
    questions: tuple[ExampleQuestion, ...]


def company() -> PolicyFiles:
    """Return the policies of the company, those that `examples/estate` makes."""
    folder = files(__package__).joinpath("estate")
    return PolicyFiles(",".join(str(folder.joinpath(name)) for name in _FILES))


@cache
def example_questions() -> tuple[ExampleQuestion, ...]:
    """Return questions about the company; the first page answers the first one."""
    text = files(__package__).joinpath("estate", "questions.toml").read_bytes()
    return msgspec.toml.decode(text, type=_QuestionFile).questions


def needs_sign_in(policies: PolicyFiles | None, origins: Mapping[str, str]) -> bool:
    """Return whether callers must sign in: false only for policies of files, where no setting names anything else.

    Without `[service]` there is no certificate either, so that the console listens on loopback only.
    """
    of_files = policies is not None and policies.path is not None and RANGER not in policies.name.split(",")
    return not of_files or any(name != "ranger.service" and not name.startswith("cdap.") for name in origins)
