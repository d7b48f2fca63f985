"""`ranger-cdap policies test`: compare the decisions of the policies with expected ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.known_names import KnownNames
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.files import read_file
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.errors import NotReady
from ranger_cdap.tools.cli.expectation_file import Expectation, read_expectations


@click.command(
    "test",
    cls=Command,
    examples=(
        "ranger-cdap policies test expectations.toml",
        "ranger-cdap policies test expectations.toml --policies download.json --json",
    ),
    exits={
        ExitCode.OK: "every expectation is met",
        ExitCode.NO: "one is not",
        ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY],
    },
)
@click.argument("file", type=FILE, metavar="FILE")
@policy_files
@pass_invocation
@click.pass_context
def test_command(context: click.Context, invocation: Invocation, file: Path, files: PolicyFiles | None) -> None:
    """Test the policies against the expectations in FILE; show those that fail, and why. Nothing is audited.

    FILE is TOML, with a table per expectation; `groups`, `note`, `impersonate` and `with` are optional:

    \b
    [[expect]]
    user = "alice"
    groups = ["developers"]
    operation = "application.deploy"
    entity = "application:ns1.shop"
    expected = "allowed"                            # or "denied"
    note = "developers ship their shop themselves"
    with = { jar = ["artifact:ns1.shop"] }          # what else takes part
    """
    expectations = read_expectations(read_file(file), str(file))
    with authorizer_by(invocation, files, invocation.messages.print) as authorizer:
        if authorizer.snapshot.engine is None:
            raise NotReady(authorizer.snapshot.reason)
        index = PolicyIndex.of(authorizer.snapshot.documents)
        names = KnownNames.of(authorizer, index)
        # Report an expectation that cannot be evaluated before any answer.
        for expectation in expectations:
            expectation.must_be_about(authorizer.decider.config.profile, names, str(file))
        outcomes = [_outcome(expectation, authorizer, index) for expectation in expectations]
    failed = [outcome for outcome in outcomes if not outcome.met]
    met = len(outcomes) - len(failed)
    invocation.show(
        {"expectations": len(outcomes), "met": met, "outcomes": [_document(outcome) for outcome in outcomes]},
        [*(f"not met: {outcome}" for outcome in failed), f"{met} of {len(outcomes)} expectations are met"],
    )
    context.exit(ExitCode.NO if failed else ExitCode.OK)


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """The answer to an expectation, and its reason."""

    expectation: Expectation
    allowed: bool
    why: str
    policy_ids: tuple[int, ...]
    undecided: bool

    @property
    def met(self) -> bool:
        """True if the answer is the expected one."""
        return self.allowed == self.expectation.allowed and not self.undecided

    def __str__(self) -> str:
        expected, actual = (("denied", "allowed")[allowed] for allowed in (self.expectation.allowed, self.allowed))
        actual = "undecided" if self.undecided else actual
        note = f" ({self.expectation.note})" if self.expectation.note else ""
        text = f"{self.expectation.number}. {self.expectation}: expected {expected}, is {actual}: {self.why}{note}"
        return " ".join(text.split())


def _outcome(expectation: Expectation, authorizer: Authorizer, index: PolicyIndex) -> ExpectationResult:
    answer = authorizer.explain(
        expectation.user,
        expectation.groups,
        expectation.operation,
        expectation.entity,
        context=expectation.context,
    )
    by = "; ".join(
        f"{examined.action} on {examined.entity} by {index.named(examined.decision.policy_id)}"
        for examined in answer.decided_by
        if examined.decision.policy_id >= 0
    )
    reason = answer.reason if not answer.allowed or not answer.enforced else ""
    why = "; ".join(text for text in (reason, by) if text)
    return ExpectationResult(expectation, answer.allowed, why, answer.policy_ids, answer.undecided)


def _document(outcome: ExpectationResult) -> dict[str, object]:
    asked = outcome.expectation
    return {
        "number": asked.number,
        "user": asked.user,
        "groups": asked.groups,
        "operation": asked.operation,
        "entity": str(asked.entity),
        "note": asked.note,
        "expected": asked.allowed,
        "allowed": outcome.allowed,
        "met": outcome.met,
        "why": outcome.why,
        "policies": outcome.policy_ids,
    }
