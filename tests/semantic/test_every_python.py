"""Judgements and written bytes are the same on every Python that runs the tool."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import pytest

from patchtool.semantic.language.grammar import BUILTINS
from patchtool.semantic.language.source import ParseError, Source

NEWER = {
    "f-string with its own quote": ('x = 1\ny = f"{a["b"]}"\n', ":2:"),
    "f-string with its own quotes around nothing": ('f"{a[""]}"\n', ":1:"),
    "f-string with a backslash": ("f\"{'\\n'.join(a)}\"\n", ":1:"),
    "f-string with a comment": ('f"""{a # why\n}"""\n', ":"),
    "f-string over lines": ('f"{a +\n b}"\n', ":1:"),
    "f-string in an f-string, same quote": ('f"{f"{a}"}"\n', ":1:"),
    "f-string behind escapes": ('f"\\"{{}} {a["b"]}"\n', ":1:"),
    "unpacking in a subscript": ("x = 1\na[*b]\n", ":2:"),
    "unpacking behind another index": ("a[0, *b] = 1\n", ":1:"),
    "unpacked annotation": ("def f(*args: *T): pass\n", ":1:"),
    "exception groups": ("try: pass\nexcept* E: pass\n", ":"),
    "type statement": ("type X = int\n", ":1:"),
    "type parameters": ("def f[T](): pass\n", ":1:"),
}


@pytest.mark.parametrize("kind", NEWER)
def test_newer_grammar_is_refused_on_every_host(kind):
    text, where = NEWER[kind]
    with pytest.raises(ParseError) as caught:
        Source.parse("m.py", text.encode())
    assert f"m.py{where}" in str(caught.value)


OLD = (
    'f"{a[\'b\']} {{\\"}} \\n" f\'{c}\' # f"{d["e"]}"\n',
    'f"""{a["b"]} {\nc}"""\n',
    "rf'\\d{a}' + F'' + f'{{{a}}}'\n",
    "s = 'f\"{a[\"'\n",
    'x = "#" f"{a:{b}}" "f"\n',
    "a[(*b,)], [*a], f(*a, b), a[b * c]\n",
    "def f(*args: int, **kwargs: int): pass\n",
    "with (a as b, c as d): pass\nmatch x:\n    case [*y]: pass\n",
)


@pytest.mark.parametrize("text", OLD)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_lowest_grammar_is_read_on_every_host(text, end):
    assert Source.parse("m.py", text.replace("\n", end).encode()).tree.body


def test_built_in_names_are_those_of_the_lowest_python():
    by_site = {"exit", "quit", "copyright", "credits", "license", "_"}
    assert len(BUILTINS - by_site) == 150
    assert "ExceptionGroup" not in BUILTINS


CODEMOD = """
from patchtool.semantic import SemanticPatch, goal, replace


class P(SemanticPatch):
    scope = "f"
    edit = replace("old(A_, *REST_)", "new(A_, *REST_)")
    goals = (goal("new", "new(...)"),)
"""


CARRIED = (
    "f\"{x['a']}\"",
    "f'it\\'s \"{a}\"'",
    "f'{a!r:>{w}} {{}} {b:.2f}'",
    'f"""{x[\'it\']}{y["it\'s"]}"""',
    "f'{ {1: 2}[1] }'",
    "g(f'a' 'b' f\"{c}\")",
    "f\"{f'{a}'}\"",
    "f'{a=}'",
    "[a for (a, b) in c if d for e, in f]",
    "{k: v for k, (v, w) in c}",
    "x [ 'a' ]",
)


@pytest.mark.parametrize("code", CARRIED)
def test_carried_code_is_spelled_as_the_file_spells_it(judge_codemod, code):
    source = f"def new(*a): pass\n\n\ndef f(a, b, c, d, w, x, y):\n    old({code}, 1, *{code})\n"
    judgement = judge_codemod(CODEMOD.replace('"new(...)"', '"new(A_, *REST_)"'), source)
    assert judgement.state.value == "applied", judgement.detail
    assert judgement.contents["m.py"].decode() == source.replace("old(", "new(")
