"""Groups of this machine's accounts: of exactly the user, or unknown."""

from __future__ import annotations

import os
import pwd

import pytest

from ranger_cdap.directory.posix_groups import PosixGroups
from ranger_cdap.errors import GroupLookupFailed

LATE = 1e9


def test_another_spelling_of_an_account_has_unknown_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a name service answers that compares names without case."""
    account = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwnam", lambda name: account)
    groups = PosixGroups().look_up(account.pw_name, LATE)
    assert groups
    with pytest.raises(GroupLookupFailed, match="not exactly"):
        PosixGroups().look_up(account.pw_name.upper(), LATE)


def test_an_account_that_there_is_not_has_no_groups() -> None:
    assert PosixGroups().look_up("no-such-account-here", LATE) is None
