"""A file of which only some statements are parsed prints as it was, and is patched as when all of it is."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from itertools import combinations

import libcst as cst
import pytest

from patchtool.semantic.language.source import Source
from patchtool.semantic.writing.partial_module import parse_statements

FILES = {
    "comments between": b"import a\n# on b\n@d\nclass B:\n    x\n    # end of b\n\n# on c\ndef c():\n    pass\n# end\n",
    "no newline at the end": b"x = 1\ndef f():\n    pass\ndef g():\n    return 1",
    "comment at the end": b"x = 1\ndef f():\n    pass\n    # deep\n  # odd\n# flat",
    "CRLF": b"x = 1\r\ndef f():\r\n    pass\r\n\r\n\r\nclass G: pass\r\n",
    "several on a line": b"x = 1; y = 2; z = 3\ndef f(): pass\nx; y\nclass G:\n    a; b\n",
    "blocks of the module": b"x = 1\nif x:\n    class A:\n        pass\nelse:\n    A = None\nfor i in x: i\n",
    "continued lines": b'x = """\ndef f():\n"""\ndef f(\n): return """\n# no comment\n"""\ny = (\n# one\n)\n',
    "tabs and blanks": b"x = 1 \n\ndef f():\n\tpass \n   \n\t\ndef g():\n\tpass\n",
    "not ASCII": "x = 'é'\ndef f():\n    'ü\u2028'\ny = 'ö'\n".encode(),
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_a_file_prints_as_it_was_whatever_is_parsed(data):
    source = Source.parse("m.py", data)
    compound = [statement for statement in source.tree.body if hasattr(statement, "body")]
    for number in range(1, len(compound) + 1):
        for wanted in combinations(compound, number):
            module = parse_statements(source, wanted)
            assert module is not None
            assert module.bytes == data


WHOLE = {
    "the first statement is wanted": b"def f():\n    pass\n",
    "another encoding": b"# coding: latin-1\nx = 1\ndef f():\n    '\xe9'\n",
    "byte order mark": b"\xef\xbb\xbfx = 1\ndef f():\n    pass\n",
    "mixed line endings": b"x = 1\r\ndef f():\n    pass\n",
    "form feeds": b"x = 1\n\x0c\ndef f():\n    pass\n\x0c\n",
    "mixed indentation": b"if x:\n  y\ndef f():\n    pass\n",
}


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE)
def test_a_file_whose_layout_one_statement_does_not_tell_is_parsed_as_a_whole(data):
    source = Source.parse("m.py", data)
    assert parse_statements(source, [source.tree.body[-1]]) is None


def test_what_is_between_is_not_parsed():
    source = Source.parse("m.py", b"x = 1\ndef f():\n    pass\n# why\ny = 2\n")
    module = parse_statements(source, [source.tree.body[1]])
    assert module is not None
    assert [isinstance(line, cst.FunctionDef) for line in module.body] == [False, True, False]
