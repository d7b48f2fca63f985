"""JSON text as values, with one error for every text that cannot be read. Pure.

Law: text that is malformed, not UTF-8, of another form or nested too deep, or that has a number too large, is
`Undecodable`; no other error leaves this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar, overload

import msgspec
from msgspec.json import Decoder

from ranger_cdap.errors import reason

T = TypeVar("T")
Text: TypeAlias = bytes | str | msgspec.Raw
Refusal: TypeAlias = Callable[[str], Exception]
"""What makes an error of the reason."""

_LONGEST_REASON: Final = 300


UNREADABLE: Final = (ValueError, RecursionError, OverflowError)
"""What msgspec raises, and recursive functions of what it read: for a block that does more than to decode."""


class Undecodable(ValueError):
    """Text or a value that does not have the wanted form; the message is the reason, as part of another message."""


@overload
def decode(text: Text, form: type[T] | Decoder[T], refuse: Refusal = ...) -> T: ...
@overload
def decode(text: Text, *, refuse: Refusal = ...) -> Any: ...
def decode(text: Text, form: Any = Any, refuse: Refusal = Undecodable) -> Any:
    """Decode JSON text of a type, or with its decoder, which is faster for many texts and knows also unions.

    Raises:
        Undecodable: it cannot be read; `refuse` makes another error of the reason.
    """
    try:
        return form.decode(text) if type(form) is Decoder else msgspec.json.decode(text, type=form)
    except UNREADABLE as e:
        raise refuse(why(e)) from None


@overload
def decode_or_none(text: Text, form: type[T] | Decoder[T]) -> T | None: ...
@overload
def decode_or_none(text: Text) -> Any: ...
def decode_or_none(text: Text, form: Any = Any) -> Any:
    """Decode as `decode` does; None if the text cannot be read."""
    try:
        return decode(text, form)
    except Undecodable:
        return None


def convert(value: object, form: type[T], refuse: Refusal = Undecodable, *, strict: bool = True) -> T:
    """Convert decoded JSON to a type; `strict` takes no text for a number, nor a number for a text.

    Raises:
        Undecodable: it does not fit; `refuse` makes another error of the reason.
    """
    try:
        return msgspec.convert(value, form, strict=strict)
    except UNREADABLE as e:
        raise refuse(why(e)) from None


def why(error: Exception) -> str:
    """Return the reason on one line; of the text it quotes no more than the name of a field that is unknown."""
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if isinstance(error, UnicodeError):
        return reason(error)
    said = " ".join(str(error).replace("`$.", "`").split())[:_LONGEST_REASON]
    return said if said[1:2].isupper() else said[:1].lower() + said[1:]
