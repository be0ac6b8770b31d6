"""Changes that are easy to mistake: for landed where upstream has something else, or for ones that can be applied.

Each is a patch and a target that differ in one respect from a pair that is right. A conflict is right for all of them.
"""

from typing import NamedTuple

import pytest

from patchtool.domain.text_patch import CarryOutcome, FileChange
from patchtool.textual.carry import carry_file


class Case(NamedTuple):
    """A patch, a target, what it must not come to, and words of a result that is right, too."""

    base: str
    patched: str
    target: str
    wrong: frozenset[str]
    path: str = "m.py"
    right: str = ""


CASES: dict[str, Case] = {}
LANDED, APPLIED = frozenset({"landed"}), frozenset({"applied"})
EITHER = LANDED | APPLIED


def case(
    name: str, base: str, patched: str, target: str, wrong: frozenset[str], path: str = "m.py", right: str = ""
) -> None:
    CASES[name] = Case(base, patched, target, wrong, path, right)


TWO = "def f(a, b):\n    x = one(a)\n    y = two(b)\n    return join(x, y)\n"
KEYS = """\
class A(Base):
    def f(self, a):
        x = self.one(a)
        return x

    def one(self, a):
        return load(a)

    def g(self):
        return 1
"""
MORE = "\n\nZ = 1\n"
case(
    "decorator missing",
    KEYS,
    KEYS + "\n    @cached\n    def h(self):\n        return compute(self, 3)\n",
    KEYS + "\n    def h(self):\n        return compute(self, 3)\n" + MORE,
    EITHER,
)
case(
    "async lost",
    KEYS,
    KEYS + "\n    async def h(self):\n        return compute(self, 3)\n",
    KEYS + "\n    def h(self):\n        return compute(self, 3)\n" + MORE,
    EITHER,
)


def ins(statement: str) -> str:
    return TWO.replace("    y = two", f"    {statement}\n    y = two")


def pair(name: str, ours: str, theirs: str) -> None:
    case(name, TWO, ins(ours), ins(theirs) + MORE, LANDED)


pair("f-string conversion", "log(f'{a!r} failed', b)", "log(f'{a} failed', b)")
pair("percent d", "log('%d failed' % a, b)", "log(f'{a} failed', b)")
pair("bytes prefix", "send_all(b'abc', a, b)", "send_all('abc', a, b)")
pair("True for 1", "limit = minimum(1, a, b)", "limit = minimum(True, a, b)")
pair("1.0 for 1", "limit = minimum(1, a, b)", "limit = minimum(1.0, a, b)")
pair("is for ==", "ok = check(a == b, x)", "ok = check(a is b, x)")
pair("<= for <", "ok = check(a < b, x)", "ok = check(a <= b, x)")
pair("or for and", "ok = check(a and b, x)", "ok = check(a or b, x)")
pair("not lost", "ok = check(not a, b, x)", "ok = check(a, b, x)")
pair("starred", "ok = check(*a, b, x)", "ok = check(a, b, x)")
pair("kwarg for positional", "ok = check(a, deep=b)", "ok = check(a, b)")
pair("slice step", "part = a[1:n:2]", "part = a[1:n]")
pair("comprehension filter", "part = [i for i in a if i]", "part = [i for i in a]")
pair("set for list comprehension", "part = [i for i in all_of(a)]", "part = {i for i in all_of(a)}")
pair("lambda default", "call(lambda q=a: q + b)", "call(lambda q: q + b)")
pair("aug for plain", "x += offset(a, b)", "x = offset(a, b)")
pair("annotated with other value", "lim: int = table(a, b)", "lim: int = table(b, a)")
pair("yield from", "yield from produce(a, b)", "yield produce(a, b)")
pair("await lost", "v = await produce(a, b)", "v = produce(a, b)")
pair("raise from", "raise Failed(a, b) from x", "raise Failed(a, b)")
pair("assert message is condition", "assert valid(a), b", "assert (valid(a), b)")
pair("del vs call", "del cache[a, b]", "cache[a, b]")
pair("global vs local", "global_count = count_of(a, b)", "self.global_count = count_of(a, b)")
pair("negative number", "part = take(a, -1, b)", "part = take(a, 1, b)")
pair("implicit concat", "msg = text('a' 'b', a)", "msg = text('a', 'b', a)")
pair("raw string", "pat = compile(r'\\n', a)", "pat = compile('\\n', a)")
pair("unicode lookalike", "limit = t\u0430ble(a, b)", "limit = table(a, b)")
pair("walrus lost", "use(q := first(a), b)", "use(first(a), b)")
pair("in a string", "check_limit(a, b)", "'''check_limit(a, b)'''")
pair("in a comment", "check_limit(a, b)", "# check_limit(a, b)")
pair("tuple for call", "pair = (a, b, one)", "pair = a(b, one)")
pair("two-arg super of another class", "super(Other, self).start(a, b)", "super().start(a, b)")
CHILD = "class B(A):\n    def f(self, a):\n        x = one(a)\n        return x\n\n    def g(self):\n        return 1\n"
case(
    "super of a named class",
    CHILD,
    CHILD.replace("        return x", "        super(A, self).start(a, x)\n        return x"),
    CHILD.replace("        return x", "        super().start(a, x)\n        return x") + MORE,
    LANDED,
)
TRY = """\
def f(a):
    try:
        x = one(a)
    except Error:
        x = two(a)
    else:
        done(x)
    finally:
        close(a)
    return x
"""
for where in ("x = two(a)", "done(x)", "close(a)"):
    case(
        f"try body vs {where}",
        TRY,
        TRY.replace("        x = one(a)\n", "        x = one(a)\n        check_limit(x, 100)\n"),
        TRY.replace(f"        {where}\n", f"        {where}\n        check_limit(x, 100)\n") + MORE,
        LANDED,
    )
