"""Changes to real sources, by symbol and syntax, so that no line of upstream's code is quoted here.

A change maps a text to a text. A statement is located by an identifier that it mentions outside its blocks.
"""

import ast
import re
from collections.abc import Callable, Iterator

Change = Callable[[str], str]


def definition(text: str, symbol: str) -> ast.ClassDef | ast.FunctionDef:
    node: ast.AST = ast.parse(text)
    for name in symbol.split("."):
        node = next(n for n in ast.iter_child_nodes(node) if getattr(n, "name", None) == name)
    assert isinstance(node, (ast.ClassDef, ast.FunctionDef))
    return node


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        yield from statements(child)


def mentions(node: ast.AST, name: str) -> bool:
    """Whether a statement mentions an identifier, the statements inside it left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            continue
        if name in (getattr(child, "id", None), getattr(child, "attr", None)) or mentions(child, name):
            return True
    return False


def statement(text: str, symbol: str, name: str, nth: int = 0, kind: type[ast.stmt] = ast.stmt) -> ast.stmt:
    found = [s for s in statements(definition(text, symbol)) if isinstance(s, kind) and mentions(s, name)]
    return found[nth]


def span(node: ast.stmt) -> tuple[int, int]:
    """Indices of the first line and of the one after the last."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)]) - 1, node.end_lineno or 0


def _put(text: str, start: int, stop: int, indent: int, lines: tuple[str, ...]) -> str:
    old = text.split("\n")
    new = [" " * indent + part if part else "" for line in lines for part in line.split("\n")]
    return "\n".join([*old[:start], *new, *old[stop:]])


def start(symbol: str, *lines: str) -> Change:
    """Insert lines at the start of a function, behind its docstring, or of a class."""

    def change(text: str) -> str:
        node = definition(text, symbol)
        has_doc = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
        at = node.body[0].end_lineno if has_doc else span(node.body[0])[0]
        return _put(text, at or 0, at or 0, node.body[0].col_offset, lines)

    return change


def before(symbol: str, name: str, *lines: str, nth: int = 0, kind: type[ast.stmt] = ast.stmt) -> Change:
    def change(text: str) -> str:
        node = statement(text, symbol, name, nth, kind)
        return _put(text, span(node)[0], span(node)[0], node.col_offset, lines)

    return change


def after(symbol: str, name: str, *lines: str, nth: int = 0, kind: type[ast.stmt] = ast.stmt) -> Change:
    def change(text: str) -> str:
        node = statement(text, symbol, name, nth, kind)
        return _put(text, span(node)[1], span(node)[1], node.col_offset, lines)

    return change


def substitute(symbol: str, name: str, *lines: str, nth: int = 0, kind: type[ast.stmt] = ast.stmt) -> Change:
    """Replace a statement by lines; no lines remove it."""

    def change(text: str) -> str:
        node = statement(text, symbol, name, nth, kind)
        return _put(text, *span(node), node.col_offset, lines)

    return change


def duplicate(symbol: str, name: str, nth: int = 0, kind: type[ast.stmt] = ast.stmt, indent: int = 0) -> Change:
    """Repeat a statement."""

    def change(text: str) -> str:
        first, last = span(statement(text, symbol, name, nth, kind))
        lines = text.split("\n")
        return "\n".join([*lines[:last], *(" " * indent + line for line in lines[first:last]), *lines[last:]])

    return change


def wrap(symbol: str, name: str, header: str, *tail: str, nth: int = 0, kind: type[ast.stmt] = ast.stmt) -> Change:
    """Indent a statement under a header line."""

    def change(text: str) -> str:
        node = statement(text, symbol, name, nth, kind)
        first, last = span(node)
        lines = text.split("\n")
        inner = ["    " + line if line.strip() else line for line in lines[first:last]]
        pad = " " * node.col_offset
        around = [*lines[:first], pad + header, *inner, *(pad + line for line in tail), *lines[last:]]
        return "\n".join(around)

    return change


def unwrap(symbol: str, name: str, nth: int = 0) -> Change:
    """Replace an ``if`` by its body."""

    def change(text: str) -> str:
        node = statement(text, symbol, name, nth, ast.If)
        assert isinstance(node, ast.If)
        first, last = span(node)
        lines = text.split("\n")
        inner = [line.removeprefix("    ") for line in lines[node.body[0].lineno - 1 : last]]
        return "\n".join([*lines[:first], *inner, *lines[last:]])

    return change


