from __future__ import annotations

from collections.abc import Iterator

import pytest

from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.testing.admin.caller import PASSWORD, Caller, prepared


@pytest.fixture
def admin() -> Iterator[Caller]:
    """An empty server."""
    with EmbeddedAdmin(admin_password=PASSWORD) as server:
        yield Caller(server.url)


@pytest.fixture
def cdapdev(admin: Caller) -> Caller:
    """A server with our definition, a service `cdapdev` and the users alice, bob, plugin and sync."""
    return prepared(admin)


@pytest.fixture(scope="module")
def shared() -> Iterator[Caller]:
    """Such a server for all tests of a file that change nothing."""
    with EmbeddedAdmin(admin_password=PASSWORD) as server:
        yield prepared(Caller(server.url))
