"""Random changes of a real source, each to one statement or expression; every other byte stays.

Nothing here uses the engine. A change is inside of the fix, or unrelated, by where it is made.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.semantic.patches.mutate import definition, mentions, statements


@dataclass(frozen=True)
class Fix:
    """Where one patch changes its target.

    Args:
        patch: Its name.
        scopes: Functions and methods that have the code before or after.
        words: Identifiers that a statement of the fix, or of the code before, mentions.
        related: Further words that make a function related to the fix.
    """

    patch: str
    scopes: tuple[str, ...]
    words: tuple[str, ...]
    related: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mutant:
    """A changed source.

    Args:
        kind: What was changed.
        line: Where, one-based.
        text: The result.
    """

    kind: str
    line: int
    text: str


class Mutator:
    """Makes mutants of one source.

    Args:
        fix: Where the fix is.
        text: The source; ASCII before the changed code, or columns would be bytes.
    """

    def __init__(self, fix: Fix, text: str) -> None:
        self.fix = fix
        self.text = text
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.tree = ast.parse(text)
        self.functions = [f for symbol in fix.scopes for f in _functions(self.tree, symbol)]
        self.region = [s for f in self.functions for s in statements(f) if self._is_fix(s)]

    def _is_fix(self, statement: ast.stmt) -> bool:
        returned = isinstance(statement, ast.Return)
        return not returned and any(mentions(statement, word) for word in self.fix.words)

    def inside(self, choice: random.Random) -> Mutant | None:
        """Change the fix, or what is around it; None where the chosen change is not possible there."""
        statement = choice.choice(self.region)
        function = next(f for f in self.functions if f.lineno <= statement.lineno <= (f.end_lineno or 0))
        kind = choice.choice([*_EXPRESSIONS, *_STATEMENTS, "moved"])
        if kind == "moved":
            return self._moved(statement, function, choice)
        if kind in _STATEMENTS:
            new = _STATEMENTS[kind](self, statement, function, choice)
            return None if new is None else self._mutant(kind, statement, new)
        nodes = [n for n in ast.walk(statement) if isinstance(n, ast.expr) and _is_read(n)]
        found = [(n, new) for n in nodes for new in [_EXPRESSIONS[kind](n, function, choice, self.source)] if new]
        if not found:
            return None
        node, new = choice.choice(found)
        return self._mutant(kind, node, new)

    def unrelated(self, choice: random.Random) -> Mutant | None:
        """Change a function that has nothing to do with the fix, or insert what has no effect anywhere."""
        words = {*self.fix.words, *self.fix.related}
        others = [
            f
            for f in ast.walk(self.tree)
            if isinstance(f, ast.FunctionDef)
            and not f.name.startswith("__")
            and not words & {*_identifiers(f), f.name}
            and f.name not in {symbol.rpartition(".")[2] for symbol in self.fix.scopes}
        ]
        kind = choice.choice([*_HARMLESS, "other function"])
        if kind == "other function" and others:
            function = choice.choice(others)
            statement = choice.choice(list(statements(function)))
            name = choice.choice([*_EXPRESSIONS, "delete", "duplicate", "condition"])
            if name in _STATEMENTS:
                new = _STATEMENTS[name](self, statement, function, choice)
                return None if new is None else self._mutant(f"other function: {name}", statement, new)
            nodes = [n for n in ast.walk(statement) if isinstance(n, ast.expr) and _is_read(n)]
            found = [(n, new) for n in nodes for new in [_EXPRESSIONS[name](n, function, choice, self.source)] if new]
            return self._mutant(f"other function: {name}", *choice.choice(found)) if found else None
        everywhere = [s for f in ast.walk(self.tree) if isinstance(f, ast.FunctionDef) for s in f.body[1:]]
        statement = choice.choice(everywhere)
        lines = _HARMLESS.get(kind, "# other words")
        return self._mutant(kind, statement, self._before(statement, lines))

    def _moved(self, statement: ast.stmt, function: ast.FunctionDef, choice: random.Random) -> Mutant | None:
        """Exchange a statement with another one of its block."""
        blocks = [getattr(n, field, None) for n in ast.walk(function) for field in ("body", "orelse")]
        block = next(b for b in blocks if isinstance(b, list) and statement in b)
        (one, end), (other, last) = sorted([self._span(statement), self._span(choice.choice(block))])
        if one == other:
            return None
        t = self.text
        text = t[:one] + t[other:last] + t[end:other] + t[one:end] + t[last:]
        return Mutant("moved", statement.lineno, text)

    def source(self, node: ast.AST) -> str:
        """The text of a node."""
        first, last = self._span(node)
        return self.text[first:last]

    def _span(self, node: ast.AST) -> tuple[int, int]:
        lines = self.text.splitlines(keepends=True)

        def at(line: int, column: int) -> int:
            return self.starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])  # type: ignore[attr-defined]
        return at(first, node.col_offset), at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _mutant(self, kind: str, node: ast.AST, new: str) -> Mutant | None:
        first, last = self._span(node)
        text = self.text[:first] + new + self.text[last:]
        try:
            changed = ast.dump(ast.parse(text)) != ast.dump(self.tree)
        except SyntaxError:
            return None
        commented = "#" in new
        return Mutant(kind, node.lineno, text) if changed or commented else None  # type: ignore[attr-defined]

    def _before(self, statement: ast.stmt, *lines: str) -> str:
        return "".join(line + "\n" + " " * statement.col_offset for line in lines) + self.source(statement)

    def _behind(self, statement: ast.stmt, *lines: str) -> str:
        return self.source(statement) + "".join("\n" + " " * statement.col_offset + line for line in lines)

    def _under(self, statement: ast.stmt, header: str) -> str:
        indent = " " * statement.col_offset
        body = self.source(statement).replace("\n", "\n    ")
        return f"{header}\n{indent}    {body}"


def _functions(tree: ast.Module, symbol: str) -> Iterator[ast.FunctionDef]:
    try:
        found = definition(ast.unparse(tree), symbol)
    except StopIteration:
        return
    owner, _, name = symbol.rpartition(".")
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == owner and isinstance(found, ast.FunctionDef):
            yield from (s for s in node.body if isinstance(s, ast.FunctionDef) and s.name == name)


def _identifiers(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        yield getattr(child, "id", "") or getattr(child, "attr", "") or getattr(child, "arg", "") or ""


def _is_read(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _names(function: ast.FunctionDef) -> list[str]:
    """Local names and parameters."""
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return sorted(stored | {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)} - {"self"})


_FORMS = (
    *("{0}[:0]", "{0}[:-1]", "{0}[1:]", "({0} + 1)", "({0} - 0)", "{0}.flip(0)", "{0}.roll(1)", "{0}.sort()[0]"),
    *("{0}.clone()", "{0}.abs()", "torch.zeros_like({0})"),
)
_CHANGES = (
    *("{0} = {0}[:1]", "{0} = {0}.flip(0)", "{0} += 1", "{0}.fill_(0)", "{0}[:] = 0", "torch.add({0}, 1, out={0})"),
    *("view = {0}[:]; view.zero_()", "{0}: object = {0} * 0", "{0}, _ = {0}[:1], 0", "({0} := {0}[:1])", "del {0}"),
    *("{0} = {0} if len({0}) > 1 else None", "{0} = sorted({0})", "for {0} in [None]: pass"),
)
_EXITS = (
    *("return", "if {0} is not None: return", "if {0}: return", "if len({0}) > 1: return", "while True: return"),
    *("raise ValueError", "if self.unset: return None", "with {0}: return"),
)
_HEADERS = (
    *("if False:", "if {0} is None:", "if len({0}) > 1:", "if not {0}:", "if {0} == 0:", "if __debug__ is None:"),
    *("for _ in ():", "for _ in range(2):", "while False:", "def later():"),
)

Text = Callable[[ast.AST], str]


def _other_name(node: ast.expr, function: ast.FunctionDef, choice: random.Random, text: Text) -> str | None:
    names = _names(function)
    return choice.choice(names) if isinstance(node, ast.Name) and node.id in names else None


def _other_attribute(node: ast.expr, function: ast.FunctionDef, choice: random.Random, text: Text) -> str | None:
    if not isinstance(node, ast.Attribute):
        return None
    attributes = sorted({n.attr for n in ast.walk(function) if isinstance(n, ast.Attribute)} - {node.attr})
    return f"{text(node.value)}.{choice.choice(attributes)}" if attributes else None


def _comparison(node: ast.expr, function: ast.FunctionDef, choice: random.Random, text: Text) -> str | None:
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    operator = choice.choice(["<", "<=", "==", "!=", ">", ">=", "is", "is not"])
    return f"{text(node.left)} {operator} {text(node.comparators[0])}"


def _constant(node: ast.expr, function: ast.FunctionDef, choice: random.Random, text: Text) -> str | None:
    if not isinstance(node, ast.Constant) or isinstance(node.value, str):
        return None
    others = {"0", "1", "2", "-1", "None", "True", "False"} - {repr(node.value)}
    return choice.choice(sorted(others))


def _boolean(node: ast.expr, function: ast.FunctionDef, choice: random.Random, text: Text) -> str | None:
    if isinstance(node, ast.BoolOp):
        parts = [text(value) for value in node.values]
        other = " or " if isinstance(node.op, ast.And) else " and "
        return choice.choice([other.join(parts), *parts])
    return f"not ({text(node)})" if isinstance(node, ast.Compare) else None


def _arguments(node: ast.expr, function: ast.FunctionDef, choice: random.Random, text: Text) -> str | None:
    if not isinstance(node, ast.Call) or not node.args:
        return None
    args, keywords = [text(a) for a in node.args], [text(k) for k in node.keywords]
    one, other = choice.randrange(len(args)), choice.randrange(len(args))
    if one == other:
        del args[one]
    else:
        args[one], args[other] = args[other], args[one]
    return f"{text(node.func)}({', '.join([*args, *keywords])})"


def _keyword(node: ast.expr, function: ast.FunctionDef, choice: random.Random, text: Text) -> str | None:
    if not isinstance(node, ast.Call) or not node.keywords:
        return None
    left = [text(part) for part in (*node.args, *node.keywords)]
    left.remove(text(choice.choice(node.keywords)))
    return f"{text(node.func)}({', '.join(left)})"


def _operator(node: ast.expr, function: ast.FunctionDef, choice: random.Random, text: Text) -> str | None:
    if not isinstance(node, ast.BinOp):
        return None
    operator = choice.choice(["+", "-", "*", "//"])
    return f"({text(node.left)} {operator} {text(node.right)})"


def _around(node: ast.expr, function: ast.FunctionDef, choice: random.Random, text: Text) -> str | None:
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        return None
    code = text(node)
    return choice.choice([form.format(code) for form in _FORMS])


_EXPRESSIONS: dict[str, Callable[[ast.expr, ast.FunctionDef, random.Random, Text], str | None]] = {
    "other name": _other_name,
    "other attribute": _other_attribute,
    "comparison": _comparison,
    "constant": _constant,
    "boolean": _boolean,
    "arguments": _arguments,
    "keyword": _keyword,
    "operator": _operator,
    "around": _around,
}


def _some_name(statement: ast.stmt, choice: random.Random) -> str | None:
    names = sorted({n.id for n in ast.walk(statement) if isinstance(n, ast.Name)} - {"self", "torch", "super"})
    return choice.choice(names) if names else None


def _changed_before(m: Mutator, s: ast.stmt, f: ast.FunctionDef, choice: random.Random) -> str | None:
    name = _some_name(s, choice)
    change = choice.choice(_CHANGES)
    return None if name is None else m._before(s, change.format(name))


def _changed_behind(m: Mutator, s: ast.stmt, f: ast.FunctionDef, choice: random.Random) -> str | None:
    nodes = [n for n in ast.walk(s) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))]
    targets = sorted({m.source(n) for n in nodes if m.source(n) not in ("self", "torch")})
    change = choice.choice(
        ["{0}.zero_()", "{0}[:] = 0", "{0}[:1] = 5", "{0} = None", "view = {0}; view.fill_(1)", "del {0}"]
    )
    return m._behind(s, change.format(choice.choice(targets))) if targets else None


def _early_exit(m: Mutator, s: ast.stmt, f: ast.FunctionDef, choice: random.Random) -> str:
    parameters = [a.arg for a in f.args.args if a.arg != "self"]
    name = choice.choice(parameters) if parameters else "self"
    exit_ = choice.choice(_EXITS)
    return m._before(s, exit_.format(name))


def _condition(m: Mutator, s: ast.stmt, f: ast.FunctionDef, choice: random.Random) -> str:
    name = _some_name(s, choice) or "self"
    header = choice.choice(_HEADERS)
    return m._under(s, header.format(name))


_STATEMENTS: dict[str, Callable[[Mutator, ast.stmt, ast.FunctionDef, random.Random], str | None]] = {
    "delete": lambda m, s, f, choice: "pass",
    "duplicate": lambda m, s, f, choice: m._behind(s, m.source(s)),
    "changed before": _changed_before,
    "changed behind": _changed_behind,
    "early exit": _early_exit,
    "condition": _condition,
}

_HARMLESS = {
    "comment": "# other words",
    "another comment": "#",
    "new local": "unused_local = 7",
    "log": 'print("here")',
    "assertion": "assert True",
}
