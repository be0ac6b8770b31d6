"""What must hold of a merged Python file, whatever merged it."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import warnings
from collections import Counter
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from patchtool.textual.chunks import KEPT, NotStructural, chunks_of
from patchtool.textual.shape import nodes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from patchtool.textual.chunks import Chunk

_WORD = re.compile(r"\w+|[-+*/%=<>!&|^~@.]")
_MODULE_NAMES = frozenset(
    {"__file__", "__name__", "__doc__", "__path__", "__spec__", "__class__", "__annotations__", "__builtins__"}
    | {"__package__", "__loader__", "__module__", "__qualname__", "__debug__", "WindowsError"}
)
_POSTPONED = re.compile(r"^from __future__ import annotations$", re.MULTILINE)
"""With this, Python's own table leaves the names in annotations out."""
_REGISTER = frozenset(
    {"command", "delete", "get", "head", "options", "patch", "post", "put", "register", "route", "websocket"}
)
_TELLING = frozenset(
    {ast.arg, ast.AnnAssign, ast.Dict, ast.List, ast.Set, ast.Call}
    | {ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef}
)
_Found = TypeVar("_Found", bound=tuple[str, ...])
_KNOWN = _MODULE_NAMES | frozenset(dir(builtins))


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
        for chunk in result.chunks:
            chunk.body  # noqa: B018  (reading them is the check)
        known = _facts(target), _facts(patched)  # in this order: the second is read where the first does not suffice
        for chunk in result.apart(known[0])[0]:
            chunk.compile()
    except (SyntaxError, ValueError, NotStructural, RecursionError) as error:
        return Complaint("unparsable", f"the merged file does not parse: {error}")
    for name in result.more(known[0], _definitions_of):
        count = result.definitions[name]
        if count > 1 and all(count > side.definitions[name] for side in known):
            return Complaint("defined-twice", f"`{'.'.join(name[:-1])}` would be defined twice")
    for entry in result.more(known[0], _entries_of):
        if all(result.entries[entry] > side.entries[entry] for side in known):
            return Complaint("entry-twice", f"{entry[0]} {entry[1]} would be there twice")
    unbound = {name for name in result.newly_unbound(known[0]) if not known[1].leaves_unbound(name)}
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
    """What is found in a Python file, each when it is asked for; what a chunk has, for all files that have it."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def chunks(self) -> Sequence[Chunk]:
        return chunks_of(self.data)

    @cached_property
    def definitions(self) -> Counter[tuple[str, ...]]:
        return Counter(name for chunk in self.chunks for name in _definitions_of(chunk))

    @cached_property
    def entries(self) -> Counter[tuple[str, str]]:
        return Counter(entry for chunk in self.chunks for entry in _entries_of(chunk))

    def apart(self, other: _Facts) -> tuple[Sequence[Chunk], Sequence[Chunk]]:
        """The chunks that only one of two files has."""
        ours, theirs = Counter(self.chunks), Counter(other.chunks)
        return list((ours - theirs).elements()), list((theirs - ours).elements())

    def more(self, other: _Facts, find: Callable[[Chunk], Sequence[_Found]]) -> Iterable[_Found]:
        """What this file has more often than another one, in order."""
        ours, theirs = (Counter(each for chunk in side for each in find(chunk)) for side in self.apart(other))
        return ours - theirs

    @cached_property
    def _stars(self) -> bool:
        return any("import *" in chunk.text for chunk in self.chunks)

    def names(self, chunks: Iterable[Chunk]) -> _Names:
        """What some chunks read and bind."""
        names = [_names_of(chunk) for chunk in chunks]
        return _Names(frozenset().union(*(n.read for n in names)), frozenset().union(*(n.bound for n in names)))

    def leaves_unbound(self, name: str) -> bool:
        """Whether a name is read and bound nowhere it could be seen."""
        if self._stars or name in _KNOWN:
            return False
        written = name[max(name.rfind("__"), 0) :]  # in a class, a private name has the name of the class before it
        names = self.names(chunk for chunk in self.chunks if written in chunk.text)
        return name in names.read - names.bound

    def newly_unbound(self, other: _Facts) -> set[str]:
        """The names that this file leaves unbound and another one does not: only what differs can have them."""
        ours, theirs = (side.names(chunks) for side, chunks in zip((self, other), self.apart(other)))
        candidates = (ours.read - theirs.read) | (theirs.bound - ours.bound)
        if self._stars != other._stars:
            candidates = self.names(self.chunks).read
        return {name for name in candidates if self.leaves_unbound(name) and not other.leaves_unbound(name)}


@lru_cache(maxsize=16)
def _facts(data: bytes) -> _Facts:
    return _Facts(data)


@lru_cache(maxsize=KEPT)
def _definitions_of(chunk: Chunk) -> Sequence[tuple[str, ...]]:
    return list(_definitions(chunk.body, ()))


@lru_cache(maxsize=KEPT)
def _entries_of(chunk: Chunk) -> Sequence[tuple[str, str]]:
    return [
        *(("the name", name) for statement in chunk.body if not chunk.frame for name in _assigned(statement)),
        *_entries(_telling_nodes(chunk)),
    ]


def _assigned(node: ast.stmt) -> Iterator[str]:
    """The names that a plain assignment sets."""
    if isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))


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
        elif isinstance(node, ast.List | ast.Set):
            names = Counter(ast.unparse(each) for each in node.elts if _is_name(each))
            yield from (("the element", name) for name, count in names.items() if count > 1)
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
                if node.args and isinstance(node.args[0], ast.Constant):
                    yield ("the option", repr(node.args[0].value))
            elif len(node.args) > 1:
                names = Counter(each.id for each in node.args if isinstance(each, ast.Name))
                yield from (("the argument", name) for name, count in names.items() if count > 1)
        elif isinstance(node, ast.ClassDef):
            names = Counter(
                target.id
                for statement in node.body
                if isinstance(statement, ast.Assign)
                for target in statement.targets
                if isinstance(target, ast.Name)
            )
            yield from (("the attribute", f"{node.name}.{name}") for name, count in names.items() if count > 1)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (("the registration", ast.unparse(each)) for each in node.decorator_list if _registers(each))


def _is_name(node: ast.expr) -> bool:
    """Whether an element of a list is a name or a text: numbers may be there as often as they like."""
    constant = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return constant or isinstance(node, ast.Name | ast.Attribute)


def _registers(node: ast.expr) -> bool:
    """Whether a decorator registers a function under a text, of which there may be one."""
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return isinstance(node.args[0].value, str) and name in _REGISTER


class _Names(NamedTuple):
    """The names that code reads where no definition around it binds them, and those that it binds in the module."""

    read: frozenset[str]
    bound: frozenset[str]


@lru_cache(maxsize=KEPT)
def _names_of(chunk: Chunk) -> _Names:
    text = _POSTPONED.sub("pass", chunk.text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        top = symtable.symtable(text, "merged", "exec")
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
    return _Names(frozenset(read | set(_quoted(_telling_nodes(chunk)))), frozenset(bound))


@lru_cache(maxsize=KEPT)
def _telling_nodes(chunk: Chunk) -> Sequence[ast.AST]:
    """The nodes of a chunk that have annotations, or of which there may be one only."""
    return [node for node in nodes_of(chunk.body) if type(node) in _TELLING]


def _quoted(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names in annotations that are written as strings."""
    for node in nodes:
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            for part in ast.walk(annotation) if isinstance(annotation, ast.expr) else ():
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    with suppress(SyntaxError, ValueError, RecursionError):
                        names = ast.walk(ast.parse(part.value.strip(), mode="eval"))
                        yield from (name.id for name in names if isinstance(name, ast.Name))
