"""usage: sbom.py WHEEL LOCK FILE — a CycloneDX document of what the wheel is used with.

These are the packages of LOCK with the hashes of their files. The main component is the wheel, by its own metadata and
hash. The same input gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from email.parser import BytesParser
from pathlib import Path
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator


def main() -> None:
    """Write the document, if the schema of CycloneDX accepts it."""
    wheel, lock, target = map(Path, sys.argv[1:])
    document = packages(wheel, lock)
    document["metadata"]["component"]["hashes"] = [
        {"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}
    ]
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


if __name__ == "__main__":
    main()
