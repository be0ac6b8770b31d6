"""A file that is parsed in chunks says what it says as a whole."""

import ast
import random
import sysconfig
from pathlib import Path

import pytest

from patchtool.textual.chunks import Chunk, NotStructural, chunks_of
from patchtool.textual.items import Item
from patchtool.textual.source import Source

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
MODULES = ("ast", "cmd", "dataclasses", "enum", "pdb", "pydoc", "shlex", "stringprep", "tarfile", "textwrap", "typing")
TRICKY = {
    "a string at the first column": 'def f():\n    """a\nx = 1\n"""\n    return 1\n\n\ny = 2\n',
    "a string in which the other quotes are opened": "x = '''\"\"\"\na = 1\n'''\ny = \"'''\"\nz = 3\n",
    "code at the first column in brackets": "x = [\n1,\n2,\n]\ny = (\n3\n)\n",
    "a line that goes on": "x = 1 + \\\n2\ny = \\\n3\n",
    "decorators over several lines": "@a(\n    1\n)\n@b\nclass C:\n    x = 1\n\n    @d\n    def f(self): ...\n",
    "a branch, and comments at the first column": "if a:\n    x = 1\n# no\nelse:\n    x = 2\n# end\n",
    "comments around members": "class A:\n    # a\n\n    x = 1\n    # b\n    def f(self): ...\n    # c\n# d\ny = 1\n",
    "a class header over several lines": "class A(\n    B,\n    C,\n):\n    x = 1\n\n    y = 2\n",
    "a string in a class at the column of its members": 'class A:\n    x = """\n    y = 1\n    """\n    z = 2\n',
    "a member that ends in an open string": 'class A:\n    """a"""\n    x = \'"""\'\n    y = 2\nz = 1\nw = """\n"""\n',
    "no line end": "class A:\n    x = 1",
    "nothing": "",
    "comments only": "# a\n\n# b\n",
    "tabs": "class A:\n\tx = 1\n\n\tdef f(self):\n\t\treturn 1\n",
    "comments before documentation": '#!/bin/sh\n\n# a\n\n"""doc"""\nx = 1\n',
    "a header that goes on in brackets": "def f(a=lambda:\n    1): ...\n\n\ndef g(\n    a,\n):\n    return a\n",
    "a header and its block on one line": "def f(a): return {1:\n 2}\nclass A: x = 1\nasync def g(): pass\n",
    "defaults with colons": "def f(a=lambda: 0, *, b={1: 2}) -> A[1:2]:\n    pass\n\n\ndef g(a=':'):\n    pass\n",
    "comments behind definitions": "def f():\n    # a\n\n    x = 1\n    # b\n# c\n\n@e\ndef g():\n    pass\n    # f\n",
    "a comment that ends a string": "def f():\n    \"\"\"\n# a\"\"\"\n\n\ndef g():\n    x = '''\n# b'''\n# c\n",
    "quotes in comments": 'def f():\n    # don\'t\n    return 1  # """\n\n\ndef g():  # it\'s\n    return 2\n',
    "quotes behind backslashes": "def f():\n    return 'a\\\\', '\\\\', r'\\\\', 'b\\\n c'\n\n\ndef g():\n    pass\n",
    "accessors and overloads": (
        "class A:\n    @property\n    def a(self):\n        pass\n\n    @a.setter\n    def a(self, v): ...\n\n"
        "    @overload\n    def b(self): ...\n\n    @overload\n    def b(self, v): ...\n"
    ),
    "a matrix product over lines": "x = (a\n@b)\n@c\n@d(1)\nclass E:\n    y = (a\n    @b)\n\n    def f(self): ...\n",
    "documentation": '"""doc"""\nimport a\n\n\nclass A:\n    """doc"""\n\n    x = 1\n',
}
SOURCES = TRICKY | {name: (LIBRARY / f"{name}.py").read_text("utf-8") for name in MODULES}


@pytest.mark.parametrize("text", SOURCES.values(), ids=SOURCES)
def test_a_file_in_chunks_has_the_statements_of_the_whole(text: str) -> None:
    chunks = chunks_of(text.encode())
    assert "".join(chunk.text for chunk in chunks) == text
    statements = [ast.dump(statement) for chunk in chunks for statement in chunk.body]
    assert statements == [ast.dump(statement) for statement in ast.parse(text).body]


def _told(items: list[Item]) -> list[object]:
    own = [(i.form, i.name, i.slot, i.key, i.lead, i.lines, i.whole, i.depth, i.line) for i in items]
    return [*own, *(ast.dump(node) for i in items for node in i.nodes_only), *(_told(i.body) for i in items)]


@pytest.mark.parametrize("text", SOURCES.values(), ids=SOURCES)
def test_a_file_in_chunks_has_the_items_of_the_whole(text: str) -> None:
    source, whole = Source(text.encode()), Source(text.encode())
    whole.chunks = [Chunk(text, is_first=True, data=text.encode())]
    assert _told(source.items) == _told(whole.items)


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_file_is_refused_or_read_as_the_whole_is(seed: int) -> None:
    rng = random.Random(seed)
    lines = SOURCES[rng.choice(("cmd", "shlex", "textwrap"))].splitlines(keepends=True)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(lines))
        lines[at] = rng.choice(("", lines[at].lstrip(), '"""\n', lines[at].rstrip() + "\\\n", "    " + lines[at]))
    text = "".join(lines)
    try:
        expected = [ast.dump(statement) for statement in ast.parse(text).body]
    except SyntaxError:
        with pytest.raises((SyntaxError, NotStructural)):
            [chunk.body for chunk in chunks_of(text.encode())]
    else:
        assert [ast.dump(s) for chunk in chunks_of(text.encode()) for s in chunk.body] == expected


def test_what_two_versions_have_in_common_is_parsed_once() -> None:
    text = SOURCES["shlex"]
    one, other = (chunks_of(side.encode()) for side in (text, "import os\n" + text.replace("def quote", "def quoted")))
    assert len([chunk for chunk in other if chunk not in one]) <= 3


def test_a_definition_that_nothing_looks_into_is_not_parsed() -> None:
    source = Source(b"x = 1\n\n\ndef f(a):\n    return a +\n\n\nclass A:\n    def g(self):\n        return )\n")
    assert [item.name for item in source.items] == ["", "f", "A", ""]
    assert [item.name for item in source.items[2].body] == ["g"]
    for item in (source.items[1], source.items[2].body[0]):
        with pytest.raises(NotStructural):
            item.body  # noqa: B018  (reading it is what fails)


def test_a_string_that_is_not_closed_is_not_cut() -> None:
    with pytest.raises(NotStructural):
        Source(b"def f():\n    return 1\n\n\nx = 'a\n\n\ndef g():\n    return 2\n")
