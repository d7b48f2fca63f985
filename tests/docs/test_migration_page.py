"""What `docs/how-to/migrate-from-cdap-security-extn.md` says becomes of the predecessor's files becomes of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from markdown_pages import ROOT, blocks, text_of

from ranger_cdap.config import load_settings

PAGE = ROOT / "docs" / "how-to" / "migrate-from-cdap-security-extn.md"


def test_the_predecessors_file_becomes_these_settings(tmp_path: Path) -> None:
    (xml,) = blocks(PAGE, "xml")
    (tmp_path / "ranger-cdap-security.xml").write_text(xml.text)
    file = tmp_path / "ranger-cdap.toml"
    file.write_text(blocks(PAGE, "toml")[0].text.replace("/etc/cdap/conf", str(tmp_path)))

    settings: Any = load_settings(file, {})

    section = text_of(PAGE).split("is taken:")[1].split("`ranger-cdap config show`")[0]
    said = re.findall(r"^\| `(\w+)\.(\w+)` \| `([^`]+)` \|", section, re.MULTILINE)
    assert len(said) == 6
    assert [(t, k, str(getattr(getattr(settings, t), k))) for t, k, _ in said] == said
