"""What must hold of a merged Python file, whatever merged it."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import warnings
from collections import Counter
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

_WORD = re.compile(r"\w+|[-+*/%=<>!&|^~@.]")
_MODULE_NAMES = frozenset(
    {"__file__", "__name__", "__doc__", "__path__", "__spec__", "__class__", "__annotations__", "__builtins__"}
    | {"__package__", "__loader__", "__module__", "__qualname__", "__debug__", "WindowsError"}
)


class Complaint(NamedTuple):
    """Why a merged file is not sound: a short code, and what is wrong."""

    reason: str
    detail: str


def words(lines: Iterable[str]) -> Counter[str]:
    """Count words and operators; brackets, commas and quotes, which a layout may add, are left out."""
    return Counter(_WORD.findall("\n".join(lines)))


def check_merged(patched: bytes, target: bytes, merged: bytes) -> Complaint | None:
    """Check a merged file.

    Args:
        patched: The file with the patch, where the patch was made.
        target: The file that the patch was carried to.
        merged: The result.

    Returns:
        What is wrong with it that is wrong in neither of the others, or None.
    """
    result = _facts(merged)
    try:
        result.tree  # noqa: B018  (reading it is the check)
    except (SyntaxError, ValueError, RecursionError) as error:
        return Complaint("unparsable", f"the merged file does not parse: {error}")
    known = _facts(target), _facts(patched)  # in this order: the second is read only where the first does not suffice
    for name, count in result.definitions.items():
        if count > 1 and all(count > side.definitions[name] for side in known):
            return Complaint("defined-twice", f"`{'.'.join(name[:-1])}` would be defined twice")
    for entry, count in result.entries.items() if _has_new_entry(result, target) else ():
        if all(count > side.entries[entry] for side in known):
            return Complaint("entry-twice", f"{entry[0]} {entry[1]} would be there twice")
    unbound = result.unbound
    for side in known:
        unbound = unbound and unbound - side.unbound
    if unbound:
        return Complaint("name-gone", f"`{min(unbound)}` would be bound nowhere")
    return None


def check_words(added: Counter[str], removed: Counter[str], target: bytes, merged: bytes) -> Complaint | None:
    """Check that a merged file differs from the target in what the patch adds and takes out, and in nothing else.

    Args:
        added: The words that the carried hunks add.
        removed: The words that they take out.
        target: The file that the patch was carried to.
        merged: The result.

    Returns:
        The word that is lost or doubled, or None.
    """
    expected = Counter(added)
    expected.subtract(removed)
    before, after = (Counter(data.decode("utf-8", "replace").split("\n")) for data in (target, merged))
    expected.subtract(words((after - before).elements()))
    expected.update(words((before - after).elements()))
    for word, count in expected.items():
        if count:
            return Complaint("unbalanced", f"`{word}` would be {'missing' if count > 0 else 'added'} against the patch")
    return None


class _Facts:
    """What is found in a Python file, each when it is asked for."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def tree(self) -> ast.Module:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(self.data)

    @cached_property
    def definitions(self) -> Counter[tuple[str, ...]]:
        return Counter(_definitions(self.tree.body, ()))

    @cached_property
    def entries(self) -> Counter[tuple[str, str]]:
        return Counter(_entries(ast.walk(self.tree)))

    @cached_property
    def unbound(self) -> frozenset[str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return frozenset(_unbound(self.data.decode("utf-8")))


@lru_cache(maxsize=16)
def _facts(data: bytes) -> _Facts:
    return _Facts(data)


def _has_new_entry(result: _Facts, target: bytes) -> bool:
    """Whether there is an entry in a statement that the target has not."""
    lines = result.data.split(b"\n")
    new = Counter(lines) - Counter(target.split(b"\n"))
    return any(True for _ in _entries(_touched(result.tree.body, lines, new)))


def _touched(body: Sequence[ast.stmt], lines: Sequence[bytes], new: Container[bytes]) -> Iterator[ast.AST]:
    """Walk the statements with new lines; of a class, those of its body."""
    for node in body:
        if not any(line in new for line in lines[node.lineno - 1 : node.end_lineno]):
            continue
        if isinstance(node, ast.ClassDef):
            yield node
            yield from _touched(node.body, lines, new)
        else:
            yield from ast.walk(node)


def _definitions(body: Sequence[ast.AST], scope: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Name each definition, with what makes overloads and accessors differ."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            marks = [ast.dump(d) for d in node.decorator_list if not isinstance(d, ast.Name) or d.id == "overload"]
            yield (*scope, node.name, "".join(marks))
            yield from _definitions(node.body, (*scope, node.name))
            continue
        for field in ("body", "orelse", "finalbody", "handlers"):
            if isinstance(inner := getattr(node, field, None), list):
                yield from _definitions(inner, scope)


def _entries(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Name each key of a dictionary and each attribute of a class that is there again."""
    for node in nodes:
        if isinstance(node, ast.Dict):
            if len(node.keys) > 1:
                keys = Counter(repr(key.value) for key in node.keys if isinstance(key, ast.Constant))
                yield from (("the key", key) for key, count in keys.items() if count > 1)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            if node.args and isinstance(node.args[0], ast.Constant):
                yield ("the option", repr(node.args[0].value))
        elif isinstance(node, ast.ClassDef):
            names = Counter(
                target.id
                for statement in node.body
                if isinstance(statement, ast.Assign)
                for target in statement.targets
                if isinstance(target, ast.Name)
            )
            yield from (("the attribute", f"{node.name}.{name}") for name, count in names.items() if count > 1)


def _unbound(text: str) -> set[str]:
    """Find names that are read but bound nowhere they could be seen."""
    top = symtable.symtable(text, "merged", "exec")
    if "import *" in text:
        return set()
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    read: set[str] = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_declared_global() and symbol.is_assigned():
                bound.add(symbol.get_name())
            if symbol.is_referenced() and (table is top or symbol.is_global()):
                read.add(symbol.get_name())
    return read - bound - set(dir(builtins)) - _MODULE_NAMES
