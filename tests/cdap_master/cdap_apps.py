"""Jars made of classes that CDAP publishes: an application with a workflow, and a module of a dataset type."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

from tests.cdap_master.in_memory_cdap import CLASS_PATH

WORKFLOW = "OneActionWorkflow"
"""The only program of the application that `workflow_jar` brings; it does nothing and ends."""

MODULE_CLASS = "io.cdap.cdap.data2.dataset2.lib.external.ExternalDatasetModule"


def workflow_jar() -> bytes:
    """An application that creates nothing, with one workflow."""
    main = "io.cdap.cdap.OneActionWorkflowApp"
    return _jar("cdap-app-fabric-6.11.1-tests.jar", main.replace(".", "/"), f"Main-Class: {main}\n")


def module_jar() -> bytes:
    """A module of a dataset type, of class `MODULE_CLASS`."""
    return _jar("cdap-data-fabric-6.11.1.jar", MODULE_CLASS.rpartition(".")[0].replace(".", "/") + "/")


def schedule(name: str) -> dict[str, Any]:
    """A schedule of the workflow, each night."""
    return {
        "name": name,
        "program": {"programName": WORKFLOW, "programType": "WORKFLOW"},
        "trigger": {"type": "TIME", "cronExpression": "0 4 * * *"},
    }


def _jar(source: str, prefix: str, manifest: str = "") -> bytes:
    """The classes of a jar of CDAP whose names begin with the prefix."""
    jars = CLASS_PATH.read_text(encoding="utf-8").strip().split(":")
    jar = BytesIO()
    with (
        zipfile.ZipFile(next(path for path in jars if Path(path).name == source)) as published,
        zipfile.ZipFile(jar, "w") as ours,
    ):
        ours.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\n{manifest}")
        for name in published.namelist():
            if name.startswith(prefix):
                ours.writestr(name, published.read(name))
    return jar.getvalue()
