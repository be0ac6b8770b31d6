"""Kinds of scopes: what is suspect is a change, so the kind of each is compared with the one that was recorded.

Recorded is, in this order, what the codemod states, what the lock has for the patch as it is, and what the patch's own
``cases/*/before.py`` show. Where there is none of them, any kind is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from patchtool.semantic.language.scopes import PLAIN, Problem, Scope, find_scope, kind_of
from patchtool.semantic.language.source import ParseError, Source


class RecordedKinds:
    """The kinds that the functions of a patch's scopes had.

    Args:
        stated: Those that the codemod states, by symbol.
        locked: Those in the lock that differ from a plain function; None where the lock does not have the patch.
        codemod: The path of ``codemod.py``, or empty.
    """

    def __init__(self, stated: Mapping[str, str], locked: Mapping[str, str] | None, codemod: str) -> None:
        self._stated = stated
        self._locked = locked
        self._codemod = codemod

    def change(self, scope: Scope) -> Problem | None:
        """Return why a function is suspect, or None."""
        if scope.function is None:
            return None
        kind, recorded = kind_of(scope.function), self._recorded(scope.symbol)
        if not recorded or kind in recorded:
            return None
        detail = f"{scope.symbol} was recorded as {' or '.join(sorted(recorded))} and is {kind} now"
        return Problem("scope-kind-changed", detail, uncertain=True)

    def _recorded(self, symbol: str) -> set[str]:
        if symbol in self._stated:
            return {self._stated[symbol]}
        if self._locked is not None:
            return {self._locked.get(symbol, PLAIN)}
        scopes = [find_scope(source, symbol) for source in self._cases]
        kinds = {kind_of(s.function) for s in scopes if isinstance(s, Scope) and s.function is not None}
        return kinds or ({PLAIN} if self._cases else set())

    @cached_property
    def _cases(self) -> list[Source]:
        files = sorted(Path(self._codemod).parent.glob("cases/*/before.py")) if self._codemod else []
        return [source for file in files for source in [_read(file)] if source is not None]


def _read(file: Path) -> Source | None:
    try:
        return Source.parse(str(file), file.read_bytes())
    except (ParseError, OSError):
        return None  # check says so