case(
    "except kinds",
    TRY,
    TRY.replace("except Error", "except (Error, OSError)"),
    TRY.replace("except Error", "except (Error, KeyError)") + MORE,
    EITHER,
)
case(
    "except order",
    TRY,
    TRY.replace("    except Error:", "    except OSError:\n        x = three(a)\n    except Error:"),
    TRY.replace("        x = two(a)\n", "        x = two(a)\n    except OSError:\n        x = three(a)\n") + MORE,
    LANDED,
)
FOR = "def f(a):\n    for i in a:\n        x = one(i)\n        use(x)\n    return a\n"
case(
    "loop body vs behind",
    FOR,
    FOR.replace("        use(x)\n", "        use(x)\n        check_limit(x, 100)\n"),
    FOR.replace("        use(x)\n", "        use(x)\n    check_limit(x, 100)\n") + MORE,
    LANDED,
)
case(
    "for-else vs if-else",
    FOR.replace("        use(x)\n", "        if x:\n            use(x)\n"),
    FOR.replace("        use(x)\n", "        if x:\n            use(x)\n        else:\n            report(a, x)\n"),
    FOR.replace("        use(x)\n", "        if x:\n            use(x)\n    else:\n        report(a, x)\n") + MORE,
    LANDED,
)
TWICE = "def f(a):\n    send(a)\n    x = one(a)\n    send(a)\n    return x\n"
case(
    "other of two equal calls taken out",
    TWICE,
    TWICE.replace("    send(a)\n    x", "    x"),
    TWICE.replace("    send(a)\n    return", "    return") + MORE,
    LANDED,
)
case(
    "other of two equal calls changed",
    TWICE,
    TWICE.replace("    send(a)\n    x", "    send(a, deep=1)\n    x"),
    TWICE.replace("    send(a)\n    return", "    send(a, deep=1)\n    return") + MORE,
    LANDED,
)
PAIR = """\
class A:
    x = 1

    def f(self):
        return 1


class B:
    x = 1

    def f(self):
        return 2
"""
METHOD = "\n    def h(self, key):\n        return self.table.find(key, 3)\n"
case(
    "method in the other class",
    PAIR,
    PAIR.replace("        return 1\n", "        return 1\n" + METHOD),
    PAIR + METHOD + MORE,
    LANDED,
)
case(
    "attribute in the other class",
    PAIR,
    PAIR.replace("x = 1\n", "x = 1\n    limit_of_keys = 4\n", 1),
    PAIR[:60] + PAIR[60:].replace("x = 1\n", "x = 1\n    limit_of_keys = 4\n", 1) + MORE,
    LANDED,
)
DICTS = "A = {'a': 1, 'b': 2}\nB = {'a': 1, 'b': 2}\n"
case(
    "key in another dict",
    DICTS,
    DICTS.replace("A = {'a': 1, 'b': 2}", "A = {'a': 1, 'b': 2, 'limit': 3}"),
    DICTS.replace("B = {'a': 1, 'b': 2}", "B = {'a': 1, 'b': 2, 'limit': 3}") + MORE,
    LANDED,
)
case(
    "value of another key",
    DICTS,
    DICTS.replace("A = {'a': 1", "A = {'a': 7"),
    DICTS.replace("A = {'a': 1, 'b': 2", "A = {'a': 1, 'b': 7") + MORE,
    LANDED,
)
ITEMS = "X = [\n    'alpha',\n    'beta',\n    'gamma',\n]\n"
case(
    "list item elsewhere",
    ITEMS,
    ITEMS.replace("    'gamma'", "    'limit',\n    'gamma'"),
    ITEMS.replace("    'alpha'", "    'limit',\n    'alpha'") + MORE,
    APPLIED,
)
case(
    "list item twice one line",
    "X = ['a', 'b', 'c']\n",
    "X = ['a', 'limit', 'b', 'c']\n",
    "X = ['a', 'b', 'c', 'limit']\n" + MORE,
    APPLIED,
)
case(
    "alias lost",
    "import os\n\n\ndef f():\n    return np.zeros(os.x)\n",
    "import os\nimport numpy as np\n\n\ndef f():\n    return np.zeros(os.x)\n",
    "import os\nimport numpy\n\n\ndef f():\n    return np.zeros(os.x)\n",
    LANDED,
)
case(
    "import overridden later",
    "from a import load\n\nload(1)\n",
    "from b import load\n\nload(1)\n",
    "from b import load\nfrom a import load\n\nload(1)\n",
    LANDED,
)
case(
    "toml other section",
    "[a]\nx = 1\ny = 2\n\n[b]\nx = 1\ny = 2\n",
    "[a]\nx = 1\nlimit = 5\ny = 2\n\n[b]\nx = 1\ny = 2\n",
    "[a]\nx = 1\ny = 2\n\n[b]\nx = 1\nlimit = 5\ny = 2\n",
    LANDED,
    "c.toml",
)
case(
    "toml other section, sections apart",
    "[a]\nname = 'one'\ny = 2\n\n[b]\nx = 1\ny = 2\n",
    "[a]\nname = 'one'\ny = 2\nlimit = 5\n\n[b]\nx = 1\ny = 2\n",
    "[a]\nname = 'one'\ny = 3\n\n[b]\nx = 1\ny = 2\nlimit = 5\n\n[c]\n",
    LANDED,
    "c.toml",
)
YAML = "a:\n  - one\n  - two\nb:\n  - one\n  - two\n"
case(
    "yaml other list",
    YAML,
    YAML.replace("a:\n  - one\n", "a:\n  - one\n  - limit\n"),
    YAML.replace("b:\n  - one\n", "b:\n  - one\n  - limit\n"),
    LANDED,
    "c.yaml",
)
CPP = "int f(int a) {\n  int x = one(a);\n  return x;\n}\n\nint g(int a) {\n  int x = one(a);\n  return x;\n}\n"
case(
    "c other function",
    CPP,
    CPP.replace("one(a);\n", "one(a);\n  check_limit(x);\n", 1),
    CPP[:50] + CPP[50:].replace("one(a);\n", "one(a);\n  check_limit(x);\n", 1),
    LANDED,
    "c.cpp",
)
case(
    "c other function, apart",
    CPP.replace(
        "int x = one(a);\n  return x;\n}\n\nint g",
        "int x = one(a);\n  return x;\n}\n\n// ----\n\nint h() { return 1; }\n\nint g",
    ),
    CPP.replace(
        "int x = one(a);\n  return x;\n}\n\nint g",
        "int x = one(a);\n  check_limit(x);\n  return x;\n}\n\n// ----\n\nint h() { return 1; }\n\nint g",
    ),
    CPP.replace(
        "int x = one(a);\n  return x;\n}\n\nint g",
        "int x = two(a);\n  return x;\n}\n\n// ----\n\nint h() { return 1; }\n\nint g",
    ).replace("int g(int a) {\n  int x = one(a);\n", "int g(int a) {\n  int x = one(a);\n  check_limit(x);\n"),
    LANDED,
    "c.cpp",
)
case("shell commented out", "a\nb\nc\n", "a\nexport LIMIT=4\nb\nc\n", "a\n# export LIMIT=4\nb\nc\n", LANDED, "x.sh")
case(
    "noqa only",
    TWO,
    TWO.replace("one(a)", "one(a)  # noqa: X1"),
    TWO.replace("one(a)", "one(a)  # type: ignore") + MORE,
    LANDED,
)
case(
    "docstring only",
    TWO,
    TWO.replace("    x = one", "    '''Join both.'''\n    x = one"),
    TWO.replace("    x = one", "    '''Join all.'''\n    x = one") + MORE,
    LANDED,
)
case(
    "comment only",
    TWO,
    TWO.replace("    x = one", "    # the limit is 4\n    x = one"),
    TWO.replace("    x = one", "    # the limit is 5\n    x = one") + MORE,
    LANDED,
)
case(
    "early return at the end",
    TWO,
    TWO.replace("    x = one", "    if not a:\n        return None\n    x = one"),
    TWO.replace("    return join", "    if not a:\n        return None\n    return join") + MORE,
    LANDED,
)
case(
    "other context manager",
    TWO,
    TWO.replace("    x = one(a)", "    with lock_of(a):\n        x = one(a)"),
    TWO.replace("    x = one(a)", "    with file_of(a):\n        x = one(a)") + MORE,
    LANDED,
)
case(
    "nested def instead of method",
    KEYS,
    KEYS.replace(
        "    def g(self):\n        return 1\n",
        "    def g(self):\n        return 1\n\n    def h(self):\n        return compute(self, 3)\n",
    ),
    KEYS.replace(
        "    def g(self):\n        return 1\n",
        "    def g(self):\n        def h(self):\n            return compute(self, 3)\n        return 1\n",
    )
    + MORE,
    LANDED,
)
case(
    "another body of a function in a function",
    TWO,
    TWO.replace("    y = two", "    def g():\n        send_all(a, x, 3)\n    call_with(g, x)\n    y = two"),
    TWO.replace("    y = two", "    def g():\n        send_all(a, x, 4)\n    call_with(g, x)\n    y = two") + MORE,
    EITHER,
)
case(
    "definition under a condition",
    TWO,
    TWO + "\n\ndef h(a):\n    return compute(a, 3)\n",
    TWO + "\n\nif DEBUG:\n    def h(a):\n        return compute(a, 3)\n",
    LANDED,
)
case(
    "definition that is overridden",
    TWO,
    TWO + "\n\ndef h(a):\n    return compute(a, 3)\n",
    TWO + "\n\ndef h(a):\n    return compute(a, 3)\n\n\ndef h(a):\n    return old(a)\n",
    LANDED,
)
case(
    "assignment that is overridden",
    "X = old(1)\n\n\ndef f():\n    return X\n",
    "X = new(1)\n\n\ndef f():\n    return X\n",
    "X = new(1)\n\n\ndef f():\n    return X\n\n\nX = old(1)\n",
    LANDED,
)
case(
    "method overridden in class",
    KEYS,
    KEYS.replace("return load(a)", "return load(a, deep=True)"),
    KEYS.replace("return load(a)", "return load(a, deep=True)") + "\n    def one(self, a):\n        return load(a)\n",
    LANDED,
)
case(
    "deleted after",
    KEYS,
    KEYS.replace("    def g(self):\n        return 1\n", "    limit = table(4)\n"),
    KEYS.replace("    def g(self):\n        return 1\n", "    limit = table(4)\n    del limit\n"),
    LANDED,
)
case(
    "method of self gone",
    KEYS,
    KEYS.replace("        return x\n", "        self.one(x)\n        return x\n", 1),
    KEYS.replace("        x = self.one(a)\n", "        x = fetch(a)\n").replace(
        "    def one(self, a):\n        return load(a)\n\n", ""
    ),
    APPLIED,
)
case(
    "continue outside a loop",
    FOR,
    FOR.replace("        use(x)\n", "        if x.bad:\n            continue\n        use(x)\n"),
    FOR.replace("    for i in a:\n", "    with a as i:\n"),
    APPLIED,
)
case(
    "break outside a loop",
    FOR,
    FOR.replace("        use(x)\n", "        use(x)\n        if x.bad:\n            break\n"),
    FOR.replace("    for i in a:\n", "    if a:\n"),
    APPLIED,
)
case(
    "what is taken out never was there, and what replaces it is not imported",
    "from a import b\n\nLIMIT = 2048\n\n\ndef f(a):\n    return b(a)\n",
    "from a import LIMIT, b\n\n\ndef f(a):\n    return b(a)\n",
    "from a import b\n\n\ndef f(a):\n    return b(a)\n" + MORE,
    EITHER,
)
case(
    "what is taken out never was there, and a module is not imported",
    "import os\n\n\ndef f(a):\n    x = old(a)\n    y = two(os)\n    return y\n",
    "import os\nimport sys\n\n\ndef f(a):\n    y = two(os)\n    return y\n",
    "import os\n\n\ndef f(a):\n    y = two(os)\n    return y\n" + MORE,
    EITHER,
)
for name, old, ours, theirs in (
    ("a number", "V = (3, 4, 0)", "V = (3, 4, 1)", "V = (3, 3, 1)"),
    ("a constant", "V = call(first, x=False)", "V = call(first, x=True)", "V = call(second, x=True)"),
    ("an operator", "V = first < limit", "V = first <= limit", "V = second <= limit"),
    ("a short name", "V = call(first, a, 1)", "V = call(first, b, 1)", "V = call(first, b, 2)"),
    ("a word less", "V = call(first, b, 1)", "V = call(first, b)", "V = call(second, b)"),
):
    case(
        f"{name} that upstream's own change of the statement has, too",
        f"{old}\n{TWO}",
        f"{ours}\n{TWO}",
        f"{theirs}\n{TWO}",
        LANDED,
    )
