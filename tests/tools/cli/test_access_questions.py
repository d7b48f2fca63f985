"""`ranger-cdap access`: the questions that its options make, and those that they do not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from tests.cli.fixtures import dataset, item, named, policy

KV, SALES, NS1 = "dataset:ns1.kv", "dataset:ns1.sales*", "namespace:ns1"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "name a user (`--user`), an entity (`--entity`), or both"),
        ("--user ann --user bob", "name a user (`--user`), an entity (`--entity`), or both"),
        (f"--user ann --user bob --entity {KV}", "name a user (`--user`), an entity (`--entity`), or both"),
        (f"--entity {KV} --group etl", "`--group` needs `--user`"),
        (f"--entity {KV} --client-ip 10.1.2.3", "`--client-ip` needs `--user` and an entity"),
        (f"--user ann --entity {SALES} --client-ip 10.1.2.3", "`--client-ip` needs `--user` and an entity"),
        (f"--user ann --entity {KV} --all", "`--all` needs `--user` without an entity"),
        (f"--user ann --entity {SALES} --ways", "`--ways` needs `--user` and an entity"),
        (f"--entity {KV} --ways", "`--ways` needs `--user` and an entity"),
        (f"--entity {KV} --type dataset", "`--type` needs `--format matrix`"),
        (f"--entity {KV} --out x.html", "`--inventory` and `--out` need another format than list"),
        (f"--entity {KV} --users people.txt", "`--users` needs `--format parquet`"),
        ("--format matrix", "`--format matrix` needs a namespace"),
        (f"--format matrix --entity {KV}", "`--format matrix` needs a namespace"),
        (f"--format matrix --entity {SALES}", "`--format matrix` needs a namespace"),
        (f"--format matrix --entity {NS1} --access read", "`--access` needs `--format list`"),
        (f"--format matrix --entity {NS1} --ways", "`--ways` needs `--user` and an entity"),
        ("--format parquet", "`--format parquet` needs `--inventory` and `--out`"),
        (f"--format parquet --inventory e --out x --entity {KV}", "takes entities from `--inventory`"),
        ("--format parquet --inventory e --out x --user ann", "users from `--users`"),
        ("--format html", "'html' is not one of"),
    ],
)
def test_an_option_that_the_answer_has_no_use_for_is_refused(
    words: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["access", *words.split(), *named(tmp_path)]) == ExitCode.INVALID_INPUT
    told = capsys.readouterr()
    assert (told.out, sentence in told.err) == ("", True)


def test_of_a_user_and_a_pattern_the_rows_of_the_user_on_it_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policies = (
        policy(1, dataset("sales*"), item("read", groups=["analysts"]), name="sales"),
        policy(2, dataset("sales_eu"), item("write", users=["ann"]), name="eu"),
        policy(3, dataset("hr"), item("read", users=["ann"])),
        policy(4, dataset("sales_x"), item("read", users=["bob"])),
    )
    words = ["access", "--user", "ann", "--group", "analysts", "--entity", SALES, *named(tmp_path, policies)]
    assert main([*words, "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    rows = {(row["policy_id"], tuple(row["who"]), row["whole"]) for row in found["allowed"]}
    assert rows == {(1, ("group analysts",), True), (2, ("user ann",), False)}
    assert (found["user"], found["entity"]) == ("ann", "dataset:ns1.sales*")


@pytest.mark.parametrize(
    ("which", "sentence"),
    [
        ("{policies},{roles},{roles}", "is a second download of roles"),
        ("{policies},", "a name is empty"),
        ("", "a name is empty"),
        ("{policies},{policies}", "is no download of roles, tags or users"),
        ("{policies},nowhere.json", "`nowhere.json` cannot be read"),
    ],
)
def test_each_name_of_policies_counts(
    which: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policies, roles, *_ = named(tmp_path)[1].split(",")
    words = ["access", "--entity", KV, "--policies", which.format(policies=policies, roles=roles)]
    assert main(words) == ExitCode.INVALID_INPUT
    told = capsys.readouterr()
    assert (told.out, sentence in told.err) == ("", True)
