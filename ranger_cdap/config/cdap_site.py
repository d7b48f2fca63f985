"""CDAP's `cdap-site.xml` on authorization: the settings that it proposes, and what becomes of its other properties.

Law: the proposal is a settings file that the loader accepts, whatever the values are; it shows no value of a property
that becomes no setting, and names what it does not propose with what to do instead.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from ranger_cdap.config.hadoop import SECURITY_FILE, hadoop_layer
from ranger_cdap.config.hadoop_xml import Dialect, read_properties
from ranger_cdap.config.loader import instance_problem
from ranger_cdap.config.tables import rows_of
from ranger_cdap.errors import ConfigError, UnsafeGrant, reason

DOCUMENTED: Final = "cdap-6"
"""Profile of CDAP's own authorization tables."""

_EXTENSION: Final = "security.authorization.extension.config."
_INSTANCE: Final = "instance.name"
_JAR: Final = "security.authorization.extension.jar.path"
_INSTANCE_OF_BINDINGS: Final = "cdap"
_ADMINS: Final = "security.authorization.admin.users"
_CLASSPATH: Final = "security.authorization.extension.extra.classpath"
_NEAR: Final = 0.8
"""Least likeness of the differing ends of two names, by `difflib`, of which one is taken for a misspelt other."""
_NEAR_AS_A_WHOLE: Final = 0.9
_LONGEST_SHOWN: Final = 60
_ABOUT_AUTHORIZATION: Final = ("security.authorization.", "security.authentication.")


@dataclass(frozen=True, slots=True)
class ProposedSetting:
    """A setting, a text or a list of texts, and the reason for it."""

    name: str
    value: str | tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class SiteProperty:
    """A property of `cdap-site.xml`, of a binding's XML files or of its service in Ranger, and what becomes of it.

    `bindings` are those of the predecessor that have it; none if it is CDAP's own. A name that ends in `*` stands for
    all that begin so.
    """

    name: str
    fate: str
    bindings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteProposal:
    """Settings that a `cdap-site.xml` proposes, and every other property about authorization in it, or nearly so."""

    settings: tuple[ProposedSetting, ...]
    others: tuple[SiteProperty, ...]


def proposal(path: Path, *, check_user: Callable[[str], None], master: str) -> SiteProposal:
    """Return the settings that go with a CDAP of this configuration, and what becomes of its other properties.

    The instance is the one that existing policies name: the bindings of the predecessor did not use CDAP's own
    `instance.name`, but their property of that name, or `cdap`. `check_user` raises `UnsafeGrant` for what Ranger does
    not take for the name of one user; `master` is the user CDAP itself runs as, who is no administrator.

    Raises:
        ConfigError: the file cannot be read, or is not Hadoop's XML.
    """
    with suppress(OSError):  # reading it says what is wrong
        if not path.is_file():
            raise ConfigError(f"`{path}` does not exist; name CDAP's `cdap-site.xml`")
    properties = {name: found.value for name, found in read_properties(path, dialect=Dialect.CDAP).items()}
    profile = ProposedSetting("cdap.profile", DOCUMENTED, "the privileges that CDAP's documentation asks for")
    found = [*_instance(properties), profile, *_folder(properties), *_admins(properties, check_user, master)]
    settings = tuple(one for one in found if isinstance(one, ProposedSetting))
    others = [one for one in found if isinstance(one, SiteProperty)]
    used = {one.why for one in settings} | {one.name for one in others}
    others += [one for one in _known(properties) if one.name not in used]
    order = {name: number for number, name in enumerate(properties)}
    return SiteProposal(settings, tuple(sorted(others, key=lambda one: order[one.name])))


def known_properties() -> Iterator[SiteProperty]:
    """Yield every property of CDAP and of the predecessor's bindings that this project knows."""
    return (
        SiteProperty(f"{_EXTENSION if group == 'extension' else ''}{name}", _fate(row), tuple(row.get("of", ())))
        for group, rows in rows_of("cdap_site").items()
        for name, row in rows.items()
    )


def as_toml(proposed: SiteProposal) -> str:
    """Return a `ranger-cdap.toml` of the settings; comments say what becomes of the other properties."""
    lines = []
    for table, members in groupby(proposed.settings, key=lambda one: one.name.partition(".")[0]):
        lines.append(f"[{table}]")
        lines += [  # TOML's strings are JSON's
            f"{one.name.partition('.')[2]} = {json.dumps(one.value, ensure_ascii=False)}    # {one.why}"
            for one in members
        ]
    if proposed.others:
        lines += ["", "# Other properties of the file:"]
    lines += [f"# {_shown(one.name)}: {one.fate}" for one in proposed.others]
    return "\n".join(lines) + "\n"


def _shown(text: str) -> str:
    """Return a text that cannot end a comment, which could add a setting."""
    return text if text.isprintable() else ascii(text)


