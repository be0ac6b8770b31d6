"""Each patch of the series as a LibCST codemod command, under the name of its class.

``python -m libcst.tool codemod --no-format -x patchtool.codemods.MtpTracking FILE…`` writes what ``patchtool apply``
writes. The series is that of the project in the working directory, or the one that ships with the tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

import libcst as cst
from libcst.codemod import CodemodCommand, SkipFile

from patchtool.adapters.project.project import Project, open_project
from patchtool.domain.kinds import kind_of
from patchtool.domain.objects import blob_id
from patchtool.domain.package import Package
from patchtool.domain.patch import Judgement, PatchInfo
from patchtool.domain.state import State
from patchtool.semantic.judge import judge_patch
from patchtool.semantic.judging.places import at_their_places, with_targets
from patchtool.semantic.load import load_codemod
from patchtool.semantic.vocabulary.patch import SemanticPatch
from patchtool.semantic.vocabulary.renames import Rename


class Conflict(Exception):
    """The patch cannot be applied to this tree."""


class PatchCommand(CodemodCommand):
    """A semantic patch, judged and written one file at a time."""

    project: Project
    info: PatchInfo
    patch: type[SemanticPatch]

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        """Apply the patch to a file.

        Args:
            tree: The file's module; the context has its path.

        Returns:
            The patched module.

        Raises:
            SkipFile: The file is no target of the patch, or has nothing to be changed.
            Conflict: The patch cannot be applied to this tree.
        """
        file = Path(self.context.filename or "").absolute()
        package = self.project.package
        target = next((t for t in self.info.targets if file.as_posix().endswith(f"/{package.installed(t)}")), None)
        if target is None:
            raise SkipFile(f"no target of {self.info.name}")
        base = file.parents[package.installed(target).count("/")]
        files = FilesAround(base, {target: tree.bytes}, package)
        self._check_required(files)
        judgement = _judge_files(self.info, self.patch, files).get(target)
        if judgement is None:
            raise SkipFile(f"the code that {self.info.name} is about is in another file here")
        for note in judgement.notes:
            self.warn(note)
        if any(isinstance(rule.edit, Rename) for rule in self.patch.all_rules()):
            self.warn("other files are not searched for readers of a renamed name; patchtool apply does that")
        if target not in judgement.contents:
            raise SkipFile(f"{self.info.name} is {judgement.state.value}")
        content = judgement.contents[target]
        if content is None:
            raise SkipFile(f"{self.info.name} deletes this file, which LibCST cannot: patchtool apply does")
        return cst.parse_module(content)

    def _check_required(self, files: FilesAround) -> None:
        for other in self.project.patches:
            if other.name in self.info.requires and other.is_text:
                raise Conflict(f"{self.info.name} requires the text patch {other.name}: patchtool apply writes both")
            if other.name in self.info.requires:
                state = kind_of(other.source_file).judge(other, files, None).state
                if state is not State.LANDED:
                    raise Conflict(f"{self.info.name} requires {other.name}, which is not in this tree ({state.value})")


def _judge_files(info: PatchInfo, patch: type[SemanticPatch], files: FilesAround) -> Mapping[str, Judgement]:
    """Judge a patch file by file: LibCST writes one file before it reads the next.

    Raises:
        Conflict: A file cannot be patched, or the whole patch would not have landed in the result.
    """
    judgements = {}
    placed, info = at_their_places(with_targets(patch, info), info, files)
    for target in info.targets:
        rules = tuple(rule for rule in placed if rule.target == target)
        part = type(patch.__name__, (patch,), {"rules": rules, "edit": None})
        judgements[target] = judge_patch(info._replace(targets=(target,)), part, files, None)
    for judgement in judgements.values():
        if not judgement.contents and judgement.state is not State.LANDED:
            raise Conflict(f"{judgement.state.value} ({judgement.reason}): {judgement.detail}")
    if len(info.targets) > 1:
        written = {path: data for judgement in judgements.values() for path, data in judgement.contents.items()}
        whole = judge_patch(info, patch, FilesAround(files.base, {**files.contents, **written}, files.package), None)
        if whole.state is not State.LANDED:
            raise Conflict(f"after writing: {whole.state.value} ({whole.reason}): {whole.detail}")
    return judgements


class FilesAround:
    """The tree that a file is in: a git checkout, an unpacked wheel or a site-packages folder.

    Args:
        base: The folder that has the package.
        contents: Files by their path in the git layout, in the place of those on disk; None for a deleted one.
        package: The package.
    """

    def __init__(self, base: Path, contents: Mapping[str, bytes | None], package: Package) -> None:
        self.base = base
        self.package = package
        self.contents = contents

    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None where it does not exist."""
        file = self.base / self.package.installed(path)
        return self.contents[path] if path in self.contents else file.read_bytes() if file.is_file() else None

    def blob_ids(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Git blob ids of those paths that exist."""
        return {path: blob_id(data) for path in paths if (data := self.read(path)) is not None}

    def containing(self, word: str) -> list[str]:
        """Paths of the given files that contain a word; a target that moved is not searched for."""
        return [path for path, data in self.contents.items() if word.encode() in (data or b"")]


@lru_cache(maxsize=8)
def _command(project: Project, name: str) -> type[PatchCommand]:
    infos = [info for info in project.patches if Path(info.source_file).name == "codemod.py"]
    patches = [(info, load_codemod(info.source_file)) for info in infos]
    found = [(info, patch) for info, patch in patches if patch.__name__ == name]
    if len(found) != 1:
        raise AttributeError(f"{len(found)} patches in {project.root} are called {name}")
    ((info, patch),) = found
    members = {"project": project, "info": info, "patch": patch, "DESCRIPTION": info.title, "__module__": __name__}
    return type(name, (PatchCommand,), members)


def __getattr__(name: str) -> type[PatchCommand]:
    """Find a patch by the name of its class; LibCST's worker processes unpickle commands by name too."""
    if name.startswith("_"):
        raise AttributeError(name)
    return _command(open_project(None), name)
