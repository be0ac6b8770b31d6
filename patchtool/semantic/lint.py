"""What ``patchtool check`` reports about a codemod, each diagnostic with its line.

A patch is tested on small files of its own, never on upstream's code: ``cases/<case>/before.py`` must become
``after.py`` byte for byte, ``cases/<case>/landed.py`` must be judged landed, and ``cases/<case>/conflict.py`` must be
a conflict or ambiguous. Each is judged as the patch's first target. A patch of several files has the files of a case in
folders ``before``, ``after``, ``landed`` and ``conflict``, by their paths in the git layout.
"""

from __future__ import annotations

import ast
import keyword
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import NamedTuple

from patchtool.domain.errors import InputError
from patchtool.domain.patch import Diagnostic, Judgement, PatchInfo
from patchtool.domain.state import State
from patchtool.semantic.author_code import CodemodEnded
from patchtool.semantic.judge import judge_files
from patchtool.semantic.judging.places import path_of
from patchtool.semantic.judging.whole_files import CREATED, DELETED
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.source import ParseError, Source
from patchtool.semantic.load import CodemodError, load_codemod
from patchtool.semantic.matching.template import TemplateError, is_hole, template
from patchtool.semantic.vocabulary.changes import AddArgument, AddDecorator, AddImportedNames, AddParameter
from patchtool.semantic.vocabulary.edits import Edit, MethodEdit
from patchtool.semantic.vocabulary.goals import Goal
from patchtool.semantic.vocabulary.patch import Rule, SemanticPatch, Transform
from patchtool.semantic.vocabulary.renames import Rename
from patchtool.semantic.vocabulary.siblings import FILE, read_siblings

_TEMPLATES = frozenset(
    {"anchor", "pattern", "patterns", "mention", "mentions", "uses", "forms", "ahead_of", "apart"}
    | {"condition", "conditions"}
)

_PARTS = (AddArgument, AddDecorator, AddImportedNames, AddParameter)
"""Their code is a part of a statement, in their ``template``."""


def lint(info: PatchInfo) -> list[Diagnostic]:
    """Check a patch's codemod and its cases.

    Args:
        info: The patch; its ``cases`` folder is next to its codemod.
    """
    path = Path(info.source_file)
    try:
        tree = ast.parse(path.read_bytes())
        return _lint(info, tree, load_codemod(info.source_file), path.parent)
    except SyntaxError as error:
        return [Diagnostic(info.source_file, error.lineno or 1, "codemod-unusable", error.msg)]
    except CodemodError as error:
        return [Diagnostic(info.source_file, 1, "codemod-unusable", str(error))]
    except CodemodEnded as error:
        return [Diagnostic(info.source_file, _raised_at(info, error), "codemod-ended", str(error))]
    except Exception as error:  # noqa: BLE001 -- a codemod is user code: an exception is a diagnostic
        text = f"{type(error).__name__}: {error}"
        return [Diagnostic(info.source_file, _raised_at(info, error), "codemod-raised", text)]


def _raised_at(info: PatchInfo, error: BaseException) -> int:
    """The line of the codemod that raised, or the first."""
    causes = [error, *(cause for cause in (error.__cause__,) if cause)]
    calls = [call for cause in causes for call in traceback.extract_tb(cause.__traceback__)]
    return next((call.lineno or 1 for call in reversed(calls) if call.filename == info.source_file), 1)


def _lint(info: PatchInfo, tree: ast.Module, patch: type[SemanticPatch], folder: Path) -> list[Diagnostic]:
    problems = _check_rules(info, patch)
    broken = list(_unparsable(info, folder))
    if broken:
        return broken
    diagnostics = [Diagnostic(info.source_file, _line(tree, text), code, message) for text, code, message in problems]
    diagnostics += _check_siblings(folder)
    return diagnostics or list(_check_cases(info, patch, folder / "cases", _line(tree, patch.__name__)))


def _check_siblings(folder: Path) -> Iterator[Diagnostic]:
    try:
        read_siblings(folder)
    except InputError as error:
        where = str(folder / FILE)
        line, _, rule = error.message.removeprefix(f"{where}:").partition(": ")
        yield Diagnostic(where, int(line) if line.isdecimal() else 1, "sibling-invalid", rule or error.message)


def _unparsable(info: PatchInfo, folder: Path) -> Iterator[Diagnostic]:
    files = [folder / CREATED / path for path in info.added] + [folder / DELETED / path for path in info.deleted]
    for file in files:
        try:
            Source.parse(str(file), file.read_bytes())
        except ParseError as error:  # noqa: PERF203 -- a few files
            yield Diagnostic(str(file), 1, "file-unparsable", str(error))


