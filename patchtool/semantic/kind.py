"""Semantic patches as a kind of patch: stated in ``codemod.py`` with templates and goals."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence

from patchtool.domain.draft import Draft, FileChange
from patchtool.domain.errors import EnvironmentFault
from patchtool.domain.mismatch import Mismatch
from patchtool.domain.patch import Diagnostic, Judgement, PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.sibling_sites import Siblings
from patchtool.domain.state import State
from patchtool.semantic.author_code import CodemodEnded
from patchtool.semantic.judge import judge_patch
from patchtool.semantic.language.depth import with_stack_for_depth
from patchtool.semantic.load import CodemodError, load_codemod

_FILE = "codemod.py"
_BLANK = '''\
"""TODO: one sentence on what is true once this patch is applied."""

from patchtool.semantic import SemanticPatch, goal, replace


class {name}(SemanticPatch):
    """TODO: why the code before is wrong."""

    scope = "TODO.method"
    edit = replace(
        """
        TODO_ = before()
        """,
        """
        TODO_ = after()
        """,
    )
    goals = (goal("TODO: what must be there", "TODO_ = after()"),)
'''


class SemanticKind:
    """The ``PatchKind`` of semantic patches."""

    def preload(self) -> None:
        """Import LibCST, which judging imports late: a landed patch writes nothing."""
        import patchtool.semantic.writing.write  # noqa: F401

    def judge(self, info: PatchInfo, tree: Tree, release: Release | None) -> Judgement:
        """Judge a patch; ``crashed``, with the traceback, for a codemod that raises.

        Raises:
            EnvironmentFault: The tree cannot be read.
        """
        try:
            return judge_patch(info, load_codemod(info.source_file), tree, release)
        except EnvironmentFault:  # the machine failed, not the codemod
            raise
        except CodemodError as error:
            return Judgement(State.CRASHED, "codemod-unusable", str(error))
        except CodemodEnded as error:
            return Judgement(State.CRASHED, "codemod-ended", str(error), trace=traceback.format_exc())
        except Exception as error:  # noqa: BLE001 -- a codemod is user code: an exception is its result
            text = f"{type(error).__name__}: {error}"
            return Judgement(State.CRASHED, "codemod-raised", text, trace=traceback.format_exc())

    def why_not(self, info: PatchInfo, tree: Tree, release: Release | None) -> list[Mismatch]:
        """Tell what keeps each rule of a codemod that can be judged, and each goal, from being found."""
        from patchtool.semantic.compare import mismatches

        return mismatches(info, load_codemod(info.source_file), tree, release)

    def siblings(self, patches: Sequence[PatchInfo], tree: Tree, contents: Mapping[str, bytes | None]) -> Siblings:
        """Search a tree for code that looks like the defects of patches."""
        from patchtool.semantic.siblings import siblings

        return siblings(patches, tree, contents)

    def check(self, info: PatchInfo) -> list[Diagnostic]:
        """Check a codemod and its cases."""
        from patchtool.semantic.lint import lint

        return lint(info)

    def blank(self, name: str) -> dict[str, str]:
        """Return a codemod with one rule that replaces statements."""
        return {_FILE: _BLANK.format(name="".join(part.capitalize() for part in name.split("_")))}

    def draft(self, changes: Sequence[FileChange], tree: Tree) -> Draft:
        """Return a codemod with rules from the change, the files that it creates, and the change as its first case."""
        from patchtool.semantic.drafting.draft import draft

        return with_stack_for_depth(lambda: draft(changes, tree))
