"""A wrong writer is found without LibCST: filled code must be its template, with every hole bound as it was found."""

# ruff: noqa: E501
from __future__ import annotations

import ast

import pytest

from patchtool.semantic.language.scopes import Block
from patchtool.semantic.language.source import parse_python
from patchtool.semantic.matching.template import template
from patchtool.semantic.matching.unify import Binding
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.verify import verify_filled

SUM = ast.parse("a + b", mode="eval").body
CALL = ast.parse("f(b, *c, k=d)", mode="eval").body
assert isinstance(CALL, ast.Call)
ARGUMENTS = (*CALL.args, *CALL.keywords)
BODY = tuple(ast.parse("one()\ntwo()").body)


def verify(code: str, filled: str, bindings: dict[str, Binding], **rename: str) -> None:
    body = parse_python("pass").body
    site = Replacement(Block(ast.Module(body, []), "body", body), 0, 1, template(code), bindings, body[0])
    verify_filled(parse_python(filled).body, site, rename)


CASES: dict[str, tuple[str, dict[str, Binding], str, str]] = {
    "precedence": ("x = A_ * 2", {"A_": SUM}, "x = (a + b) * 2", "x = a + b * 2"),
    "another expression": ("x = A_", {"A_": SUM}, "x = a+b", "x = b + a"),
    "another identifier": ("x.A_ = 1", {"A_": "y"}, "x.y = 1", "x.z = 1"),
    "an unfilled hole": ("f(A_, B_)", {"A_": "y", "B_": "z"}, "f(y, z)", "f(y, B_)"),
    "a lost argument": ("g(*R_)", {"R_": ARGUMENTS}, "g(b, *c, k=d)", "g(b, k=d)"),
    "a lost statement": ("if x:\n    *BODY_", {"BODY_": BODY}, "if x:\n    one()\n    two()", "if x:\n    two()"),
    "statements outside of their block": ("if x:\n    *BODY_", {"BODY_": BODY}, "if x:\n    one()\n    two()", "if x:\n    one()\ntwo()"),
    "code for an ellipsis": ("def f():\n    ...", {}, "def f():\n    ...", "def f():\n    one()"),
    "a lost docstring": ("def f():\n    'why'\n    x", {}, "def f():\n    'why'\n    x", "def f():\n    x"),
    "another starred argument": ("f(*s, **k)", {}, "f(*s, **k)", "f(*t, **k)"),
    "another global": ("torch.f(A_)", {"A_": "torch"}, "th.f(torch)", "torch.f(torch)"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "bindings", "right", "wrong"), CASES.values(), ids=CASES)
def test_only_the_template_itself_is_accepted(code: str, bindings: dict[str, Binding], right: str, wrong: str) -> None:
    rename = {"torch": "th"} if "torch" in code else {}
    verify(code, right, bindings, **rename)
    with pytest.raises(CannotWrite, match="not what the template says"):
        verify(code, wrong, bindings, **rename)
