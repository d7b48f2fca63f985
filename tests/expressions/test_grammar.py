"""Grammar that GraalJS and QuickJS read differently is refused, with a sentence that says what."""

from __future__ import annotations

import pytest

from ranger_cdap.expressions import NotInSubset
from ranger_cdap.expressions.script_condition import read_condition

IN_IF = "in an `if` outside of a function is not in the subset; write it before"
REFUSED = [
    ("if (REQ.user == 'alice') { true; var v = 2; }", f"`var` {IN_IF}"),
    ("if (IS_IN_GROUP('g1')) { true; const reason = 'member'; }", f"`const` {IN_IF}"),
    ("if (IS_IN_GROUP('g1')) { const hit = true; var more; }", f"`const` {IN_IF}"),
    ("if (IS_IN_GROUP('g9')) { false; } else { if (true) { true; function f() {} } }", f"`function` {IN_IF}"),
    ("var ok = IS_IN_GROUP('g1'); if (ok) { true; let x = 1; } else { false; }", f"`let` {IN_IF}"),
    ("ctx.setResult(true); if (true) { false; var why = 1; }", f"`var` {IN_IF}"),
    ("if (true) { a: function f(b) {} true; }", f"`function` {IN_IF}"),
    ("const z = true\nif (z) var g = 1; else function x() {}", f"`var` {IN_IF}"),
    ("if (true) true; else function x() {}", f"`function` {IN_IF}"),
    ("if (true) a: var a = 1;", f"`var` {IN_IF}"),
    ("true.function(1)\n{ true; var v = 2; }", f"`var` {IN_IF}"),
    ("let ok = 1; function ok() { return 2; } IS_IN_GROUP('g1')", "`ok` is declared twice"),
    ("function ok() { return 2; } const ok = 1; IS_IN_GROUP('g1')", "`ok` is declared twice"),
    ("function f() { var a = 1; if (a) { function a() {} } return true; } f()", "`a` is declared twice"),
    ("UGNAMES.some(g => { let g = 1; return g; })", "`g` is declared twice"),
    ("UGNAMES.some(function g() { var g = 1; return g; })", "`g` is declared twice"),
    ("UGNAMES.some(function g(g) { return true; })", "two parameters of one name are not in the subset"),
    ("UGNAMES.some((g, g) => true)", "two parameters of one name are not in the subset"),
    ("UGNAMES.some(([g]) => true)", "a parameter that is more than a name is not in the subset"),
    ("var a = 1; let b = 2, a; true", "a declaration of several variables is not in the subset"),
    ("var f = function* () { return 1; }; f().map", "a function without a list of parameters is not in the subset"),
    ("let; true", "`let` without a name is not in the subset"),
    ("true && ((true) ?? true)", "`??` next to a value in brackets is not in the subset"),
    ("((USER.a ?? true) || true) ?? true", "`??` next to a value in brackets is not in the subset"),
    ("true && ((1).length == 1 ?? true)", "`??` next to a value in brackets is not in the subset"),
    ("true && (function () {} == 1 ?? true)", "`??` next to a value in brackets is not in the subset"),
    ("false ?? (function () {} || true)", "`??` next to a value in brackets is not in the subset"),
    ("false ?? ((true) || true)", "`??` next to a value in brackets is not in the subset"),
    ("UGNAMES.some((g)", "`(` is not closed"),
    ("UGNAMES.some[g)", "`)` closes nothing"),
]


@pytest.mark.parametrize(("script", "reason"), REFUSED)
def test_grammar_that_engines_read_differently_is_refused(script: str, reason: str) -> None:
    with pytest.raises(NotInSubset) as refused:
        read_condition([script], {})
    assert str(refused.value) == reason
