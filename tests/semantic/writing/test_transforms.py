"""An author's own LibCST code, in each form that LibCST has, is judged and verified like a template."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import pytest

HEAD = """
import libcst as cst
import libcst.matchers as m
from libcst.codemod import ContextAwareTransformer, SkipFile, VisitorBasedCodemodCommand
from libcst.metadata import PositionProvider, QualifiedNameProvider

from patchtool.semantic import *
from patchtool.semantic import SemanticPatch
"""
PATCH = """

class P(SemanticPatch):
    scope = "C.f"
    edit = transform(Change, anchor="return 1")
    goals = (goal("two", "return 2"),)
"""
BEFORE = "class C:\n    def f(self):\n        return 1  # so\n"
AFTER = BEFORE.replace("return 1", "return 2")
CHANGES = {
    "function": """
def Change(module):
    one = m.findall(module, m.Integer(value="1"))[0]
    return module.deep_replace(one, cst.Integer("2"))
""",
    "transformer": """
class Change(cst.CSTTransformer):
    def leave_Integer(self, original_node, updated_node):
        return cst.Integer("2")
""",
    "transformer with metadata": """
class Change(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def leave_Integer(self, original_node, updated_node):
        assert self.get_metadata(PositionProvider, original_node).start.line == 3
        return cst.Integer("2")
""",
    "transformer with matchers": """
class Change(m.MatcherDecoratableTransformer):
    @m.call_if_inside(m.FunctionDef(name=m.Name("f")))
    @m.leave(m.Integer(value="1"))
    def two(self, original_node, updated_node):
        return cst.Integer("2")
""",
    "codemod": """
class Change(ContextAwareTransformer):
    METADATA_DEPENDENCIES = (QualifiedNameProvider,)

    def leave_FunctionDef(self, original_node, updated_node):
        names = {name.name for name in self.get_metadata(QualifiedNameProvider, original_node)}
        assert (self.context.filename, names) == ("m.py", {"C.f"})
        return updated_node.deep_replace(m.findall(updated_node, m.Integer())[0], cst.Integer("2"))
""",
    "codemod command": """
class Change(VisitorBasedCodemodCommand):
    @m.leave(m.Return(value=m.Integer("1")))
    def two(self, original_node, updated_node):
        return updated_node.with_changes(value=cst.Integer("2"))
""",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_in_the_scope_is_applied(judge_codemod, change):
    judgement = judge_codemod(HEAD + change + PATCH, BEFORE)
    assert judgement.state.value == "applied", f"{judgement.reason}: {judgement.detail}\n{judgement.trace}"
    assert judgement.contents["m.py"].decode() == AFTER


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_landed_change_is_not_run(judge_codemod, change):
    judgement = judge_codemod(HEAD + change + PATCH, AFTER)
    assert (judgement.state.value, judgement.contents) == ("landed", {})


WIDER = """

class P(SemanticPatch):
    scope = {scope!r}
    edit = transform(Change, anchor="NAME = 1")
    goals = (goal("two", "NAME = 2"),)
"""
TWO = CHANGES["transformer"].replace(
    'cst.Integer("2")', 'cst.Integer("2") if original_node.value == "1" else updated_node'
)


@pytest.mark.parametrize(
    ("scope", "source"),
    [
        ("", "import os\n\nNAME = ONE\n\n\ndef f():\n    return ONE\n"),
        ("", "# -*- coding: latin-1 -*-\r\n\r\nNAME = ONE  # \xe4\r\nx = [\r\n    ONE,  \r\n]\r\n"),
        ("", '"""So."""\nfrom __future__ import annotations\n\n\n\nNAME = ONE\n# end'),
        ("", "if True:\n    NAME = ONE"),
        ("A", "x = 3\n\n\nclass A:\n    NAME = ONE\n\n    def f(self):\n        return ONE\n\n\ny = 3\n"),
        ("A.B", "class A:\n    class B:\n        NAME = ONE\n"),
    ],
)
def test_a_change_of_a_module_or_class_is_applied(judge_codemod, scope, source):
    before, after = (source.replace("ONE", number).encode("latin-1") for number in "12")
    judgement = judge_codemod(HEAD + TWO + WIDER.format(scope=scope), before)
    assert judgement.state.value == "applied", f"{judgement.reason}: {judgement.detail}\n{judgement.trace}"
    assert judgement.contents["m.py"] == after


WITHOUT_F = """
def Change(module):
    class Without(cst.CSTTransformer):
        def leave_FunctionDef(self, original_node, updated_node):
            return cst.RemoveFromParent()
        def leave_Integer(self, original_node, updated_node):
            return cst.Integer("2")
    return module.visit(Without())
"""


@pytest.mark.parametrize(
    ("change", "scope", "source", "reason"),
    [
        (TWO, "A", "class A:\n    NAME = 1\n\n\nx = 1\n", "bytes-changed"),
        (WITHOUT_F, "", "NAME = 1\n\n\ndef f():\n    pass\n\n\nx = f()\n", "removed-name-read"),
        (WITHOUT_F, "", '__all__ = ["f"]\nNAME = 1\n\n\ndef f():\n    pass\n', "removed-name-read"),
        (WITHOUT_F, "A", "class A:\n    NAME = 1\n\n    def f(self):\n        pass\n\n    g = f\n", "removed-name-read"),
        ("def Change(m):\n    return m.with_changes(body=[*m.body, cst.parse_statement('NAME = 2')])\n", "", "NAME = 1\n", "name-doubled"),
    ],
)  # fmt: skip
def test_a_change_of_a_module_or_class_that_takes_more_is_a_conflict(judge_codemod, change, scope, source, reason):
    judgement = judge_codemod(HEAD + change + WIDER.format(scope=scope), source)
    assert (judgement.state.value, judgement.reason, judgement.contents) == ("conflict", reason, {}), judgement.detail


CONFLICTS = {
    "a change outside of the scope": ("transformer", BEFORE + "\n\nX = 1\n", "bytes-changed"),
    "a change beside the scope": ("transformer", BEFORE + "\n    def g(self):\n        return 1\n", "bytes-changed"),
    "no site": ("transformer", BEFORE.replace("1", "3"), "anchor-missing"),
    "a file that LibCST cannot parse": ("function", "x = 1" + " and 1" * 20_000 + "\n" + BEFORE, "unparsable"),
}


@pytest.mark.parametrize(("change", "source", "reason"), CONFLICTS.values(), ids=CONFLICTS)
def test_a_conflict_has_a_reason(judge_codemod, change, source, reason):
    judgement = judge_codemod(HEAD + CHANGES[change] + PATCH, source)
    assert (judgement.state.value, judgement.reason, judgement.contents) == ("conflict", reason, {})


def test_too_many_sites_are_ambiguous(judge_codemod):
    source = "class C:\n    def f(self, a):\n        if a:\n            return 1\n        return 1\n"
    judgement = judge_codemod(HEAD + CHANGES["transformer"] + PATCH, source)
    assert (judgement.state.value, judgement.reason) == ("ambiguous", "sites-too-many")


def test_a_result_that_misses_the_goal_is_a_conflict(judge_codemod):
    change = CHANGES["transformer"].replace('cst.Integer("2")', 'cst.Integer("3")')
    judgement = judge_codemod(HEAD + change + PATCH, BEFORE)
    assert (judgement.state.value, judgement.reason) == ("conflict", "result-not-landed")


def test_a_skipped_file_is_a_conflict_with_the_authors_reason(judge_codemod):
    change = "class Change(VisitorBasedCodemodCommand):\n    def visit_Module(self, node):\n        raise SkipFile('not mine')\n"
    judgement = judge_codemod(HEAD + change + PATCH, BEFORE)
    assert (judgement.state.value, judgement.reason) == ("conflict", "site-refused")
    assert "not mine" in judgement.detail


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("def Change(module):\n    return 1 / 0\n", "ZeroDivisionError"),
        ("class Change(cst.CSTTransformer):\n    def leave_Integer(self, one, two):\n        return two.no\n", "AttributeError"),
        ("class Change(VisitorBasedCodemodCommand):\n    def visit_Module(self, node):\n        cst.parse_statement('(')\n", "ParserSyntaxError"),
    ],
)  # fmt: skip
def test_an_error_in_the_change_is_crashed_with_its_line(judge_codemod, change, text):
    codemod = HEAD + change + PATCH
    judgement = judge_codemod(codemod, BEFORE)
    assert (judgement.state.value, judgement.reason) == ("crashed", "codemod-raised")
    assert text in judgement.detail
    line = (HEAD + change).count("\n")
    assert f'codemod.py", line {line}, in' in judgement.trace


def test_a_change_that_gives_no_module_is_crashed(judge_codemod):
    judgement = judge_codemod(HEAD + "def Change(module):\n    module.body\n" + PATCH, BEFORE)
    assert (judgement.state.value, judgement.reason) == ("crashed", "codemod-raised")
    assert "Change returned NoneType, expected a libcst.Module" in judgement.detail
