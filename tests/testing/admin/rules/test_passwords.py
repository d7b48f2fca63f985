"""Passwords and signing in, of the embedded Ranger Admin."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.testing.admin.api.sign_in import LOCK_MS, LoginThrottle, basic_credentials
from ranger_cdap.testing.admin.rules.passwords import hash_password, is_strong, password_matches, random_password
from ranger_cdap.testing.admin.store.principals import Login

# Made before the tests make passwords cheap.
STORED = hash_password("right")


def test_a_hash_costs_what_a_guesser_should_pay_whatever_new_ones_cost() -> None:
    assert int(STORED.split("$")[0]) >= 2**14
    assert password_matches("right", STORED)
    assert hash_password("right").split("$")[0] == "2"


@settings(max_examples=20)
@given(st.text(max_size=20))
def test_only_the_right_password_matches(password: str) -> None:
    assert password_matches("right", STORED)
    assert password_matches(password, STORED) == (password == "right")


def test_a_hash_has_its_own_salt_and_no_password() -> None:
    assert hash_password("same") != hash_password("same")
    assert "same" not in hash_password("same")
    assert not password_matches("same\0", hash_password("same"))


@pytest.mark.parametrize(
    ("password", "strong"),
    [("Abcdefg1", True), ("Abcdef1", False), ("abcdefg1", False), ("ABCDEFG1", False), ("Abcdefgh", False)],
)
def test_ranger_asks_for_four_things(password: str, strong: bool) -> None:
    assert is_strong(password) is strong


def test_a_random_password_is_strong_and_new() -> None:
    made = {random_password() for _ in range(50)}
    assert len(made) == 50
    assert all(is_strong(password) for password in made)


BOB = Login("bob", "bob", hash_password("right"), ("ROLE_USER",))


def test_the_lock_ends_after_its_time_and_counts_only_what_is_recent() -> None:
    door = LoginThrottle()
    for second in range(5):
        assert not door.accepts(BOB, "wrong", second * 1000)
    assert not door.accepts(BOB, "right", LOCK_MS - 1)
    assert door.accepts(BOB, "right", LOCK_MS)
    slow = LoginThrottle()
    for n in range(8):
        assert not slow.accepts(BOB, "wrong", n * LOCK_MS // 4)
    assert slow.accepts(BOB, "right", 7 * LOCK_MS // 4)


def test_a_remembered_password_ends_with_its_hash() -> None:
    door = LoginThrottle()
    assert door.accepts(BOB, "right", 0)
    changed = Login("bob", "bob", hash_password("new"), ("ROLE_USER",))
    assert not door.accepts(changed, "right", 0)
    assert door.accepts(changed, "new", 0)


def test_nobody_is_not_admitted() -> None:
    assert not LoginThrottle().accepts(None, "", 0)


@settings(deadline=None)
@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: b"Basic " + text.encode()))
def test_any_header_is_read_or_refused(header: bytes) -> None:
    found = basic_credentials(header.decode("latin-1"))
    assert found is None or (found[0] and ":" not in found[0])