def rename(old: str, new: str, within: str = "") -> Change:
    """Rename an identifier everywhere, or in one definition."""

    def change(text: str) -> str:
        word = re.compile(rf"(?<![\w.]){re.escape(old)}(?!\w)")
        if not within:
            return word.sub(new, text)
        first, last = span(definition(text, within))
        lines = text.split("\n")
        body = word.sub(new, "\n".join(lines[first:last]))
        return "\n".join([*lines[:first], *body.split("\n"), *lines[last:]])

    return change


def edit(symbol: str, name: str, old: str, new: str, nth: int = 0, kind: type[ast.stmt] = ast.stmt) -> Change:
    """Replace text inside one statement."""

    def change(text: str) -> str:
        first, last = span(statement(text, symbol, name, nth, kind))
        lines = text.split("\n")
        body = "\n".join(lines[first:last])
        assert old in body, (old, body)
        return "\n".join([*lines[:first], *body.replace(old, new).split("\n"), *lines[last:]])

    return change


def signature(symbol: str, spec: Callable[[ast.arguments], None]) -> Change:
    """Change a function's parameters; puts the signature on one line."""

    def change(text: str) -> str:
        node = definition(text, symbol)
        assert isinstance(node, ast.FunctionDef)
        lines = text.split("\n")
        stop = span(node.body[0])[0]
        while not lines[stop - 1].rstrip().endswith(":"):
            stop -= 1
        spec(node.args)
        head = " " * node.col_offset + f"def {node.name}({ast.unparse(node.args)}):"
        return "\n".join([*lines[: node.lineno - 1], head, *lines[stop:]])

    return change


def with_parameter(symbol: str, name: str, at: int | None = None) -> Change:
    def spec(arguments: ast.arguments) -> None:
        arguments.args.insert(len(arguments.args) if at is None else at, ast.arg(name))

    return signature(symbol, spec)


def without_parameter(symbol: str, name: str) -> Change:
    def spec(arguments: ast.arguments) -> None:
        arguments.args = [a for a in arguments.args if a.arg != name]

    return signature(symbol, spec)


def decorate(symbol: str, *lines: str) -> Change:
    def change(text: str) -> str:
        node = definition(text, symbol)
        return _put(text, span(node)[0], span(node)[0], node.col_offset, lines)

    return change


def cut(text: str, symbol: str) -> tuple[str, list[str]]:
    """Remove a definition; returns the text without it, and its lines."""
    first, last = span(definition(text, symbol))
    lines = text.split("\n")
    return "\n".join([*lines[:first], *lines[last:]]), lines[first:last]


def to_end_of_class(symbol: str) -> Change:
    """Move a method to the end of its class."""

    def change(text: str) -> str:
        rest, lines = cut(text, symbol)
        last = definition(rest, symbol.rpartition(".")[0]).end_lineno or 0
        old = rest.split("\n")
        return "\n".join([*old[:last], "", *lines, *old[last:]])

    return change


def to_new_base(symbol: str, name: str, above: str) -> Change:
    """Move a method to a new base class."""

    def change(text: str) -> str:
        owner = symbol.rpartition(".")[0]
        rest, lines = cut(text, symbol)
        first = span(definition(rest, owner))[0]
        old = rest.split("\n")
        old[first] = re.sub(r"\(.*\)", f"({name})", old[first])
        return "\n".join([*old[:first], f"class {name}({above}):", *lines, "", "", *old[first:]])

    return change


def bases(symbol: str, names: str) -> Change:
    """Replace a class's bases."""

    def change(text: str) -> str:
        first = definition(text, symbol).lineno - 1
        lines = text.split("\n")
        lines[first] = re.sub(r"\(.*\)", f"({names})", lines[first])
        return "\n".join(lines)

    return change


def before_class(symbol: str, *lines: str) -> Change:
    def change(text: str) -> str:
        first = span(definition(text, symbol))[0]
        return _put(text, first, first, 0, (*lines, "", ""))

    return change


def append(*lines: str) -> Change:
    return lambda text: text.rstrip("\n") + "\n\n\n" + "\n".join(lines) + "\n"


def imported(name: str, line: str) -> Change:
    """Replace the import of a name by another line."""

    def change(text: str) -> str:
        for node in ast.parse(text).body:
            if isinstance(node, (ast.Import, ast.ImportFrom)) and name in [a.asname or a.name for a in node.names]:
                node.names = [a for a in node.names if name != (a.asname or a.name)]
                first, last = span(node)
                lines = text.split("\n")
                rest = [ast.unparse(node)] if node.names else []
                return "\n".join([*lines[:first], line, *rest, *lines[last:]])
        raise AssertionError(name)

    return change


def chain(*changes: Change) -> Change:
    def change(text: str) -> str:
        for single in changes:
            text = single(text)
        return text

    return change
