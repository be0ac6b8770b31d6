"""The patch's edits in one file, and what became of each on the target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patchtool.domain.text_patch import Region

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.textual.items import Item

APPLIED, LANDED, CONFLICT, COSMETIC = "applied", "landed", "conflict", "cosmetic"
SAME_TEXT = "the text is equal"
"""How a change of layout or spelling only has landed."""


@dataclass(eq=False)
class Edit:
    """One place where base and patched differ, in one definition.

    Args:
        scope: The qualified name of the definition; empty for the module.
        old: The base's items there.
        new: The patched items there.
        theirs: The target's items there.
        kept: The target's lines there.
        state: Applied, landed, conflict, or cosmetic for a change of comments or layout that is carried without doubt.
        merged: The result's lines there; what is kept unless it is applied.
        reason: A short code.
        detail: The explanation of a conflict.
        how: How it was carried; empty for neighbours that are as they were.
        near: A line of the target beside it, for an edit that has no lines there.
        rewrites: For an import: whether a statement of the target is written anew.
    """

    scope: str
    old: Sequence[Item]
    new: Sequence[Item]
    theirs: Sequence[Item]
    kept: list[str]
    state: str = APPLIED
    merged: list[str] | None = None
    reason: str = ""
    detail: str = ""
    how: str = ""
    rewrites: bool = False
    near: int = 0

    @property
    def is_import(self) -> bool:
        """Whether it is about imports at the top level, which are carried as sets of names."""
        return bool(self.old or self.new) and all(item.is_import for item in [*self.old, *self.new])

    def conflict(self, reason: str, detail: str) -> Edit:
        """Say that it cannot be carried."""
        self.state, self.reason, self.detail, self.merged = CONFLICT, reason, detail, None
        return self

    def landed(self, how: str = "in place") -> Edit:
        """Say that the target has it."""
        self.state, self.how, self.merged = LANDED, how, None
        return self

    def applied(self, merged: list[str], how: str = "") -> Edit:
        """Say what the result has there."""
        self.state, self.merged, self.how = APPLIED, merged, how
        return self

    @property
    def trivial(self) -> bool:
        """Whether it tells nothing about the rest of its hunk."""
        return all(item.trivial for item in [*self.old, *self.new])


@dataclass(eq=False)
class Hunk:
    """Neighbouring edits, which are carried together or not at all."""

    edits: list[Edit]
    state: str = APPLIED
    reason: str = ""
    detail: str = ""
    how: str = ""
    line: int = 0

    @property
    def scope(self) -> str:
        """The qualified name of the definition that it is in."""
        return self.edits[0].scope

    def header(self) -> str:
        """Write its place as a diff does."""
        old, new = [i for e in self.edits for i in e.old], [i for e in self.edits for i in e.new]
        return f"@@ -{_span(old)} +{_span(new)} @@" + (f" {self.scope}" if self.scope else "")

    def target_line(self) -> int:
        """The line of the target that it is about, or 0."""
        return self.line or next((i.line for e in self.edits for i in e.theirs), self.edits[0].near)


def _span(items: Sequence[Item]) -> str:
    if not items:
        return "0,0"
    first = min(i.line for i in items)
    return f"{first},{max(i.line + len(i.whole) for i in items) - first}"


@dataclass
class Parts:
    """The merged file: lines that both sides agree on, and edits."""

    items: list[list[str] | Edit] = field(default_factory=list)

    def keep(self, lines: list[str]) -> None:
        """Append lines as they are."""
        if lines:
            self.items.append(lines)

    def hunks(self) -> list[Hunk]:
        """Group edits that nothing but blank lines parts."""
        found: list[Hunk] = []
        near = False
        for part in self.items:
            if isinstance(part, Edit):
                if near and part.scope == found[-1].scope:
                    found[-1].edits.append(part)
                else:
                    found.append(Hunk([part]))
                near = True
            elif any(line.strip() for line in part):
                near = False
        return found

    def render(self, hunks: Sequence[Hunk]) -> bytes:
        """Write the file with the hunks that apply."""
        live = {id(edit) for hunk in hunks if hunk.state in {APPLIED, COSMETIC} for edit in hunk.edits}
        out: list[str] = []
        for part in self.items:
            if isinstance(part, Edit):
                out += part.merged if id(part) in live and part.merged is not None else part.kept
            else:
                out += part
        return "".join(out).encode()

    def regions(self, hunks: Sequence[Hunk]) -> list[bytes | Region]:
        """Write the file with the hunks that apply; of the others, what each of their edits is about."""
        doubtful = {id(edit) for hunk in hunks if hunk.state == CONFLICT for edit in _doubtful(hunk)}
        found: list[bytes | Region] = []
        for part in self.items:
            if not isinstance(part, Edit):
                found.append("".join(part).encode())
            elif id(part) in doubtful:
                found.append(Region("".join(part.kept).encode(), _text(part.old), _text(part.new)))
            else:
                found.append(Parts([part]).render(hunks))
        return found


def _doubtful(hunk: Hunk) -> Sequence[Edit]:
    """The edits of a hunk in doubt that are a conflict or, where the doubt is about all, those that have not landed."""
    conflicts = [edit for edit in hunk.edits if edit.state == CONFLICT]
    return conflicts or [edit for edit in hunk.edits if edit.state not in {LANDED, COSMETIC}]


def _text(items: Sequence[Item]) -> bytes:
    return "".join(line for item in items for line in (*item.before, *item.lead, *item.whole)).encode()
