"""LibCST's tree of a file, and the nodes in it for blocks and statements of the stdlib's tree."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise

import libcst as cst

from patchtool.semantic.language.depth import too_deep
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Block, Scope, first_line
from patchtool.semantic.language.source import Source
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.partial_module import parse_definitions

Line = cst.SimpleStatementLine | cst.BaseCompoundStatement
Chain = tuple[cst.CSTNode, ...]


def parse_file(source: Source, edited: Collection[Scope] = ()) -> cst.Module:
    """Parse a file with LibCST.

    Args:
        source: The file.
        edited: The definitions in it that are needed; empty for the whole file.

    Raises:
        CannotWrite: LibCST cannot parse it, or would not print it as it is.
    """
    if line := too_deep(source.tree, source.text, chains=True):
        raise CannotWrite("unparsable", f"{source.path}:{line}: nested too deeply for LibCST")
    for statement in walk(source.tree) if "\f" in source.text else ():
        if isinstance(statement, ast.stmt) and b"\f" in _indentation(source, statement):
            detail = f"line {first_line(statement)} has a form feed in its indentation, which LibCST does not keep"
            raise CannotWrite("unparsable", detail)
    try:
        partial = parse_definitions(source, edited) if edited else None
        return partial or _parsed(source.data)
    except cst.ParserSyntaxError as error:
        raise CannotWrite("unparsable", f"LibCST cannot parse the file: {error.message}") from None


@lru_cache(maxsize=2)
def _parsed(data: bytes) -> cst.Module:
    """LibCST's tree, which is immutable: the patches of one file are judged on the same bytes more than once."""
    return cst.parse_module(data)


def _indentation(source: Source, statement: ast.stmt) -> bytes:
    line = source.lines[first_line(statement) - 1]
    return line[: len(line) - len(line.lstrip())]


def block_chain(module: cst.Module, scope: Scope, block: Block) -> Chain:
    """Follow the structural path to a block: the same positions as in the stdlib's tree.

    Args:
        module: The file.
        scope: The definition that the block is in.
        block: The block in the stdlib's tree.

    Returns:
        The nodes from the module to the one that has the block's statements; for an ``elif``, to that statement.
    """
    if not block.ancestors:
        chain: Chain = (module,)
        for owner, node in pairwise((*scope.owners, scope.node)):
            chain += _holders(chain[-1], "body")
            chain += (block_lines(owner.body, chain[-1])[node],)
    else:
        outer, index = block.ancestors[-1]
        statement = outer.statements[index]
        chain = block_chain(module, scope, outer)
        chain += (block_lines(outer.statements, chain[-1])[statement],)
        if block.owner is not statement:
            field = "handlers" if isinstance(statement, ast.Try) else "cases"
            chain += (getattr(chain[-1], field)[getattr(statement, field).index(block.owner)],)
    return chain + _holders(chain[-1], block.field)


def _holders(owner: cst.CSTNode, field: str) -> Chain:
    """The nodes from below the owner of a block to the one that has its statements."""
    if isinstance(owner, cst.Module):
        return ()
    part = getattr(owner, field)
    return (part,) if field == "body" or isinstance(part, cst.If) else (part, part.body)


def block_lines(statements: Sequence[ast.stmt], holder: cst.CSTNode) -> dict[ast.AST, cst.CSTNode]:
    """Map each statement of a block to LibCST's node for its line; several on one line share it.

    Args:
        statements: The block in the stdlib's tree.
        holder: The node that has its statements in LibCST's tree.
    """
    lines: Sequence[cst.CSTNode] = [holder] if isinstance(holder, cst.If) else getattr(holder, "body", ())
    each = (line for line in lines for _ in (line.body if isinstance(line, cst.SimpleStatementLine) else (line,)))
    return dict(zip(statements, each))


def is_shared(line: cst.CSTNode) -> bool:
    """Whether a line has several statements."""
    return isinstance(line, cst.SimpleStatementLine) and len(line.body) > 1
