"""A file of which only some definitions are parsed prints as it was, and is patched as when all of it is."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import ast
from itertools import combinations

import libcst as cst
import pytest

from patchtool.semantic.language.scopes import DEFINITIONS, Scope, ScopeNode
from patchtool.semantic.language.source import Source
from patchtool.semantic.writing.partial_module import parse_definitions

FILES = {
    "comments between": b"import a\n# on b\n@d\nclass B:\n    x\n    # end of b\n\n# on c\ndef c():\n    pass\n# end\n",
    "header": b"#!/bin/sh\n# licence\n\n# on f\ndef f():\n    pass\nx = 1\n",
    "no newline at the end": b"x = 1\ndef f():\n    pass\ndef g():\n    return 1",
    "no newline at the end of what is not parsed": b"class A:\n    def f(self):\n        pass\n    x = 1\ny = 2",
    "comment at the end": b"x = 1\ndef f():\n    pass\n    # deep\n  # odd\n# flat",
    "CRLF": b"x = 1\r\ndef f():\r\n    pass\r\n\r\n\r\nclass G: pass\r\n",
    "several on a line": b"x = 1; y = 2; z = 3\ndef f(): pass\nx; y\nclass G:\n    a; b\n",
    "blocks of the module": b"x = 1\nif x:\n    class A:\n        pass\nelse:\n    A = None\nfor i in x: i\n",
    "continued lines": b'x = """\ndef f():\n"""\ndef f(\n): return """\n# no comment\n"""\ny = (\n# one\n)\n',
    "tabs and blanks": b"x = 1 \n\ndef f():\n\tpass \n   \n\t\ndef g():\n\tpass\n",
    "not ASCII": "x = 'é'\ndef f():\n    'ü\u2028'\ny = 'ö'\n".encode(),
    "methods": b"""class A(B,
    c=1):
    'Doc
    '

    x = 1; y = 2
    # on f
    @d
    def f(self):
        pass
        # deep

   # odd
    async def g(self): pass
    class C:
        def h(self):
            def i(): pass
        z: int
    # last

class D: d = 1
class E(
    A): e = 1
""".replace(b"'", b'"""'),
    "a class without other lines": b"class A:\n    def f(self):\n        pass\n",
}


def definitions(node: ScopeNode, owners: tuple[ScopeNode, ...] = ()) -> list[Scope]:
    found: list[Scope] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, DEFINITIONS):
            found += [Scope(child.name, child, (*owners, node)), *definitions(child, (*owners, node))]
    return found


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_a_file_prints_as_it_was_whatever_is_parsed(data):
    source = Source.parse("m.py", data)
    found = definitions(source.tree)
    for number in range(1, min(len(found), 3) + 1):
        for edited in combinations(found, number):
            module = parse_definitions(source, edited)
            assert module is not None
            assert module.bytes == data


WHOLE = {
    "another encoding": b"# coding: latin-1\nx = 1\ndef f():\n    '\xe9'\n",
    "byte order mark": b"\xef\xbb\xbfx = 1\ndef f():\n    pass\n",
    "mixed line endings": b"x = 1\r\ndef f():\n    pass\n",
    "form feeds": b"x = 1\n\x0c\ndef f():\n    pass\n\x0c\n",
    "mixed indentation": b"if x:\n  y\ndef f():\n    pass\n",
    "indentation that only a later clause tells": b"if x: y\nelse:\n  z\ndef f():\n    pass\n",
}


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE)
def test_a_file_whose_layout_the_parsed_part_does_not_tell_is_parsed_as_a_whole(data):
    source = Source.parse("m.py", data)
    assert parse_definitions(source, definitions(source.tree)[-1:]) is None


def test_an_edit_of_the_module_needs_the_whole_file():
    source = Source.parse("m.py", b"def f():\n    pass\n")
    assert parse_definitions(source, [Scope("", source.tree, ())]) is None


def test_what_is_between_is_not_parsed():
    data = b"x = 1\nclass A:\n    y = 1\n    def f(self):\n        pass\n    # why\n    z = 2\ndef g(): pass\n"
    source = Source.parse("m.py", data)
    module = parse_definitions(source, [each for each in definitions(source.tree) if each.symbol == "f"])
    assert module is not None
    assert [isinstance(line, cst.ClassDef) for line in module.body] == [False, True, False]
    methods = cst.ensure_type(module.body[1], cst.ClassDef).body.body
    assert [isinstance(line, cst.FunctionDef) for line in methods] == [False, True, False]