case(
    "numbers that belong together",
    "V = (3, 4, 0)\n" + TWO,
    "V = (3, 4, 1)\n" + TWO,
    "V = (3, 5, 0)\n" + TWO,
    EITHER,
)
case(
    "numbers of a call that belong together",
    TWO.replace("two(b)", "two(8, 16)"),
    TWO.replace("two(b)", "two(8, 32)"),
    TWO.replace("two(b)", "two(4, 16)"),
    EITHER,
)
ASYNC = "async def f(a):\n    x = await one(a)\n    y = two(x)\n    return y\n"
case(
    "await in what is sync by now",
    ASYNC,
    ASYNC.replace("    y = two", "    await check(x)\n    y = two"),
    ASYNC.replace("async def", "def").replace("await one", "one"),
    APPLIED,
)
case(
    "await in sync, far",
    ASYNC.replace("    return y", "    z = three(y)\n    w = four(z)\n    return w"),
    ASYNC.replace("    return y", "    z = three(y)\n    await check(z)\n    w = four(z)\n    return w"),
    ASYNC.replace("async def", "def")
    .replace("await one", "one")
    .replace("    return y", "    z = three(y)\n    w = four(z)\n    return w"),
    APPLIED,
)
case(
    "yield in what is async... return value",
    TWO,
    TWO.replace("    y = two", "    yield x\n    y = two"),
    TWO.replace("def f", "async def f"),
    APPLIED,
)
case(
    "self in a static method",
    KEYS,
    KEYS.replace("        return 1\n", "        self.count = 2\n        return 1\n"),
    KEYS.replace("    def g(self):\n", "    @staticmethod\n    def g():\n"),
    APPLIED,
)
case(
    "variable gone",
    TWO,
    TWO.replace("    return join", "    note(x, y)\n    return join"),
    TWO.replace("    x = one(a)\n", "").replace("join(x, y)", "join(one(a), y)"),
    APPLIED,
)
case(
    "parameter renamed",
    TWO,
    TWO.replace("    return join", "    note(a, y)\n    return join"),
    TWO.replace("(a, b)", "(first, b)").replace("one(a)", "one(first)"),
    APPLIED,
    right="note(first",
)
case(
    "loop variable renamed",
    FOR,
    FOR.replace("        use(x)\n", "        use(x)\n        note(i, 1)\n"),
    FOR.replace("for i in a", "for each in a").replace("one(i)", "one(each)"),
    APPLIED,
    right="note(each",
)
case(
    "and/or",
    TWO.replace("    return", "    if x:\n        y = 1\n    return"),
    TWO.replace("    return", "    if x and a:\n        y = 1\n    return"),
    TWO.replace("    return", "    if x or b:\n        y = 1\n    return"),
    APPLIED,
)
case("tuple both grow", TWO, TWO.replace("join(x, y)", "x, y, a"), TWO.replace("join(x, y)", "x, y, b"), APPLIED)
case(
    "returns grow",
    TWO.replace("join(x, y)", "x, y"),
    TWO.replace("join(x, y)", "x, y, a"),
    TWO.replace("join(x, y)", "x, y, b"),
    APPLIED,
)
case("bases", KEYS, KEYS.replace("(Base)", "(Base, One)"), KEYS.replace("(Base)", "(Base, Two)"), APPLIED)
case(
    "decorators",
    KEYS,
    KEYS.replace("    def g", "    @one\n    def g"),
    KEYS.replace("    def g", "    @two\n    def g"),
    APPLIED,
)
case(
    "same decorator twice",
    KEYS,
    KEYS.replace("    def g", "    @one\n    def g"),
    KEYS.replace("    def g", "    @one\n    @two\n    def g"),
    APPLIED,
)
case("positional parameters", TWO, TWO.replace("(a, b)", "(a, b, c)"), TWO.replace("(a, b)", "(a, b, d)"), APPLIED)
case(
    "elif both",
    TWO.replace("    return", "    if x:\n        y = 1\n    return"),
    TWO.replace("    return", "    if x:\n        y = 1\n    elif a:\n        y = 2\n    return"),
    TWO.replace("    return", "    if x:\n        y = 1\n    elif b:\n        y = 3\n    return"),
    APPLIED,
)
case("dict for list", "X = [a, b]\n", "X = [a, b, c]\n", "X = {a: 1, b: 2}\n", APPLIED)
case("f-string and text", "m = 'a %s b' % x\n", "m = 'a %s c' % x\n", "m = f'a {x} b'\n", APPLIED)
case(
    "chained comparison",
    TWO.replace("    return", "    ok = a < b\n    return"),
    TWO.replace("    return", "    ok = a < b < x\n    return"),
    TWO.replace("    return", "    ok = y < a < b\n    return"),
    frozenset(),
)
case(
    "precedence",
    TWO.replace("    return", "    ok = a + b\n    return"),
    TWO.replace("    return", "    ok = (a + b) * x\n    return"),
    TWO.replace("    return", "    ok = a + b - y\n    return"),
    APPLIED,
)
case(
    "negation and conjunction",
    TWO.replace("    return", "    ok = a\n    return"),
    TWO.replace("    return", "    ok = not a\n    return"),
    TWO.replace("    return", "    ok = a and b\n    return"),
    APPLIED,
)
case(
    "slots",
    KEYS,
    KEYS.replace("    def f", "    __slots__ = ('a',)\n\n    def f", 1),
    KEYS.replace("    def f", "    __slots__ = ('b',)\n\n    def f", 1),
    APPLIED,
)
case(
    "same attribute of a class",
    KEYS,
    KEYS.replace("    def f", "    limit = 3\n\n    def f", 1),
    KEYS + "\n    limit = 4\n",
    APPLIED,
)
case(
    "same function elsewhere under if",
    TWO,
    TWO + "\n\ndef h(a):\n    return 3\n",
    "if X:\n    def h(a):\n        return 4\n\n" + TWO,
    APPLIED,
)
case(
    "same parameter",
    TWO,
    TWO.replace("(a, b)", "(a, b, *, limit=3)"),
    TWO.replace("(a, b)", "(a, b, *, limit=4)"),
    APPLIED,
)
case(
    "option twice",
    "p.add_argument('-a')\np.add_argument('-b')\n",
    "p.add_argument('-a')\np.add_argument('-l')\np.add_argument('-b')\n",
    "p.add_argument('-a')\np.add_argument('-b')\np.add_argument('-l', type=int)\n",
    APPLIED,
)
case(
    "route twice",
    "@app.get('/a')\ndef a(): ...\n\n\n@app.get('/b')\ndef b(): ...\n",
    "@app.get('/a')\ndef a(): ...\n\n\n@app.get('/l')\ndef l1(): ...\n\n\n@app.get('/b')\ndef b(): ...\n",
    "@app.get('/a')\ndef a(): ...\n\n\n@app.get('/b')\ndef b(): ...\n\n\n@app.get('/l')\ndef l2(): ...\n",
    APPLIED,
)
case(
    "global declared",
    TWO.replace("x = one(a)", "x = one(a)\n    total = 1"),
    TWO.replace("x = one(a)", "x = one(a)\n    total = 1\n    note_all(total, a)"),
    TWO.replace("    x = one(a)", "    global total\n    x = one(a)\n    total = 1"),
    APPLIED,
)
case(
    "nonlocal gone",
    "def o():\n    n = 0\n    def f():\n        a()\n        b()\n    return f\n",
    "def o():\n    n = 0\n    def f():\n        nonlocal n\n        a()\n        n += 1\n        b()\n    return f\n",
    "def o():\n    def f():\n        a()\n        b()\n    return f\n",
    APPLIED,
)
case(
    "toml key twice",
    "[a]\nx = 1\ny = 2\nz = 3\n",
    "[a]\nx = 1\nlimit = 5\ny = 2\nz = 3\n",
    "[a]\nx = 1\ny = 2\nz = 3\nlimit = 6\n",
    APPLIED,
    "c.toml",
)
case(
    "json key twice",
    '{\n "a": 1,\n "b": 2,\n "c": 3,\n "d": 4\n}\n',
    '{\n "a": 1,\n "l": 5,\n "b": 2,\n "c": 3,\n "d": 4\n}\n',
    '{\n "a": 1,\n "b": 2,\n "c": 3,\n "d": 4,\n "l": 6\n}\n',
    APPLIED,
    "c.json",
)
case(
    "requirement twice",
    "a==1\nb==2\nc==3\nd==4\n",
    "a==1\nlimit==5\nb==2\nc==3\nd==4\n",
    "a==1\nb==2\nc==3\nd==4\nlimit==6\n",
    APPLIED,
    "requirements.txt",
)
BRANCH = "def f(a, b):\n    x = one(a)\n    if x:\n        y = two(b)\n    return join(x, y)\n"
case(
    "nested condition body differs",
    BRANCH,
    BRANCH.replace("        y = two(b)\n", "        y = two(b)\n        for k in y:\n            log_all(k, 3)\n"),
    BRANCH.replace("        y = two(b)\n", "        y = two(b)\n        for k in y:\n            log_all(k, 4)\n")
    + MORE,
    EITHER,
)
case(
    "renamed variable swapped",
    TWO,
    ins("p = one_of(a)\n    q = two_of(b)\n    use(p, q)"),
    ins("p = one_of(a)\n    q = two_of(b)\n    use(q, p)") + MORE,
    LANDED,
)
case(
    "renamed variable merged",
    TWO,
    ins("p = one_of(a)\n    q = two_of(b)\n    use(p, q)"),
    ins("r = one_of(a)\n    s = two_of(b)\n    use(r, r)") + MORE,
    LANDED,
)
case(
    "variable renamed to a parameter",
    TWO,
    ins("p = one_of(a)\n    use_it(p, p)"),
    ins("b = one_of(a)\n    use_it(b, b)") + MORE,
    LANDED,
)
case(
    "lambda body differs",
    TWO,
    ins("register_all(lambda q: run(q, 1), a)"),
    ins("register_all(lambda q: run(q, 2), a)") + MORE,
    LANDED,
)
case(
    "class body differs",
    TWO,
    TWO + "\n\nclass N(Base):\n    def h(self):\n        p = one(self)\n        use_it(p, 3)\n",
    TWO + "\n\nclass N(Base):\n    def h(self):\n        p = one(self)\n        use_it(p, 4)\n",
    EITHER,
)
case(
    "class base differs",
    TWO,
    TWO + "\n\nclass N(Base):\n    limit = 3\n",
    TWO + "\n\nclass N(Other):\n    limit = 3\n",
    EITHER,
)
case(
    "match case",
    TWO.replace("    return", "    match x:\n        case 1:\n            y = 1\n    return"),
    TWO.replace(
        "    return",
        "    match x:\n        case 1:\n            y = 1\n        case 2:\n            y = limit_of(a)\n    return",
    ),
    TWO.replace(
        "    return",
        "    match x:\n        case 1:\n            y = 1\n        case 3:\n            y = limit_of(a)\n    return",
    )
    + MORE,
    EITHER,
)
case(
    "keyword only marker",
    TWO.replace("(a, b)", "(a, b, c)"),
    TWO.replace("(a, b)", "(a, b, *, c)"),
    TWO.replace("(a, b)", "(a, b, c=None)"),
    LANDED,
)
case(
    "positional only marker", TWO, TWO.replace("(a, b)", "(a, /, b)"), TWO.replace("(a, b)", "(a, b, /)") + MORE, EITHER
)
case(
    "annotation with default",
    TWO,
    TWO.replace("(a, b)", "(a: int = 3, b: int = 4)"),
    TWO.replace("(a, b)", "(a: int = 4, b: int = 3)") + MORE,
    LANDED,
)
case(
    "return annotation optional",
    TWO,
    TWO.replace("(a, b):", "(a, b) -> Optional[int]:"),
    TWO.replace("(a, b):", "(a, b) -> int:") + MORE,
    LANDED,
)
case(
    "annotation of Literal strings",
    TWO,
    TWO.replace("(a, b):", "(a: Literal['x'], b):"),
    TWO.replace("(a, b):", "(a: Literal['y'], b):") + MORE,
    LANDED,
)
case(
    "annotation quoted literal",
    TWO,
    TWO.replace("(a, b):", "(a: Literal['int'], b):"),
    TWO.replace("(a, b):", "(a: Literal[int], b):") + MORE,
    LANDED,
)
case(
    "user class named like a builtin",
    TWO,
    TWO.replace("(a, b):", "(a: mod.List, b):"),
    TWO.replace("(a, b):", "(a: list, b):") + MORE,
    LANDED,
)
case(
    "dataclass field by annotation",
    "@dataclass\nclass A:\n    x: int = 1\n",
    "@dataclass\nclass A:\n    x: int = 1\n    limit_of: int = 3\n",
    "@dataclass\nclass A:\n    x: int = 1\n    limit_of = 3\n",
    EITHER,
)
case(
    "dataclass field annotated upstream",
    "@dataclass\nclass A:\n    x: int = 1\n",
    "@dataclass\nclass A:\n    x: int = 1\n    limit_of = 3\n",
    "@dataclass\nclass A:\n    x: int = 1\n    limit_of: int = 3\n",
    LANDED,
)
case(
    "format with braces in text",
    TWO,
    ins("log_all('{} of {{}}'.format(a), b)"),
    ins("log_all(f'{a} of {b}', b)") + MORE,
    LANDED,
)
case(
    "percent of tuple variable",
    TWO,
    ins("log_all('%s failed' % a, b)"),
    ins("log_all('{} failed'.format(a), b)") + MORE,
    frozenset(),
)
case("format width", TWO, ins("log_all('%5s' % a, b)"), ins("log_all(f'{a}', b)") + MORE, LANDED)
case("str concatenation", TWO, ins("log_all('a' + a, b)"), ins("log_all(f'a{a}', b)") + MORE, LANDED)
case(
    "docstring becomes code",
    TWO,
    TWO + "\n\ndef h():\n    '''text'''\n",
    TWO + "\n\ndef h():\n    return '''text'''\n",
    EITHER,
)
case(
    "removed from other branch",
    "def f(a):\n    if a:\n        log_all(a, 1)\n        run(a)\n    else:\n        log_all(a, 1)\n        stop(a)\n",
    "def f(a):\n    if a:\n        run(a)\n    else:\n        log_all(a, 1)\n        stop(a)\n",
    "def f(a):\n    if a:\n        log_all(a, 1)\n        run(a)\n    else:\n        stop(a)\n" + MORE,
    LANDED,
)
case(
    "added to other branch",
    "def f(a):\n    if a:\n        run(a)\n    else:\n        stop(a)\n",
    "def f(a):\n    if a:\n        run(a)\n        log_all(a, 1)\n    else:\n        stop(a)\n",
    "def f(a):\n    if a:\n        run(a)\n    else:\n        stop(a)\n        log_all(a, 1)\n" + MORE,
    LANDED,
)
case(
    "added to other method of equal shape",
    KEYS,
    KEYS.replace("        return load(a)", "        check_limit(a, 5)\n        return load(a)"),
    KEYS.replace("        x = self.one(a)", "        check_limit(a, 5)\n        x = self.one(a)") + MORE,
    LANDED,
)
case(
    "import in other function",
    TWO + "\n\ndef g():\n    return 1\n",
    TWO.replace("    x = one", "    import heavy\n    x = one") + "\n\ndef g():\n    return 1\n",
    TWO + "\n\ndef g():\n    import heavy\n    return 1\n",
    LANDED,
)
case(
    "import under TYPE_CHECKING",
    "import os\n\n\ndef f():\n    return os.x\n",
    "import os\nfrom heavy import load\n\n\ndef f():\n    load()\n    return os.x\n",
    "import os\n\nif TYPE_CHECKING:\n    from heavy import load\n\n\ndef f():\n    load()\n    return os.x\n",
    LANDED,
)
case(
    "import in try",
    "import os\n\n\ndef f():\n    return os.x\n",
    "import os\nimport heavy_one\n\n\ndef f():\n    return os.x\n",
    "import os\ntry:\n    import heavy_one\nexcept ImportError:\n    heavy_one = None\n\n\ndef f():\n    return os.x\n",
    LANDED,
)
case(
    "relative import level",
    "import os\n\n\ndef f():\n    return os.x\n",
    "import os\nfrom .heavy import load\n\n\ndef f():\n    return load(os.x)\n",
    "import os\nfrom ..heavy import load\n\n\ndef f():\n    return load(os.x)\n",
    LANDED,
)
case(
    "future import",
    "import os\nx = 1\n",
    "from __future__ import annotations\nimport os\nx = 1\n",
    "import os\nx = 1\ny = 2\n",
    LANDED,
)
case(
    "decorator order",
    KEYS,
    KEYS.replace("    def g", "    @one\n    @two\n    def g"),
    KEYS.replace("    def g", "    @two\n    @one\n    def g") + MORE,
    EITHER,
)
case("property vs method", KEYS, KEYS.replace("    def g", "    @property\n    def g"), KEYS + MORE, LANDED)
V = "\n    @property\n    def v(self):\n        return self._v\n"
W = V.replace("v", "w").replace("self._w", "self._v")
SET = "\n    @v.setter\n    def v(self, value):\n        self._v = check(value)\n"
case("setter missing", KEYS, KEYS + V + SET, KEYS + V, EITHER)
case("setter of other property", KEYS + V + W, KEYS + V + SET + W, KEYS + V + W + SET.replace("v.s", "w.s"), LANDED)
case(
    "text: same line twice in context",
    "a\nb\nc\na\nb\nc\n",
    "a\nX limit\nb\nc\na\nb\nc\n",
    "a\nb\nc\na\nX limit\nb\nc\n",
    LANDED,
    "x.txt",
)
case("text: word changed", "a\nb\nc\n", "a\nthe limit is four\nb\nc\n", "a\nthe limit is five\nb\nc\n", EITHER, "x.txt")
case(
    "text: whitespace matters in make",
    "all:\n\ta\n\tb\n",
    "all:\n\ta\n\tlimit four\n\tb\n",
    "all:\n\ta\n        limit four\n\tb\n",
    EITHER,
    "Makefile",
)
case("text: case", "a\nb\n", "a\nLimit four\nb\n", "a\nlimit four\nb\n", EITHER, "x.txt")
case(
    "c: other branch of ifdef",
    "#ifdef A\nint x = 1;\n#else\nint x = 2;\n#endif\n",
    "#ifdef A\nint x = 1;\nint limit = 4;\n#else\nint x = 2;\n#endif\n",
    "#ifdef A\nint x = 1;\n#else\nint x = 2;\nint limit = 4;\n#endif\n",
    LANDED,
    "x.c",
)
case(
    "c: moved to another function and removed",
    ("int f() {\n  lock();\n  go();\n}\nint g() {\n  go();\n}\n"),
    ("int f() {\n  go();\n}\nint g() {\n  go();\n}\n"),
    ("int f() {\n  go();\n}\nint g() {\n  lock();\n  go();\n}\n"),
    LANDED,
    "x.c",
)
case(
    "sh: other case branch",
    "case $1 in\n a)\n  run\n  ;;\n b)\n  run\n  ;;\nesac\n",
    "case $1 in\n a)\n  check limit\n  run\n  ;;\n b)\n  run\n  ;;\nesac\n",
    "case $1 in\n a)\n  run\n  ;;\n b)\n  check limit\n  run\n  ;;\nesac\n",
    LANDED,
    "x.sh",
)
case(
    "inserted list both same place",
    "X = [\n    'a',\n    'b',\n]\n",
    "X = [\n    'a',\n    'l',\n    'b',\n]\n",
    "X = [\n    'a',\n    'l',\n    'm',\n    'b',\n]\n",
    APPLIED,
)
case("call argument both same", "f(a, b)\n", "f(a, b, limit=3)\n", "f(a, b, m=2, limit=4)\n", APPLIED)
case("call argument doubled", "f(a, b)\n", "f(a, b, c)\n", "f(a, c, b)\n", APPLIED)
case(
    "patch deletes what upstream extended",
    TWO,
    TWO.replace("    y = two(b)\n", "").replace("join(x, y)", "join(x)"),
    TWO.replace("two(b)", "two(b, deep=True)"),
    APPLIED,
)
case(
    "patch deletes function that upstream calls anew",
    KEYS,
    KEYS.replace("\n    def g(self):\n        return 1\n", ""),
    KEYS.replace("        return x\n", "        return x + self.g()\n", 1),
    APPLIED,
)
case(
    "patch deletes function used upstream",
    TWO + "\n\ndef helper(a):\n    return a\n",
    TWO,
    TWO.replace("one(a)", "one(helper(a))") + "\n\ndef helper(a):\n    return a\n",
    APPLIED,
)
case(
    "patch renames function, upstream adds a caller",
    "def old(a):\n    return a\n\n\ndef f(a):\n    return old(a)\n",
    "def new(a):\n    return a\n\n\ndef f(a):\n    return new(a)\n",
    "def old(a):\n    return a\n\n\ndef f(a):\n    return old(a)\n\n\ndef g(a):\n    return old(a)\n",
    APPLIED,
)
case(
    "patch renames a method, upstream adds a caller",
    KEYS,
    KEYS.replace("self.one", "self.two").replace("def one", "def two"),
    KEYS.replace("        return 1\n", "        return self.one(1)\n"),
    APPLIED,
)
case(
    "patch renames a parameter, upstream adds a use",
    TWO,
    TWO.replace("(a, b)", "(first, b)").replace("one(a)", "one(first)"),
    TWO.replace("    return", "    note(a)\n    return"),
    APPLIED,
)
case(
    "patch renames a variable, upstream adds a use",
    TWO,
    TWO.replace("x = one", "p = one").replace("join(x", "join(p"),
    TWO.replace("    y = two(b)", "    y = two(b)\n    note(x)"),
    APPLIED,
)
case(
    "patch drops an import that upstream uses",
    "import os\nimport sys\n\n\ndef f():\n    return sys.x\n",
    "import os\n\n\ndef f():\n    return 1\n",
    "import os\nimport sys\n\n\ndef f():\n    return sys.x\n\n\ndef g():\n    return sys.y\n",
    APPLIED,
)
case(
    "patch drops an attribute that upstream uses",
    KEYS.replace("    def f", "    limit = 3\n\n    def f", 1),
    KEYS,
    KEYS.replace("    def f", "    limit = 3\n\n    def f", 1).replace("return 1", "return self.limit"),
    APPLIED,
)
case(
    "patch moves a statement, upstream changes it",
    TWO,
    TWO.replace("    x = one(a)\n    y = two(b)\n", "    y = two(b)\n    x = one(a)\n"),
    TWO.replace("one(a)", "one(a, 3)"),
    APPLIED,
)
case(
    "both move a statement",
    TWO.replace("    return", "    z = three(a)\n    return"),
    TWO.replace("    x = one(a)\n", "").replace("    return", "    z = three(a)\n    x = one(a)\n    return"),
    TWO.replace("    x = one(a)\n    y = two(b)\n", "    y = two(b)\n    x = one(a)\n    z = three(a)\n"),
    frozenset(),
)
case(
    "patch wraps in try, upstream adds behind",
    TWO,
    TWO.replace("    x = one(a)\n", "    try:\n        x = one(a)\n    except Error:\n        x = None\n"),
    TWO.replace("    x = one(a)\n", "    x = one(a)\n    x.check()\n"),
    frozenset(),
)
case(
    "patch returns early, upstream adds cleanup",
    TWO,
    TWO.replace("    y = two", "    if not x:\n        return None\n    y = two"),
    TWO.replace("    x = one(a)\n", "    lock(a)\n    x = one(a)\n").replace(
        "    return join(x, y)", "    unlock(a)\n    return join(x, y)"
    ),
    frozenset(),
)
case(
    "else of a condition that upstream removed",
    BRANCH,
    BRANCH.replace("        y = two(b)\n", "        y = two(b)\n    else:\n        y = 0\n"),
    BRANCH.replace("    if x:\n        y = two(b)\n", "    y = two(b)\n"),
    APPLIED,
)
case(
    "static method called by self",
    "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n",
    "class A:\n    def f(self):\n        return 1 + self.g()\n\n    def g(self):\n        return 2\n",
    "class A:\n    def f(self):\n        return 1\n\n    def g(self, deep):\n        return 2\n",
    frozenset(),
)
case(
    "xml twice",
    "<a>\n <b/>\n <c/>\n <d/>\n</a>\n",
    "<a>\n <b/>\n <l/>\n <c/>\n <d/>\n</a>\n",
    "<a>\n <b/>\n <c/>\n <d/>\n <l/>\n</a>\n",
    frozenset(),
    "x.xml",
)
case(
    "yaml key twice",
    "a: 1\nb: 2\nc: 3\nd: 4\n",
    "a: 1\nlimit: 5\nb: 2\nc: 3\nd: 4\n",
    "a: 1\nb: 2\nc: 3\nd: 4\nlimit: 6\n",
    APPLIED,
    "x.yaml",
)
case(
    "cmake option twice",
    "option(A 1)\noption(B 1)\noption(C 1)\noption(D 1)\n",
    "option(A 1)\noption(L 1)\noption(B 1)\noption(C 1)\noption(D 1)\n",
    "option(A 1)\noption(B 1)\noption(C 1)\noption(D 1)\noption(L 0)\n",
    APPLIED,
    "CMakeLists.txt",
)
case(
    "c function twice",
    "int a() {\n  return 1;\n}\n\nint b() {\n  return 2;\n}\n",
    "int a() {\n  return 1;\n}\n\nint l() {\n  return 3;\n}\n\nint b() {\n  return 2;\n}\n",
    "int a() {\n  return 1;\n}\n\nint b() {\n  return 2;\n}\n\nint l() {\n  return 4;\n}\n",
    APPLIED,
    "x.c",
)
case(
    "c macro twice",
    "#define A 1\n#define B 2\n#define C 3\n#define D 3\n",
    "#define A 1\n#define L 9\n#define B 2\n#define C 3\n#define D 3\n",
    "#define A 1\n#define B 2\n#define C 3\n#define D 3\n#define L 8\n",
    APPLIED,
    "x.h",
)
case(
    "shell variable twice",
    "A=1\nB=2\nC=3\nD=4\n",
    "A=1\nL=9\nB=2\nC=3\nD=4\n",
    "A=1\nB=2\nC=3\nD=4\nL=8\n",
    APPLIED,
    "x.sh",
)
case(
    "module assignment twice",
    "A = 1\nB = 2\nC = 3\nD = 4\n",
    "A = 1\nLIMIT = 9\nB = 2\nC = 3\nD = 4\n",
    "A = 1\nB = 2\nC = 3\nD = 4\nLIMIT = 8\n",
    APPLIED,
)
case(
    "unused import of a taken name",
    "import os\n\n\ndef f():\n    return os.x\n",
    "import os\nfrom one import load\n\n\ndef f():\n    return load(os.x)\n",
    "import os\n\n\ndef load(a):\n    return a\n\n\ndef f():\n    return os.x\n",
    APPLIED,
)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_change_that_is_easy_to_mistake_is_not(case: Case) -> None:
    carried = carry_file(FileChange(case.path, case.base.encode(), case.patched.encode()), case.target.encode())
    changes = carried.outcome.changes_file
    outcome = "landed" if carried.outcome is CarryOutcome.LANDED else "applied" if changes else "conflict"
    right = changes and case.right and case.right in (carried.data or b"").decode()
    assert right or outcome not in case.wrong, carried
    assert outcome != "conflict" or (carried.reason and carried.detail and carried.data == case.target.encode())


