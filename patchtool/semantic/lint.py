"""What ``patchtool check`` wants to know of a codemod, each complaint with the line it is about.

A patch proves itself on small look-alike files of its own, never on upstream's code: ``cases/<case>/before.py`` with
the bytes it must become in ``after.py``, ``cases/<case>/landed.py`` where nothing is to be done, and
``cases/<case>/conflict.py`` that must be refused. Each is judged as the patch's first target.
"""

from __future__ import annotations

import ast
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path

from patchtool.domain.objects import blob_id
from patchtool.domain.patch import Judgement, PatchInfo
from patchtool.domain.state import State
from patchtool.semantic.kind import judge_patch
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.load import CodemodError, load_codemod
from patchtool.semantic.matching.template import TemplateError, is_hole, template
from patchtool.semantic.vocabulary.edits import Edit, MethodEdit
from patchtool.semantic.vocabulary.patch import Rule, SemanticPatch, Transform

_TEMPLATES = frozenset({"anchor", "pattern", "patterns", "mention", "uses", "ahead_of", "condition", "conditions"})


@dataclass(frozen=True)
class Complaint:
    """Something wrong with a patch.

    Args:
        path: The file it is about.
        line: One-based.
        code: Short name of what is wrong.
        message: One sentence.
    """

    path: str
    line: int
    code: str
    message: str


def lint(info: PatchInfo) -> list[Complaint]:
    """Check a patch's codemod and its cases.

    Args:
        info: The patch; its ``codemod`` is the file, its ``cases`` folder stands beside it.
    """
    path = Path(info.codemod)
    try:
        tree = ast.parse(path.read_bytes())
        patch = load_codemod(info.codemod)
    except SyntaxError as error:
        return [Complaint(info.codemod, error.lineno or 1, "codemod-unusable", error.msg)]
    except CodemodError as error:
        return [Complaint(info.codemod, 1, "codemod-unusable", str(error))]
    except Exception as error:  # noqa: BLE001 -- a codemod is the user's code: whatever it raises is a finding
        lines = [at for frame, at in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == info.codemod]
        return [Complaint(info.codemod, (lines or [1])[-1], "codemod-raised", f"{type(error).__name__}: {error}")]
    found = [Complaint(info.codemod, _line(tree, about), code, text) for about, code, text in _statics(info, patch)]
    return found or list(_cases(info, patch, path.parent / "cases", _line(tree, patch.__name__)))


_OWN_RESULT = "result-not-landed"
Static = tuple[str, str, str]
"""The text in the codemod that a complaint is about, its code and its message."""


def _statics(info: PatchInfo, patch: type[SemanticPatch]) -> Iterator[Static]:
    rules = patch.all_rules()
    if not rules:
        yield patch.__name__, "no-rule", f"{patch.__name__} states no rule"
    for rule in rules:
        bad = list(_bad_templates(rule))
        yield from bad
        if not bad:
            yield from _rule(info, rule, patch.names)
    for fact in patch.facts:
        yield from _bad_templates(fact)
        if fact.path not in info.footprint:
            yield fact.path, "fact-not-read", f"{fact.path} is looked at but not among the patch's targets and reads"


def _bad_templates(root: object) -> Iterator[Static]:
    for text in texts(root):
        try:
            template(text)
        except TemplateError as error:  # noqa: PERF203 -- a few templates
            yield text, "template-invalid", str(error)


def texts(root: object) -> Iterator[str]:
    """Every template that is stated somewhere in a rule or a fact."""
    for name in _members(root):
        value = getattr(root, name)
        several = isinstance(value, tuple) and not _members(value)
        method_name = isinstance(root, MethodEdit) and name == "behind"
        if name in _TEMPLATES or name == "code" or (name == "behind" and not method_name):
            yield from (text for text in (value if several else (value,)) if isinstance(text, str))
        parts: Iterable[object] = value.values() if isinstance(value, Mapping) else value if several else [value]
        for part in parts:
            yield from texts(part)


def _members(root: object) -> Sequence[str]:
    """Names of the members of a record, be it a dataclass or a named tuple; none for anything else."""
    if is_dataclass(root) and not isinstance(root, type):
        return [spec.name for spec in fields(root)]
    found: Sequence[str] = getattr(root, "_fields", ()) if isinstance(root, tuple) else ()
    return found


def _rule(info: PatchInfo, rule: Rule, names: Mapping[str, str]) -> Iterator[Static]:
    if rule.target not in info.targets and (rule.target or len(info.targets) != 1):
        yield rule.name, "target-unknown", f"{rule.name}: {rule.target or 'no file'} is not among the patch's targets"
    if not rule.goals:
        yield rule.name, "no-goal", f"{rule.name}: without a goal nothing shows that the fix is there"
    if rule.defect is None and not rule.replaces:
        yield rule.name, "no-defect", f"{rule.name}: an insertion must state the defect it cures; an anchor is none"
    where = dict(rule.edit.where) if isinstance(rule.edit, Edit) else {}
    for hole in [*rule.roles, *names, *where]:
        if not is_hole(hole):
            yield (
                hole,
                "not-a-hole",
                f"{rule.name}: {hole} is not spelled like a hole (capitals and a trailing underscore)",
            )
    yield from _holes(rule, names)


