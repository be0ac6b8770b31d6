"""What is written into a file: every kind of hole, the file's own layout, nothing else moved."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import pytest

HEAD = "from patchtool.semantic import *\nfrom patchtool.semantic import SemanticPatch\n"
REPLACE = HEAD + (
    "class P(SemanticPatch):\n"
    "    scope = 'f'\n"
    "    edit = replace({before!r}, {after!r}, within=any_branch())\n"
    "    goals = (goal('done', 'done()'),)\n"
)
PRELUDE = "def done(*a, **k): ...\nnew = x = y = c = d = e = g = 0\n\n\n"


def written(judge_codemod, before: str, after: str, body: str, indent: str = "    ") -> str:
    """A function's body after one replacement; the template always adds ``done()``, which is cut off again."""
    codemod = REPLACE.format(before=before, after=f"{after}\ndone()")
    lines = "".join(f"{indent}{line}\n" if line else "\n" for line in body.split("\n"))
    judgement = judge_codemod(codemod, f"{PRELUDE}def f(a, b, s):\n{lines}")
    assert judgement.state.value == "applied", f"{judgement.reason}: {judgement.detail}"
    text = judgement.contents["m.py"].decode()
    head, tail = f"{PRELUDE}def f(a, b, s):\n", f"{indent}done()\n"
    assert text.startswith(head)
    assert text.endswith(tail)
    return "\n".join(line.removeprefix(indent) for line in text[len(head) : -len(tail) - 1].split("\n"))


FILLED = {
    "a name": ("old(A_)", "t = A_ + 1", "old(a)", "t = a + 1"),
    "an atom": ("old(A_)", "t = A_ + 1", "old(a.b[0])", "t = a.b[0] + 1"),
    "an operator in parentheses": ("old(A_)", "t = A_ * 2", "old(a + b)", "t = (a + b) * 2"),
    "an attribute of a number": ("old(A_)", "t = A_.real", "old(1)", "t = (1).real"),
    "a constant": ("old(A_)", "t = A_", "old(True)", "t = True"),
    "a conditional": ("old(A_)", "t = not A_", "old(a if b else s)", "t = not (a if b else s)"),
    "a tuple": ("return A_", "t = A_", "return a, b", "t = (a, b)"),
    "own parentheses are kept": ("old(A_)", "t = A_ * 2", "old((a  +  b))", "t = (a  +  b) * 2"),
    "own parentheses that are not needed go": ("old(A_)", "t = A_", "old((a.b))", "t = a.b"),
    "a value over two lines": ("old(A_)", "t = A_", "old(a +\n        b)", "t = (a +\n        b)"),
    "an attribute": ("s.NAME_()", "t = x.NAME_.b", "s.y()", "t = x.y.b"),
    "a parameter": ("old(A_)", "def t(A_: int = 0): return A_", "old(q)", "def t(q: int = 0): return q"),
    "strings": ("old(A_)", "t = A_.upper()", "old('x' \"y\")", "t = 'x' \"y\".upper()"),
    "remaining arguments": ("old(*R_)", "new(a, *R_)", "old(b, *s, c=d, **e)", "new(a, b, *s, c=d, **e)"),
    "none remain": ("old(*R_)", "new(a, *R_)", "old()", "new(a)"),
    "none at all": ("old(*R_)", "new(*R_)", "old()", "new()"),
    "none at all, on lines of their own": ("old(*R_)", "new(\n    *R_,\n)", "old()", "new()"),
    "none before a keyword": ("old(*R_)", "new(*R_, k=1)", "old()", "new(k=1)"),
    "none between": ("old(*R_)", "new(a, *R_, k=1)", "old()", "new(a, k=1)"),
    "none on a line of its own": ("old(*R_)", "new(\n    a,\n    *R_,\n)", "old()", "new(\n    a,\n)"),
    "remaining keywords": ("old(**K_)", "new(a, **K_)", "old(c=1, **d)", "new(a, c=1, **d)"),
    "no keyword remains": ("old(**K_)", "new(a, **K_)", "old()", "new(a)"),
    "a generator that was the only argument": ("old(*R_)", "new(a, *R_)", "old(i for i in b)", "new(a, (i for i in b))"),
    "arguments with comments": ("old(*R_)", "new(*R_)", "old(\n        a,  # why\n        b,\n    )", "new(a, b)"),
    "nested calls": ("old(A_, *R_)", "new(g(*R_), A_)", "old(a, b)", "new(g(b), a)"),
    "starred arguments of the template": ("old(A_)", "new(*A_, *s, **e)", "old(a)", "new(*a, *s, **e)"),
    "unpacking in a dict": ("old(A_)", "t = {**A_, 'k': 1}", "old(a)", "t = {**a, 'k': 1}"),
    "inside an f-string": ("old(A_)", 't = f"{A_}!"', "old(a.b)", 't = f"{a.b}!"'),
    "out of an f-string": ("f'{old(A_)}'", "t = A_ * 2", "f'{old(a[1] + b)}'", "t = (a[1] + b) * 2"),
    "an f-string of the file": ("old(A_)", "t = A_", "old(f\"{a['b']}\" 'c')", "t = f\"{a['b']}\" 'c'"),
    "an f-string of the template": ("old(A_)", 't = f"{x}!", A_', "old(a)", 't = f"{x}!", a'),
    "letters of more than one byte": ("old(A_, B_)", 't = "öü", A_, B_', "old('ä', b)", "t = \"öü\", 'ä', b"),
    "comments": ("old(A_)", "# why A_\nt = A_  # A_ too", "old(a)", "# why A_\nt = a  # A_ too"),
    "ellipsis and docstring": ("old(A_)", 'def t():\n    """Say A_."""\n    ...', "old(a)", 'def t():\n    """Say A_."""\n    ...'),
    "a global declaration": ("old(A_)", "def t():\n    global x\n    x = A_", "old(a)", "def t():\n    global x\n    x = a"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "body", "expected"), FILLED.values(), ids=FILLED)
