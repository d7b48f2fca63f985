"""The bits of what a plugin can do are those of Ranger's own class."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from ranger_cdap.ranger.client.downloader import Capability
from tests.differential.java_engine import CLASS_PATH

pytestmark = pytest.mark.java
FEATURES = "org.apache.ranger.plugin.util.RangerPluginCapability$RangerPluginFeature"


@pytest.mark.usefixtures("java")
@pytest.mark.skipif(shutil.which("javap") is None, reason="reads Java's class with `javap`")
def test_names_and_bits_are_java_s() -> None:
    jars = CLASS_PATH.read_text(encoding="utf-8").strip()
    shown = subprocess.run(["javap", "-cp", jars, FEATURES], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"public static final \S+ RANGER_PLUGIN_CAPABILITY_(\w+);", shown)
    assert names == [one.name for one in Capability]
    assert [one.value for one in Capability] == list(range(len(names)))
