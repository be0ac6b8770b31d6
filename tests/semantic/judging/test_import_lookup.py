"""A missing import never passes silently: what new code imports is looked up in the patched tree."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import ast

import pytest

from patchtool.domain.imports import ImportProblem, Modules, new_import_problems

PATH = "python/sglang/srt/pool.py"
TREE = {
    "python/sglang/__init__.py": "",
    "python/sglang/srt/__init__.py": "",
    "python/sglang/srt/utils.py": "import torch\nfrom .impl import moved, gone\nfrom .impl import moved as other\n\ndef helper():\n    inner = 1\n\nif torch:\n    FLAG = 1\n\nclass Kind:\n    member = 1\n",
    "python/sglang/srt/impl.py": "def moved():\n    pass\n",
    "python/sglang/srt/star.py": "from .impl import *\nfrom .utils import *\n",
    "python/sglang/srt/outside.py": "from torch import *\n",
    "python/sglang/srt/lazy.py": "def __getattr__(name):\n    return 1\n",
    "python/sglang/srt/dynamic.py": "globals().update(a=1)\n",
    "python/sglang/srt/one.py": "from .two import *\n",
    "python/sglang/srt/two.py": "from .one import *\nx = 1\n",
    "python/sglang/srt/guarded.py": "try:\n    from .nowhere import fast\nexcept ImportError:\n    fast = None\ntry:\n    from .nowhere import slow\nexcept ImportError:\n    pass\n",
    "python/sglang/srt/folder/module.py": "def deep():\n    pass\n",
    "python/sglang/srt/broken.py": "def (\n",
    "python/sglang/srt/loop_a.py": "from .loop_b import name\n",
    "python/sglang/srt/loop_b.py": "from .loop_a import name\n",
}
GOOD = [
    "from sglang.srt.utils import helper", "from .utils import helper as h", "from .utils import FLAG, Kind",
    "from .utils import moved", "from .utils import other", "from sglang.srt import utils", "from . import utils",
    "import sglang.srt.utils", "import sglang.srt.utils as u\nu.helper()", "from . import utils\nutils.helper()",
    "from .star import moved, helper", "from .outside import anything", "from .lazy import anything",
    "from .dynamic import anything", "from .two import x", "from .guarded import fast, slow",
    "from .folder.module import deep", "from .folder import module", "import sglang.srt.folder.module",
    "from .broken import anything", "from .loop_a import name",
    "try:\n    from .nowhere import x\nexcept ImportError:\n    x = None",
    "import os.path", "from typing import Anything", "import torch.nothing",
    "def f(utils):\n    return utils.absent", "from .utils import *",
    "def f():\n    from .utils import helper\n    return helper()",
]  # fmt: skip
MISSING = [
    ("from sglang.srt.nowhere import x", "no module sglang.srt.nowhere"),
    ("import sglang.srt.nowhere", "no module sglang.srt.nowhere"),
    ("import sglang.srt.nowhere as n", "no module sglang.srt.nowhere"),
    ("from .nowhere import x", "no module sglang.srt.nowhere"),
    ("from ..nowhere import x", "no module sglang.nowhere"),
    ("from .utils import absent", "sglang.srt.utils has no absent"),
    ("from .utils import inner", "sglang.srt.utils has no inner"),
    ("from .utils import member", "sglang.srt.utils has no member"),
    ("from .utils import helper, absent as a", "sglang.srt.utils has no absent"),
    ("from .utils import gone", "sglang.srt.utils takes gone from sglang.srt.impl, but sglang.srt.impl has no gone"),
    ("from .star import absent", "sglang.srt.star has no absent"),
    ("from . import absent", "sglang.srt has no absent"),
    ("from . import utils\nutils.absent()", "sglang.srt.utils has no absent"),
    ("import sglang.srt.utils as u\nx = u.absent", "sglang.srt.utils has no absent"),
    ("def f():\n    from .utils import absent", "sglang.srt.utils has no absent"),
    ("if TYPE_CHECKING:\n    from .utils import absent", "sglang.srt.utils has no absent"),
    ("from .folder.module import shallow", "sglang.srt.folder.module has no shallow"),
]


def problems(before: str, after: str) -> list[ImportProblem]:
    modules = Modules(lambda path: TREE[path].encode() if path in TREE else None)
    return list(new_import_problems({PATH: ast.parse(before)}, {PATH: ast.parse(after)}, modules))


@pytest.mark.parametrize("code", GOOD)
def test_import_that_the_tree_satisfies_is_no_problem(code):
    assert problems("import torch\n", f"import torch\n{code}\n") == []


@pytest.mark.parametrize(("code", "detail"), MISSING)
def test_import_that_the_tree_does_not_satisfy_is_reported(code, detail):
    (problem,) = problems("", code)
    assert (problem.detail, problem.verified) == (detail, True)


@pytest.mark.parametrize(("code", "detail"), MISSING)
def test_what_the_release_itself_imports_and_uses_is_no_problem(code, detail):
    assert problems(code, f"{code}\nx = 1\n") == []


def test_new_use_of_a_broken_import_is_reported():
    before = "from .utils import absent, helper\n"
    (problem,) = problems(before, before + "\n\ndef f():\n    return absent()\n")
    assert str(problem) == f"{PATH}:5: sglang.srt.utils has no absent"


def test_new_module_of_another_package_is_a_note():
    (problem,) = problems("import torch\n", "import torch\nimport torch.nn\nfrom sgl_kernel_npu.x import y\n")
    assert (problem.detail, problem.verified) == ("imports sgl_kernel_npu.x, which is not in this tree", False)


def test_module_that_the_patch_adds_is_found():
    new = "python/sglang/srt/added.py"
    files = {**TREE, new: "def f():\n    pass\n"}
    modules = Modules(lambda path: files[path].encode() if path in files else None)
    after = {PATH: ast.parse("from .added import f\n"), new: ast.parse("def f():\n    pass\n")}
    assert list(new_import_problems({}, after, modules)) == []


FIX = """\
from patchtool.semantic import Rule, SemanticPatch, goal, insert_before, replace, unmentioned


class Fix(SemanticPatch):
    rules = (
        Rule("use", "f", replace("return 1", "return helper()"), (goal("helper is used", "helper()"),)),
    )
"""


@pytest.mark.parametrize(
    ("module", "reason"), [("def helper():\n    pass\n", None), ("def other():\n    pass\n", "import-missing")]
)
def test_judgement_is_a_conflict_where_the_import_is_missing(judge_codemod_on_tree, module, reason):
    source = "from .utils import helper\n\n\ndef f():\n    return 1\n"
    tree = {PATH: source, "python/sglang/__init__.py": "", "python/sglang/srt/utils.py": module}
    judgement = judge_codemod_on_tree(FIX, tree, (PATH,))
    assert judgement.reason == reason
    assert bool(judgement.contents) == (reason is None)
    assert "python/sglang/srt/utils.py" in dict(judgement.looked_up)