def test_a_hole_is_filled(judge_codemod, before, after, body, expected):
    got = written(judge_codemod, before, after, body)
    assert got.removeprefix("\n" if after.startswith("def") else "") == expected


NESTED = """\
if a:
    new(
        b,
    )

    t = '''
    as it is
'''
    # why
    if c:
        d
# last"""


@pytest.mark.parametrize("unit", ["    ", "  ", "\t"])
@pytest.mark.parametrize("nested", [False, True])
def test_each_level_of_a_template_is_one_of_the_file(judge_codemod, unit, nested):
    codemod = REPLACE.format(before="old()", after=f"{NESTED}\ndone()")
    indent = unit * (2 if nested else 1)
    start = f"{PRELUDE}def f(a, b, s):\n" + (f"{unit}if b:\n" if nested else "")
    judgement = judge_codemod(codemod, f"{start}{indent}old()\n")
    assert judgement.state.value == "applied", f"{judgement.reason}: {judgement.detail}"
    expected = [
        f"{indent}if a:",
        f"{indent}{unit}new(",
        f"{indent}{unit * 2}b,",
        f"{indent}{unit})",
        "",
        f"{indent}{unit}t = '''",
        "    as it is",
        "'''",
        f"{indent}{unit}# why",
        f"{indent}{unit}if c:",
        f"{indent}{unit * 2}d",
        f"{indent}# last",
        f"{indent}done()",
    ]
    assert judgement.contents["m.py"].decode() == start + "".join(f"{line}\n" for line in expected)


OLD = """\
if a:
    # first
    g( 1,
       2)  # behind
    t = '''
    text
    '''

    # last
    c
d; e"""


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("if a:\n    c", "if a:\n\n    # last\n    c"),
        ("c\ng(1, 2)", "\n# last\nc\n# first\ng( 1,\n   2)  # behind"),
        ("t = '\\n        text\\n        '", "t = '''\n    text\n    '''"),
        ("while b:\n    c", "while b:\n\n    # last\n    c"),
        ("d\nb", "d\nb"),
        ("c\nc", "\n# last\nc\nc"),
        ("g(1, 2); c", "g(1, 2); c"),
    ],
)
def test_equal_statements_keep_comments_and_layout(judge_codemod, after, expected):
    assert written(judge_codemod, "if A_:\n    ...\nd\ne", after, OLD) == expected


