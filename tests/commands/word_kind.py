"""The smallest kind of patch: replaces one word by another, both stated in ``words.txt``."""

from collections.abc import Sequence
from pathlib import Path

from patchtool.domain.draft import Draft, FileChange
from patchtool.domain.objects import blob_id
from patchtool.domain.patch import Change, Diagnostic, Judgement, PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.state import State


class WordKind:
    """A ``PatchKind`` of a few lines."""

    def preload(self) -> None:
        """Nothing is imported late."""

    def judge(self, info: PatchInfo, tree: Tree, release: Release | None) -> Judgement:
        del release
        old, new = Path(info.source_file).read_bytes().split()
        (path,) = info.targets
        before = tree.read(path) or b""
        after = before.replace(old, new)
        if after == before:
            return Judgement(State.LANDED)
        change = Change(path, blob_id(before), blob_id(after))
        return Judgement(State.APPLIED, changes=(change,), contents={path: after})

    def check(self, info: PatchInfo) -> list[Diagnostic]:
        words = Path(info.source_file).read_text().split()
        return [] if len(words) == 2 else [Diagnostic(info.source_file, 1, "two-words", "expected two words")]

    def blank(self, name: str) -> dict[str, str]:
        return {"words.txt": f"TODO {name}\n"}

    def draft(self, changes: Sequence[FileChange], tree: Tree) -> Draft:
        del tree
        ((path, before, after),) = changes
        words = zip((before or b"").split(), (after or b"").split())
        (old, new), *_ = [pair for pair in words if pair[0] != pair[1]]
        return Draft({"words.txt": old + b" " + new + b"\n"}, (path,))