def _instance(properties: Mapping[str, str]) -> Iterator[ProposedSetting | SiteProperty]:
    of_binding = _EXTENSION + _INSTANCE
    if _JAR in properties and of_binding not in properties:
        why = f"without {of_binding}, the predecessor's policies name it so"
        yield ProposedSetting("cdap.instance", _INSTANCE_OF_BINDINGS, why)
        return
    key = of_binding if of_binding in properties else _INSTANCE
    name = properties.get(key)
    if name is None:
        return
    if problem := _variable(name) or instance_problem(name):
        yield SiteProperty(key, f"not proposed: it {problem}; set `cdap.instance` to the name that the policies have")
    else:
        yield ProposedSetting("cdap.instance", name, key)


def _folder(properties: Mapping[str, str]) -> Iterator[ProposedSetting | SiteProperty]:
    entries = (entry.strip().removesuffix("*") for entry in properties.get(_CLASSPATH, "").split(":"))
    for folder in (Path(entry) for entry in entries if entry.startswith("/") and entry.isprintable()):
        try:
            if not (folder / SECURITY_FILE).is_file():
                continue
            hadoop_layer(folder)
        except (ConfigError, OSError) as e:
            why = str(e) if isinstance(e, ConfigError) else f"`{folder}` cannot be read: {reason(e)}"
            yield SiteProperty(_CLASSPATH, f"not proposed: {why}; set `hadoop.conf_dir` once it can")
        else:
            yield ProposedSetting("hadoop.conf_dir", str(folder), _CLASSPATH)
        return


def _admins(
    properties: Mapping[str, str], check_user: Callable[[str], None], master: str
) -> Iterator[ProposedSetting | SiteProperty]:
    if _ADMINS not in properties:
        return
    text = properties[_ADMINS]
    accepted, refused = dict[str, None](), dict[str, str]()
    for name in filter(None, map(str.strip, text.split(","))):
        if problem := _no_administrator(name, check_user, master):
            refused[name] = problem
        else:
            accepted[name] = None
    if accepted:
        yield ProposedSetting("admin.users", tuple(accepted), _ADMINS)
    yield from (
        SiteProperty(_ADMINS, f"`{_excerpt(name)}` is not proposed: it {problem}; name users in `admin.users`")
        for name, problem in refused.items()
    )
    if not (accepted or refused):
        yield SiteProperty(_ADMINS, "names no one; name users in `admin.users`")


def _no_administrator(name: str, check_user: Callable[[str], None], master: str) -> str:
    try:
        check_user(name)
    except UnsafeGrant:
        return _variable(name) or "is not the name of a single user"
    if not name.isprintable():
        return "has characters that cannot be shown"
    return "is the user CDAP itself runs as" if name == master else ""


def _variable(text: str) -> str:
    return "has a variable, which only Hadoop resolves" if "${" in text else ""


def _excerpt(text: str) -> str:
    shown = text if text.isprintable() else ascii(text)[1:-1]
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"


def _known(properties: Iterable[str]) -> Iterator[SiteProperty]:
    rows = {one.name: one for one in known_properties()}
    for name in properties:
        patterns = (row for known, row in rows.items() if known.endswith("*") and name.startswith(known[:-1]))
        row = rows.get(name) or next(patterns, None)
        if row is not None:
            yield SiteProperty(name, row.fate, row.bindings)
        elif near := _nearest(name, rows):
            yield SiteProperty(name, f"unknown: not a property of CDAP or of a binding; did you mean `{near}`?")
        elif name.startswith(_ABOUT_AUTHORIZATION):
            yield SiteProperty(name, "unknown: neither CDAP 6.11 nor a binding of the predecessor has it")


def _nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name of which this one may be a misspelling, or nothing."""
    whole = difflib.SequenceMatcher(None, "", name.casefold(), autojunk=False)
    likely = [(0.0, "")]
    for one in known:
        whole.set_seq1(one.casefold())
        if whole.real_quick_ratio() >= _NEAR_AS_A_WHOLE and whole.ratio() >= _NEAR_AS_A_WHOLE:
            likely.append((_likeness_of_ends(name.casefold(), one.casefold()), one))
    likeness, nearest = max(likely)
    return nearest if likeness >= _NEAR else ""


def _likeness_of_ends(name: str, known: str) -> float:
    """Compare names from the last part with which both begin: most are alike before it."""
    parts, others = name.split("."), known.split(".")
    same = next((n for n, (one, other) in enumerate(zip(parts, others, strict=False)) if one != other), 0)
    one, other = (".".join(some[max(same - 1, 0) :]) for some in (parts, others))
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()


def _fate(row: Mapping[str, Any]) -> str:
    if "setting" in row:
        return f"becomes `{row['setting']}`"
    if "replaced" in row:
        return f"replaced by {row['replaced']}"
    return f"stays: {row['stays']}" if "stays" in row else f"not used: {row['refused']}"
