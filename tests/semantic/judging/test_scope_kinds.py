"""Every kind of scope can be patched; a kind that changed since it was recorded is a conflict."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

from __future__ import annotations

import pytest

from patchtool.domain.patch import PatchInfo
from patchtool.semantic.kind import SemanticKind
from tests.semantic.trees import MemoryTree

CODEMOD = """
from patchtool.semantic import SemanticPatch, goal, replace


class P(SemanticPatch):
    scope = {scope!r}
    kinds = {kinds!r}
    edit = replace("old(1)", "new(1)")
    goals = (goal("new", "new(1)"),)
"""
IMPORTS = "import abc\nimport contextlib\nimport functools\nfrom typing import TYPE_CHECKING, overload\n\nfrom kernels import new, old\n\n\n"
SCOPES = {
    "function": ("f", "def f():\n    old(1)\n"),
    "coroutine": ("f", "async def f(x):\n    await x\n    old(1)\n"),
    "generator": ("f", "def f():\n    yield 1\n    old(1)\n"),
    "async-generator": ("f", "async def f():\n    old(1)\n    yield 1\n"),
    "decorated": ("f", "@functools.wraps(old)\n@functools.lru_cache(maxsize=None)\ndef f():\n    old(1)\n"),
    "context-manager": ("f", "@contextlib.contextmanager\ndef f():\n    old(1)\n    yield\n"),
    "async-context-manager": ("f", "@contextlib.asynccontextmanager\nasync def f():\n    old(1)\n    yield\n"),
    "static-method": ("C.f", "class C:\n    @staticmethod\n    def f():\n        old(1)\n"),
    "class-method": ("C.f", "class C:\n    @classmethod\n    def f(cls):\n        old(1)\n"),
    "abstract-method": ("C.f", "class C:\n    @abc.abstractmethod\n    def f(self):\n        old(1)\n"),
    "property": ("C.f", "class C:\n    @property\n    def f(self):\n        old(1)\n"),
    "cached-property": ("C.f", "class C:\n    @functools.cached_property\n    def f(self):\n        old(1)\n"),
    "getter-with-a-setter": ("C.f", "class C:\n    @property\n    def f(self):\n        old(1)\n\n    @f.setter\n    def f(self, value):\n        old(2)\n"),
    "setter": ("C.f@setter", "class C:\n    @property\n    def f(self):\n        old(2)\n\n    @f.setter\n    def f(self, value):\n        old(1)\n"),
    "deleter": ("C.f@deleter", "class C:\n    @property\n    def f(self):\n        old(2)\n\n    @f.deleter\n    def f(self):\n        old(1)\n"),
    "overloaded-function": ("f", "@overload\ndef f(x: int): ...\n@overload\ndef f(x: str): ...\ndef f(x):\n    old(1)\n"),
    "overloaded-method": ("C.f", "class C:\n    @overload\n    def f(self, x: int): ...\n    @overload\n    def f(self, x: str): ...\n    def f(self, x):\n        old(1)\n"),
    "stub-for-checkers": ("f", "if TYPE_CHECKING:\n    def f(x: int): ...\n\ndef f(x):\n    old(1)\n"),
    "nested-function": ("f.g", "def f():\n    def g():\n        old(1)\n    return g\n"),
    "nested-class": ("C.D.f", "class C:\n    class D:\n        def f(self):\n            old(1)\n"),
    "method-of-a-class-in-a-function": ("f.C.g", "def f():\n    class C:\n        def g(self):\n            old(1)\n    return C\n"),
    "module": ("", "X = 1\nold(1)\n"),
    "class-body": ("C", "class C:\n    x = 1\n    old(1)\n"),
}  # fmt: skip


def judge(tmp_path, source, scope, stated=None, kinds=None):
    file = tmp_path / "codemod.py"
    file.write_text(CODEMOD.format(scope=scope, kinds=stated or {}))
    info = PatchInfo("p", "", "", "", ("m.py",), source_file=str(file), kinds=kinds)
    return SemanticKind().judge(info, MemoryTree({"m.py": source.encode()}), None)


@pytest.mark.parametrize(("scope", "source"), SCOPES.values(), ids=SCOPES)
def test_scope_of_any_kind_is_edited(tmp_path, scope, source):
    judgement = judge(tmp_path, IMPORTS + source, scope)
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail, judgement.trace)
    written = judgement.contents["m.py"].decode()
    assert written == IMPORTS + source.replace("old(1)", "new(1)")
    assert judge(tmp_path, written, scope).state.value == "landed"


UNCLEAR = {
    "twice": "def f():\n    old(1)\n\n\ndef f():\n    old(1)\n",
    "conditional": "if old:\n    def f():\n        old(1)\nelse:\n    def f():\n        old(1)\n",
    "rebound": "def f():\n    old(1)\n\n\nf = functools.partial(f)\n",
    "only-overloads": "@overload\ndef f(x: int): old(1)\n@overload\ndef f(x: str): old(1)\n",
}


@pytest.mark.parametrize("source", UNCLEAR.values(), ids=UNCLEAR)
def test_definition_that_may_not_run_is_ambiguous(tmp_path, source):
    judgement = judge(tmp_path, IMPORTS + source, "f")
    assert (judgement.state.value, judgement.reason) == ("ambiguous", "scope-ambiguous")


METHODS = {
    "function": "def f(self):\n        old(1)\n",
    "coroutine": "async def f(self):\n        old(1)\n",
    "generator": "def f(self):\n        old(1)\n        yield 1\n",
    "async generator": "async def f(self):\n        old(1)\n        yield 1\n",
    "function, staticmethod": "@staticmethod\n    def f(self):\n        old(1)\n",
    "function, classmethod": "@classmethod\n    def f(self):\n        old(1)\n",
    "function, property": "@property\n    def f(self):\n        old(1)\n",
    "coroutine, classmethod": "@classmethod\n    async def f(self):\n        old(1)\n",
}


@pytest.mark.parametrize("now", METHODS)
@pytest.mark.parametrize("recorded", METHODS)
@pytest.mark.parametrize("how", ["lock", "codemod", "case"])
def test_kind_is_compared_with_the_recorded_one(tmp_path, how, recorded, now):
    locked = ({} if recorded == "function" else {"C.f": recorded}) if how == "lock" else None
    if how == "case":
        case = tmp_path / "cases" / "one" / "before.py"
        case.parent.mkdir(parents=True)
        case.write_text("class C:\n    " + METHODS[recorded])
    source = IMPORTS + "class C:\n    " + METHODS[now]
    judgement = judge(tmp_path, source, "C.f", {"C.f": recorded} if how == "codemod" else None, kinds=locked)
    if now == recorded:
        assert judgement.state.value == "applied", judgement.detail
        assert dict(judgement.kinds) == ({} if now == "function" else {"C.f": now})
    else:
        assert (judgement.state.value, judgement.reason) == ("conflict", "scope-kind-changed")
        assert judgement.detail == f"C.f was recorded as {recorded} and is {now} now"
        landed = judge(tmp_path, source.replace("old(1)", "new(1)"), "C.f", {"C.f": recorded})
        assert (landed.state.value, landed.reason) == ("conflict", "scope-kind-changed")