_OWN_RESULT = "result-not-landed"
_Finding = tuple[str, str, str]
"""Text in the codemod by which the line is located, code and message."""


def _check_rules(info: PatchInfo, patch: type[SemanticPatch]) -> Iterator[_Finding]:
    rules = patch.all_rules()
    if not rules and not info.added and not info.deleted:
        yield patch.__name__, "no-rule", f"{patch.__name__} states no rule"
    for rule in rules:
        invalid = list(_invalid_templates(rule))
        yield from invalid or _check_rule(info, rule, patch.names)
    for fact in (*patch.facts, *patch.reached_by):
        yield from _invalid_templates(fact)
        if fact.path not in info.footprint:
            yield fact.path, "fact-not-read", f"{fact.path} is read but is not in the patch's targets or reads"


def _invalid_templates(root: object) -> Iterator[_Finding]:
    for text in template_texts(root):
        try:
            template(text)
        except TemplateError as error:  # noqa: PERF203 -- a few templates
            yield text, "template-invalid", str(error)


def template_texts(root: object) -> Iterator[str]:
    """Yield every template in a rule or a fact."""
    for name in _members(root):
        value = getattr(root, name)
        several = isinstance(value, tuple) and not _members(value)
        place = name == "behind" and isinstance(root, Goal)
        if name in _TEMPLATES or (name == "code" and not isinstance(root, _PARTS)) or place:
            yield from (text for text in (value if several else (value,)) if isinstance(text, str))
        parts: Iterable[object] = value.values() if isinstance(value, Mapping) else value if several else [value]
        for part in parts:
            yield from template_texts(part)


def _members(root: object) -> Sequence[str]:
    """Field names of a dataclass or a named tuple; none for anything else."""
    if is_dataclass(root) and not isinstance(root, type):
        return [spec.name for spec in fields(root)]
    names: Sequence[str] = getattr(root, "_fields", ()) if isinstance(root, tuple) else ()
    return names


def _check_rule(info: PatchInfo, rule: Rule, names: Mapping[str, str]) -> Iterator[_Finding]:
    if rule.target not in info.edited and (rule.target or len(info.edited) != 1):
        yield rule.name, "target-unknown", f"{rule.name}: {rule.target or 'no file'} is not in the patch's targets"
    for place in rule.places:
        if path_of(place) not in info.edited:
            yield place, "target-unknown", f"{rule.name}: {path_of(place)} is not in the patch's targets"
    if isinstance(rule.edit, Edit) and rule.edit.problem and not list(_invalid_templates(rule)):
        yield rule.name, "template-unfit", f"{rule.name}: {rule.edit.problem}"
    if not rule.goals:
        yield rule.name, "no-goal", f"{rule.name}: states no goal, so it can never be judged landed"
    if rule.defect is None and isinstance(rule.edit, Edit | MethodEdit) and not rule.replaces:
        yield rule.name, "no-defect", f"{rule.name}: an insertion must state the defect it fixes"
    if isinstance(rule.edit, Rename):
        for name in (rule.edit.old, rule.edit.new):
            if not name.isidentifier() or keyword.iskeyword(name):
                yield name, "not-a-name", f"{rule.name}: {name!r} is no name of Python"
    where = dict(rule.edit.where) if isinstance(rule.edit, Edit) else {}
    for hole in [*rule.roles, *names, *where]:
        if not is_hole(hole):
            text = f"{rule.name}: {hole} is not a hole, which is capitals with a trailing underscore"
            yield hole, "not-a-hole", text
    yield from _check_holes(rule, names)


def _check_holes(rule: Rule, names: Mapping[str, str]) -> Iterator[_Finding]:
    if isinstance(rule.edit, Transform):
        return
    anchor = template(rule.edit.anchor).holes if rule.edit.anchor else frozenset()
    bound = {*anchor, *rule.roles, *names}
    for goal in rule.given:
        bound |= {hole for text in template_texts(goal) for hole in template(text).holes}
    if isinstance(rule.edit, Edit):
        bound |= {h for c in rule.edit.where.values() for text in template_texts(c) for h in template(text).holes}
        for hole in sorted(set(rule.edit.where) - bound):
            yield hole, "hole-unknown", f"{rule.name}: a constraint is on {hole}, which no template has"
    if rule.methods is not None:
        bound |= {rule.methods.hole, rule.methods.role}
    new = template(rule.edit.code).holes if rule.edit.code else frozenset()
    for hole in sorted(new - bound):
        yield rule.edit.code, "hole-unbound", f"{rule.name}: {hole} in the new code is never bound"
    used = {hole for text in template_texts(rule) for hole in template(text).holes}
    mentioned = set(getattr(rule.defect, "holes", ())) | set(getattr(rule.defect, "names", ()))
    for hole in sorted(set(rule.roles) - used - mentioned):
        yield hole, "hole-unused", f"{rule.name}: {hole} is declared but never used"


