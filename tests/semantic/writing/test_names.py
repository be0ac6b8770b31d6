"""Names in new code: each binding form that the new code brings counts, in its scope and from where it is bound on."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import textwrap

import pytest

HEAD = "from patchtool.semantic import *\nfrom patchtool.semantic import SemanticPatch\n"
MODULE = "import sys\nimport numpy as np\nimport torch.nn.functional as F\nfrom kernels import old, use, work\n\nLIMIT = 3\n\n\n"


def codemod(before: str, after: str, scope: str = "f", more: str = "") -> str:
    lines = [
        "class P(SemanticPatch):",
        "    rules = (",
        f"        {more}",
        f"        Rule('use', scope={scope!r}, edit=replace({before!r}, {textwrap.dedent(after).strip()!r}),",
        "             goals=(goal('used', 'use(9)', within=anywhere()),)),",
        "    )",
    ]
    return HEAD + "\n".join(lines) + "\n"


def function(body: str, head: str = "def f(rows):") -> str:
    return MODULE + f"{head}\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"


BOUND = {
    "import": "import math\nuse(9)\nreturn math.ceil(1)",
    "from-import": "from math import ceil as up\nuse(9)\nreturn up(1)",
    "dotted-import": "import os.path\nuse(9)\nreturn os.path.sep",
    "def": "def twice(n, *more, key=1, **rest):\n    return n + n + key + len(more) + len(rest)\nuse(9)\nreturn twice(1)",
    "recursive-def": "def down(n):\n    return down(n - 1) if n else 0\nuse(9)\nreturn down(1)",
    "mutually-recursive": "def even(n):\n    return odd(n)\ndef odd(n):\n    return even(n)\nuse(9)\nreturn odd(1)",
    "async-def": "async def later(n):\n    async with work(n) as w:\n        return w\nuse(9)\nreturn later(1)",
    "class": "class Inner:\n    size = 1\n    both = size + LIMIT\n\n    def m(self):\n        return self.size\nuse(9)\nreturn Inner().m()",
    "except-as": "try:\n    use(9)\nexcept ValueError as error:\n    raise KeyError(str(error)) from error",
    "with-as": "with work() as w, work(w) as (v, *rest):\n    use(9)\n    work(v, rest)",
    "walrus": "if (n := work(rows)) and n > 1:\n    return n\nuse(9)",
    "walrus-in-while": "while chunk := work(rows):\n    work(chunk)\nuse(9)",
    "walrus-in-comprehension": "found = [y for x in rows if (y := work(x))]\nuse(9)\nreturn found",
    "comprehensions": "use(9)\nreturn {k: v for k, v in rows}, {x for x in rows if x}, [a for b in rows for a in b], (c for c in rows)",
    "for": "for i, (a, b) in enumerate(rows):\n    work(i, a, b)\nuse(9)",
    "for-else": "for i in rows:\n    work(i)\n    break\nelse:\n    work(0)\nuse(9)",
    "lambda": "key = lambda x, y=LIMIT, *z, w=1, **v: (x, y, z, w, v)\nuse(9)\nreturn sorted(rows, key=key)",
    "match": "match rows:\n    case [first, *others]:\n        work(first, others)\n    case {'a': a, **rest}:\n        work(a, rest)\n    case str() as text:\n        work(text)\nuse(9)",
    "unpacking": "first, *others = rows\n(a, [b, c]) = work()\nuse(9)\nreturn first, others, a, b, c",
    "annotated": "total: int = 0\ntotal += 1\nuse(9)\nreturn total",
    "global": "global LIMIT\nLIMIT = 4\nuse(9)\nreturn LIMIT",
    "nonlocal": "count = 0\ndef more():\n    nonlocal count\n    count += 1\n    return count\nuse(9)\nreturn more()",
    "both-branches": "if rows:\n    n = 1\nelse:\n    n = 2\nuse(9)\nreturn n",
    "raising-branch": "if rows:\n    n = 1\nelse:\n    raise ValueError(LIMIT)\nuse(9)\nreturn n",
    "assigned-in-try": "try:\n    n = work()\nexcept ValueError:\n    n = 0\nuse(9)\nreturn n",
    "nested-closure": "def outer():\n    n = 1\n    def inner():\n        return n + LIMIT\n    return inner\nuse(9)\nreturn outer()()",
    "name-of-a-parameter-inside": "def inner(rows):\n    return rows\nuse(9)\nreturn inner(rows)",
    "alias-by-its-origin": "use(9)\nreturn numpy.zeros(1)",
    "dotted-alias": "use(9)\nreturn F.softmax(rows)",
    "builtin": "use(9)\nreturn sorted(rows, key=len)",
    "module-attributes": "use(9)\nreturn __name__, __file__",
    "parameter-again": "rows = work(rows)\nuse(9)\nreturn rows",
}


@pytest.mark.parametrize("after", BOUND.values(), ids=BOUND)
def test_binding_of_the_new_code_is_known(judge_codemod, after):
    source = function("work(rows)\nreturn old(1)")
    judgement = judge_codemod(codemod("return old(1)", after), source)
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail, judgement.trace)
    written = judgement.contents["m.py"].decode()
    compile(written, "m.py", "exec")
    assert judge_codemod(codemod("return old(1)", after), written).state.value == "landed"


UNBOUND = {
    "nowhere": "use(9)\nreturn nothing",
    "later": "use(9)\nreturn total\ntotal = 1",
    "before-its-assignment": "work(total)\ntotal = 1\nuse(9)",
    "in-its-own-assignment": "total = total + 1\nuse(9)",
    "augmented": "total += 1\nuse(9)",
    "deleted": "total = 1\ndel total\nuse(9)\nreturn total",
    "after-its-handler": "try:\n    work()\nexcept ValueError as error:\n    work()\nuse(9)\nreturn error",
    "after-a-loop": "for i in rows:\n    work(i)\nuse(9)\nreturn i",
    "in-one-branch": "if rows:\n    n = 1\nuse(9)\nreturn n",
    "assigned-in-try-only": "try:\n    n = work()\nexcept ValueError:\n    work()\nuse(9)\nreturn n",
    "in-one-case": "match rows:\n    case [n]:\n        work()\nuse(9)\nreturn n",
    "comprehension-variable-outside": "found = [x for x in rows]\nuse(9)\nreturn found, x",
    "second-iterable-first": "use(9)\nreturn [a for a in b for b in rows]",
    "lambda-parameter-outside": "key = lambda x: x\nuse(9)\nreturn key, x",
    "local-of-a-nested-function": "def inner():\n    n = 1\n    return n\nuse(9)\nreturn inner, n",
    "class-variable-in-its-method": "class Inner:\n    size = 1\n\n    def m(self):\n        return size\nuse(9)\nreturn Inner",
    "class-variable-before-it": "class Inner:\n    both = size\n    size = 1\nuse(9)\nreturn Inner",
    "class-variable-outside": "class Inner:\n    size = 1\nuse(9)\nreturn size",
    "late-closure": "def inner():\n    return n\nuse(9)\ninner()\nn = 1",
    "local-in-its-default": "def inner(a=b, b=1):\n    return a + b\nuse(9)\nreturn inner",
    "walrus-behind-and": "if rows and (n := work()):\n    work()\nuse(9)\nreturn n",
    "with-item-before-it": "with work(w) as w:\n    use(9)",
    "alias-of-another-module": "use(9)\nreturn np.zeros(1)",
    "import-in-one-branch": "if rows:\n    import math\nuse(9)\nreturn math.pi",
}


@pytest.mark.parametrize("after", UNBOUND.values(), ids=UNBOUND)
def test_name_that_may_be_unbound_is_refused(judge_codemod, after):
    judgement = judge_codemod(codemod("return old(1)", after), function("work(rows)\nreturn old(1)"))
    assert (judgement.state.value, judgement.reason) == ("conflict", "name-unavailable"), judgement
    assert not judgement.contents


INVALID = {
    "nonlocal-of-nothing": "def inner():\n    nonlocal nothing\n    nothing = 1\nuse(9)\ninner()",
    "await-in-a-function": "use(9)\nawait work()",
    "break-outside": "use(9)\nbreak",
    "parameter-twice": "def inner(a, a):\n    return a\nuse(9)\ninner(1, 2)",
}


@pytest.mark.parametrize("after", INVALID.values(), ids=INVALID)
def test_code_that_does_not_compile_is_refused(judge_codemod, after):
    judgement = judge_codemod(codemod("old(1)", after), function("old(1)\nwork(rows)"))
    assert (judgement.state.value, judgement.reason) == ("conflict", "result-unparsable"), judgement
    assert not judgement.contents


TAKEN = {
    "read-later": ("n = 1\nuse(9)", "n = 0\nold(1)\nreturn n"),
    "parameter": ("rows = 1\nuse(9)", "old(1)\nreturn rows"),
    "global-read-later": ("LIMIT = 1\nuse(9)", "old(1)\nreturn LIMIT"),
    "read-in-a-closure": ("n = 1\nuse(9)", "old(1)\nreturn lambda: n"),
    "handler-name-that-is-a-variable": (
        "try:\n    use(9)\nexcept ValueError as n:\n    work(n)",
        "n = 0\nold(1)\nreturn n",
    ),
    "loop-variable-that-is-read": ("for n in rows:\n    work(n)\nuse(9)", "n = 0\nold(1)\nreturn n"),
    "imported-name-that-is-read": ("import sys\nuse(9)", "old(1)\nreturn sys.path"),
    "function-that-is-called": ("def work(n):\n    return n\nuse(9)", "old(1)\nreturn work(rows)"),
    "walrus": ("if (n := 1):\n    use(9)", "n = 0\nold(1)\nreturn n"),
}


@pytest.mark.parametrize(("after", "body"), TAKEN.values(), ids=TAKEN)
def test_new_name_that_other_code_uses_is_refused(judge_codemod, after, body):
    judgement = judge_codemod(codemod("old(1)", after), function(body))
    assert (judgement.state.value, judgement.reason) == ("conflict", "name-taken"), judgement
    assert not judgement.contents


APART = {
    "comprehension-variable": ("found = [n for n in rows]\nuse(9)\nwork(found)", "n = 0\nold(1)\nreturn n"),
    "lambda-parameter": ("work(lambda n: n)\nuse(9)", "n = 0\nold(1)\nreturn n"),
    "parameter-of-a-nested-function": ("def inner(n):\n    return n\nuse(9)\ninner(1)", "n = 0\nold(1)\nreturn n"),
    "handler-name-of-another-handler": (
        "try:\n    use(9)\nexcept ValueError as error:\n    work(error)",
        "try:\n    work()\nexcept KeyError as error:\n    work(error)\nold(1)",
    ),
    "loop-variable-of-another-loop": ("for i in rows:\n    work(i)\nuse(9)", "for i in rows:\n    work(i)\nold(1)"),
    "file-of-another-with": (
        "with work() as f_:\n    use(9)\n    work(f_)",
        "with work() as f_:\n    work(f_)\nold(1)",
    ),
}


@pytest.mark.parametrize(("after", "body"), APART.values(), ids=APART)
def test_same_name_in_a_scope_of_its_own_is_no_clash(judge_codemod, after, body):
    judgement = judge_codemod(codemod("old(1)", after), function(body))
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail, judgement.trace)


SIBLINGS = {
    "import": ("Rule('i', edit=add_import('import math')),", "use(9)\nreturn math.pi"),
    "from-import": ("Rule('i', edit=add_import('from math import pi as circle')),", "use(9)\nreturn circle"),
    "import-under-an-alias": ("Rule('i', edit=add_import('import pandas as pd')),", "use(9)\nreturn pd.concat(rows)"),
    "function": ("Rule('i', edit=add_function('def twice(n):\\n    return n + n')),", "use(9)\nreturn twice(1)"),
    "class": ("Rule('i', edit=add_class('class More:\\n    pass')),", "use(9)\nreturn More()"),
    "constant": ("Rule('i', edit=add_field('MOST = LIMIT + 1')),", "use(9)\nreturn MOST"),
    "parameter": ("Rule('i', scope='f', edit=add_parameter('most=LIMIT')),", "use(9)\nreturn most"),
    "insertion": (
        "Rule('i', edit=insert_after('LIMIT = 3', 'LOW, HIGH = 1, 2'), defect=unmentioned('LOW'), goals=(goal('b', 'LOW, HIGH = 1, 2'),)),",
        "use(9)\nreturn LOW, HIGH",
    ),
}


@pytest.mark.parametrize(("rule", "after"), SIBLINGS.values(), ids=SIBLINGS)
def test_one_rule_binds_what_another_one_reads(judge_codemod, rule, after):
    source = function("work(rows)\nreturn old(1)")
    text = codemod("return old(1)", after, more=rule)
    judgement = judge_codemod(text, source)
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail, judgement.trace)
    assert judge_codemod(text, judgement.contents["m.py"]).state.value == "landed"
    alone = judge_codemod(codemod("return old(1)", after), source)
    assert alone.reason == "name-unavailable"


ORDER = {
    "default-before-the-constant": ("add_function('def g(n=LIMIT):\\n    return n', before='sys')", False),
    "default-behind-the-constant": ("add_function('def g(n=LIMIT):\\n    return n', behind='LIMIT')", True),
    "body-before-the-constant": ("add_function('def g(n):\\n    return n + LIMIT', before='sys')", True),
    "base-class-before-its-definition": ("add_class('class D(C):\\n    pass', before='C')", False),
    "base-class-behind-its-definition": ("add_class('class D(C):\\n    pass', behind='C')", True),
    "decorator-before-its-definition": ("add_function('@f\\ndef g():\\n    pass', before='f')", False),
    "constant-of-a-later-function": ("add_field('TABLE = f(1)')", False),
    "constant-behind-its-function": ("add_field('TABLE = f(1)', behind='f')", True),
}


@pytest.mark.parametrize(("edit", "right"), ORDER.values(), ids=ORDER)
def test_code_that_runs_on_import_reads_names_that_are_bound_above(judge_codemod, edit, right):
    text = HEAD + f"class P(SemanticPatch):\n    edit = {edit}\n"
    judgement = judge_codemod(text, function("return rows") + "\n\nclass C:\n    pass\n")
    assert (judgement.state.value, judgement.reason) == (
        ("applied", None) if right else ("conflict", "name-unavailable")
    )


LOST = {
    "import-that-is-read": "remove_import('import sys')",
    "function-that-is-called": "remove_definition('g')",
    "constant-that-is-read": "remove_definition('LIMIT')",
    "class-that-is-listed": "remove_definition('Shown')",
    "new-function-that-hides-a-builtin": "add_function('def len(x):\\n    return 0')",
}


@pytest.mark.parametrize("edit", LOST.values(), ids=LOST)
def test_edit_of_the_module_that_changes_what_other_code_reads_is_refused(judge_codemod, edit):
    source = (
        function("return sys.path, len(rows), g(rows), LIMIT")
        + "\n\ndef g(x):\n    return x\n\n\nclass Shown:\n    pass\n\n\n__all__ = ['f', 'Shown']\n"
    )
    judgement = judge_codemod(HEAD + f"class P(SemanticPatch):\n    edit = {edit}\n", source)
    assert judgement.state.value == "conflict"
    assert judgement.reason in ("removed-name-read", "name-taken")


def test_method_that_the_class_still_calls_is_not_removed(judge_codemod):
    text = HEAD + "class P(SemanticPatch):\n    scope = 'C'\n    edit = remove_definition('g')\n"
    source = "class C:\n    def f(self):\n        return self.g()\n\n    def g(self):\n        return 1\n"
    assert judge_codemod(text, source).reason == "removed-name-read"
    unused = judge_codemod(text, source.replace("self.g()", "1"))
    assert unused.contents["m.py"].decode() == "class C:\n    def f(self):\n        return 1\n"


def test_parameter_that_is_still_read_is_not_removed(judge_codemod):
    text = HEAD + "class P(SemanticPatch):\n    scope = 'f'\n    edit = remove_parameter('b')\n"
    assert judge_codemod(text, "def f(a, b=1):\n    return a + b\n").reason == "removed-name-read"
    assert judge_codemod(text, "def f(a, b=1):\n    return a\n").contents["m.py"] == b"def f(a):\n    return a\n"
