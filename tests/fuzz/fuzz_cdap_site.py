"""A `cdap-site.xml` of any content: it is refused with one sentence, or proposes a settings file.

Law: the proposal is TOML with these settings and no others, whatever names and values are, and shows no secret.
"""

from __future__ import annotations

import tempfile
import tomllib
from functools import partial
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.grant import check_grantee
from ranger_cdap.config.cdap_site import as_toml, known_properties, proposal
from ranger_cdap.errors import ConfigError
from tests.fuzz.harness import QUIET, drive, torn

SECRET: Final = "S3cr3t-9f1b"
NAMES: Final = [one.name for one in known_properties()]
values: Final = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["true", "cdap", "*", "alice, bob", "${x}", '"\n[cdap]\nx = 1', "# x", "/tmp", "/tmp:/etc/*"]),
)
names: Final = st.sampled_from(NAMES) | st.text(max_size=20) | st.sampled_from(NAMES).map(lambda name: name[:-1])


@st.composite
def sites(draw: st.DrawFn) -> bytes:
    """Draw a file, and one time in four not quite XML."""
    rows = draw(st.lists(st.tuples(names, values), max_size=8))
    rows.append(("some.keystore.password", SECRET))
    inner = "".join(
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>" for name, value in rows
    )
    head = draw(st.sampled_from(["", '<?xml version="1.0"?>', '<!DOCTYPE c [<!ENTITY a "b">]>']))
    return draw(torn(f"{head}<configuration>{inner}</configuration>".encode("utf-8", "surrogatepass")))


@QUIET
@given(sites())
def LAW(site: bytes) -> None:  # noqa: N802
    """Hold the law for one file."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "cdap-site.xml"
        path.write_bytes(site)
        try:
            found = proposal(path, check_user=partial(check_grantee, non_creators=()), master="cdap")
        except ConfigError as e:
            found, refused = None, str(e)
    if found is None:
        assert "\n" not in refused
        assert SECRET not in refused
        return
    text = as_toml(found)
    read = tomllib.loads(text)
    said = {f"{table}.{key}": value for table, fields in read.items() for key, value in fields.items()}
    assert said == {one.name: list(one.value) if isinstance(one.value, tuple) else one.value for one in found.settings}
    assert SECRET not in text


if __name__ == "__main__":
    drive(LAW)
