"""Values of names and reachability at a statement."""

# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="call-overload,index"

from __future__ import annotations

import ast
import textwrap

import pytest

from patchtool.semantic.matching.flow import DataFlow


def at_mark(body: str, name: str = "x") -> tuple[bool, str | None, bool]:
    """Whether ``mark()`` is reachable, the value of the name there, and whether a return may come first."""
    text = "def f(self, p, q):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    flow = DataFlow(function)
    mark = next(
        n for n in ast.walk(function)
        if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call) and getattr(n.value.func, "id", "") == "mark"
    )  # fmt: skip
    if not flow.reachable(mark):
        return False, None, False
    assigned = name in flow.definitely_assigned(mark)
    text = ast.unparse(flow.value(ast.Name(name, ast.Load()), mark)) if assigned else "unassigned"
    return True, "?" if "\0" in text else text, flow.may_have_returned(mark)


VALUES = [
    ("plain", "x = p\nmark()", "p"),
    ("chain", "a = p\nx = a\nmark()", "p"),
    ("cast", "x = p.to(torch.int64)\nmark()", "p"),
    ("cast-by-keyword", "x = p.to(dtype=torch.int32, non_blocking=True)\nmark()", "p"),
    ("long", "x = p.long()\nmark()", "p"),
    ("bool-is-no-index-cast", "x = p.to(torch.bool)\nmark()", "p.to(torch.bool)"),
    ("pair", "x, y = p, q\nmark()", "p"),
    ("swap", "x = p\ny = q\nx, y = y, x\nmark()", "q"),
    ("star", "x, *y = p\nmark()", "?"),
    ("chained", "x = y = p\nmark()", "p"),
    ("same-on-both-paths", "if q:\n    x = p\nelse:\n    x = p\nmark()", "p"),
    ("other-on-one-path", "x = p\nif q:\n    x = q\nmark()", "?"),
    ("cast-on-one-path", "x = p\nif q:\n    x = x.long()\nmark()", "p"),
    ("one-path-returns", "x = p\nif q:\n    x = 1\n    return\nmark()", "p"),
    ("only-on-one-path", "if q:\n    x = p\nmark()", "unassigned"),
    ("augmented", "x = p\nx += 1\nmark()", "?"),
    ("index-store", "x = p.f()\nx[0] = 1\nmark()", "?"),
    ("in-place-call", "x = p.f()\nx.fill_(0)\nmark()", "?"),
    ("in-place-on-a-view", "x = p.f()\nx[1:].view(-1).zero_()\nmark()", "?"),
    ("kept-elsewhere", "x = self.b[0]\nx[0] = 1\nmark()", "self.b[0]"),
    ("walrus", "x = p\nf(x := q)\nmark()", "q"),
    ("walrus-in-condition", "x = p\nif (x := q):\n    mark()", "q"),
    ("walrus-behind-and", "if q and (x := p):\n    pass\nmark()", "unassigned"),
    ("loop", "x = p\nfor i in q:\n    x = q\nmark()", "?"),
    ("loop-later-round", "x = p\nfor i in q:\n    mark()\n    x = q", "?"),
    ("loop-not-touched", "x = p\nfor i in q:\n    pass\nmark()", "p"),
    ("loop-break", "x = p\nwhile q:\n    x = q\n    break\nmark()", "?"),
    ("loop-target", "x = p\nfor x in q:\n    pass\nmark()", "?"),
    ("mutated-in-loop", "x = p.f()\nfor i in q:\n    x[i] = 0\nmark()", "?"),
    ("try", "x = p\ntry:\n    x = q\nexcept E:\n    pass\nmark()", "?"),
    ("try-in-handler", "x = p\ntry:\n    x = q\nexcept E:\n    mark()", "?"),
    ("try-only-in-body", "try:\n    x = q\nexcept E:\n    pass\nmark()", "unassigned"),
    ("try-handler-raises", "try:\n    x = q\nexcept E:\n    raise\nmark()", "q"),
    ("finally", "x = p\ntry:\n    x = q\nfinally:\n    mark()", "?"),
    ("with", "with q() as c:\n    x = p\nmark()", "p"),
    ("with-target", "x = p\nwith q() as x:\n    mark()", "?"),
    ("suppress", "x = p\nwith suppress(E):\n    x = q\nmark()", "?"),
    ("match", "x = p\nmatch q:\n    case [x]:\n        pass\nmark()", "?"),
    ("match-all-cases", "match q:\n    case 1:\n        x = p\n    case _:\n        x = p\nmark()", "p"),
    ("del", "x = p\ndel x\nmark()", "unassigned"),
    ("import", "x = p\nimport x\nmark()", "?"),
    ("definition", "x = p\ndef x(): ...\nmark()", "?"),
    ("nonlocal", "x = p\ndef g():\n    nonlocal x\n    x = 1\ng()\nmark()", "?"),
    ("global", "global x\nx = p\nmark()", "?"),
    ("comprehension-variable", "x = [x for x in p]\nmark()", "[x for x in p]"),
    ("lambda-parameter", "y = p\nx = lambda y: y\nmark()", "lambda y: y"),
    ("annotated", "x: int = p\nmark()", "p"),
    ("declared-only", "x: int\nmark()", "unassigned"),
]


@pytest.mark.parametrize(("body", "value"), [pytest.param(b, m, id=i) for i, b, m in VALUES])
def test_value_of_name(body, value):
    assert at_mark(body)[1] == value


CONTROL = [
    ("plain", "mark()", True, False),
    ("after-return", "return\nmark()", False, False),
    ("after-raise", "raise E\nmark()", False, False),
    ("after-both-return", "if p:\n    return\nelse:\n    raise E\nmark()", False, False),
    ("after-one-returns", "if p:\n    return\nmark()", True, True),
    ("after-one-raises", "if p:\n    raise E\nmark()", True, False),
    ("other-arm-returns", "if p:\n    return\nelse:\n    mark()", True, False),
    ("after-endless-loop", "while True:\n    f()\nmark()", False, False),
    ("endless-loop-with-break", "while True:\n    break\nmark()", True, False),
    ("after-break", "for i in p:\n    break\n    mark()", False, False),
    ("after-continue", "for i in p:\n    continue\n    mark()", False, False),
    ("return-in-loop", "for i in p:\n    return\nmark()", True, True),
    ("if-false", "if False:\n    mark()", False, False),
    ("else-of-true", "if 1:\n    pass\nelse:\n    mark()", False, False),
    ("type-checking", "if TYPE_CHECKING:\n    mark()", False, False),
    ("finally-after-return", "try:\n    return\nfinally:\n    mark()", True, False),
    ("return-in-nested-function", "def g():\n    return\nmark()", True, False),
]


@pytest.mark.parametrize(("body", "reachable", "returned"), [pytest.param(b, r, e, id=i) for i, b, r, e in CONTROL])
def test_reachability(body, reachable, returned):
    assert at_mark(body)[::2] == (reachable, returned)
