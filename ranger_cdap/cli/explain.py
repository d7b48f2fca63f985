"""`ranger-cdap explain`: why may this user do this, or why not?"""

from __future__ import annotations

import click

from ranger_cdap.cli.check import as_document, verdict
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.question import Question, open_authorizer, policy_text, question
from ranger_cdap.errors import NotReady


@click.command()
@question
@pass_invocation
def explain(invocation: Invocation, asked: Question) -> None:
    """Show every privilege that was tried for USER to do OPERATION on ENTITY, and policies that are not what they seem.

    Nothing is audited.

    Exit code: 0 whatever the answer, 3 invalid input, 4 not ready, 1 error.
    """
    with open_authorizer(invocation) as authorizer:
        answer = authorizer.explain(asked.user, asked.groups, asked.operation, asked.entity, context=asked.context)
        engine = authorizer.snapshot.engine
        for problem in engine.problems if engine else ():
            invocation.messages.print(f"warning: {problem}")
    if not answer.ready:
        raise NotReady(answer.reason.removeprefix("not ready: "))
    if invocation.as_json:
        alternatives = [
            [
                {
                    "user": e.person,
                    "entity": str(e.entity),
                    "actions": e.actions,
                    "held": e.held,
                    "policy": e.decision.policy_id,
                }
                for e in alternative
            ]
            for alternative in answer.tried
        ]
        invocation.print_json({**as_document(answer), "alternatives": alternatives})
        return
    told = f"{verdict(answer)}: {asked.user} {asked.operation} on {asked.entity}"
    invocation.console.print(f"{told} ({', '.join(answer.requirements)})")
    if answer.missing or not answer.allowed:
        invocation.console.print(answer.reason)
    for number, alternative in enumerate(answer.tried, 1):
        invocation.console.print(f"alternative {number}:")
        rows = [
            [e.person, "has" if e.held else "lacks", "|".join(e.actions), str(e.entity), policy_text(e)]
            for e in alternative
        ]
        invocation.print_table(["", "", "privilege", "on", "because"], rows)
