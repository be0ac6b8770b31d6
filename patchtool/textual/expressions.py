"""Whether two changes of one statement are apart from each other in its syntax tree."""

from __future__ import annotations

import ast

from patchtool.textual.shape import header_shape, shape

_BLOCKS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})


def collide(base: ast.AST, ours: ast.AST, theirs: ast.AST, *, header: bool = True) -> bool:
    """Tell whether both sides change the same part, or one replaces what holds the other's change.

    A part that one side only wraps, such as ``x`` in ``x and y``, may change inside on the other. What two sides put
    into a list of arguments or elements is not looked at here.

    Args:
        base: The statement or expression before.
        ours: With the patch.
        theirs: With upstream's change.
        header: Whether the blocks of a statement are left out.
    """
    tell = header_shape if header else shape
    said = tell(base)
    if said in (tell(ours), tell(theirs)) or tell(ours) == tell(theirs):
        return False
    if type(ours) is type(base) is type(theirs):
        fields = [f for f in base._fields if not (header and f in _BLOCKS and isinstance(base, ast.stmt))]
        return any(_values_collide(*(getattr(node, field, None) for node in (base, ours, theirs))) for field in fields)
    if type(theirs) is type(base):
        return not _holds(ours, base)
    return type(ours) is not type(base) or not _holds(theirs, base)


def _values_collide(base: object, ours: object, theirs: object) -> bool:
    if isinstance(base, ast.AST) and isinstance(ours, ast.AST) and isinstance(theirs, ast.AST):
        return collide(base, ours, theirs, header=False)
    if isinstance(base, list) and isinstance(ours, list) and isinstance(theirs, list):
        same = len(base) == len(ours) == len(theirs)
        return same and any(_values_collide(*each) for each in zip(base, ours, theirs))
    return False


def _holds(outer: ast.AST, inner: ast.AST) -> bool:
    """Whether an expression has another one inside, as it is."""
    wanted = shape(inner)
    return any(type(node) is type(inner) and shape(node) == wanted for node in ast.walk(outer) if node is not outer)
