"""What people do with CDAP, in an order in which it can be done, and exactly what each step takes (default profile)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cdap_master.builder import FROM_ARTIFACT, KEY_VALUE
from tests.cdap_master.in_memory_cdap import APP_JAR

NAMESPACE = "/v3/namespaces/shop"
APP = f"{NAMESPACE}/apps/Purchases"


@dataclass(frozen=True)
class Step:
    """One request. Who holds all of `takes` gets a 2xx, who lacks any one of them is told so by a 403.

    `otherwise` are statuses that CDAP makes of the 403 for some of them.
    """

    what: str
    request: str
    takes: tuple[str, ...]
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    otherwise: dict[str, int] = field(default_factory=dict)
    until: tuple[str, str] | None = None
    """What must be so before the next step, told by a request: the status of a program."""

    @property
    def sent(self) -> Any:
        """The body; a file as its bytes."""
        return self.body.read_bytes() if isinstance(self.body, Path) else self.body


WATCHES = ("READ program:shop.Purchases.service.Prices",)
"""What it takes to see how far a step has come."""

STEPS = (
    Step("create a namespace", f"PUT {NAMESPACE}", ("WRITE instance:",), body={}),
    Step("look at it", f"GET {NAMESPACE}", ("READ namespace:shop",)),
    Step("change it", f"PUT {NAMESPACE}/properties", ("ADMIN namespace:shop",), body={"description": "d"}),
    Step("set its preferences", f"PUT {NAMESPACE}/preferences", ("WRITE namespace:shop",), body={"colour": "red"}),
    Step("get its preferences", f"GET {NAMESPACE}/preferences", ("READ namespace:shop",)),
    Step("get preferences of the instance", "GET /v3/preferences", ("READ instance:",)),
    Step(
        "add an artifact",
        f"POST {NAMESPACE}/artifacts/shop-app",
        ("WRITE namespace:shop",),
        body=APP_JAR,
        headers={"Artifact_Version": "1.0.0"},
    ),
    Step(
        "look at the artifact",
        f"GET {NAMESPACE}/artifacts/shop-app/versions/1.0.0?scope=user",
        ("READ artifact:shop.shop-app",),
    ),
    Step("list artifacts", f"GET {NAMESPACE}/artifacts", ("READ namespace:shop",)),
    Step(
        "deploy an application",
        f"PUT {APP}",
        (
            "WRITE namespace:shop",
            "READ artifact:shop.shop-app",
            "READ dataset:shop.purchases",
        ),
        body=FROM_ARTIFACT,
        otherwise={"WRITE namespace:shop": 500, "READ artifact:shop.shop-app": 404},
    ),
    Step("look at the application", f"GET {APP}", ("READ application:shop.Purchases",)),
    Step("set its preferences", f"PUT {APP}/preferences", ("WRITE application:shop.Purchases",), body={"a": "b"}),
    Step(
        "create a dataset",
        f"PUT {NAMESPACE}/data/datasets/prices",
        ("WRITE namespace:shop",),
        body=KEY_VALUE,
    ),
    Step(
        "look at the dataset",
        f"GET {NAMESPACE}/data/datasets/prices",
        ("READ dataset:shop.prices",),
    ),
    Step("list datasets", f"GET {NAMESPACE}/data/datasets", ("READ namespace:shop",)),
    Step(
        "truncate the dataset",
        f"POST {NAMESPACE}/data/datasets/prices/admin/truncate",
        ("ADMIN dataset:shop.prices", "READ dataset:shop.prices"),
    ),
    Step(
        "add metadata to the dataset",
        f"POST {NAMESPACE}/datasets/prices/metadata/tags",
        ("ADMIN dataset:shop.prices",),
        body=["checked"],
    ),
    Step(
        "start a service",
        f"POST {APP}/services/Prices/start",
        # CDAP also asks for the artifact of the program, of which it shows nothing.
        ("EXECUTE program:shop.Purchases.service.Prices", "READ namespace:shop"),
        body={},
        until=(f"GET {APP}/services/Prices/status", "RUNNING"),
    ),
    Step(
        "look at its status",
        f"GET {APP}/services/Prices/status",
        ("READ program:shop.Purchases.service.Prices",),
    ),
    Step(
        "stop it",
        f"POST {APP}/services/Prices/stop",
        ("EXECUTE program:shop.Purchases.service.Prices", "READ namespace:shop"),
        body={},
        until=(f"GET {APP}/services/Prices/status", "STOPPED"),
    ),
    Step("look at its logs", f"GET {APP}/services/Prices/logs", ("READ program:shop.Purchases.service.Prices",)),
    Step(
        "put a secure key",
        f"PUT {NAMESPACE}/securekeys/till",
        ("WRITE namespace:shop",),
        body={"description": "d", "data": "1234", "properties": {}},
    ),
    Step("read the key", f"GET {NAMESPACE}/securekeys/till", ("READ secure_key:shop.till", "READ namespace:shop")),
    Step("delete the key", f"DELETE {NAMESPACE}/securekeys/till", ("ADMIN secure_key:shop.till",)),
    Step("drop the dataset", f"DELETE {NAMESPACE}/data/datasets/prices", ("ADMIN dataset:shop.prices",)),
    Step("delete the application", f"DELETE {APP}", ("ADMIN application:shop.Purchases",)),
    Step(
        "delete the namespace",
        "DELETE /v3/unrecoverable/namespaces/shop",
        # In this order: CDAP deletes one after the other, and stops in the middle.
        ("ADMIN namespace:shop", "ADMIN dataset:shop.purchases", "ADMIN artifact:shop.shop-app"),
        otherwise={"ADMIN dataset:shop.purchases": 409, "ADMIN artifact:shop.shop-app": 409},
    ),
)
