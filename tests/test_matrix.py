"""A parametrized function is one test, which names each row that failed and fails if it ran none."""

from __future__ import annotations

import pytest

from tests import matrix

pytest_plugins = ["pytester"]

THREE_ROWS = """
    import pytest

    @pytest.mark.parametrize("n", [1, 2, 3], ids=["one", "two", "three"])
    def test_is_even(n):
        print("said of", n)
        assert n % 2 == 0
"""


def ran(pytester: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(test_rows=source)
    return pytester.runpytest_inprocess("-p", matrix.__name__, "-p", "no:schemathesis", *arguments)


def test_all_rows_are_one_test(pytester: pytest.Pytester) -> None:
    result = ran(pytester, THREE_ROWS.replace("% 2", "* 0"))
    result.assert_outcomes(passed=1)


def test_a_failure_names_each_failing_row_with_its_reason(pytester: pytest.Pytester) -> None:
    result = ran(pytester, THREE_ROWS)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["2 of 3 rows failed:", "  test_rows.py::test_is_even[[]one]", "  *test_is_even[[]three]"]
    )
    result.stdout.fnmatch_lines(["*assert (1 % 2) == 0", "said of 1", "*assert (3 % 2) == 0", "said of 3"])
    result.stdout.no_fnmatch_line("*[[]two]*")


def test_without_a_row_a_test_fails(pytester: pytest.Pytester) -> None:
    result = ran(pytester, THREE_ROWS.replace("[1, 2, 3]", "[]").replace('["one", "two", "three"]', "[]"))

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["test_rows.py::test_is_even ran no row"])


@pytest.mark.parametrize("arguments", [["-k", "three"], ["test_rows.py::test_is_even[three]"]])
def test_a_row_can_be_run_alone(pytester: pytest.Pytester, arguments: list[str]) -> None:
    result = ran(pytester, THREE_ROWS, *arguments)

    result.assert_outcomes(failed=1, deselected=2 if "-k" in arguments else 0)
    result.stdout.fnmatch_lines(["FAILED test_rows.py::test_is_even[[]three]*"])


@pytest.mark.parametrize("arguments", [["-k", "four"], ["test_rows.py::test_is_even[four]"]])
def test_a_row_that_is_not_there_is_an_error(pytester: pytest.Pytester, arguments: list[str]) -> None:
    assert ran(pytester, THREE_ROWS, *arguments).ret in (
        pytest.ExitCode.USAGE_ERROR,
        pytest.ExitCode.NO_TESTS_COLLECTED,
    )


def test_each_row_has_fixtures_of_its_own(pytester: pytest.Pytester) -> None:
    result = ran(
        pytester,
        """
        import os
        import pytest

        @pytest.fixture
        def folder(tmp_path):
            return tmp_path

        @pytest.fixture(scope="module")
        def shared():
            return []

        @pytest.mark.parametrize("n", [1, 2])
        @pytest.mark.parametrize("m", [1, 2])
        def test_fresh(n, m, folder, shared, monkeypatch, capsys):
            assert list(folder.iterdir()) == []
            assert "SET_BY_A_ROW" not in os.environ
            (folder / "file").touch()
            monkeypatch.setenv("SET_BY_A_ROW", "1")
            shared.append((n, m))
            print(n)
            assert capsys.readouterr().out == f"{n}\\n"

        def test_all_ran(shared):
            assert len(shared) == 4
        """,
    )
    result.assert_outcomes(passed=2)


def test_what_fails_before_or_after_a_row_is_a_failure(pytester: pytest.Pytester) -> None:
    result = ran(
        pytester,
        """
        import pytest

        @pytest.fixture
        def late(n):
            assert n != 1, "before it"
            yield
            assert n != 2, "after it"

        @pytest.mark.parametrize("n", [1, 2, 3])
        def test_between(n, late):
            pass
        """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["2 of 3 rows failed:", "*AssertionError: before it", "*AssertionError: after it"])


SOME_SKIPPED = """
    import pytest

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_skipped(n):
        if n >= {first}:
            pytest.skip("no tool")
"""


def test_a_skipped_row_is_told_beside_those_that_ran(pytester: pytest.Pytester) -> None:
    ran(pytester, SOME_SKIPPED.format(first=2)).assert_outcomes(passed=1, skipped=1)


def test_with_all_rows_skipped_a_test_is_skipped(pytester: pytest.Pytester) -> None:
    ran(pytester, SOME_SKIPPED.format(first=1)).assert_outcomes(skipped=1)


def test_rows_with_markers_can_be_chosen(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmarkers = slow")
    source = THREE_ROWS.replace("3]", "pytest.param(3, marks=pytest.mark.slow)]")
    ran(pytester, source, "-m", "not slow").assert_outcomes(passed=1, failed=1, deselected=1)