def _line(tree: ast.Module, text: str) -> int:
    """Line of a string or a keyword in the codemod, else of its class."""
    for node in walk(tree):
        if isinstance(node, ast.Constant) and node.value == text:
            return node.lineno
        if isinstance(node, ast.keyword) and node.arg == text:
            return node.value.lineno
    return next((n.lineno for n in tree.body if isinstance(n, ast.ClassDef)), 1)


class _Case(NamedTuple):
    """A file or folder of a case.

    Args:
        place: Its path.
        kind: ``before``, ``landed`` or ``conflict``.
        contents: The files, by path in the git layout.
    """

    place: Path
    kind: str
    contents: dict[str, bytes]

    @property
    def after(self) -> dict[str, bytes] | None:
        """What the files must become; None where the case does not say."""
        place = self.place.with_name(f"after{self.place.suffix}")
        if place.suffix:
            return {next(iter(self.contents)): place.read_bytes()} if place.is_file() else None
        return _folder(place) if place.is_dir() else None


def _cases(info: PatchInfo, folder: Path) -> Iterator[_Case]:
    for place in sorted(folder.glob("*/*")):
        if place.suffix == ".py" and place.stem != "after":
            yield _Case(place, place.stem, {(*info.edited, *info.targets)[0]: place.read_bytes()})
        elif place.is_dir() and place.name in ("before", "landed", "conflict"):
            yield _Case(place, place.name, _folder(place))


def _folder(place: Path) -> dict[str, bytes]:
    return {file.relative_to(place).as_posix(): file.read_bytes() for file in sorted(place.rglob("*.py"))}


def _check_cases(info: PatchInfo, patch: type[SemanticPatch], folder: Path, line: int) -> Iterator[Diagnostic]:
    cases = list(_cases(info, folder))
    if info.edited and not any(case.kind == "before" for case in cases):
        yield Diagnostic(info.source_file, 1, "no-case", "the patch has no cases/<case>/before.py")
    deleted = {path: (folder.parent / DELETED / path).read_bytes() for path in info.deleted}
    for case in cases:
        if case.kind != "landed":
            case.contents.update({path: data for path, data in deleted.items() if path not in case.contents})
        judgement = judge_files(info, patch, case.contents)
        problem = _check_before(judgement, case) if case.kind == "before" else _check_state(judgement, case)
        if problem:
            yield Diagnostic(str(case.place), 1, "case-failed", problem)
        elif case.kind == "before" and (detail := _not_landed(info, patch, judgement, case)):
            name = case.place.relative_to(folder.parent)
            yield Diagnostic(info.source_file, line, _OWN_RESULT, f"its own result on {name} is not landed: {detail}")


def _check_state(judgement: Judgement, case: _Case) -> str | None:
    expected = {"landed": (State.LANDED,), "conflict": (State.CONFLICT, State.AMBIGUOUS)}.get(case.kind)
    if expected is None:
        return "a case has before.py and after.py, landed.py or conflict.py"
    if judgement.state in expected:
        return None
    detail = f": {judgement.detail}" if judgement.detail else ""
    return f"expected {expected[0].value}, got {judgement.state.value}{detail}"


def _check_before(judgement: Judgement, case: _Case) -> str | None:
    if not judgement.contents:
        problem = f"does not apply: {judgement.state.value}: {judgement.detail or 'nothing to do'}"
        return None if judgement.reason == _OWN_RESULT else problem
    after = case.after
    if after is None:
        return f"after{case.place.suffix} is missing"
    result = _patched(judgement, case)
    differs = any(result.get(path) != data for path, data in after.items())
    return f"the result differs from after{case.place.suffix}" if differs else None


def _patched(judgement: Judgement, case: _Case) -> dict[str, bytes]:
    result = {**case.contents, **judgement.contents}
    return {path: data for path, data in result.items() if data is not None}


def _not_landed(info: PatchInfo, patch: type[SemanticPatch], judgement: Judgement, case: _Case) -> str | None:
    """Why the patch does not judge its own result landed: a problem of the codemod, not of the case."""
    if judgement.reason == _OWN_RESULT:
        return judgement.detail
    second = judge_files(info, patch, _patched(judgement, case))
    return None if second.state is State.LANDED else second.detail
