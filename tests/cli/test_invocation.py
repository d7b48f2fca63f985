"""What every command prints: names come out as they are."""

from __future__ import annotations

import pytest

from ranger_cdap.cli.invocation import Invocation


@pytest.mark.parametrize("name", ["dataset:a:b", "namespace::cat:", "[bold]x[/bold]", "artifact:ns1.[link]"])
def test_a_name_is_neither_picture_nor_markup(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    invocation = Invocation(None, "table")
    invocation.console.print(name)
    invocation.print_table(["name"], [[name]])
    invocation.messages.print(name)

    captured = capsys.readouterr()
    assert captured.out.count(name) == 2
    assert name in captured.err
