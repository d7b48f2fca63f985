"""A token is accepted only if a current key signed it, for us, and it is not over: drawn tokens against that law."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
import time
from dataclasses import dataclass
from typing import Any

import jwt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ranger_cdap.service.http.signing_keys import FetchedKeys, published_keys
from ranger_cdap.service.http.tokens import Tokens
from tests.service.http.token_samples import AUDIENCE, EC_KEY, ISSUER, OTHER_KEY, RSA_KEY, document, part, pem, row

CURRENT = {("rsa", "RS256"): "current rsa", ("ec", "ES256"): "current ec"}
KEYS = {"current rsa": RSA_KEY, "current ec": EC_KEY, "gone": OTHER_KEY}
HOUR, YEAR_9999 = 3600, 253_402_300_799


def tokens() -> Tokens:
    found = published_keys(document(row(RSA_KEY, "rsa"), row(EC_KEY, "ec")))
    keys = FetchedKeys(lambda: found, poll_interval=300.0, max_staleness=86_400.0)
    keys.refresh()
    return Tokens(keys, ISSUER, AUDIENCE)


TOKENS = tokens()


@dataclass(frozen=True)
class Drawn:
    """A token before it is signed; times are seconds from now, unless they are no numbers."""

    key: str
    header: dict[str, Any]
    claims: dict[str, Any]

    @property
    def text(self) -> str:
        signed = f"{part(self.header)}.{part(self.claims)}"
        return f"{signed}.{part(self._signature(signed.encode()))}"

    def _signature(self, signed: bytes) -> bytes:
        algorithm = self.header.get("alg")
        if algorithm == "HS256":
            return hmac.new(pem(RSA_KEY), signed, hashlib.sha256).digest()
        fits = {"RS256": "current rsa", "RS512": "current rsa", "ES256": "current ec"}
        if not isinstance(algorithm, str) or (algorithm not in fits):
            return b""
        key = KEYS[self.key]
        if (algorithm == "ES256") != (self.key == "current ec"):
            return b"another kind of key"
        found: bytes = jwt.get_algorithm_by_name(algorithm).sign(signed, key)
        return found

    def accepted(self, now: float) -> bool:
        """The law, in other words than the code."""
        signer = CURRENT.get((self.header.get("kid"), self.header.get("alg")))  # type: ignore[arg-type]
        ends, begins, issued = (self.claims.get(name, default) for name, default in TIMES.items())
        audience = self.claims.get("aud")
        return (
            signer == self.key
            and self.claims.get("iss") == ISSUER
            and (audience == AUDIENCE or (isinstance(audience, list) and AUDIENCE in audience))
            and isinstance(self.claims.get("sub"), str)
            and _number(ends)
            and now < ends <= YEAR_9999
            and _number(begins)
            and 0 <= begins <= now
            and _number(issued)
            and 0 <= issued <= now
        )


TIMES = {"exp": None, "nbf": 0, "iat": 0}


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


NOW = int(time.time())
# Nothing within the leeway of now, so that the sentence needs no leeway.
WHEN: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([NOW + HOUR, NOW - HOUR, NOW + HOUR + 0.5, 0, YEAR_9999, YEAR_9999 + 1, 1e30, 10**30, -1, -1e30]),
    st.sampled_from([None, True, False, "", "never", str(NOW + HOUR), str(NOW - HOUR), [NOW + HOUR], {}]),
    st.sampled_from([float("nan"), float("inf"), float("-inf")]),
)


def claim(good: Any, *bad: Any) -> st.SearchStrategy[Any]:
    return st.one_of(st.just(good), st.just(good), st.just(good), st.sampled_from([*bad, None, 5, [], {}]))


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    (key_id, algorithm), key = draw(st.sampled_from(list(CURRENT.items())))
    header = {
        "alg": draw(claim(algorithm, "RS512", "HS256", "none", "nOnE", "ES256", "RS256")),
        "kid": draw(claim(key_id, "rsa", "ec", "gone", "")),
    }
    found = {
        "sub": draw(claim("enforce", ["enforce"])),
        "iss": draw(claim(ISSUER, "https://other.example")),
        "aud": draw(claim(AUDIENCE, [AUDIENCE, "other"], ["other"], "other", AUDIENCE + "x")),
        "exp": draw(st.one_of(st.just(NOW + HOUR), WHEN)),
    }
    found |= draw(st.dictionaries(st.sampled_from(["nbf", "iat"]), st.one_of(st.just(NOW - HOUR), WHEN)))
    left_out = draw(st.sets(st.sampled_from([*found, "alg", "kid"]), max_size=1) | st.just(set[str]()))
    return Drawn(
        draw(st.one_of(st.just(key), st.sampled_from(list(KEYS)))),
        {name: value for name, value in header.items() if name not in left_out and not isinstance(value, (dict, list))},
        {name: value for name, value in found.items() if name not in left_out},
    )


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(drawn())
def test_a_token_is_accepted_only_if_current_for_us_and_signed_by_a_current_key(token: Drawn) -> None:
    named = TOKENS.name(token.text)
    assert (named == token.claims.get("sub")) if token.accepted(NOW) else (named is None)


GOOD = Drawn(
    "current rsa",
    {"alg": "RS256", "kid": "rsa"},
    {"sub": "enforce", "iss": ISSUER, "aud": AUDIENCE, "exp": NOW + HOUR},
)


def test_the_good_token_is_good() -> None:
    assert TOKENS.name(GOOD.text) == "enforce"


@settings(max_examples=500, deadline=None)
@given(st.integers(0, len(GOOD.text) - 1), st.characters(codec="utf-8") | st.sampled_from("AZaz09-_.="))
@example(0, ".")
def test_a_changed_token_is_accepted_only_if_it_says_the_same(place: int, put: str) -> None:
    changed = GOOD.text[:place] + put + GOOD.text[place + 1 :]
    if TOKENS.name(changed) is not None:
        assert changed.rpartition(".")[0] == GOOD.text.rpartition(".")[0]
        assert _bytes(changed) == _bytes(GOOD.text)


def _bytes(token: str) -> bytes:
    return base64.urlsafe_b64decode(token.rpartition(".")[2].rstrip("=") + "==")


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=60) | st.lists(st.binary(max_size=30).map(part), min_size=1, max_size=4).map(".".join))
def test_nonsense_names_nobody_and_raises_nothing(token: str) -> None:
    assert TOKENS.name(token) is None


def test_a_header_can_be_any_json() -> None:
    for header in (
        {},
        [],
        None,
        5,
        "RS256",
        {"alg": None},
        {"alg": {}},
        {"alg": "RS256", "kid": {}},
        {"alg": ["RS256"]},
    ):
        assert TOKENS.name(f"{part(json.dumps(header).encode())}.{part(GOOD.claims)}.x") is None
