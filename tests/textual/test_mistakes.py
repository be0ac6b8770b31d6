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
