"""Consent: under which conditions a site or a goal may stand. Loops, ``try`` and ``with`` are never consented to."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Protocol

from patchtool.semantic.match import Bindings
from patchtool.semantic.place import Hit, Place
from patchtool.semantic.scopes import Block
from patchtool.semantic.template import template


class Guard(Protocol):
    """Says whether the blocks around a hit are as a patch expects them."""

    def objection(self, place: Place, hit: Hit) -> str | None:
        """Why the surroundings are not consented to, or None."""


@dataclass(frozen=True)
class Directly:
    """The scope's own body, under no condition."""

    def objection(self, place: Place, hit: Hit) -> str | None:  # noqa: ARG002 -- the Protocol's shape
        """Why the surroundings are not consented to, or None."""
        around = hit.block.enclosing
        return _about(around[0]) if around else None


@dataclass(frozen=True)
class Branch:
    """Exactly the branch of this condition, be it ``if``, ``elif`` or ``else``.

    Args:
        condition: A template; ``not X`` means the ``else`` of ``X``.
    """

    condition: str

    def objection(self, place: Place, hit: Hit) -> str | None:
        """Why the surroundings are not consented to, or None."""
        around = hit.block.enclosing
        if not around:
            return f"stands under no condition, expected {self.condition!r}"
        if not _is_branch(place, around[0], self.condition, hit.env):
            return _about(around[0])
        return next((_about(block) for block in around[1:] if not _is_else(block)), None)


@dataclass(frozen=True)
class Guarded:
    """Any nesting of ``if`` whose conditions are among these; none at all is fine too.

    Args:
        conditions: Templates.
        about: Holes; a condition whose names all come from them is fine as well.
    """

    conditions: tuple[str, ...] = ()
    about: tuple[str, ...] = ()

    def objection(self, place: Place, hit: Hit) -> str | None:
        """Why the surroundings are not consented to, or None."""
        return next((_about(block) for block in hit.block.enclosing if not self._fine(place, block, hit)), None)

    def _fine(self, place: Place, block: Block, hit: Hit) -> bool:
        if any(_is_branch(place, block, condition, hit.env) for condition in self.conditions):
            return True
        if not self.about or place.flow is None or not isinstance(block.owner, ast.If) or block.field != "body":
            return False
        wanted = {place.root(hit.env, hole) for hole in self.about}
        names = [node for node in ast.walk(block.owner.test) if isinstance(node, ast.Name)]
        origins = [place.flow.origins(name, block.owner).surely for name in names]
        return bool(names) and all(found & wanted for found in origins)


@dataclass(frozen=True)
class AnyBranch:
    """Any nesting of ``if``: for a change that is right under every condition."""

    def objection(self, place: Place, hit: Hit) -> str | None:  # noqa: ARG002 -- the Protocol's shape
        """Why the surroundings are not consented to, or None."""
        return next((_about(b) for b in hit.block.enclosing if not isinstance(b.owner, ast.If)), None)


def _is_branch(place: Place, block: Block, condition: str, env: Bindings) -> bool:
    if not isinstance(block.owner, ast.If):
        return False
    wanted = template(condition).expression
    negated = wanted.operand if isinstance(wanted, ast.UnaryOp) and isinstance(wanted.op, ast.Not) else None
    if block.field == "body":
        return _fits(place, wanted, block.owner.test, env)
    return negated is not None and _fits(place, negated, block.owner.test, env)


def _fits(place: Place, pattern: ast.expr, node: ast.expr, env: Bindings) -> bool:
    return next(iter(place.matcher.expression(pattern, node, env)), None) is not None


def _is_else(block: Block) -> bool:
    """Whether a block only says that earlier conditions of an ``elif`` chain did not hold."""
    chained = len(block.statements) == 1 and isinstance(block.statements[0], ast.If)
    return isinstance(block.owner, ast.If) and block.field == "orelse" and chained


def _about(block: Block) -> str:
    owner = block.owner
    line = getattr(owner, "lineno", 0)
    if isinstance(owner, ast.If):
        word = "if" if block.field == "body" else "the else of if"
        return f"stands under {word} {ast.unparse(owner.test)!r} on line {line}"
    return f"stands inside a {type(owner).__name__.lower()} on line {line}"
