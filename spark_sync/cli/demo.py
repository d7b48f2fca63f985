"""`ranger-cdap demo`: the main job, end to end, in about a minute."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from spark_sync.cli.run import print_report
from spark_sync.preflight import require_packages
from spark_sync.spark.on_demand import SparkOnDemand


@click.command(
    cls=Command,
    answers=False,
    examples=("ranger-cdap demo",),
    exits={ExitCode.OK: "every step succeeded", ExitCode.ERROR: "a step failed"},
)
@pass_invocation
@click.pass_context
def demo(context: click.Context, invocation: Invocation) -> None:
    """Demonstrate the main job with recorded events: a creation in CDAP becomes a grant in Ranger.

    Starts an embedded Ranger Admin on this machine and cleans up afterwards.
    """
    require_packages()
    from spark_sync.demo import open_demo, run_demo

    with tempfile.TemporaryDirectory(prefix="ranger-cdap-demo-") as directory:
        invocation.console.print("Starting an embedded Ranger Admin …")
        with (
            open_demo(Path(directory)) as environment,
            SparkOnDemand(environment.settings.sync, master="local[2]") as spark,
        ):
            wrong = run_demo(
                environment, spark, invocation.console.print, lambda report: print_report(invocation, report)
            )
    if wrong:
        invocation.messages.print("the demo failed: " + "; ".join(wrong))
        context.exit(1)
    invocation.console.print("Done: every step succeeded, and nothing is left running.")