CARRIED = {
    "a run": ("if old():\n    *BODY_", "with b:\n    *BODY_", "if old():\n    # one\n    g( 1 )\n\n    if b:\n        c  # two", "with b:\n    # one\n    g( 1 )\n\n    if b:\n        c  # two"),
    "one statement": ("old()\nTHIS_", "if a:\n    # new\n    b\n    THIS_", "old()\nfor i in b:\n    c # so", "if a:\n    # new\n    b\n    for i in b:\n        c # so"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "body", "expected"), CARRIED.values(), ids=CARRIED)
def test_statements_are_carried_over(judge_codemod, before, after, body, expected):
    assert written(judge_codemod, before, after, body) == expected


def test_statements_that_share_a_line_are_not_carried_over(judge_codemod):
    codemod = REPLACE.format(before="if old():\n    *BODY_", after="*BODY_\ndone()")
    judgement = judge_codemod(codemod, f"{PRELUDE}def f(a, b, s):\n    if old(): g; c\n")
    assert (judgement.reason, judgement.contents) == ("site-refused", {})


USE = REPLACE.format(before="old()", after="done()")
FILES = {
    "byte order mark": b"\xef\xbb\xbf# \xc3\xa9\ndef done(): ...\ndef f():\n    old()\n",
    "CRLF": b"def done(): ...\r\ndef f():\r\n    # why\r\n    old()\r\n",
    "mixed line endings": b"def done(): ...\r\ndef f():\n    x\r\n    old()\r\n",
    "latin-1": b"# coding: latin-1\ndef done(): ...\ndef f():\n    '\xe9'\n    old()\n",
    "no newline at the end": b"def done(): ...\ndef f():\n    old()",
    "comment at the end": b"def done(): ...\ndef f():\n    old()\n    # end",
    "form feeds": b"\f\ndef done(): ...\n\f\ndef f():\n\f\n    old()\n",
    "tabs": b"def done(): ...\ndef f():\n\tif x:\n\t\ty\n\told()\n",
    "trailing white space": b"def done(): ...  \ndef f():  \n    old()\n   \n    y \n",
    "continued lines": b"def done(): ...\ndef f():\n    x = 1 + \\\n  2\n    old()\n",
    "400 operators": b"x = 1" + b" + 1" * 400 + b"\ndef done(): ...\ndef f():\n    old()\n",
    "900 operators": b"x = 1" + b" + 1" * 900 + b"\ndef done(): ...\ndef f():\n    old()\n",
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_other_bytes_stay_as_they_are(judge_codemod, data):
    judgement = judge_codemod(USE, data)
    assert judgement.state.value == "applied", f"{judgement.reason}: {judgement.detail}"
    assert judgement.contents["m.py"] == data.replace(b"old()", b"done()")


REFUSED = {
    "form feed before a statement": (b"def done(): ...\n\fdef f():\n    old()\n", "unparsable", "line 2 has a form feed"),
    "form feed in indentation": (b"def done(): ...\ndef f():\n    x\n\f    old()\n", "unparsable", "line 4 has a form feed"),
    "2,000 operators": (b"x = 1" + b" + 1" * 2_000 + b"\ndef done(): ...\ndef f():\n    old()\n", "target-unparsable", "m.py:1: nested in more than 1000 levels"),
    "20,000 conditions": (b"x = 1" + b" and 1" * 20_000 + b"\ndef done(): ...\ndef f():\n    old()\n", "unparsable", "m.py:1: nested too deeply"),
    "20,000 packages": (b"import a" + b".a" * 20_000 + b"\ndef done(): ...\ndef f():\n    old()\n", "unparsable", "m.py:1: nested too deeply"),
    "blank lines that LibCST loses": (b"def done(): ...\ndef f():\n    old()\n    x = 1\n    # c\n\n  \n", "bytes-changed", "line"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "reason", "detail"), REFUSED.values(), ids=REFUSED)
def test_what_libcst_cannot_keep_is_refused_with_the_reason(judge_codemod, data, reason, detail):
    judgement = judge_codemod(USE, data)
    assert (judgement.state.value, judgement.reason, judgement.contents) == ("conflict", reason, {})
    assert detail in judgement.detail
