"""Tags and tag policies: uploaded as Ranger's tagsync does, edited as the web UI does, decided by the plugin."""

from __future__ import annotations

from tests.real_ranger.estate import V2, Estate, Json
from tests.real_ranger.ui_forms import POLICIES, item, new_policy, saved_policy

NS1 = {"instance": ["cdap"], "namespace": ["ns1"]}


def upload(estate: Estate, op: str, kind: str, *namespaces: str) -> Json:
    """Tags of one kind on namespaces."""
    return {
        "op": op,
        "serviceName": estate.service,
        "tagDefinitions": {"0": {"name": kind, "source": "ranger-cdap tests"}},
        "tags": {"0": {"type": kind}},
        "serviceResources": [
            {"id": n, "serviceName": estate.service, "resourceElements": elements(name)}
            for n, name in enumerate(namespaces)
        ],
        "resourceToTagIds": {str(n): [0] for n in range(len(namespaces))},
    }


def elements(namespace: str) -> Json:
    return {"instance": {"values": ["cdap"]}, "namespace": {"values": [namespace]}}


def test_a_tag_policy_denies_what_carries_the_tag_until_either_goes(estate: Estate) -> None:
    estate.set_up()
    tags, kind, alice, bob = estate.tag_service(), estate.name("pii"), estate.user("alice"), estate.user("bob")
    both = new_policy(estate.service, "p", NS1 | {"namespace": ["*"]}, policyItems=[item("read", users=[alice, bob])])
    estate.done("POST", POLICIES, both)
    path = f"{V2}/service/{estate.service}/tags"
    with estate.plugin() as plugin:

        def readers(namespace: str) -> list[str]:
            return [user for user in (alice, bob) if estate.may(plugin, user, "read", namespace=namespace)]

        estate.done("PUT", path, upload(estate, "set", kind, "ns1"))
        assert readers("ns1") == [alice, bob]
        rows: Json = {"denyPolicyItems": [item("cdap:read", users=[bob])]}
        form = new_policy(tags, "no pii for bob", {"tag": [kind]}, excludes=False, **rows)
        made = estate.done("POST", POLICIES, form)
        assert (readers("ns1"), readers("ns2")) == ([alice], [alice, bob])
        estate.done("PUT", f"{POLICIES}/{made['id']}", saved_policy(made, isEnabled=False))
        assert readers("ns1") == [alice, bob]
        estate.done("PUT", f"{POLICIES}/{made['id']}", saved_policy(made, isEnabled=True))
        assert readers("ns1") == [alice]
        estate.done("PUT", path, upload(estate, "add_or_update", kind, "ns2"))
        assert (readers("ns1"), readers("ns2")) == ([alice], [alice])
        estate.done("PUT", path, upload(estate, "replace", kind, "ns2"))
        assert (readers("ns1"), readers("ns2")) == ([alice, bob], [alice])


def test_a_tag_policy_allows_where_no_policy_of_the_service_speaks(estate: Estate) -> None:
    estate.set_up()
    tags, kind, alice = estate.tag_service(), estate.name("open"), estate.user("alice")
    estate.done("PUT", f"{V2}/service/{estate.service}/tags", upload(estate, "set", kind, "ns1"))
    rows: Json = {"policyItems": [item("cdap:read", users=[alice])]}
    estate.done("POST", POLICIES, new_policy(tags, "open", {"tag": [kind]}, excludes=False, **rows))
    with estate.plugin() as plugin:
        allowed = [name for name in ("ns1", "ns2") if estate.may(plugin, alice, "read", namespace=name)]
    assert allowed == ["ns1"]


def test_files_of_policies_have_the_tag_policies_too_and_show_no_difference(estate: Estate) -> None:
    estate.set_up()
    tags, kind, alice = estate.tag_service(), estate.name("pii"), estate.user("alice")
    estate.done("PUT", f"{V2}/service/{estate.service}/tags", upload(estate, "set", kind, "ns1"))
    rows: Json = {"policyItems": [item("cdap:read", users=[alice])]}
    estate.done("POST", POLICIES, new_policy(tags, "open", {"tag": [kind]}, excludes=False, **rows))
    files = estate.directory / "policies"
    assert estate.run("policies", "export", "--directory", str(files)) == 0
    assert (files / "tags" / "open.json").exists()
    assert estate.run("policies", "apply", "--dry-run", str(files)) == 0
