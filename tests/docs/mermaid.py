"""Strict parser of the three kinds of Mermaid diagrams in our pages; what it accepts, Mermaid renders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

_ID = r"[a-zA-Z_]\w*"
_TEXT = r'"[^"\n;#]+"'
# Shapes of nodes: box, rounded, cylinder, decision.
_SHAPE = rf"\[{_TEXT}\]|\(\[{_TEXT}\]\)|\[\({_TEXT}\)\]|\{{{_TEXT}\}}"
_NODE = re.compile(rf"({_ID})({_SHAPE})?(?=\s|$)")
_LINK = re.compile(rf"\s+(?:-->|-\.->)(?:\|(?:{_TEXT}|[\w ,]+)\|)?\s+")
_SUBGRAPH = re.compile(rf"subgraph ({_ID})\[{_TEXT}\]")
_STATE = re.compile(rf"state {_TEXT} as ({_ID})")
_TRANSITION = re.compile(rf"(\[\*\]|{_ID}) --> (\[\*\]|{_ID})(?:: [^:;#\n]+)?")
_PARTICIPANT = re.compile(rf"(?:actor|participant) ({_ID})(?: as [\w ]+)?")
_MESSAGE = re.compile(rf"({_ID})--?>>({_ID}): [^;#\n]+")
_RESERVED = frozenset({"end", "graph", "subgraph", "state", "class", "style", "click", "default"})


class MermaidError(Exception):
    """A line is not in the accepted syntax, or names something that is not declared."""


@dataclass
class Diagram:
    """The kind of a diagram, its declared ids, and its arrows in order."""

    kind: str
    declared: set[str] = field(default_factory=set)
    arrows: list[tuple[str, str]] = field(default_factory=list)

    def declare(self, name: str, line: str) -> None:
        if name in self.declared or name in _RESERVED:
            raise MermaidError(f"`{name}` is declared twice, or reserved: {line}")
        self.declared.add(name)


def parse(text: str) -> Diagram:
    """Parse one block.

    Raises:
        MermaidError: a line is malformed, an id is not declared or not used, or a state cannot be reached.
    """
    head, *lines = [line.strip() for line in text.strip().splitlines()]
    match head.split():
        case ["flowchart", "LR" | "TD"]:
            diagram = _flowchart(lines)
        case ["stateDiagram-v2"]:
            diagram = _states(lines)
        case ["sequenceDiagram"]:
            diagram = _sequence(lines)
        case _:
            raise MermaidError(f"unknown kind of diagram: {head}")
    used = {name for arrow in diagram.arrows for name in arrow}
    if used != diagram.declared:
        raise MermaidError(f"declared and used ids differ: {sorted(used ^ diagram.declared)}")
    return diagram


def _flowchart(lines: list[str]) -> Diagram:
    diagram, depth, groups = Diagram("flowchart"), 0, set[str]()
    for line in lines:
        if found := _SUBGRAPH.fullmatch(line):
            depth += 1
            groups.add(found[1])
        elif line == "end":
            depth -= 1
        else:
            names = list(_nodes(line, diagram))
            diagram.arrows += pairwise(names)
        if depth < 0:
            raise MermaidError("`end` without `subgraph`")
    if depth or groups & diagram.declared:
        raise MermaidError("a subgraph does not end, or has the id of a node")
    return diagram


def _nodes(line: str, diagram: Diagram) -> Iterator[str]:
    at = 0
    while True:
        node = _NODE.match(line, at)
        if node is None:
            raise MermaidError(f"no node at column {at}: {line}")
        if node[2]:
            diagram.declare(node[1], line)
        yield node[1]
        if node.end() == len(line):
            return
        link = _LINK.match(line, node.end())
        if link is None:
            raise MermaidError(f"no arrow at column {node.end()}: {line}")
        at = link.end()


def _states(lines: list[str]) -> Diagram:
    diagram, named, reached = Diagram("stateDiagram"), set[str](), {"[*]"}
    for line in lines:
        if found := _STATE.fullmatch(line):
            named.add(found[1])
        elif found := _TRANSITION.fullmatch(line):
            diagram.arrows.append((found[1], found[2]))
        else:
            raise MermaidError(f"neither a state nor a transition: {line}")
    for _ in diagram.arrows:
        reached |= {after for before, after in diagram.arrows if before in reached}
    diagram.declared = reached
    if not named <= reached:
        raise MermaidError(f"named and not used: {sorted(named - reached)}")
    return diagram


def _sequence(lines: list[str]) -> Diagram:
    diagram = Diagram("sequenceDiagram")
    for line in lines:
        if found := _PARTICIPANT.fullmatch(line):
            diagram.declare(found[1], line)
        elif found := _MESSAGE.fullmatch(line):
            diagram.arrows.append((found[1], found[2]))
        else:
            raise MermaidError(f"neither a participant nor a message: {line}")
    return diagram
