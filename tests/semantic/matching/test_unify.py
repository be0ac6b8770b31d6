"""Templates, and the code that they match."""

# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="call-overload,index"

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchtool.semantic.matching.template import TemplateError, is_hole, template
from patchtool.semantic.matching.unify import Matcher, same

MATCHES = [
    ("layout", "f(a, b)", "f( a,\n b, )", True),
    ("quotes", "f('a')", 'f("a")', True),
    ("adjacent-strings", "f('ab')", "f('a' 'b')", True),
    ("parentheses", "x = (1 + 2)", "x = 1 + 2", True),
    ("precedence", "a * (b + c)", "a * b + c", False),
    ("keyword-order", "f(a=1, b=2)", "f(b=2, a=1)", True),
    ("missing-keyword", "f(a=1)", "f(a=1, b=2)", False),
    ("rest", "f(a, *R_)", "f(a, b, c=1)", True),
    ("rest-empty", "f(a, *R_)", "f(a)", True),
    ("keyword-rest", "f(a, **R_)", "f(a, b=1)", True),
    ("keyword-rest-takes-no-positional", "f(a, **R_)", "f(a, b)", False),
    ("splat-is-no-argument", "f(X_)", "f(*x)", False),
    ("same-hole", "f(X_, X_)", "f(a.b, a.b)", True),
    ("same-hole-other-code", "f(X_, X_)", "f(a.b, a.c)", False),
    ("attribute-hole", "a.X_ = X_", "a.b = b", True),
    ("true-is-not-one", "f(1)", "f(True)", False),
    ("elif", "if a:\n  pass\nelse:\n  if b:\n    pass", "if a:\n  pass\nelif b:\n  pass", True),
    ("any-run", "if a:\n  ...\n  f()", "if a:\n  g()\n  h()\n  f()", True),
    ("run-hole", "if a:\n  *B_", "if a:\n  g()\n  h()", True),
    ("ellipsis-in-subscript-is-itself", "x[..., 0]", "x[1, 0]", False),
    ("docstring-cleaned", 'def f():\n  """A.\n\n  b\n  """', 'def f():\n    """A.\n\n    b\n    """', True),
]


@pytest.mark.parametrize(("pattern", "code", "matches"), [pytest.param(p, c, f, id=i) for i, p, c, f in MATCHES])
def test_template_matches_code(pattern, code, matches):
    bindings = Matcher().statements(template(pattern).body, ast.parse(code).body, {})
    assert (next(bindings, None) is not None) is matches


@pytest.mark.parametrize("text", ["f(", "", "if x:"])
def test_invalid_template_is_rejected(text):
    with pytest.raises(TemplateError):
        template(text)


NAMES = st.sampled_from(["a", "b", "torch", "X_", "ROW_"])
EXPRESSIONS = st.recursive(
    NAMES | st.integers(0, 9).map(str),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: f"({p[0]} + {p[1]})"),
        st.tuples(inner, NAMES).map(lambda p: f"({p[0]}).{p[1]}"),
        st.tuples(NAMES, inner, inner).map(lambda p: f"{p[0]}({p[1]}, k={p[2]})"),
        st.tuples(NAMES, inner).map(lambda p: f"{p[0]}[{p[1]} :]"),
    ),
    max_leaves=8,
)


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(EXPRESSIONS)
def test_template_matches_its_own_text_and_binds_its_holes(text):
    parsed = template(text)
    env = next(iter(Matcher().expression(parsed.expression, ast.parse(text, mode="eval").body, {})))
    assert set(env) == parsed.holes
    assert all(is_hole(name) for name in env)
    unparsed = template(ast.unparse(parsed.expression))
    assert same(list(parsed.body), list(unparsed.body))
