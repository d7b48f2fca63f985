"""What is tagged with a date: `accessed-after-expiry` of Ranger's tag service, and other conditions like it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine import AccessRequest, EngineOptions, PolicyEngine, RequestTag, Verdict
from ranger_cdap.engine.compiled.tag_date import read_date
from ranger_cdap.engine.model.problem import ProblemCode
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.date_texts import DATES, ONLY_JAVA_READS, at, date_texts
from tests.engine.fixtures import CONDITIONS, RANGER, SAFE, TAG_ENRICHERS, asks, document, engine, item, on, policy

Json = dict[str, Any]

DAY = 24 * 60 * 60 * 1000


EXPIRY = at("2026-11-22")


@pytest.mark.parametrize(("text", "moment"), DATES)
def test_a_date_is_read_in_two_formats_and_as_utc(text: str, moment: str | None) -> None:
    assert read_date(text) == (None if moment is None else at(moment))


@pytest.mark.parametrize("text", ONLY_JAVA_READS)
def test_what_only_java_takes_for_a_date_is_none(text: str) -> None:
    assert read_date(text) is None


@pytest.mark.parametrize(
    "text",
    [" " * 10**6, "9" * 10**6 + "/1/1", "2026/11/" + "0" * 10**6 + "1", "2026/11/22" + "x" * 10**6, "2026/" * 10**6],
    ids=["blanks", "digits", "zeros", "what follows", "repeated"],
)
def test_a_hostile_text_costs_no_time(text: str) -> None:
    began = time.process_time()
    read_date(text)
    assert time.process_time() - began < 0.5


AFTER, BEFORE = "ctx.isAccessedAfter('expiry_date');", "ctx.isAccessedBefore('expiry_date');"
NAMED = {"after": AFTER, "before": BEFORE}


def definition(**scripts: str) -> Json:
    """The definition of a tag service with conditions by their scripts."""
    evaluator = CONDITIONS + "RangerScriptTemplateConditionEvaluator"
    conditions = [
        {"name": name, "evaluator": evaluator, "evaluatorOptions": {"scriptTemplate": script}}
        for name, script in scripts.items()
    ]
    level = {"name": "tag", "matcherOptions": {"ignoreCase": "false", "wildCard": "false"}}
    return {
        "name": "tag",
        "resources": [level],
        "accessTypes": [{"name": "shop:read"}],
        "policyConditions": conditions,
        "contextEnrichers": TAG_ENRICHERS,
    }


def read(kind: str = "after", *values: str) -> Json:
    return item("@public", "shop:read", conditions=[{"type": kind, "values": list(values)}])


def of_tag(allow: list[Json], deny: list[Json], **more: Any) -> Json:
    return policy(5, {"tag": {"values": ["EXPIRES_ON"]}}, allow, deny, **more)


EXPIRES_ON = of_tag([], [read("after", "yes")])
OPEN = policy(1, on(hall="*", shelf="*"), [item("@public", "read")])
HALL: Mapping[str, str] = {"hall": "h"}


def carries(*tags: Json) -> Json:
    """The download where hall `h` carries these tags."""
    return {
        "tags": {str(n): {"type": "EXPIRES_ON", **tag} for n, tag in enumerate(tags)},
        "serviceResources": [{"id": 7, "resourceElements": on(hall="h")}],
        "resourceToTagIds": {"7": list(range(len(tags)))},
    }


def until(date: str) -> Json:
    return {"attributes": {"expiry_date": date}}


def judge(
    *tags: Json, tag_policy: Json = EXPIRES_ON, options: EngineOptions = SAFE, scripts: Mapping[str, str] = NAMED
) -> PolicyEngine:
    linked = {"serviceName": "tags", "serviceDef": definition(**scripts), "policies": [tag_policy]}
    return engine(OPEN, tagPolicies=linked, tags=carries(*tags), options=options)


THEN = until("2026/11/22")
UNREADABLE = [{}, {"attributes": {"other": "2026/11/22"}}, *map(until, ("", "garbage", "2026-11-22", "9" * 10_000))]


@pytest.mark.parametrize("options", [SAFE, RANGER], ids=["safe", "ranger"])
@pytest.mark.parametrize(
    ("moment", "allowed"),
    [(EXPIRY - DAY, True), (EXPIRY - 1, True), (EXPIRY, False), (EXPIRY + 1, False), (EXPIRY + DAY, False)],
)
def test_what_expires_is_denied_from_that_very_moment_on(options: EngineOptions, moment: int, allowed: bool) -> None:
    decided = judge(THEN, options=options).evaluate(asks(HALL, access_time=moment))
    assert (decided.allowed, decided.policy_id, decided.conditional) == (allowed, 1 if allowed else 5, True)


@pytest.mark.parametrize("options", [SAFE, RANGER], ids=["safe", "ranger"])
@pytest.mark.parametrize("tag", UNREADABLE, ids=lambda tag: str(tag)[:50])
def test_what_has_no_readable_date_has_expired(options: EngineOptions, tag: Json) -> None:
    assert not judge(tag, options=options).evaluate(asks(HALL, access_time=1)).allowed


@pytest.mark.parametrize("options", [SAFE, RANGER], ids=["safe", "ranger"])
def test_without_a_time_all_has_expired(options: EngineOptions) -> None:
    assert not judge(until("9999/12/31"), options=options).evaluate(asks(HALL)).allowed


NO_DATES = [
    # the attributes of tag 0, which of them are told
    ({"expiry_date": "2026-11-22"}, ["tags[0].attributes.expiry_date"]),
    ({"expiry_date": ""}, ["tags[0].attributes.expiry_date"]),
    ({"expiry_date": "2026/11/22"}, []),
    ({"other": "2026-11-22"}, []),
    ({}, []),
]


@pytest.mark.parametrize("options", [SAFE, RANGER], ids=["safe", "ranger"])
@pytest.mark.parametrize(("attributes", "places"), NO_DATES)
def test_a_date_that_can_not_be_read_is_told(options: EngineOptions, attributes: Json, places: list[str]) -> None:
    problems = judge({"attributes": attributes}, options=options).problems
    assert [(p.code, p.place) for p in problems] == [(ProblemCode.UNREADABLE_TAG_DATE, place) for place in places]
    assert judge({"attributes": attributes}, options=options, scripts={"after": "anything()"}).problems[1:] == ()


KINDS = [
    # the condition and its values, whether it holds the day before, at that moment, the day after
    ("after", ("yes",), (False, True, True)),
    ("after", ("TRUE",), (False, True, True)),
    ("after", ("no",), (True, False, False)),
    ("after", ("False",), (True, False, False)),
    ("before", ("yes",), (True, True, False)),
    ("before", ("true",), (True, True, False)),
    ("before", ("no",), (False, False, True)),
]
MOMENTS = (EXPIRY - DAY, EXPIRY, EXPIRY + DAY)


@pytest.mark.parametrize(("kind", "values", "holds"), KINDS)
def test_no_and_false_turn_the_condition_round(kind: str, values: tuple[str, ...], holds: tuple[bool, ...]) -> None:
    denying = judge(THEN, tag_policy=of_tag([], [read(kind, *values)]))
    assert tuple(not denying.evaluate(asks(HALL, access_time=moment)).allowed for moment in MOMENTS) == holds
    whole = of_tag([], [item("@public", "shop:read")], conditions=[{"type": kind, "values": list(values)}])
    assert (
        tuple(not judge(THEN, tag_policy=whole).evaluate(asks(HALL, access_time=t)).allowed for t in MOMENTS) == holds
    )


@pytest.mark.parametrize(("kind", "values", "holds"), KINDS)
@pytest.mark.parametrize("tag", [{}, until("soon")], ids=["no date", "unreadable"])
def test_an_unreadable_date_never_allows_more(
    kind: str, values: tuple[str, ...], holds: tuple[bool, ...], tag: Json
) -> None:
    request = asks({"hall": "h", "shelf": "s"}, access_time=EXPIRY)
    conditioned, plain = read(kind, *values), item("@public", "shop:read")
    denies = of_tag([], [conditioned])
    allows = of_tag([conditioned], [], policyPriority=1)
    spares = of_tag([], [plain], denyExceptions=[conditioned])
    excepts = of_tag([plain], [], allowExceptions=[conditioned], policyPriority=1)
    closed = policy(2, on(hall="*", shelf="*"), [], [item("@public", "read")])
    for tag_policy, beside in ((denies, OPEN), (allows, closed), (spares, OPEN), (excepts, closed)):
        linked = {"serviceName": "tags", "serviceDef": definition(**NAMED), "policies": [tag_policy]}
        assert not engine(beside, tagPolicies=linked, tags=carries(tag)).evaluate(request).allowed


ODD_VALUES = [(), ("",), (" ",), ("maybe",), (" no ",), ("yes", "no"), ("no", "no")]


@pytest.mark.parametrize("values", ODD_VALUES)
def test_a_value_that_says_neither_yes_nor_no_can_not_be_evaluated(values: tuple[str, ...]) -> None:
    denying = judge(THEN, tag_policy=of_tag([], [read("after", *values)]))
    allowing = judge(THEN, tag_policy=of_tag([read("after", *values)], []))
    for moment in MOMENTS:
        assert not denying.evaluate(asks(HALL, access_time=moment)).allowed
        assert allowing.evaluate(asks(HALL, access_time=moment)).policy_id != 5
    assert [problem.code for problem in denying.problems] == [ProblemCode.UNUSABLE_CONDITION]


AS_JAVA_HAS_ODD_VALUES = [
    ((), (True, True, True)),  # for Java there is no script then
    ((" ",), (True, True, True)),
    (("maybe",), (False, True, True)),
    ((" no ",), (False, True, True)),
    (("no", "yes"), (True, False, False)),  # only the first counts
]


@pytest.mark.parametrize(("values", "holds"), AS_JAVA_HAS_ODD_VALUES)
def test_as_ranger_has_it_such_a_value_is_as_good_as_yes(values: tuple[str, ...], holds: tuple[bool, ...]) -> None:
    denying = judge(THEN, tag_policy=of_tag([], [read("after", *values)]), options=RANGER)
    assert tuple(not denying.evaluate(asks(HALL, access_time=moment)).allowed for moment in MOMENTS) == holds


SAME = [
    "ctx.isAccessedAfter('expiry_date')",
    'ctx.isAccessedAfter("expiry_date");',
    "  ctx . isAccessedAfter\n(\t'expiry_date' ) ; ",
]
OTHERS = [
    "",
    "true",
    "ctx.isAccessedAfter('expiry_date') || true;",
    "!ctx.isAccessedAfter('expiry_date')",
    "ctx.isAccessedAfter('expiry_date');;",
    "ctx.isAccessedAfter('expiry_date'); true",
    "ctx.isAccessedAfter('EXPIRES_ON', 'expiry_date');",
    "ctx.isAccessedAfter('expiry_date\");",
    "ctx.isAccessedAfter(expiry_date);",
    "ctx.isAccessedAfter('');",
    "ctx.isAccessedAfter('expiry\\x5fdate');",
    "ctx.isAccessedAfter('HAS_TAG');",  # Ranger makes `ctx.hasTag` of this
    "ctx.isaccessedafter('expiry_date');",
    "ctx.isAccessTimeAfter('2026/11/22');",
    "ctx.isAccessedAfter('expiry_date')//",
    "ctx.isAccessedAfter('expiry_date')" + " " * 100_000 + "x",
]


@pytest.mark.parametrize("script", SAME)
def test_a_script_that_is_one_such_call_is_evaluated(script: str) -> None:
    evaluated = judge(THEN, scripts={"after": script})
    assert evaluated.evaluate(asks(HALL, access_time=EXPIRY - 1)).allowed
    assert not evaluated.evaluate(asks(HALL, access_time=EXPIRY)).allowed
    assert evaluated.problems == ()


@pytest.mark.parametrize("script", OTHERS, ids=lambda script: script[:50].replace("\\", "") or "empty")
def test_any_other_script_can_not_be_evaluated(script: str) -> None:
    closed = judge(THEN, scripts={"after": script})
    assert not closed.evaluate(asks(HALL, access_time=EXPIRY - 1)).allowed
    assert [problem.code for problem in closed.problems] == [ProblemCode.UNUSABLE_CONDITION]


def test_a_plugin_may_evaluate_other_scripts_but_not_this_one() -> None:
    never = EngineOptions(
        conditions={CONDITIONS + "RangerScriptTemplateConditionEvaluator": lambda values, options: lambda c: False}
    )
    late = asks(HALL, access_time=EXPIRY)
    assert not judge(THEN, options=never).evaluate(late).allowed
    assert judge(THEN, options=never, scripts={"after": "anything()"}).evaluate(late).allowed


def test_a_plugins_condition_sees_the_attributes_of_the_tag() -> None:
    seen = []
    looks = EngineOptions(
        conditions={
            CONDITIONS + "RangerScriptTemplateConditionEvaluator": lambda values, options: (
                lambda c: seen.append(c.tag_attributes) or False
            )
        }
    )
    judge(THEN, options=looks, scripts={"after": "anything()"}).evaluate(asks(HALL))
    assert seen == [{"expiry_date": "2026/11/22"}]


def test_each_tag_counts_with_its_own_date() -> None:
    both = judge(THEN, until("2099/01/01"))
    assert both.evaluate(asks(HALL, access_time=EXPIRY - 1)).allowed
    assert not both.evaluate(asks(HALL, access_time=EXPIRY)).allowed
    assert both.evaluate(asks({"hall": "g"}, access_time=EXPIRY)).allowed


def test_a_tag_of_the_request_counts_like_one_of_the_download() -> None:
    for tags, allowed in (("2026/11/22", False), ("2026/11/23", True)):
        given_ = (RequestTag(type="EXPIRES_ON", attributes={"expiry_date": tags}),)
        request = asks({"hall": "g"}, access_time=EXPIRY, tags=given_)
        assert judge().evaluate(request).allowed is allowed


def test_a_tag_that_may_be_there_denies_only_once_it_has_expired() -> None:
    uncertain = judge({**THEN, "validityPeriods": [{"startTime": "later"}]})
    assert uncertain.evaluate(asks(HALL, access_time=EXPIRY - 1)).allowed
    assert not uncertain.evaluate(asks(HALL, access_time=EXPIRY)).allowed


def test_a_policy_of_the_resource_has_no_tag_to_look_at() -> None:
    shop = document()["serviceDef"]
    known = {**shop, "policyConditions": definition(**NAMED)["policyConditions"]}
    until_then = {"type": "after", "values": ["no"]}
    mine = policy(1, on(hall="h"), [item("@public", "read", conditions=[until_then])])
    built = PolicyEngine.build(decode_service_policies(msgspec.json.encode({**document(mine), "serviceDef": known})))
    assert not built.evaluate(asks(HALL, access_time=1)).allowed


def test_what_depends_on_a_date_is_conditional() -> None:
    table = judge(THEN).who_can(HALL)
    assert {access: entry.verdict for access, entry in table.all_users.items()} == {"read": Verdict.CONDITIONAL}
    assert judge(THEN).who_can({"hall": "g"}).all_users["read"].verdict is Verdict.ALLOWED
    assert not judge(THEN).evaluate(asks({"hall": "g"}, access_time=EXPIRY)).conditional


def test_after_a_delta_the_condition_is_judged_as_before() -> None:
    change = {"changeType": 0, "policiesVersion": 2, "policy": {**EXPIRES_ON, "serviceType": "tag", "policyType": 0}}
    other = policy(6, {"tag": {"values": ["OTHER"]}})
    linked = {"serviceName": "tags", "serviceDef": definition(**NAMED), "policies": [other]}
    bare = engine(OPEN, tagPolicies=linked, tags=carries(THEN))
    head = {**linked, "policies": []}
    deltas = {"serviceName": "shop1", "policyVersion": 2, "policyDeltas": [change], "tagPolicies": head}
    changed = bare.with_deltas(decode_service_policies(msgspec.json.encode(deltas)))
    for moment in MOMENTS:
        request = asks(HALL, access_time=moment)
        assert bare.evaluate(request).allowed
        assert changed.evaluate(request) == judge(THEN).evaluate(request)


moments = st.integers(1, at("9999-12-31"))


@given(date_texts, moments, moments, st.booleans())
def test_as_time_goes_by_what_has_expired_stays_so(text: str, one: int, other: int, ranger: bool) -> None:
    decider = judge(until(text), options=RANGER if ranger else SAFE)
    earlier, later = (decider.evaluate(asks(HALL, access_time=t)).allowed for t in sorted((one, other)))
    assert earlier or not later


@given(date_texts, moments)
def test_after_and_before_are_each_others_opposite_but_at_that_very_moment(text: str, moment: int) -> None:
    def holds(kind: str, value: str) -> bool:
        denying = judge(until(text), tag_policy=of_tag([], [read(kind, value)]), options=RANGER)
        return not denying.evaluate(AccessRequest(HALL, "read", access_time=moment)).allowed

    date = read_date(text)
    expected = (True, False) if date is None else (moment >= date, moment <= date)
    assert (holds("after", "yes"), holds("before", "yes")) == expected
    for kind in NAMED:
        assert holds(kind, "no") is not holds(kind, "yes")
