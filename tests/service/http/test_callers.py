"""Who is let in, and to what: every endpoint with every role, and every way to say a name without proving it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ranger_cdap.config import (
    CallerSettings,
    ProxySettings,
    Secret,
    ServiceSettings,
)
from ranger_cdap.errors import ConfigError
from ranger_cdap.service.api.routes import ApiRoute
from ranger_cdap.service.http.callers import CallerRole, Callers
from ranger_cdap.service.http.endpoint import CHALLENGE
from ranger_cdap.service.table import ROUTES
from tests.service.fixtures import CALLERS, World, basic, caller, secret_of, serving
from tests.service.http.raw_http import send

GUARDED = [row for row in ROUTES if row.roles]
OPEN = {"/health/live", "/health/ready", "/metrics", "/.well-known/authzen-configuration"}
OPEN |= {"/openapi.json", "/", "/style.css"}


def named(row: ApiRoute) -> str:
    return f"{row.method} {row.path}"


def ask(world: World, row: ApiRoute, who: str | None, **headers: str) -> int:
    return world.ask(who, row.method, row.path, {} if row.takes else None, **headers).status


# --- every endpoint, every role -----------------------------------------------------------------------------------


def test_nothing_but_health_metrics_and_what_the_interface_is_is_for_everybody() -> None:
    assert {row.path for row in ROUTES if not row.roles} == OPEN


@pytest.mark.parametrize("role", CallerRole)
@pytest.mark.parametrize("row", GUARDED, ids=named)
def test_each_endpoint_lets_its_own_roles_in_and_no_other(world: World, row: ApiRoute, role: CallerRole) -> None:
    status = ask(world, row, role.value)
    assert (status not in (401, 403)) if role in row.roles else (status == 403)


@pytest.mark.parametrize("row", GUARDED, ids=named)
def test_nobody_is_let_in_without_a_proof(world: World, row: ApiRoute) -> None:
    answer = world.ask(None, row.method, row.path, {} if row.takes else None)
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == CHALLENGE


NO_PROOF = {
    "nothing": {},
    "an unknown name": {"Authorization": basic("mallory", secret_of("enforce"))},
    "a wrong secret": {"Authorization": basic("enforce", "x" * 30)},
    "the secret of another": {"Authorization": basic("enforce", secret_of("audit"))},
    "the beginning of the secret": {"Authorization": basic("enforce", secret_of("enforce")[:-1])},
    "the name in other letters": {"Authorization": basic("ENFORCE", secret_of("enforce"))},
    "no secret": {"Authorization": "Basic " + base64.b64encode(b"enforce:").decode()},
    "no colon": {"Authorization": "Basic " + base64.b64encode(b"enforce").decode()},
    "no name": {"Authorization": "Basic " + base64.b64encode(f":{secret_of('enforce')}".encode()).decode()},
    "no base64": {"Authorization": "Basic enforce:secret"},
    "no text": {"Authorization": "Basic " + base64.b64encode(b"\xff\xfe:\xfd").decode()},
    "a zero after the name": {"Authorization": basic("enforce\0", secret_of("enforce"))},
    "nothing after the scheme": {"Authorization": "Basic"},
    "another scheme": {"Authorization": "Digest " + basic("enforce")[6:]},
    "the scheme alone and nothing": {"Authorization": ""},
    "a token": {"Authorization": "Bearer " + "e30." * 2},
    "the header of a proxy where none is configured": {"X-Forwarded-User": "enforce"},
    "the header of a proxy and an empty secret": {"X-Forwarded-User": "enforce", "X-Proxy-Secret": ""},
}


@pytest.mark.parametrize("case", NO_PROOF)
def test_what_proves_nothing_lets_nobody_in(world: World, case: str) -> None:
    answer = world.ask(None, "POST", "/cdap/v1/hello", {"extension": "x"}, **NO_PROOF[case])
    assert (answer.status, answer.json["code"]) == (401, "UNAUTHORIZED")


# --- a proxy ------------------------------------------------------------------------------------------------------

PROXY = ProxySettings(addresses=("10.0.0.5", "::1"), secret=Secret("proxy-secret-0123456789"), callers=("enforce",))
PROXY_PROOF = "proxy-secret-0123456789"


def through_proxy(headers: dict[str, str], peer: str | None, proxy: ProxySettings = PROXY) -> str | None:
    found = Callers.of(ServiceSettings(callers=CALLERS, proxy=proxy)).admit(headers, peer)
    return found.name if found else None


PROXIES = [
    # headers, from where; who it is
    ({"x-forwarded-user": "enforce", "x-proxy-secret": PROXY_PROOF}, "10.0.0.5", "enforce"),
    ({"x-forwarded-user": "enforce", "x-proxy-secret": PROXY_PROOF}, "::1", "enforce"),
    ({"x-forwarded-user": "enforce", "x-proxy-secret": PROXY_PROOF}, "10.0.0.6", None),
    ({"x-forwarded-user": "enforce", "x-proxy-secret": PROXY_PROOF}, None, None),
    ({"x-forwarded-user": "enforce"}, "10.0.0.5", None),
    ({"x-forwarded-user": "enforce", "x-proxy-secret": "x" * 23}, "10.0.0.5", None),
    ({"x-proxy-secret": PROXY_PROOF}, "10.0.0.5", None),
    ({"x-forwarded-user": "mallory", "x-proxy-secret": PROXY_PROOF}, "10.0.0.5", None),
    ({"x-forwarded-user": "", "x-proxy-secret": PROXY_PROOF}, "10.0.0.5", None),
    (
        {"x-forwarded-user": "enforce", "x-proxy-secret": PROXY_PROOF, "authorization": "Basic x"},
        "10.0.0.5",
        None,
    ),
]


@pytest.mark.parametrize(("headers", "peer", "who"), PROXIES)
def test_a_name_in_a_header_counts_from_a_proxy_that_proves_itself(
    headers: dict[str, str], peer: str | None, who: str | None
) -> None:
    assert through_proxy(headers, peer) == who


@pytest.mark.parametrize(("may_speak_for", "who"), [((), None), (("audit",), None), (("audit", "enforce"), "enforce")])
def test_a_proxy_speaks_for_no_caller_with_a_role_that_is_not_named(
    may_speak_for: tuple[str, ...], who: str | None
) -> None:
    """A name that it lets through by mistake, as `cdap-enforce`, is nobody."""
    proxy = msgspec.structs.replace(PROXY, callers=may_speak_for)
    assert through_proxy({"x-forwarded-user": "enforce", "x-proxy-secret": PROXY_PROOF}, "::1", proxy) == who


def test_nobody_can_say_that_he_is_at_the_address_of_the_proxy(tmp_path: Path) -> None:
    """The service believes the socket, not `X-Forwarded-For`, which whoever asks can write."""
    said = {"X_Forwarded_User": "enforce", "X_Proxy_Secret": PROXY_PROOF, "X_Forwarded_For": "10.0.0.5"}
    with serving([], tmp_path, proxy=PROXY) as world:
        assert world.ask(None, "POST", "/cdap/v1/hello", {"extension": "x"}, **said).status == 401
    local = msgspec.structs.replace(PROXY, addresses=("127.0.0.1",))
    with serving([], tmp_path / "2", proxy=local) as world:
        assert world.ask(None, "POST", "/cdap/v1/hello", {"extension": "x"}, **said).status == 200


@pytest.mark.parametrize("twice", ["Authorization", "X-Forwarded-User", "X-Proxy-Secret"])
def test_a_header_that_is_sent_twice_names_nobody(tmp_path: Path, twice: str) -> None:
    """One of the two may be of the client, and the other one of a proxy that adds its own."""
    fields = {"X-Forwarded-User": "delegate", "X-Proxy-Secret": PROXY_PROOF}
    fields = {"Authorization": basic("delegate")} if twice == "Authorization" else fields
    lines = [f"{name}: {value}" for name, value in fields.items()]
    local = msgspec.structs.replace(PROXY, addresses=("127.0.0.1",), callers=("delegate",))
    with serving([], tmp_path, proxy=local) as world:
        for more, status in (([], b"200"), ([f"{twice}: {fields[twice]}"], b"401")):
            request = "\r\n".join(["GET /cdap/v1/policies HTTP/1.1", "Host: 127.0.0.1", *lines, *more, "", ""])
            assert send(world, request.encode()).startswith(b"HTTP/1.1 " + status)


# --- settings -----------------------------------------------------------------------------------------------------

LONG = Secret("a-secret-of-its-own-1")
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a short secret": (
        {"callers": (CallerSettings("a", ("enforce",), Secret("0123456789abcde")),)},
        "the secret of caller `a` is shorter than 16 characters",
    ),
    "an empty secret": ({"callers": (CallerSettings("a", ("enforce",), Secret("")),)}, "shorter than 16"),
    "one secret for two": (
        {"callers": (CallerSettings("a", ("enforce",), LONG), CallerSettings("b", ("audit",), LONG))},
        "share a secret",
    ),
    "one secret for a caller and the proxy": (
        {
            "callers": (CallerSettings("a", ("enforce",), LONG),),
            "proxy": ProxySettings(addresses=("127.0.0.1",), secret=LONG),
        },
        "share a secret",
    ),
    "two callers of one name": (
        {"callers": (caller("a", CallerRole.ENFORCE), CallerSettings("a", ("audit",), LONG))},
        "names `a` twice",
    ),
    "no name": ({"callers": (CallerSettings("", ("enforce",), LONG),)}, "is not a valid name of a caller"),
    "a name with a colon": (
        {"callers": (CallerSettings("a:b", ("enforce",), LONG),)},
        "is not a valid name of a caller",
    ),
    "a name with a line break": ({"callers": (CallerSettings("a\nb", ("enforce",), LONG),)}, "is not a valid name"),
    "no way to prove a name": ({"callers": (CallerSettings("a", ("enforce",)),)}, "has no `secret`"),
    "a proxy without a second proof": ({"proxy": ProxySettings(addresses=("127.0.0.1",))}, "needs a `secret`"),
    "a proxy with a short proof": (
        {"proxy": ProxySettings(addresses=("127.0.0.1",), secret=Secret("short"))},
        "shorter than 16",
    ),
    "a proxy for a caller that there is not": (
        {"proxy": ProxySettings(addresses=("127.0.0.1",), secret=LONG, callers=("nobody",))},
        "`service.proxy.callers` names `nobody`",
    ),
    "a proxy that is no address": ({"proxy": ProxySettings(addresses=("proxy.example",), secret=LONG)}, "addresses"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_settings_that_would_let_in_who_should_not_be_are_refused(case: str) -> None:
    settings, reason = REFUSED[case]
    with pytest.raises(ConfigError, match=reason) as caught:
        Callers.of(ServiceSettings(**settings))
    for row in settings.get("callers", ()):
        assert row.secret is None or not row.secret.reveal() or row.secret.reveal() not in str(caught.value)
