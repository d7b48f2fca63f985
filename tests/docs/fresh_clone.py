"""A clone and a shell as newcomers have them: an empty home, and none of our programs on the path."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.docs.markdown_pages import ROOT

TOOLS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def fresh_clone(directory: Path) -> Path:
    """Copy what is under version control, or about to be, and lend it the environment that `make setup` has made here.

    The environment must be up to date: a `make` of the copy would otherwise install the copy into it.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    question = ["make", "--question", ".venv/.installed"]
    made = subprocess.run(question, cwd=ROOT, env=environment, capture_output=True, check=False)
    assert made.returncode == 0, "`make setup` first: .venv is older than what it is made of"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, directory / name)
    (directory / ".venv").symlink_to(ROOT / ".venv")
    return directory


def fresh_environment(home: Path) -> dict[str, str]:
    """Return the variables of a login shell; where Java is, this machine knows."""
    java = shutil.which("java")
    paths = [TOOLS, *([str(Path(java).parent)] if java else [])]
    kept = {name: os.environ[name] for name in ("JAVA_HOME", "SPARK_HOME") if name in os.environ}
    return {"HOME": str(home), "PATH": ":".join(paths), "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1", **kept}
