"""The text of a filled template: every kind of hole, the file's own layout, nothing else moved."""

from __future__ import annotations

import ast

import pytest

from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.template import template
from patchtool.semantic.matching.unify import Binding
from patchtool.semantic.writing.carry import Carrier, old_statements
from patchtool.semantic.writing.fill import CannotFill
from patchtool.semantic.writing.filler import Filler


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def arguments(text: str) -> tuple[ast.AST, ...]:
    call = expression(f"f({text})")
    assert isinstance(call, ast.Call)
    return (*call.args, *call.keywords)


def written(code: str, holes: dict[str, Binding], *, indent: str = "", unit: str = "    ", **rename: str) -> str:
    parsed = template(code)
    filler = Filler(parsed, holes, rename, indent, unit)
    return "\n".join(filler.lines(1, len(filler.raw) + 1))


FILLED: dict[str, tuple[str, dict[str, Binding], str]] = {
    "a name": ("x = A_ + 1", {"A_": "y"}, "x = y + 1"),
    "an atom": ("x = A_ + 1", {"A_": expression("y.z[0]")}, "x = y.z[0] + 1"),
    "loose code is held together": ("x = A_ * 2", {"A_": expression("a + b")}, "x = (a + b) * 2"),
    "a number can have an attribute": ("x = A_.real", {"A_": expression("1")}, "x = (1).real"),
    "a truth value needs nothing": ("x = A_", {"A_": expression("True")}, "x = True"),
    "an attribute": ("self.A_.b = 1", {"A_": "y"}, "self.y.b = 1"),
    "a parameter": ("def f(self, A_: int = 0): return A_", {"A_": "y"}, "def f(self, y: int = 0): return y"),
    "a function": ("def A_(self):\n    pass", {"A_": "run"}, "def run(self):\n    pass"),
    "a coroutine": ("async  def A_(self):\n    pass", {"A_": "run"}, "async  def run(self):\n    pass"),
    "remaining arguments": ("f(a, *R_)", {"R_": arguments("b, *e, c=d, **g")}, "f(a, b, *e, c=d, **g)"),
    "none remain": ("f(a, *R_)", {"R_": ()}, "f(a)"),
    "none at all": ("f(*R_)", {"R_": ()}, "f()"),
    "none at all, on lines of their own": ("f(\n    *R_,\n)", {"R_": ()}, "f()"),
    "none before a keyword": ("f(*R_, k=1)", {"R_": ()}, "f(k=1)"),
    "none between": ("f(a, *R_, k=1)", {"R_": ()}, "f(a, k=1)"),
    "none on its own line": ("f(\n    a,\n    *R_,\n)", {"R_": ()}, "f(\n    a,\n)"),
    "remaining keywords": ("f(a, **K_)", {"K_": arguments("b=1, **c")}, "f(a, b=1, **c)"),
    "no keyword remains": ("f(a, **K_)", {"K_": ()}, "f(a)"),
    "nested calls": ("f(g(*R_), A_)", {"R_": arguments("b"), "A_": "a"}, "f(g(b), a)"),
    "inside an f-string": ('x = f"{A_}!"', {"A_": "y"}, "x = f'{y}!'"),
    "an f-string without holes is left alone": ('x = f"{y}!", A_', {"A_": "z"}, 'x = f"{y}!", z'),
    "letters of more than one byte": ('x = "öü", A_, B_', {"A_": "ä", "B_": "b"}, 'x = "öü", ä, b'),
    "comments stay": ("# why A_\nx = A_  # A_ too", {"A_": "y"}, "# why A_\nx = y  # A_ too"),
}


@pytest.mark.parametrize(("code", "holes", "text"), FILLED.values(), ids=FILLED)
def test_a_hole_is_filled_where_it_stands(code: str, holes: dict[str, Binding], text: str) -> None:
    assert written(code, holes) == text
    ast.parse(text)


def test_a_global_has_the_module_s_name_and_an_attribute_keeps_its_own() -> None:
    assert written("torch.arange(x.torch, torch=torch)", {}, torch="th") == "th.arange(x.torch, torch=th)"


def test_a_hole_that_stands_for_nothing_cannot_be_filled() -> None:
    with pytest.raises(CannotFill, match="A_ stands for nothing"):
        written("x = A_", {})
    with pytest.raises(CannotFill, match="A_ stands for no identifier"):
        written("x.A_ = 1", {"A_": expression("1 + 1")})


NESTED_SCOPES = 'if a:\n    f(\n        b,\n    )\n\n    s = """\n    as it is\n"""\n    # why\n    if c:\n        d()'


@pytest.mark.parametrize("unit", ["    ", "  ", "\t"])
@pytest.mark.parametrize("indent", ["", "    ", "\t"])
def test_each_level_becomes_one_of_the_file_s(indent: str, unit: str) -> None:
    lines = written(NESTED_SCOPES, {}, indent=indent, unit=unit).split("\n")
    deep = [indent, indent + unit, indent + unit * 2]
    assert lines == [
        f"{deep[0]}if a:",
        f"{deep[1]}f(",
        f"{deep[2]}b,",
        f"{deep[1]})",
        "",
        f'{deep[1]}s = """',
        "    as it is",
        '"""',
        f"{deep[1]}# why",
        f"{deep[1]}if c:",
        f"{deep[2]}d()",
    ]


OLD = """def f():
    if a:
        # first
        b( 1,
           2)  # behind
        t = '''
        text
        '''
        # last
        c()
    d(); e()
"""


def carried(code: str, filled: str) -> str:
    """What becomes of OLD's body under a template whose holes need no filling."""
    source = Source.parse("x.py", OLD.encode())
    body = source.tree.body[0].body  # type: ignore[attr-defined]
    filler = Filler(template(code), {}, {}, "    ", "    ")
    carrier = Carrier(filler, old_statements(source, body))
    lines = carrier.block(template(code).body, ast.parse(filled).body, 1, len(filler.raw) + 1)
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("if a:\n    c()", "    if a:\n        # last\n        c()\n"),
        ("c()\nb(1, 2)", "    # last\n    c()\n    # first\n    b( 1,\n       2)  # behind\n"),
        ("t = '\\n        text\\n        '", "    t = '''\n        text\n        '''\n"),
        ("d()\nn()", "    d()\n    n()\n"),
        ("c()\nc()", "    # last\n    c()\n    c()\n"),
    ],
)
def test_equal_statements_keep_comments_and_layout_wherever_they_go(code: str, text: str) -> None:
    assert carried(code, code) == text
