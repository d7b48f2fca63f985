"""A real proxy that is configured as the page says speaks for whoever signed in, whatever else a request names."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.proxies.reverse_proxies import HOST, PASSWORDS, SECRET, Behind, Reply, behind

pytestmark = [
    pytest.mark.proxies,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl, to hash passwords"),
]

DELEGATES = "/status"
"""Answered to callers with the role `delegate`."""


def basic(name: str, password: str) -> str:
    return "Authorization: Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


SIGNED_IN = [basic("eve", PASSWORDS["eve"])]
NO_PROOF = {
    "nothing": [],
    "a wrong password": [basic("ann", "wrong")],
    "no password": [basic("ann", "")],
    "another's password": [basic("ann", PASSWORDS["eve"])],
    "a token": ["Authorization: Bearer e30.e30."],
    "credentials for a proxy": [basic("ann", PASSWORDS["ann"]).replace("Auth", "Proxy-Auth")],
    "no scheme": ["Authorization: ann"],
    "the name of CDAP's caller": [basic("enforce", PASSWORDS["enforce"])],
}


@dataclass(frozen=True)
class Asked:
    """A request that names somebody: fields before and after those of the client's own, and after the head."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    trailers: tuple[str, ...] = ()
    method: str = "GET"
    version: str = "1.1"
    target: str = DELEGATES

    def written(self, own: list[str], host: str = HOST) -> bytes:
        fields = [*self.before, f"Host: {host}", "Connection: close", *own, *self.after]
        chunked = bool(self.trailers) and self.version == "1.1"
        if chunked:
            fields.append("Transfer-Encoding: chunked")
        body = ["0", *self.trailers, "", ""] if chunked else [""]
        return "\r\n".join([f"{self.method} {self.target} HTTP/{self.version}", *fields, "", *body]).encode("latin-1")


names = st.sampled_from(["X-Forwarded-User", "X-Proxy-Secret", "X-Remote-User", "Remote-User", "Forwarded", "Host"])
others = st.sampled_from(["ann", "enforce", "ann, eve", "eve, ann", "", '"ann"', "ann%00", SECRET[:-1], "user=ann"])
separators = st.sampled_from([":", ": ", ":\t", " : ", ":\r\n ", ":\r\n\t", ": eve\r\n ", ":\r\n X-Forwarded-User: "])


@st.composite
def fields(draw: st.DrawFn) -> str:
    """A field in some spelling: its letters, its hyphens, blanks, and lines that go on."""
    name = draw(names.flatmap(lambda name: st.sampled_from([name, name.lower(), name.upper(), name.swapcase()])))
    name = name.replace("-", draw(st.sampled_from(["-", "-", "-", "_", ".", " "])))
    return draw(st.sampled_from(["", "", "", " ", "\t"])) + name + draw(separators) + draw(others)


listed = st.sampled_from(["X-Forwarded-User", "X-Proxy-Secret", "Authorization", "TE", "close"])
named = st.builds(
    lambda what, names: f"{what}: {', '.join(names)}",
    st.sampled_from(["Connection", "Trailer", "Keep-Alive", "Proxy-Connection"]),
    st.lists(listed, min_size=1, max_size=3),
)
some = st.lists(st.one_of(fields(), fields(), named), max_size=3).map(tuple)
requests = st.builds(
    Asked,
    before=some,
    after=some,
    trailers=st.one_of(st.just(()), some),
    method=st.sampled_from(["GET", "POST"]),
    version=st.sampled_from(["1.1", "1.1", "1.0"]),
    target=st.sampled_from([DELEGATES, f"https://{HOST}{DELEGATES}", "/%73tatus"]),
)
proofs = st.one_of(st.just(SIGNED_IN), st.sampled_from(list(NO_PROOF.values())))
FORGED = "X-Forwarded-User: ann"


@pytest.fixture(scope="module")
def haproxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    with behind("haproxy", tmp_path_factory.mktemp("haproxy")) as running:
        yield running


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    with behind("nginx", tmp_path_factory.mktemp("nginx")) as running:
        yield running


def holds(proxy: Behind, asked: Asked, own: list[str]) -> None:
    """Only the client's own name may arrive; and no name without a proof."""
    reply = proxy.send(asked.written(own))
    assert reply.caller in ({"", "eve"} if own == SIGNED_IN else {""}), reply
    assert reply.status not in range(200, 300), reply


@given(asked=requests, own=proofs)
def test_through_haproxy_nobody_arrives_under_another_name(haproxy: Behind, asked: Asked, own: list[str]) -> None:
    holds(haproxy, asked, own)


@given(asked=requests, own=proofs)
def test_through_nginx_nobody_arrives_under_another_name(nginx: Behind, asked: Asked, own: list[str]) -> None:
    holds(nginx, asked, own)


KNOWN = {
    "once": Asked(after=(FORGED,)),
    "first": Asked(before=(FORGED,)),
    "doubled": Asked(before=(FORGED,), after=(FORGED,)),
    "folded": Asked(after=("X-Forwarded-User:\r\n ann",)),
    "folded into another": Asked(after=(f"X-A: b\r\n {FORGED}",)),
    "underscored": Asked(after=("X_Forwarded_User: ann",)),
    "in small letters": Asked(after=(FORGED.lower(),)),
    "in a trailer section": Asked(trailers=(FORGED,), method="POST"),
    "in an announced trailer section": Asked(after=("TE: trailers", "Trailer: X-Forwarded-User"), trailers=(FORGED,)),
    "taken off on the way": Asked(after=("Connection: X-Forwarded-User", FORGED)),
}


@pytest.mark.parametrize("kind", ["haproxy", "nginx"])
@pytest.mark.parametrize("how", KNOWN)
def test_a_known_way_to_name_another_leads_nowhere(how: str, kind: str, request: pytest.FixtureRequest) -> None:
    proxy: Behind = request.getfixturevalue(kind)
    for own in (SIGNED_IN, *NO_PROOF.values()):
        holds(proxy, KNOWN[how], own)


@pytest.mark.parametrize("kind", ["haproxy", "nginx"])
def test_a_person_who_signs_in_arrives_under_their_own_name(kind: str, request: pytest.FixtureRequest) -> None:
    """And the roles of CDAP's callers are beyond the proxy, even for somebody with such a name."""
    proxy: Behind = request.getfixturevalue(kind)
    by_name = {name: proxy.send(Asked().written([basic(name, word)])) for name, word in PASSWORDS.items()}
    assert by_name == {"ann": Reply(200, True, "ann"), "eve": Reply(403, True, "eve"), "enforce": Reply(401, True, "")}
    assert proxy.send(Asked(trailers=("X-A: b",)).written([basic("ann", PASSWORDS["ann"])])).caller in ("ann", "")


@pytest.mark.parametrize("kind", ["haproxy", "nginx"])
def test_beside_the_proxy_its_header_names_nobody(kind: str, request: pytest.FixtureRequest) -> None:
    proxy: Behind = request.getfixturevalue(kind)
    for secret in ("", "X-Proxy-Secret: " + SECRET[:-1], "X_Proxy_Secret: " + SECRET):
        own = [FORGED, secret] if secret else [FORGED]
        assert proxy.send_directly(Asked().written(own)) == Reply(401, True, "")
    proved = [FORGED, f"X-Proxy-Secret: {SECRET}"]
    assert proxy.send_directly(Asked().written(proved)).caller == "ann"
