"""Every Mermaid diagram of the pages is well-formed, and the five pictures of the architecture are there."""

from __future__ import annotations

import pytest

from tests.docs.markdown_pages import ROOT, Block, blocks, pages
from tests.docs.mermaid import MermaidError, parse

DIAGRAMS = [block for page in pages() for block in blocks(page, "mermaid")]
ARCHITECTURE = ROOT / "docs" / "explanation" / "architecture.md"


@pytest.mark.parametrize("block", DIAGRAMS, ids=str)
def test_a_diagram_is_well_formed(block: Block) -> None:
    assert parse(block.text).arrows


def test_the_architecture_has_its_five_pictures_in_order() -> None:
    kinds = [parse(block.text).kind for block in blocks(ARCHITECTURE, "mermaid")]

    assert kinds == ["flowchart", "flowchart", "stateDiagram", "sequenceDiagram", "stateDiagram"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pie\na --> b", "unknown kind"),
        ('flowchart LR\na["A"] --> b', r"differ: \['b'\]"),
        ('flowchart LR\na["A"] -> b["B"]', "no arrow"),
        ('flowchart LR\na["A" --> b["B"]', "no node"),
        ('flowchart LR\na["A"] --> b["B"]\na["A"] --> b', "declared twice"),
        ('flowchart LR\na["A"] --> end["B"]', "reserved"),
        ('flowchart LR\nsubgraph g["G"]\na["A"] --> b["B"]', "does not end"),
        ('flowchart LR\na["A"] --> b["B"]\nend', "without `subgraph`"),
        ('flowchart LR\na["A"] -->|"yes; no"| b["B"]', "no arrow"),
        ("stateDiagram-v2\n[*] --> a\nb --> a", r"differ: \['b'\]"),
        ("stateDiagram-v2\n[*] -> a", "neither a state"),
        ("stateDiagram-v2\n[*] --> a: one: two", "neither a state"),
        ('stateDiagram-v2\nstate "x y" as x_y\n[*] --> a', "not used"),
        ("sequenceDiagram\nactor a\na->>b: hello", r"differ: \['b'\]"),
        ("sequenceDiagram\nactor a\na->>a: one; two", "neither a participant"),
    ],
)
def test_a_malformed_diagram_is_found(text: str, message: str) -> None:
    with pytest.raises(MermaidError, match=message):
        parse(text)
