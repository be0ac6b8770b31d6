"""The static checks on small trees."""

from pathlib import Path
from typing import Any

import pytest

from patchtool.matrix.cell import Cell, Outcome, Tier
from patchtool.matrix.release_trees import ReleaseTrees
from patchtool.matrix.running.run import run_cells
from patchtool.matrix.static import STATIC_TESTS, run_static
from patchtool.matrix.static.patched_tree import PatchedTree
from tests.matrix.conftest import RELEASE
from tests.matrix.waiting import LIMIT

BASE = "class Base:\n    def hook(self, batch, *, late=False): ...\n    def run(self):\n        self.hook(1)\n"


@pytest.fixture
def tree(tmp_path: Path) -> Any:
    package = tmp_path / "sglang" / "srt"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "base.py").write_text(BASE)
    (package / "file.py").write_text("class C:\n    def old(self): ...\n")

    def patched(text: str) -> PatchedTree:
        return PatchedTree(tmp_path, {"python/sglang/srt/file.py": text.encode()})

    return patched


def problems(check: str, patched: PatchedTree) -> str:
    test = next(test for test in STATIC_TESTS if test.function == check)
    result = run_static(Cell(RELEASE, ("one",), Tier.STATIC, test), patched)
    assert (result.outcome is Outcome.FAILED) == bool(result.detail)
    return result.detail


@pytest.mark.parametrize(
    ("check", "text", "problem"),
    [
        ("changed_files_compile", "def f(:", "file.py:1: invalid syntax"),
        ("changed_files_compile", "return 1", "'return' outside function"),
        ("changed_files_compile", "def f[T](x: T): ...", "file.py:1"),
        ("changed_files_compile", "x = 1", ""),
        ("imports_resolve_by_name", "import sglang.srt.nowhere", "file.py:1: no module sglang.srt.nowhere"),
        ("imports_resolve_by_name", "from sglang.srt.base import Missing", "sglang.srt.base has no Missing"),
        ("imports_resolve_by_name", "from .base import Missing", "sglang.srt.base has no Missing"),
        ("imports_resolve_by_name", "from . import base\nfrom .base import Base\nimport torch", ""),
        ("nothing_is_defined_twice", "class C:\n    def f(self): ...\n    def f(self): ...", "C.f is defined twice"),
        ("nothing_is_defined_twice", "@overload\ndef f(): ...\ndef f(): ...", ""),
        (
            "calls_fit_changed_signatures",
            "class C:\n    def new(self, a): ...\n    def g(self): self.new()",
            "no argument",
        ),
        ("calls_fit_changed_signatures", "def new(a): ...\nnew(1, 2)", "2 positional arguments, it takes 1"),
        ("calls_fit_changed_signatures", "def new(a): ...\nnew(b=2)", "no parameter b"),
        ("calls_fit_changed_signatures", "def new(a, *b, c=1, **d): ...\nnew(1, 2, 3, e=4)", ""),
        ("calls_fit_changed_signatures", "def new(a): ...\nnew(*x)", ""),
        ("calls_fit_changed_signatures", "class C:\n    @staticmethod\n    def new(a): ...\nC.new(1)", ""),
    ],
)
def test_check_reports_its_problem_and_nothing_else(tree: Any, check: str, text: str, problem: str) -> None:
    found = problems(check, tree(text))
    assert problem in found
    assert bool(problem) == bool(found)


def test_calls_in_other_files_are_checked(tree: Any) -> None:
    patched = tree("from sglang.srt.base import Base\nclass D(Base):\n    def hook(self): ...\n")
    assert problems("calls_fit_changed_signatures", patched) == ""  # the call in Base may be of its own method
    (patched.root / "sglang" / "srt" / "caller.py").write_text("def go(d):\n    d.hook(1)\n")
    assert "caller.py:2: call of hook: 1 positional" in problems("calls_fit_changed_signatures", patched)


def test_slow_check_times_out_and_the_next_one_runs(tmp_path: Path) -> None:
    (tmp_path / "sglang").mkdir()
    long, short = b"x = f(1)\n" * 20_000, b"def f(): ...\n"
    trees = ReleaseTrees(
        RELEASE,
        tmp_path,
        {(name,): {"python/sglang/file.py": text} for name, text in (("long", long), ("short", short))},
    )
    test = next(test for test in STATIC_TESTS if test.function == "changed_files_compile")
    cells = [
        Cell(RELEASE, (name,), Tier.STATIC, test, timeout=limit) for name, limit in (("long", 0.01), ("short", LIMIT))
    ]
    found = {result.cell.patches: result for result in run_cells(cells, [trees])}
    assert (found["long",].outcome, found["long",].detail) == (Outcome.TIMEOUT, "no answer within 0.01 s")
    assert found["short",].outcome is Outcome.PASSED
