"""Regular expressions of Java's dialect, as far as Python's decide the same.

Law: a pattern that is not refused matches a whole text exactly if Java's `Pattern` does.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

_PUNCTUATION: Final = r"\\[!-/:-@\[-`{-~]"
_SINGLE: Final = rf"(?:[^\\\[\]^&|~-]|{_PUNCTUATION}|\\[tnrf])"
_CLASS: Final = rf"\[\^?(?:{_SINGLE}-{_SINGLE}|{_SINGLE}|\\[wWdDsS])+-?\]"
_PART: Final = re.compile(
    rf"\\Q(?P<quoted>.*?)(?:\\E|\Z)|\\p\{{(?:Lower|Upper|Alpha|Digit|Alnum)\}}|\\[hz]|\.|(?P<anchor>[\^$])"
    rf"|{_CLASS}|{_PUNCTUATION}|\\[wWdDsStnrf]|\(\?:|[()|]|(?:[?*+]|\{{\d+(?:,\d*)?\}})\??|[^\\\[\]{{}}?*+]",
    re.DOTALL,
)
_TRANSLATED: Final = {
    ".": "[^\n\r\x85\u2028\u2029]",
    r"\h": "[ \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]",
    r"\z": r"\Z",
    r"\p{Lower}": "[a-z]",
    r"\p{Upper}": "[A-Z]",
    r"\p{Alpha}": "[A-Za-z]",
    r"\p{Digit}": "[0-9]",
    r"\p{Alnum}": "[0-9A-Za-z]",
}


@cache
def compile_java(pattern: str) -> re.Pattern[str] | None:
    """Return the pattern for `fullmatch`, or None where it is not certain to decide as Java's."""
    text, flags = (pattern[4:], re.ASCII | re.IGNORECASE) if pattern.startswith("(?i)") else (pattern, re.ASCII)
    kept, at, depth, part = list[str](), 0, 0, ""
    while at < len(text):
        found, before = _PART.match(text, at), part
        if found is None:
            return None
        part, at = found[0], found.end()
        depth += part.startswith("(") - (part == ")")
        following = text[at : at + 1]
        beside = {"(": following != "?", "^": before in ("", "|"), "$": following in ("", "|")}
        if not beside.get(part, True) or (found["anchor"] and depth):
            return None
        if found["quoted"] is not None:
            kept.append(re.escape(found["quoted"]))
        elif not found["anchor"]:
            kept.append(_TRANSLATED.get(part, part))
    try:
        return re.compile("".join(kept), flags)
    except (re.error, OverflowError):
        return None
