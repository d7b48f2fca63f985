"""The case study of the predecessor's README, step by step on a real CDAP: under profile `cdap-6`, and by the old rule.

Alice creates the namespaces `clicks` and `finance`, whose programs run as `svcclicks` and `svcfinance`, deploys
applications there and runs them. Before each step CDAP denies her what the README says.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from ranger_cdap.config import EnforceSettings
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing import embedded_ranger
from tests.cdap_master.builder import ARTIFACT, FROM_ARTIFACT
from tests.cdap_master.fixtures import SYNC, World, world
from tests.cdap_master.in_memory_cdap import APP_JAR, MASTER, CdapUser, missing_part
from tests.docs.case_study import CASE_STUDY, levels

CLICKS = "/v3/namespaces/clicks"
APP = f"{CLICKS}/apps/words-ingest"
WORKER = f"{APP}/workers/Recorder"
# The README deploys a pipeline, whose artifact is one of CDAP's own. There is none here, so a colleague adds one, on
# which Alice needs some privilege.
COLLEAGUE = (f"ADMIN artifact:clicks.{ARTIFACT}",)
ALICE = (f"READ artifact:clicks.{ARTIFACT}",)
# CDAP 6.11 makes what is deployed there the principal's, and asks that principal whether it may own it.
OWNER = ("ADMIN principal:svcclicks/host@EXAMPLE.COM",)


ENFORCED = {
    "cdap-6": EnforceSettings(),
    # The same answers before anything is enforced, whatever the profile says.
    "default": EnforceSettings(operations=(), outside="predecessor"),
}


@pytest.fixture(scope="module", params=list(ENFORCED))
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    profile = request.param
    if sentence := missing_part():
        pytest.skip(sentence)
    with (
        embedded_ranger(sync_account=SYNC, master_user=MASTER, profile="cdap-6") as ranger,
        world(
            ranger,
            tmp_path_factory.mktemp("study"),
            "ranger-cdap-extension-6.11.jar",
            profile=profile,
            enforce=ENFORCED[profile],
        ) as made,
    ):
        made.ranger.create_users("alice", "svcclicks")
        yield made


def adopt(study: World, *names: str) -> None:
    """Write policies of the study, as the README means them."""
    for one in CASE_STUDY:
        if one.name in names:
            resources = msgspec.convert(levels(one.effective), dict[str, PolicyResource])
            accesses = [PolicyItemAccess(type=access) for access in one.accesses.split()]
            item = PolicyItem(users=[one.user], accesses=accesses)
            study.ranger.admin.create_policy(
                Policy(service=study.ranger.service, name=one.name, resources=resources, policy_items=[item])
            )
    study.refresh()


def with_owner(namespace: str) -> dict[str, object]:
    principal, keytab = f"svc{namespace}/host@EXAMPLE.COM", f"file:///etc/security/{namespace}.keytab"
    return {"config": {"principal": principal, "keytabURI": keytab}}


def visible(alice: CdapUser) -> set[str]:
    return {one["name"] for one in alice.must("GET /v3/namespaces").json()}


def test_each_step_is_denied_before_its_policy_and_allowed_by_it(study: World) -> None:
    alice = study.user("alice")

    assert visible(alice).isdisjoint({"clicks", "finance"})
    assert alice.ask(f"PUT {CLICKS}", with_owner("clicks")).status_code == 403
    adopt(study, "Alice the Name Spacer")
    assert alice.ask(f"PUT {CLICKS}", with_owner("clicks")).status_code == 403, "not as svcclicks"
    adopt(study, "Alice the Impersonator")
    for namespace in ("clicks", "finance"):
        alice.must(f"PUT /v3/namespaces/{namespace}", with_owner(namespace))
    assert visible(alice) >= {"clicks", "finance"}
    assert alice.ask("PUT /v3/namespaces/other", with_owner("other")).status_code == 403

    study.people({"colleague": COLLEAGUE, "alice": ALICE, "svcclicks": OWNER})
    colleague = study.user("colleague")
    colleague.must(f"POST {CLICKS}/artifacts/{ARTIFACT}", APP_JAR.read_bytes(), Artifact_Version="1.0.0")
    denied = alice.ask(f"PUT {APP}", FROM_ARTIFACT)
    assert denied.status_code in (403, 500), denied.text
    assert "ADMIN on application:clicks.words-ingest" in denied.text
    adopt(study, "Alice the Deployer")
    denied = alice.ask(f"PUT {APP}", FROM_ARTIFACT)
    assert denied.status_code == 403, denied.text
    assert "svcclicks" in denied.text
    adopt(study, "Clicks Datasets")
    alice.must(f"PUT {APP}", FROM_ARTIFACT)

    assert alice.ask(f"POST {WORKER}/start", {}).status_code in (403, 404)
    adopt(study, "Alice the Runner")
    alice.must(f"POST {WORKER}/start", {})
    # CDAP asks about a reference to the program, a type that the predecessor did not know.
    knows_references = study.settings.enforce.outside is None
    assert alice.ask(f"GET {WORKER}/runs").status_code == (200 if knows_references else 403)
