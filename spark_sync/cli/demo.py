"""`ranger-cdap demo`: the main job, end to end, in about a minute."""

from __future__ import annotations

import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.store import require_packages
from spark_sync.spark.on_demand import SparkOnDemand


@click.command(
    cls=Command,
    answers=False,
    examples=("ranger-cdap demo", "ranger-cdap demo --keep"),
    exits={ExitCode.OK: "every step succeeded", ExitCode.ERROR: "a step failed"},
)
@click.option("--keep", is_flag=True, help="Leave everything running until Ctrl-C, and say what to try.")
@pass_invocation
@click.pass_context
def demo(context: click.Context, invocation: Invocation, keep: bool) -> None:
    """Tell the main job as a story: what is created in CDAP is granted in Ranger, and what is deleted, taken back.

    Starts an embedded Ranger Admin on this machine and cleans up afterwards.
    """
    require_packages()
    from spark_sync.demo import open_demo, run_demo, write_settings

    with tempfile.TemporaryDirectory(prefix="ranger-cdap-demo-") as directory:
        invocation.console.print("Starting a small Ranger Admin …")
        with (
            open_demo(Path(directory)) as environment,
            SparkOnDemand(environment.settings.sync, master="local[2]") as spark,
        ):
            wrong = run_demo(environment, spark, invocation.console.print)
            if keep:
                invocation.console.print(TRY.format(write_settings(environment)))
                with suppress(KeyboardInterrupt):
                    threading.Event().wait()
    if wrong:
        invocation.messages.print("the demo failed: " + "; ".join(wrong))
        context.exit(1)
    invocation.console.print("\nDone: every step succeeded, and nothing is left running.")


TRY = """
Ranger Admin runs until Ctrl-C. In another terminal:

  export RANGER_CDAP_CONFIG={}
  ranger-cdap access --entity namespace:sales
  ranger-cdap check bob dataset.get dataset:sales.purchases --why
  ranger-cdap sync lives
  ranger-cdap access --user alice
"""
