"""What the service is asked: CDAP's question in parts, by whom, with the calling methods, and no credential."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ranger_cdap.service.state.handshake import Handshake
from ranger_cdap.wire.cdap_wire import EnforceReply, EnforceRequest, HelloReply, VisibleRequest
from tests.extension.driver import ALICE, NS1, Extension, User, entity
from tests.extension.scripted_service import ALLOWED, DENIED, HELLO, ScriptedService
from tests.extension.secrets_in_text import SECRETS, TOKEN

pytestmark = pytest.mark.java

Json = dict[str, Any]

CARRIED = User("alice", "alice/host@REALM", TOKEN)
VERSION = "2ccbc951-54f4-4e4c-8cbf-3f51e4e7b2b6"
READ = ["STANDARD.GET"]

QUESTIONS = {
    "a namespace": (ALICE, NS1, READ, None),
    "the instance, whose name CDAP leaves empty": (ALICE, entity("INSTANCE", ""), ["INSTANCE.TETHER"], None),
    "a dataset with dots": (ALICE, entity("DATASET", "ns1", "a.b.c"), ["STANDARD.UPDATE"], None),
    "a version": (ALICE, entity("PROGRAM", "ns1", "app", VERSION, "worker", "W"), ["APPLICATION.EXECUTE"], None),
    "a Kerberos principal": (ALICE, entity("KERBEROSPRINCIPAL", "svc/h@R"), ["ACCESS.SET_OWNER"], None),
    "no permission": (ALICE, entity("DATASET", "ns1", "kv"), [], None),
    "several, sorted": (ALICE, NS1, ["STANDARD.UPDATE", "NAMESPACE.READ_REPOSITORY", "STANDARD.GET"], None),
    "children": (ALICE, NS1, ["STANDARD.LIST"], "DATASET"),
    "a Kerberos user": (CARRIED, NS1, READ, None),
    "a group": (User("staff", type="GROUP"), NS1, READ, None),
    "names that JSON must write in its own way": (User('a"\\\u00e4\u6f22\U0001f600</b>'), NS1, READ, None),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_check_is_asked_in_parts(
    name: str, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    user, of, permissions, child_type = QUESTIONS[name]
    extension.start(properties)
    service.answers(ALLOWED)

    assert extension.enforce(user, of, permissions, child_type=child_type)["allowed"]

    (asked,) = service.asked
    principal = {k: v for k, v in user.as_json().items() if k != "credential"} | {"type": user.type}
    expected: Json = {"principal": principal, "entity": of, "permissions": sorted(permissions)}
    assert asked.path == "/cdap/v1/enforce"
    body = {k: v for k, v in asked.body.items() if k not in ("hint", "check")}
    assert body == (expected | {"child_type": child_type} if child_type else expected)
    assert TOKEN not in json.dumps(asked.body)
    msgspec.convert(asked.body, EnforceRequest)


def test_entities_are_asked_about_in_one_go(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    entities = [entity("DATASET", "ns1", f"d.{n}") for n in range(1_000)]
    seen = [n % 3 == 0 for n in range(1_000)]
    extension.start(properties)
    service.answers({"visible": seen, "cacheable": False, "generation": "g1"})

    assert extension.visible(entities, CARRIED) == {
        "visible": seen if extension.jar == "6.11" else [yes or "missing" for yes in seen]
    }
    (asked,) = service.asked
    assert asked.path == "/cdap/v1/visible"
    assert asked.body == {
        "principal": {"name": "alice", "type": "USER", "kerberos": "alice/host@REALM"},
        "entities": entities,
    }
    msgspec.convert(asked.body, VisibleRequest)


def test_more_than_a_thousand_entities_are_several_questions(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    entities = [entity("DATASET", "ns1", f"d{n}") for n in range(2_001)]
    newest.start(properties)
    service.answers(*[{"visible": [True] * n, "cacheable": False, "generation": "g1"} for n in (1_000, 1_000, 1)])

    assert newest.visible(entities) == {"visible": [True] * 2_001}
    assert [e for asked in service.asked for e in asked.body["entities"]] == entities


def test_nothing_to_see_is_not_asked(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)

    assert extension.visible([]) == {"visible": []}
    assert service.asked == []


@pytest.mark.parametrize("nobody", [User(None), User("")])
def test_nobody_may_nothing(
    nobody: User, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)

    assert extension.enforce(nobody)["text"].endswith("CDAP does not say who asks")
    assert extension.visible([NS1], nobody)["visible"] in ([False], ["missing"])
    assert service.asked == []


def test_half_a_character_is_not_sent_as_another_name(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)

    assert not extension.enforce(User("\ud800"))["allowed"]
    assert extension.visible([NS1], User("\ud800"))["status"] == 503
    assert service.asked == []


def test_each_call_brings_the_name_and_secret_of_its_role(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties | {"enforce.name": "master-1"})
    service.answers(ALLOWED)
    newest.enforce()

    pair = base64.b64encode(f"master-1:{SECRETS['enforce']}".encode()).decode()
    assert [asked.headers["authorization"] for asked in (*service.hellos, *service.asked)] == [f"Basic {pair}"] * 2


def test_hello_tells_what_runs_and_who_is_configured(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties | {"master.user": "root", "admin.users": "root, admin ", "instance.name": "prod"})
    extension.start(properties)

    told, by_default = (asked.body for asked in service.hellos)
    assert told == {
        "extension": project_version(),
        "cdap": "6.11.1",
        "instance": "prod",
        "master_user": "root",
        "admin_users": ["root", "admin"],
        "records": extension.jar == "6.11",
    }
    assert by_default == {
        "extension": project_version(),
        "cdap": "6.11.1",
        "instance": "cdap",
        "master_user": "cdap",
        "records": extension.jar == "6.11",
    }
    msgspec.convert(told, Handshake)
    assert "profile default, everything is enforced, policies fresh, grants refuse" in extension.log


def test_hello_tells_that_no_records_are_delivered(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start({k: v for k, v in properties.items() if k != "audit.secret.file"})

    assert service.hellos[0].body["records"] is False


def test_the_scripted_service_answers_in_the_words_of_the_real_one() -> None:
    msgspec.convert(HELLO, HelloReply)
    for answer in (ALLOWED, DENIED):
        msgspec.convert(answer, EnforceReply)


def project_version() -> str:
    lines = (Path(__file__).parents[2] / "setup.cfg").read_text(encoding="utf-8").splitlines()
    return next(line.partition("=")[2].strip() for line in lines if line.startswith("version"))


REQUESTS = {
    "his own request": ({"user": "alice", "ip": "10.1.2.3"}, "10.1.2.3"),
    "somebody else's request": ({"user": "bob", "ip": "10.1.2.3"}, None),
    "no address": ({"user": "alice"}, None),
    "no request": (None, None),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_an_address_goes_with_the_user_it_belongs_to(
    name: str, newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    request, address = REQUESTS[name]
    newest.start(properties)
    service.answers(ALLOWED)
    newest.enforce(request=request)

    assert service.asked[0].body.get("client_ip") == address


CDAP = "io.cdap.cdap"
MASTER = f"{CDAP}.gateway.handlers.PreferencesHttpHandler#setNamespacePrefs"
REMOTE = f"{CDAP}.gateway.handlers.meta.RemotePrivilegesHandler#enforce"
FRAMES: dict[str, tuple[list[str], str, bool]] = {
    "nearest first": (
        [f"{CDAP}.internal.app.namespace.DefaultNamespaceAdmin#create", MASTER],
        "DefaultNamespaceAdmin.create PreferencesHttpHandler.setNamespacePrefs",
        False,
    ),
    "only CDAP's": (["java.lang.Thread#run", MASTER, "io.cdap.cdapx.A#b", "rangercdap.extension.E#f"],
                    "PreferencesHttpHandler.setNamespacePrefs", False),
    "without those that pass every question on": (
        [f"{CDAP}.security.authorization.DefaultAccessEnforcer#enforce",
         f"{CDAP}.security.authorization.DefaultContextAccessEnforcer#enforce",
         f"{CDAP}.security.spi.authorization.AccessEnforcer#enforce", MASTER],
        "PreferencesHttpHandler.setNamespacePrefs", False,
    ),
    "as written, not as generated": ([f"{CDAP}.a.Store$$EnhancerByGuice$$1a2b#get", f"{CDAP}.a.Store$1#call"],
                                     "Store.get Store$1.call", False),
    "no frame again and again": ([MASTER] * 5, "PreferencesHttpHandler.setNamespacePrefs", False),
    "from a container": ([REMOTE, MASTER], "RemotePrivilegesHandler.enforce PreferencesHttpHandler.setNamespacePrefs",
                         True),
    "from a container, far away": ([f"{CDAP}.a.A{n}#b" for n in range(30)] + [REMOTE],
                                   " ".join(f"A{n}.b" for n in range(20)), True),
    "somebody else's class of that name": ([f"com.x.{REMOTE.rpartition('.')[2]}"], "", False),
    "nobody of CDAP": (["java.lang.Thread#run"], "", False),
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMES)
def test_the_hint_names_the_methods_that_ask(name: str, newest: Extension) -> None:
    frames, hint, from_container = FRAMES[name]

    assert newest.command("frames", frames=frames) == {"hint": hint, "from_container": from_container}


def test_a_hint_has_at_most_twenty_methods_and_two_thousand_characters(newest: Extension) -> None:
    long = [f"{'A' * 150}{n}" for n in range(40)] + ["B"]
    fit = [f"{'A' * 400}{n}" for n in range(3)] + ["B" * 786]

    of_long, of_fit = (
        newest.command("frames", frames=[f"{CDAP}.a.{name}#b" for name in names])["hint"] for names in (long, fit)
    )

    assert of_long == " ".join(f"{name}.b" for name in long[:12]), "the next one would not fit, nothing comes after it"
    assert of_fit == " ".join(f"{name}.b" for name in fit)
    assert len(of_fit) == 2_000


TEXTS = {
    "one permission": (NS1, ["STANDARD.GET"], None, "perform action 'STANDARD.GET' on namespace:ns1."),
    "none": (NS1, [], None, "access namespace:ns1."),
    "children": (NS1, ["STANDARD.LIST"], "DATASET", "perform action 'STANDARD.LIST' on dataset in namespace:ns1."),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_user_reads_what_is_missing(
    name: str, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    of, permissions, child_type, text = TEXTS[name]
    extension.start(properties)
    service.answers(DENIED | {"reason": "alice needs WRITE on namespace ns1\r\nX-Fake: 1\u2028\u202e\x85\x1b[2J"})

    seen = extension.enforce(CARRIED, of, permissions, child_type=child_type)

    assert seen["text"] == (
        f"Principal 'alice' has insufficient privileges to {text} alice needs WRITE on namespace ns1  X-Fake: 1    [2J"
    )


def test_several_permissions_are_all_named(
    extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)
    service.answers(DENIED)

    text = extension.enforce(permissions=["STANDARD.GET", "STANDARD.UPDATE"])["text"]

    assert "STANDARD.GET, STANDARD.UPDATE" in text
    assert "any one of" not in text
