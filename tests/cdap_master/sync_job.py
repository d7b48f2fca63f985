"""The sync job of a world: its runs, what its ledger holds, and what its policies give in Ranger Admin."""

from __future__ import annotations

import json
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ranger_cdap.cdap.entity import parse_entity, to_resource
from ranger_cdap.config import ConfirmSettings, Settings, SourceSettings
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.job import run_once
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile.baseline import take_baseline
from tests.cdap_master.fixtures import World, wait_until
from tests.cdap_master.stored_events import stored
from tests.spark_sync.conftest import without_spark


class Job:
    """The sync job of a world, with a ledger of its own that begins now, and the default hold-back unless told."""

    def __init__(
        self,
        world: World,
        directory: Path,
        *sources: SourceSettings,
        confirm: ConfirmSettings | None = None,
        hold_back: float = 120.0,
    ) -> None:
        self.world = world
        self._ended = 0
        sync = msgspec.structs.replace(
            world.settings.sync,
            hold_back=hold_back,
            state_dir=directory / "ledger",
            sources=(*world.settings.sync.sources, *sources),
            confirm=confirm or ConfirmSettings(),
        )
        self.settings: Settings = msgspec.structs.replace(world.settings, sync=sync)
        wait_until(lambda: self._watermark() > 0, "the journal is alive")
        inventory = directory / "inventory.jsonl"
        header = {"v": 1, "instance": "cdap", "taken": datetime.now(UTC).isoformat(timespec="milliseconds")}
        listed = [{"type": "namespace", "parts": ["default"]}]
        inventory.write_text("".join(json.dumps(line) + "\n" for line in [header, *listed]), "utf-8")
        take_baseline(self.settings, inventory, now=_now())

    def run(self, *requests: tuple[str, str], ranger: PolicyRest | None = None) -> dict[str, Life]:
        """A run once the records of these requests can be decided; the open lives of the ledger, by entity.

        A request that was made several times is named as often. `ranger`: where policies are written.
        """
        wait_until(lambda: Counter(requests) <= self._decidable(), f"records of {requests}")
        # CDAP's answers of the run before are decided by then.
        wait_until(lambda: self._watermark() > self._ended, "the journal is later than the run before")
        report = run_once(self.settings, without_spark, now=_now(), ranger=ranger)
        self._ended = _now()
        assert report.trouble == ""
        self.world.refresh()
        return {str(life.entity): life for life in self._lives() if life.is_open}

    def pass_skew(self) -> None:
        """Return when a request is later than all before it, whichever process stamps its times."""
        then = _now() + round(self.settings.sync.clock_skew * 1000) + 100
        wait_until(lambda: self._watermark() > then, "the clock skew is over")

    def pass_hold_back(self) -> None:
        """Return when everything that is there now is decided whatever comes."""
        then = _now() + round(self.settings.sync.hold_back * 1000) + 100
        wait_until(lambda: self._watermark() > then, "the hold-back is over")

    def lives_of(self, entity: str) -> list[Life]:
        """All lives of an entity, by number."""
        return [life for life in self._lives() if str(life.entity) == entity]

    def granted(self, entity: str) -> dict[str, tuple[str, ...]]:
        """The accesses of each user in the policies of exactly this entity, in Ranger Admin."""
        resources = to_resource(parse_entity(entity), self.world.ranger.instance)
        exact = [
            policy
            for policy in self.world.ranger.admin.list_policies(self.world.ranger.service)
            if {level: resource.values for level, resource in policy.resources.items()}
            == {level: [value] for level, value in resources.items()}
        ]
        return {
            user: tuple(access.type for access in item.accesses)
            for policy in exact
            for item in policy.policy_items
            for user in item.users
        }

    def _decidable(self) -> Counter[tuple[str, str]]:
        watermark = self._watermark()
        return Counter(
            (line["record"]["method"], line["record"]["uri"].rstrip("/"))
            for line in stored(self.world)
            if "record" in line and line["received"] < watermark
        )

    def _lives(self) -> list[Life]:
        return DeltaLedger(self.settings.sync.state_dir, "cdap").lives(tuple(State))

    def _watermark(self) -> int:
        try:
            return int(json.loads((self.settings.service.events_dir / ".watermark").read_bytes())["watermark"])
        except (FileNotFoundError, ValueError):
            return 0


def _now() -> int:
    return time.time_ns() // 1_000_000