NOW_PLAIN = {
    "super of the class itself": (
        CHILD.replace("        return x", "        super(B, self).start(a, x)\n        return x"),
        CHILD.replace("        return x", "        super().start(a, x)\n        return x"),
        True,
    ),
    "super in a function in a method": (
        CHILD.replace("        return x", "        def g():\n            super(B, self).start(a, x)\n        return g"),
        CHILD.replace("        return x", "        def g():\n            super().start(a, x)\n        return g"),
        False,
    ),
    "super of a class in a class": (
        CHILD + "\n    class C(A):\n        def h(self):\n            super(C, self).start(1, 2)\n",
        CHILD + "\n    class C(A):\n        def h(self):\n            super().start(1, 2)\n",
        True,
    ),
    "super of the class around": (
        CHILD + "\n    class C(A):\n        def h(self):\n            super(B, self).start(1, 2)\n",
        CHILD + "\n    class C(A):\n        def h(self):\n            super().start(1, 2)\n",
        False,
    ),
}


@pytest.mark.parametrize("case", NOW_PLAIN.values(), ids=NOW_PLAIN)
def test_super_has_two_spellings_in_its_own_class_only(case: tuple[str, str, bool]) -> None:
    patched, target, same = case
    carried = carry_file(FileChange("m.py", CHILD.encode(), patched.encode()), (target + MORE).encode())
    assert (carried.outcome is CarryOutcome.LANDED) is same


def test_an_entry_in_another_table_is_no_entry_twice() -> None:
    base = "[a]\nx = 1\n\n[b]\nx = 1\n\n[c]\nx = 1\n"
    patched, target = base.replace("[a]\n", "[a]\nlimit = 5\n"), base.replace("[c]\n", "[c]\nlimit = 6\n")
    carried = carry_file(FileChange("c.toml", base.encode(), patched.encode()), target.encode())
    assert carried.data == target.replace("[a]\n", "[a]\nlimit = 5\n").encode()
