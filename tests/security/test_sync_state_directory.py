"""The state of the sync job says who is a creator: nobody else writes it, reads it, or leads the job out of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ranger_cdap.config import parse_settings
from ranger_cdap.errors import ConfigError, SyncError
from ranger_cdap.service.events.entity_memory import EntityMemory
from spark_sync.ledger.lease import lease


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
def test_it_is_made_for_its_owner_only(tmp_path: Path) -> None:
    with lease(tmp_path / "state"):
        assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o377], ids=oct)
def test_its_files_are_for_their_owner_only_under_any_umask(tmp_path: Path, umask: int) -> None:
    state, memory = tmp_path / "state", tmp_path / "memory"
    with lease(state):  # the directory, whose umask is not what this is about
        pass
    before = os.umask(umask)
    try:
        with lease(state):
            EntityMemory(memory, None)
            modes = {path.name: path.stat().st_mode & 0o777 for path in (*state.iterdir(), memory)}
    finally:
        os.umask(before)
    assert {name: oct(mode) for name, mode in modes.items() if mode & ~0o600} == {}
    assert modes.pop("memory") == 0o600


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722, 0o720], ids=oct)
def test_one_that_others_can_write_to_is_refused_before_anything_is_read(tmp_path: Path, mode: int) -> None:
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(mode)

    with pytest.raises(SyncError, match=r"can be written by others.*chmod go-w"), lease(state):
        pytest.fail("the job went on")
    assert list(state.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["..", ".", "", "../../other", "a/b", "/etc", ".hidden", "a\nb", "a\x1b[2J", "a" * 101]
)
def test_no_name_of_a_source_leads_its_checkpoint_elsewhere(name: str) -> None:
    source = {"name": name, "kind": "audit", "path": "events"}
    with pytest.raises(ConfigError, match=r"sync\.sources.*letters, digits") as refused:
        parse_settings({"sync": {"sources": [source]}}, origin="here", environ={})
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize("name", ["audit", "data-plane", "router.1", "CDAP_2"])
def test_ordinary_names_of_sources(name: str) -> None:
    source = {"name": name, "kind": "audit", "path": "events"}
    assert parse_settings({"sync": {"sources": [source]}}, origin="here", environ={}).sync.sources[0].name == name
