"""The `tag` service definition: its access types are those of all other definitions, as `<type>:<access type>`."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ranger_cdap.testing.admin.model.documents import (
    AdminAccessTypeDef,
    AdminConditionDef,
    AdminResourceDef,
    AdminServiceDef,
)
from ranger_cdap.testing.admin.rules.definitions import EXPRESSION_CONDITION, markers

TAG = "tag"
_ITEM_IDS_PER_DEFINITION = 1001
"""Ranger's item id of access type n of definition d is d * 1001 + n."""

BASE = AdminServiceDef(
    guid="0d047248-baff-4cf9-8e9e-d5d377284b2e",
    name=TAG,
    display_name=TAG,
    impl_class="org.apache.ranger.services.tag.RangerServiceTag",
    label="TAG",
    description="TAG Service Definition",
    options={
        "ui.pages": "tag-based-policies",
        "enableDenyAndExceptionsInPolicies": "true",
        "enableTagBasedPolicies": "true",
    },
    configs=[
        {
            "itemId": 1,
            "name": "ranger.plugin.audit.filters",
            "type": "string",
            "mandatory": False,
            "defaultValue": "[ {'accessResult': 'DENIED', 'isAudited': true} ]",
            "label": "Ranger Default Audit Filters",
        }
    ],
    resources=[
        AdminResourceDef(
            item_id=1,
            name=TAG,
            type="string",
            level=1,
            mandatory=True,
            lookup_supported=True,
            matcher="org.apache.ranger.plugin.resourcematcher.RangerDefaultResourceMatcher",
            matcher_options={"wildCard": "false", "ignoreCase": "false"},
            ui_hint='{ "singleValue":true }',
            label="TAG",
            description="TAG",
            is_valid_leaf=True,
        )
    ],
    policy_conditions=[
        AdminConditionDef(
            item_id=1,
            name="accessed-after-expiry",
            evaluator="org.apache.ranger.plugin.conditionevaluator.RangerScriptTemplateConditionEvaluator",
            evaluator_options={"scriptTemplate": "ctx.isAccessedAfter('expiry_date');"},
            ui_hint='{ "singleValue":true }',
            label="Accessed after expiry_date (yes/no)?",
            description="Accessed after expiry_date? (yes/no)",
        ),
        msgspec.structs.replace(EXPRESSION_CONDITION, item_id=2, name="expression"),
    ],
    context_enrichers=[
        {
            "itemId": 1,
            "name": "TagEnricher",
            "enricher": "org.apache.ranger.plugin.contextenricher.RangerTagEnricher",
            "enricherOptions": {
                "tagRetrieverClassName": "org.apache.ranger.plugin.contextenricher.RangerAdminTagRetriever",
                "tagRefresherPollingInterval": "60000",
            },
        }
    ],
)


def tag_definition(others: Mapping[int, AdminServiceDef]) -> AdminServiceDef:
    """Return the tag definition over those definitions, given by id."""
    access_types = [
        AdminAccessTypeDef(
            item_id=definition_id * _ITEM_IDS_PER_DEFINITION + (access.item_id or 0),
            name=f"{definition.name}:{access.name}",
            label=access.label,
            implied_grants=[f"{definition.name}:{name}" for name in access.implied_grants],
            category=access.category,
        )
        for definition_id, definition in sorted(others.items())
        if definition.name != TAG
        for access in definition.access_types
    ]
    return msgspec.structs.replace(BASE, access_types=access_types, marker_access_types=markers(access_types))


def for_service_type(tags: AdminServiceDef, service_type: str) -> AdminServiceDef:
    """Return the tag definition for a plugin of that type: its own access types only, without the prefix."""
    prefix = f"{service_type}:"
    access_types = [
        msgspec.structs.replace(
            access,
            name=access.name.removeprefix(prefix),
            implied_grants=[name.removeprefix(prefix) for name in access.implied_grants],
        )
        for access in tags.access_types
        if access.name.startswith(prefix)
    ]
    return msgspec.structs.replace(tags, access_types=access_types, marker_access_types=markers(access_types))
