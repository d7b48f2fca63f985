"""An operation that a profile has not: those of the entity's type are suggested."""

from __future__ import annotations

import pytest

from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.errors import UnknownOperation

CASES = {
    "a verb alone": ("get", "dataset", "; did you mean `dataset.get`?"),
    "a typo of a verb": ("gte", "dataset", "; did you mean `dataset.get`?"),
    "a typo with another type": ("stream.gett", "dataset", "; did you mean `dataset.get`?"),
    "no near one": ("xyzzy", "namespace", "; known are namespace.create, "),
    "without an entity": ("dataset.gett", "", "; did you mean `dataset.get`?"),
}


@pytest.mark.parametrize(("name", "entity", "said"), CASES.values(), ids=CASES)
def test_operations_of_the_type_are_suggested(name: str, entity: str, said: str) -> None:
    with pytest.raises(UnknownOperation, match="has no operation") as raised:
        load_profile("default").operation(name, entity)
    assert said in str(raised.value)
