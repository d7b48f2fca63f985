"""The rows of docs/reference/compatibility.md as cases: Java's answer beside ours, by the first column of the row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.differential.small_documents import (
    ASKED,
    AT_HOME,
    BY_TWO_PRIORITIES,
    DEFINITION,
    LATER,
    LONG,
    LOST_TAG,
    NO_NUMBER,
    NOT_TOGETHER,
    OF_ANOTHER,
    OF_TAGS,
    OPEN,
    OPTION,
    SCRIPT,
    TAG_CLOSES,
    TAG_OPENS,
    TOGETHER,
    TWO_GROUPS,
    UNHEARD_OF,
    UNTIMED,
    A,
    T,
    by_cluster,
    changed,
    closed,
    dated,
    expired,
    first_of_tags,
    item,
    last_of_tags,
    on,
    policy,
    tagged,
    without_enricher,
    zone,
)
from tests.differential.strategies import numbered

Json = dict[str, Any]

REFUSED = "refused"
"""The download is not taken."""

FAILS = "fails"
"""The decision fails."""


@dataclass(frozen=True)
class Difference:
    """One case of a row; `java` is None where its answer is left to chance or nothing of ours can ask for it.

    `javascript`: the answer is that of a Java that can run scripts.
    """

    row: str
    java: bool | str | None
    safe: bool | str
    ranger: bool | str
    policies: list[Json]
    more: Json = field(default_factory=dict)
    asked: Json = field(default_factory=lambda: ASKED)
    javascript: bool = False

    @property
    def scenario(self) -> Json:
        beside = {key: self.more[key] for key in ("tags", "deltas") if key in self.more}
        inside = {key: value for key, value in self.more.items() if key not in beside}
        download = {
            "serviceName": "s",
            "policyVersion": 1,
            "serviceDef": DEFINITION,
            "policies": numbered(self.policies),
        }
        return {"policies": {**download, **inside}, **beside, "requests": [self.asked]}


_OTHER_SOURCE = "tags in the request beside a tag enricher, or a download of tags without one"
_CLUSTER = "the cluster of a request, in a condition of a tag policy"
ASKED_AS_TAGGED = ASKED | {"tags": [{"type": "T"}]}


_NO_DELTA = (
    "deltas that cannot be applied (an unknown kind of change, no id, another type of service or none, another type of "
    "policy, the first or the last policies of a tag service or none of its name, zones other than the known ones)"
)
_ODD_CASE = (
    "letters whose capitals are equal but whose small letters are not, "
    "where case does not count: `ſ` and `s`, `ı` and `i`, `ς` and `σ`, `µ` (U+00B5) and `μ`, `ϐ` and `β`"  # noqa: RUF001
)
ELSEWHERE_CLOSED = {**closed(on(r0=["q"])), "id": 2}
_ANY_VALUE = (
    "a level without values, or with an empty one, in a policy that comes by a delta, or in the one it replaces"
)
_TAG_ALLOWS = (
    "a tag allows, and a policy without a deny side that does **not** match the resource was a candidate of higher "
    "priority"
)
_KIND = "a condition of an unknown kind, or one in JavaScript that is not about a date in a tag"
_STATEMENT = (
    "a condition on the other resources of a Hive statement (`RangerHiveResourcesAccessedTogetherCondition`, "
    "`…NotAccessedTogether…`)"
)
_NOTHING = "a condition with missing context (no client address, no context value, no time, no date in the tag)"
_VALUE = "a condition about a date in a tag, with no value, several, or one that says neither yes nor no"
_SCHEDULE = "a start or end that is no time, an unknown time zone"
_TAGGED = "a resource that carries tags, and has no id, or an unknown level, or fits no hierarchy"
_ZONE = "a resource of a security zone with an unknown level, or that fits no hierarchy"

SWITCHED = [
    Difference(_KIND, True, False, True, [policy(A, [item(conditions=SCRIPT)])]),
    Difference(_KIND, True, False, True, [policy(A, [item(conditions=UNHEARD_OF)])]),
    Difference(_KIND, True, False, True, [policy(A, [item()], [item()], denyExceptions=[item(conditions=UNHEARD_OF)])]),
    Difference(_KIND, False, False, False, [policy(A, [item()], [item(conditions=UNHEARD_OF)])]),
    Difference(_STATEMENT, True, False, True, [policy(A, [item(conditions=TOGETHER)])]),
    Difference(_STATEMENT, True, False, True, [policy(A, [item(conditions=NOT_TOGETHER)])]),
    Difference(_STATEMENT, False, False, False, [OPEN, policy(A, [], [item(conditions=TOGETHER)])]),
    Difference("the same on a whole policy", True, False, True, [policy(A, [item()], conditions=SCRIPT)]),
    Difference("the same on a whole policy", False, False, False, [OPEN, closed(conditions=SCRIPT)]),
    Difference(
        _NOTHING,
        True,
        False,
        True,
        [policy(A, [item(conditions=AT_HOME)])],
    ),
    Difference(_NOTHING, True, False, True, [], tagged(policy(T, [expired("yes")])), javascript=True),
    Difference(
        _VALUE,
        True,
        False,
        True,
        [OPEN],
        tagged(policy(T, [], [expired("maybe")]), tag=dated("2099/01/01")),
        javascript=True,
    ),
    Difference(_VALUE, True, False, True, [], tagged(policy(T, [expired()])), javascript=True),
    Difference(
        "a request without a time, a policy with a validity schedule",
        True,
        False,
        True,
        [policy(A, [item()], validitySchedules=[{"startTime": "2001/01/01 00:00:00"}])],
        asked=UNTIMED,
    ),
    Difference(_SCHEDULE, True, False, True, [policy(A, [item()], validitySchedules=LATER)]),
    Difference(_SCHEDULE, True, False, True, [policy(A, [item()], validitySchedules=[{"timeZone": "Nowhere/Land"}])]),
    Difference(
        "a recurrence that is no number", REFUSED, True, REFUSED, [OPEN, policy(A, [], validitySchedules=NO_NUMBER)]
    ),
    Difference(
        "a policy that cannot be read at all", REFUSED, True, REFUSED, [OPEN, {**policy(A, []), "policyItems": "all"}]
    ),
    Difference("a policy that cannot be read at all", REFUSED, False, REFUSED, [OPEN, closed(policyPriority=2**31)]),
    Difference(
        "a null in a list of a policy, or instead of a level of its resource",
        True,
        False,
        True,
        [policy(on(r0=["a", None]), [item()])],
    ),
    Difference(
        "a resource name the service definition does not have",
        True,
        False,
        True,
        [OPEN, closed(on(r0=["a"], rr=["b"]))],
    ),
    Difference("levels that fit no hierarchy", True, False, True, [OPEN, closed(on(r0=["a"], r2=["c"]))]),
    Difference(
        "a value of more than 8,192 characters in a policy", True, False, True, [policy(on(r0=["a", LONG]), [item()])]
    ),
    Difference(
        "a policy that takes too many steps to match with a long value",
        True,
        False,
        True,
        [policy(on(r0=["*x", *(f"*{'a' * 500}{n}*" for n in range(400))]), [item()])],
        asked=ASKED | {"resource": {"r0": LONG[:8_000] + "x"}},
    ),
    Difference(
        "two policies with one id", None, False, True, [{**OPEN, "id": 5}, {**policy(on(r0=["b"]), []), "id": 5}]
    ),
    Difference(
        "an unknown access type, in a deny item or allow exception",
        True,
        False,
        True,
        [policy(A, [item()], [item("raed")])],
    ),
    Difference(_ZONE, True, False, True, [OPEN], zone(r0=["a"], rr=["b"])),
    Difference(_ZONE, True, False, True, [OPEN], zone(r0=["a"], r2=["b"])),
    Difference("a tag without a type", True, False, True, [], tagged(TAG_OPENS, tag={"type": None})),
    Difference(_OTHER_SOURCE, True, False, True, [OPEN], tagged(TAG_CLOSES, resource=on(r0=["z"])), ASKED_AS_TAGGED),
    Difference(_OTHER_SOURCE, True, False, True, [OPEN], without_enricher(tagged(TAG_CLOSES))),
    Difference(_OTHER_SOURCE, False, False, False, [], without_enricher(tagged(TAG_OPENS))),
    Difference(_CLUSTER, True, False, True, [], by_cluster("Not"), ASKED | {"clusterName": "c2"}),
    Difference(_CLUSTER, False, False, False, [], by_cluster(""), ASKED | {"clusterName": "c1"}),
    Difference(
        "a tag policy with deny-all-else, not audited, without an item of the component",
        True,
        False,
        True,
        [OPEN],
        tagged(policy(T, [item("other:read")], isDenyAllElse=True, isAuditEnabled=False)),
    ),
    Difference(
        "tag policies, but no tags given to the engine",
        None,
        REFUSED,
        False,
        [],
        {"tagPolicies": tagged()["tagPolicies"]},
    ),
    Difference(
        "tag policies without the name or the definition of their service",
        True,
        REFUSED,
        True,
        [OPEN],
        {**tagged(TAG_CLOSES), "tagPolicies": {**tagged(TAG_CLOSES)["tagPolicies"], "serviceName": ""}},
    ),
    Difference(
        "a validity of a tag that cannot be read",
        True,
        False,
        True,
        [],
        tagged(TAG_OPENS, tag={"validityPeriods": LATER}),
    ),
    Difference(
        "a validity of a tag that cannot be read",
        False,
        False,
        False,
        [OPEN],
        tagged(TAG_CLOSES, tag={"validityPeriods": LATER}),
    ),
    Difference(_TAGGED, True, False, True, [OPEN], tagged(TAG_CLOSES, resource=on(r0=["a"], rr=["b"]))),
    Difference(_TAGGED, True, False, True, [OPEN], tagged(TAG_CLOSES, resource=on(r0=["a"], r2=["b"]))),
    Difference("a tag that the download of tags does not hold", True, False, True, [OPEN], LOST_TAG),
    Difference(
        "an option of the service definition that is neither `true` nor `false`",
        True,
        REFUSED,
        True,
        [policy(A, [item()], [item()])],
        {"serviceDef": OPTION},
    ),
    Difference(
        "tags that are only what has changed of them",
        None,
        REFUSED,
        False,
        [],
        {"tags": {**tagged()["tags"], "isDelta": True}},
    ),
]

BOTH_MODES = [
    Difference(
        "a value of more than 8,192 characters in a request, or in what a macro stands for",
        True,
        False,
        False,
        [policy(on(r0=["*"]), [item()])],
        asked=ASKED | {"resource": {"r0": LONG}},
    ),
    Difference(
        "a condition about a date in a tag, without a JavaScript engine",
        False,
        True,
        True,
        [OPEN],
        tagged(policy(T, [], [expired("yes")]), tag=dated("2099/01/01")),
    ),
    Difference(
        "a date in a tag that only Java's parser takes for one (an exponent, other digits, a sign, a year after "
        "9999), or of a format that `ranger.plugin.tag.attr.additional.date.formats` adds",
        True,
        False,
        False,
        [OPEN],
        tagged(policy(T, [], [expired("yes")]), tag=dated("10000/01/01")),
        javascript=True,
    ),
    Difference(
        "`${{...}}` in a resource value, without a JavaScript engine",
        FAILS,
        False,
        REFUSED,
        [OPEN, closed(on(r0=["${{USER.x}}"]))],
    ),
    Difference(
        "several groups of access types, each allowed, by policies of different priorities",
        None,
        False,
        False,
        BY_TWO_PRIORITIES,
        asked=TWO_GROUPS,
    ),
    Difference(
        "`_admin` among several access types of a request for another one",
        True,
        False,
        False,
        [policy(A, [item("write", delegateAdmin=True)])],
        asked=ASKED | {"allAccessTypes": ["_admin", "read"]},
    ),
    *(
        Difference(_ODD_CASE, java, ours, ours, policies, asked={**ASKED, "resource": {"r0": asked}})
        for java, ours, asked, policies in (
            (True, False, "sx", [policy(on(r0=["*"]), [item()]), closed(on(r0=["\u017fx"]))]),
            (False, True, "sx", [policy(on(r0=["\u017fx"]), [item()])]),
            (False, True, "\u017fx", [policy(on(r0=["sx"]), [item()])]),
            (True, True, "qsx", [policy(on(r0=["q\u017fx"]), [item()])]),
            (False, True, "qsx", [policy(on(r0=["q\u017fx"]), [item()]), policy(on(r0=["qz"]), [item()])]),
            (True, False, "qsx", [policy(on(r0=["q*"]), [item()]), closed(on(r0=["q\u017fx"]))]),
        )
    ),
    Difference("access types in another case (`READ` against `read`)", True, False, False, [policy(A, [item("READ")])]),
    Difference(_ANY_VALUE, False, True, True, [policy(A, [])], changed(1, policy(on(r0=[]), [item()]))),
    Difference(_ANY_VALUE, False, True, True, [policy(A, [])], changed(1, policy(on(r0=[""]), [item()]))),
    Difference(
        "a security zone of everything, written as a first level without values (`[]`) instead of `*`, and a resource "
        "below that level",
        True,
        False,
        False,
        [policy(on(r0=["*"], r1=["*"]), [item()])],
        zone(r0=[]),
        {**ASKED, "resource": {"r0": "a", "r1": "x"}},
    ),
    Difference(_NO_DELTA, None, REFUSED, REFUSED, [OPEN], changed(7, policy(A, []))),
    Difference(_NO_DELTA, None, REFUSED, REFUSED, [OPEN], changed(1, {**OPEN, "serviceType": "x"})),
    Difference(_NO_DELTA, True, REFUSED, REFUSED, [OPEN], changed(0, {**closed(), "id": 2, "serviceType": None})),
    Difference(_NO_DELTA, True, REFUSED, REFUSED, [OPEN], changed(1, {**policy(A, []), "policyType": 1})),
    Difference(_NO_DELTA, False, REFUSED, REFUSED, [OPEN, closed()], changed(2, {"id": 2, "policyType": 1})),
    Difference(_NO_DELTA, False, REFUSED, REFUSED, [{**closed(), "isEnabled": False}], changed(2, {"policyType": 1})),
    Difference(_NO_DELTA, True, REFUSED, REFUSED, [OPEN], {**tagged(), **first_of_tags()}),
    Difference(_NO_DELTA, True, REFUSED, REFUSED, [OPEN], {**tagged(OF_ANOTHER), **first_of_tags()}),
    Difference(_NO_DELTA, True, REFUSED, REFUSED, [OPEN], {**tagged(TAG_CLOSES), **last_of_tags()}),
    Difference(_NO_DELTA, True, REFUSED, REFUSED, [OPEN], {**tagged(policy(T, [])), **changed(1, OF_TAGS)}),
    Difference(_NO_DELTA, True, REFUSED, REFUSED, [OPEN], {**zone(r0=["a"]), **changed(0, ELSEWHERE_CLOSED)}),
    Difference(
        _TAG_ALLOWS,
        True,
        False,
        False,
        [policy(on(r0=["a*z"]), [item()], policyPriority=1), closed()],
        tagged(TAG_OPENS),
    ),
    Difference(
        "a tag denies, and an allow of higher priority comes from a policy with a deny side",
        True,
        False,
        False,
        [policy(A, [item()], [item("write")], policyPriority=1), policy(on(r0=["a*z"]), [item()])],
        tagged(TAG_CLOSES),
    ),
]

ELSEWHERE = {
    # rows that no single answer can show, and where they are looked at
    "a tag denies, and before a policy of higher priority that allows comes one that matches, has items and says "
    "nothing": ("differential/test_tag_denials.py", "def test_java_denies_until_all_items_have_been_evaluated_once"),
    "a blank text or `null` as text in place of a boolean or number, a fraction or other digits than 0 to 9 in place "
    "of an integer, an id with a plus or leading zeros as a key of tags": (
        "differential/test_spellings.py",
        "def test_a_stricter_reading_never_allows_more",
    ),
    "the children of an empty value (element scope `SELF_OR_CHILD`)": (
        "differential/test_java_paths.py",
        '"SELF" if is_empty(asked) else "SELF_OR_CHILD"',
    ),
    "the time zone of a date in a tag": (
        "engine/compiled/test_expiry.py",
        "def test_a_date_is_read_in_two_formats_and_as_utc",
    ),
    "[names](ranger-semantics.md#41-preparation): a handler other than `RegEx`, a conversion of groups without a "
    "handler, a regular expression or replacement that may mean something else in Python": (
        "engine/compiled/test_names.py",
        "def test_a_rule_is_refused_with_its_key_if_it_may_mean_something_else_in_java",
    ),
    "names: letters younger than Unicode 3.2, or `Σ` in lower case; with rules also line breaks, characters above "
    "U+FFFF, and more than 255 characters": (
        "engine/compiled/test_names.py",
        "def test_a_name_that_java_holds_otherwise_is_uncertain_where_rules_apply",
    ),
    "an e-mail address that several users of the user store have": (
        "authz/test_names.py",
        "def test_an_address_is_the_user_who_has_it_or_the_user_named_before_the_at",
    ),
    "an empty set of roles in the request": ("engine/decide/test_deciding.py", "roles=frozenset()"),
    "which allowing policy is named for `_any` and for several access types": (
        "differential/comparing.py",
        "def compared_fields",
    ),
    "a disabled policy that a delta deletes: whether its repository still has a policy (`determined`)": (
        "differential/test_deliberate_differences.py",
        "def test_a_disabled_policy_that_a_delta_deletes",
    ),
    "the order of equal policies after a delta, for a request with no resource at all": (
        "differential/test_laws.py",
        "def test_deltas_give_what_loading_the_changed_set_gives",
    ),
    "ACLs (`who_can`)": ("differential/test_who_can.py", "def test_who_can_says_what_evaluate_decides"),
    "`{USER}` in a resource, in ACLs": (
        "engine/decide/test_zones_tags_acl.py",
        "def test_who_can_agrees_with_evaluate",
    ),
}
