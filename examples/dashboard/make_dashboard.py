"""usage: make_dashboard.py — writes ranger-cdap.json, a dashboard for Grafana 10 or newer, from panels.toml."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
COLUMNS, HEIGHT = 24, 8
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def main() -> None:
    """Write the dashboard."""
    (HERE / "ranger-cdap.json").write_text(text(), encoding="utf-8")


def text() -> str:
    """Return the dashboard as Grafana imports it."""
    rows = tomllib.loads((HERE / "panels.toml").read_text(encoding="utf-8"))["rows"]
    dashboard = {
        "title": "ranger-cdap",
        "uid": "ranger-cdap",
        "description": "Apache Ranger authorization for CDAP: the decision service and the sync job.",
        "tags": ["ranger", "cdap"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": list(variables())},
        "panels": list(panels(rows)),
    }
    return json.dumps(dashboard, indent=2) + "\n"


def variables() -> Iterator[dict[str, Any]]:
    """Yield what people choose above the panels: the source of data, the job of the scrape, and the Ranger service."""
    yield {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    for name, query in (
        ("job", "label_values(ranger_cdap_build_info, job)"),
        ("service", "label_values(ranger_cdap_policies_state, service)"),
    ):
        several = name == "service"
        chosen = {"name": name, "type": "query", "datasource": SOURCE, "query": query, "refresh": 2}
        yield {**chosen, "includeAll": several, "multi": several}


def panels(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each row and its panels, side by side."""
    number, top = 0, 0
    for row in rows:
        number += 1
        yield {"id": number, "type": "row", "title": row["title"], "gridPos": place(COLUMNS, 1, 0, top)}
        top += 1
        width = COLUMNS // len(row["panels"])
        for column, panel in enumerate(row["panels"]):
            number += 1
            yield {"id": number, "gridPos": place(width, HEIGHT, column * width, top), **drawn(panel)}
        top += HEIGHT


def drawn(panel: dict[str, Any]) -> dict[str, Any]:
    """Return a panel without its place."""
    targets = [
        {"refId": chr(ord("A") + at), "expr": query, "legendFormat": legend, "datasource": SOURCE}
        for at, (query, legend) in enumerate(panel["queries"])
    ]
    return {
        "type": panel["kind"],
        "title": panel["title"],
        "description": panel["about"],
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.get("unit", "short")}, "overrides": []},
        "targets": targets,
    }


def place(width: int, height: int, left: int, top: int) -> dict[str, int]:
    """Return a place in Grafana's grid."""
    return {"w": width, "h": height, "x": left, "y": top}


if __name__ == "__main__":
    main()
