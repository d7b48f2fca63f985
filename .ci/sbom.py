"""usage: sbom.py WHEEL LOCK FILE — a CycloneDX document of what the wheel is used with.

These are the packages of LOCK with the hashes of their files, and where PySpark is among them Delta Lake's jars, too.
The main component is the wheel, by its own metadata and hash. The same input gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from email.parser import BytesParser
from pathlib import Path
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = Path(__file__).parents[1]
JARS = ROOT / ".ci" / "jars.sha256"
SUPPLIER = "io.delta"


def main() -> None:
    """Write the document, if the schema of CycloneDX accepts it."""
    wheel, lock, target = map(Path, sys.argv[1:])
    document = packages(wheel, lock)
    document["metadata"]["component"]["hashes"] = [sha256(hashlib.sha256(wheel.read_bytes()).hexdigest())]
    document["components"] += jars(lock)
    described = document["metadata"]["component"]["bom-ref"]
    uses = sorted(one["bom-ref"] for one in document["components"])
    document["dependencies"] = [{"ref": described, "dependsOn": uses}, *({"ref": one} for one in uses)]
    text = json.dumps(document, indent=2, sort_keys=True) + "\n"
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"the document does not fit CycloneDX's schema: {error}")
    target.write_text(text, encoding="utf-8")


def packages(wheel: Path, lock: Path) -> dict[str, Any]:
    """Return the document of the packages, with the wheel as what uses them."""
    with zipfile.ZipFile(wheel) as file:
        (name,) = (name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = BytesParser().parsebytes(file.read(name))
    project = {key.lower(): metadata[key] for key in ("Name", "Version")}
    project |= {"description": metadata["Summary"], "license": metadata["License-Expression"]}
    with tempfile.TemporaryDirectory() as directory:
        described = Path(directory, "pyproject.toml")
        fields = "".join(f"{key} = {json.dumps(value)}\n" for key, value in project.items())
        described.write_text(f"[project]\n{fields}", encoding="utf-8")
        tool = [Path(sys.executable).parent / "cyclonedx-py", "requirements", "--output-reproducible", "--sv", "1.6"]
        command = [*tool, "--pyproject", described, "--mc-type", "library", lock]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def jars(lock: Path) -> list[dict[str, Any]]:
    """Return the components of the jars of Delta Lake for the PySpark of the lock, if it has one."""
    spark = re.search(r"^pyspark==(\d+\.\d+)\.", lock.read_text(encoding="utf-8"), re.MULTILINE)
    wanted = (f"delta-spark_{spark[1]}_", "delta-storage-") if spark else ()
    known = [line.split() for line in JARS.read_text(encoding="utf-8").splitlines()]
    return [jar(digest, name) for digest, name in known if name.startswith(wanted)]


def jar(digest: str, name: str) -> dict[str, Any]:
    """Return the component of a jar of Delta Lake."""
    artifact, _, version = name.removesuffix(".jar").rpartition("-")
    return {
        "type": "library",
        "bom-ref": name,
        "group": SUPPLIER,
        "name": artifact,
        "version": version,
        "purl": f"pkg:maven/{SUPPLIER}/{artifact}@{version}",
        "hashes": [sha256(digest)],
    }


def sha256(digest: str) -> dict[str, str]:
    """Return a hash in CycloneDX's form."""
    return {"alg": "SHA-256", "content": digest}


if __name__ == "__main__":
    main()
