"""The search itself: it finds what is planted, makes it small, goes on where it was, and counts right."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.differential.corpus import cases
from tests.differential.fuzz.judging import Answers, Verdict
from tests.differential.fuzz.mixed import policies_of, scenario
from tests.differential.fuzz.report import report
from tests.differential.fuzz.search import Search
from tests.differential.fuzz.tally import Tally, resumed
from tests.differential.fuzz.vocabulary import Vocabulary, vocabulary

Json = dict[str, Any]

SEED = 11
DENIED = {"allowed": False, "determined": True, "policyId": 7, "audited": True, "auditPolicyId": 7, "zone": None}
OPEN = {**DENIED, "policyId": -1}
ALLOWED = {**DENIED, "allowed": True}


class Killed(BaseException):
    """The program has ended in the middle of a scenario."""


class Planted:
    """Two engines that agree but where a policy has deny-all-else and a user called `a` asks; ends when told to."""

    def __init__(self, *, differs: bool = False, ends_after: int | None = None) -> None:
        self._differs, self._left = differs, ends_after

    def __call__(self, drawn: Json, *, twice: bool = True) -> Verdict:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise Killed
        said = [answer_to(request) for request in drawn["requests"]]
        planted = self._differs and any(p.get("isDenyAllElse") for side in policies_of(drawn) for p in side)
        theirs = [
            DENIED if planted and request.get("user") == "a" else answer
            for request, answer in zip(drawn["requests"], said, strict=True)
        ]
        return Verdict(Answers(said, []), theirs, [])


def answer_to(request: Json) -> Json:
    return OPEN if not request.get("groups") else ALLOWED if request.get("user") == "a" else DENIED


def search(folder: Path, judge: Planted, **more: Any) -> Search:
    folder.mkdir(exist_ok=True)
    return Search(vocabulary(), judge, folder / "state.json", folder, lambda _: None, **more)


def up_to(scenarios: int) -> Any:
    return lambda tally: len(tally.digests) >= scenarios


def run(folder: Path, scenarios: int, judge: Planted | None = None, **more: Any) -> Tally:
    searched = search(folder, judge or Planted(), **more)
    tally = resumed(searched.state, SEED, vocabulary())
    searched.run(tally, up_to(scenarios))
    return tally


def test_a_planted_difference_is_found_and_written_as_small_as_it_gets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found_one(tally: Tally) -> bool:
        return bool(tally.found)

    tally = Tally(SEED, "")
    assert search(tmp_path, Planted(differs=True)).run(tally, found_one) == 1
    (tmp_path / "state.json").unlink()
    monkeypatch.setattr("tests.differential.corpus.CORPUS", tmp_path)
    (case,) = cases()
    (asked,) = case.asks
    (policy,) = [policy for side in policies_of(case.scenario) for policy in side]
    assert asked["request"]["user"] == "a"
    assert asked["expect"] == DENIED
    assert policy["isDenyAllElse"] is True
    assert not {"policyItems", "denyPolicyItems", "conditions", "validitySchedules"} & set(policy)
    assert not {"roles", "tags", "userStore", "conf"} & set(case.scenario)


def test_the_same_difference_is_found_by_the_same_number(tmp_path: Path) -> None:
    first, second = (run(tmp_path / name, 30, Planted(differs=True)) for name in ("one", "other"))
    assert first.found == second.found
    assert first.found


@pytest.mark.parametrize("after", [0, 1, 17])
def test_a_search_that_ended_in_a_scenario_goes_on_as_if_it_had_not(tmp_path: Path, after: int) -> None:
    with pytest.raises(Killed):
        run(tmp_path / "ended", 40, Planted(ends_after=after))
    assert run(tmp_path / "ended", 40) == run(tmp_path / "whole", 40)


def test_what_a_killed_search_has_left_on_disk_is_gone_on_with(tmp_path: Path) -> None:
    left: list[bytes] = []
    state = tmp_path / "killed" / "state.json"
    state.parent.mkdir()

    def look(_line: str) -> None:
        left.append(state.read_bytes())

    searched = Search(vocabulary(), Planted(), state, state.parent, look, saved_every=0.0)
    searched.run(resumed(state, SEED, vocabulary()), up_to(20))
    state.write_bytes(left[6])
    assert resumed(state, SEED, vocabulary()).next == 7
    assert run(state.parent, 40) == run(tmp_path / "whole", 40)


def test_a_scenario_is_counted_once_however_often_it_is_drawn(tmp_path: Path) -> None:
    tally = Tally(SEED, "")
    drawn = search(tmp_path, Planted(), scenario=lambda seed, number: scenario(seed, number % 3))
    drawn.run(tally, lambda tally: tally.next >= 9)
    assert (len(tally.digests), tally.questions) == (3, sum(len(scenario(SEED, n)["requests"]) for n in range(3)))


def test_the_shares_and_the_table_of_pairs_are_those_of_the_scenarios(tmp_path: Path) -> None:
    words: Vocabulary = vocabulary()
    drawn = [scenario(SEED, number) for number in range(30)]
    asked = [request for each in drawn for request in each["requests"]]
    names = [feature.name for feature in words.features]
    held = [{names[n] for n in words.of(each)} for each in drawn]
    tally = run(tmp_path, 30)
    assert tally.questions == len(asked)
    assert tally.answers == Counter(
        {id(ALLOWED): "allowed", id(DENIED): "denied", id(OPEN): "open"}[id(answer_to(request))] for request in asked
    )
    for one, other in combinations(range(len(names)), 2):
        assert tally.pair(one, other) == sum({names[one], names[other]} <= each for each in held)
    text = "\n".join(report(tally, words))
    assert f"allowed: {tally.answers['allowed'] / len(asked):.1%}" in text
    assert f"denied by a policy: {tally.answers['denied'] / len(asked):.1%}" in text


def test_a_state_of_another_seed_is_not_gone_on_with(tmp_path: Path) -> None:
    run(tmp_path, 1)
    with pytest.raises(ValueError, match="belongs to seed 11"):
        resumed(tmp_path / "state.json", SEED + 1, vocabulary())


def test_every_question_of_a_scenario_is_a_request_of_its_own() -> None:
    for number in range(20):
        requests = scenario(SEED, number)["requests"]
        assert len({json.dumps({**request, "id": 0}, sort_keys=True) for request in requests}) >= 20