def _holes(rule: Rule, names: Mapping[str, str]) -> Iterator[Static]:
    if isinstance(rule.edit, Transform):
        return
    anchor = template(rule.edit.anchor).holes if isinstance(rule.edit, Edit) else frozenset()
    bound = {*anchor, *rule.roles, *names}
    for goal in rule.given:
        bound |= {hole for text in texts(goal) for hole in template(text).holes}
    if isinstance(rule.edit, Edit):
        bound |= {h for demand in rule.edit.where.values() for text in texts(demand) for h in template(text).holes}
        for hole in sorted(set(rule.edit.where) - bound):
            yield hole, "hole-unknown", f"{rule.name}: there is a demand on {hole}, which no template has"
    if rule.methods is not None:
        bound |= {rule.methods.hole, rule.methods.role}
    for hole in sorted(template(rule.edit.code).holes - bound):
        yield rule.edit.code, "hole-unbound", f"{rule.name}: the new code has {hole}, which nothing binds"
    used = {hole for text in texts(rule) for hole in template(text).holes}
    mentioned = set(getattr(rule.defect, "holes", ())) | set(getattr(rule.defect, "names", ()))
    for hole in sorted(set(rule.roles) - used - mentioned):
        yield hole, "hole-unused", f"{rule.name}: {hole} is declared and used nowhere"


def _line(tree: ast.Module, text: str) -> int:
    """Where a text stands in the codemod: as a string, a keyword, or the class of that name."""
    for node in walk(tree):
        if isinstance(node, ast.Constant) and node.value == text:
            return node.lineno
        if isinstance(node, ast.keyword) and node.arg == text:
            return node.value.lineno
    return next((n.lineno for n in tree.body if isinstance(n, ast.ClassDef)), 1)


class _OneFile:
    """A tree with one file in it."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data

    def blob_ids(self, paths: Iterable[str]) -> Mapping[str, str]:
        return {path: blob_id(self.data) for path in paths if path == self.path}

    def read(self, path: str) -> bytes | None:
        return self.data if path == self.path else None

    def containing(self, word: str) -> list[str]:
        return [self.path] if word.encode() in self.data else []


def judge_file(info: PatchInfo, patch: type[SemanticPatch], data: bytes) -> Judgement:
    """Judge a patch on some bytes as its first target."""
    return judge_patch(info, patch, _OneFile(info.targets[0], data), None)


def _cases(info: PatchInfo, patch: type[SemanticPatch], folder: Path, line: int) -> Iterator[Complaint]:
    files = sorted(folder.glob("*/*.py"))
    if not any(file.name == "before.py" for file in files):
        yield Complaint(info.codemod, 1, "no-case", "no cases/<case>/before.py shows that the patch works")
    for file in files:
        if file.name == "after.py":
            continue
        judgement = judge_file(info, patch, file.read_bytes())
        wrong = _applies(info, judgement, file) if file.name == "before.py" else _case(judgement, file)
        if wrong:
            yield Complaint(str(file), 1, "case-failed", wrong)
        elif file.name == "before.py" and (detail := _not_landed(info, patch, judgement)):
            told = f"its own result on {file.relative_to(folder.parent)} is not landed: {detail}"
            yield Complaint(info.codemod, line, _OWN_RESULT, told)


def _case(judgement: Judgement, file: Path) -> str | None:
    expected = {"landed.py": (State.LANDED,), "conflict.py": (State.CONFLICT, State.AMBIGUOUS)}.get(file.name)
    if expected is None:
        return "a case is before.py and after.py, landed.py or conflict.py"
    told = f"{judgement.state.value}: {judgement.detail or 'nothing to say'}"
    return None if judgement.state in expected else f"expected {expected[0].value}, came out as {told}"


def _applies(info: PatchInfo, judgement: Judgement, file: Path) -> str | None:
    data = judgement.contents.get(info.targets[0])
    if data is None:
        told = f"does not apply: {judgement.state.value}: {judgement.detail or 'nothing to do'}"
        return None if judgement.reason == _OWN_RESULT else told
    after = file.with_name("after.py")
    if not after.is_file():
        return "after.py is missing"
    return None if after.read_bytes() == data else "the result is not after.py"


def _not_landed(info: PatchInfo, patch: type[SemanticPatch], judgement: Judgement) -> str | None:
    """Why what the patch itself makes of a case is not landed, which is the codemod's fault and not the case's."""
    if judgement.reason == _OWN_RESULT:
        return judgement.detail
    again = judge_file(info, patch, judgement.contents[info.targets[0]])
    return None if again.state is State.LANDED else again.detail
