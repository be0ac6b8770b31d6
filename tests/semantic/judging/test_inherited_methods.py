"""A rule for several methods finds those that the class inherits from another file, or says where it did not look."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

from __future__ import annotations

import pytest

from patchtool.domain.patch import PatchInfo
from patchtool.semantic.judge import judge_patch
from patchtool.semantic.load import load_draft
from tests.semantic.trees import MemoryTree
from tests.semantic.writing.test_edits import codemod

PATH = "python/sglang/srt/backend.py"
BASE = "python/sglang/srt/base.py"
RULE = codemod(
    "rules = (Rule('hooks', scope='Backend', methods=Methods('prepare*', having=param('batch')),",
    "    edit=replace('use(PARAMETER_)', 'use(PARAMETER_, 2)'), goals=(goal('two', 'use(PARAMETER_, 2)'),)),)",
)
BACKEND = (
    "{imports}\n\nuse = print\n\n\nclass Backend({base}):\n    def prepare(self, batch):\n        use(batch{more})\n"
)
HOOK = "class Base{bases}:\n    def prepare_graph(self, batch):\n        {body}\n"
PLAIN = "from sglang.srt.base import Base"


def judged(imports: str, base: str, files: dict[str, str], more: str = ""):
    backend = BACKEND.format(imports=imports, base=base, more=more)
    files = {"python/sglang/__init__.py": "", "python/sglang/srt/__init__.py": "", PATH: backend, **files}
    tree = MemoryTree({path: text.encode() for path, text in files.items()})
    return judge_patch(PatchInfo("p", "", "", "", (PATH,)), load_draft(RULE), tree, None)


def hook(body: str = "use(batch)", bases: str = "") -> str:
    return HOOK.format(body=body, bases=bases)


FOUND = [
    ("from-import", PLAIN, "Base", {BASE: hook()}),
    ("other-name", "from sglang.srt.base import Base as B", "B", {BASE: hook()}),
    ("relative", "from .base import Base", "Base", {BASE: hook()}),
    ("module", "from sglang.srt import base", "base.Base", {BASE: hook()}),
    ("dotted-module", "import sglang.srt.base", "sglang.srt.base.Base", {BASE: hook()}),
    ("module-under-another-name", "import sglang.srt.base as b", "b.Base", {BASE: hook()}),
    (
        "re-export",
        "from sglang.srt.front import Base",
        "Base",
        {"python/sglang/srt/front.py": "from .base import *\n", BASE: hook()},
    ),
    (
        "base-of-a-base",
        "from sglang.srt.middle import Middle",
        "Middle",
        {"python/sglang/srt/middle.py": f"{PLAIN}\n\n\nclass Middle(Base):\n    pass\n", BASE: hook()},
    ),
    ("generic", PLAIN, "Base[int]", {BASE: hook()}),
    ("coroutine", PLAIN, "Base", {BASE: hook().replace("def ", "async def ")}),
]


@pytest.mark.parametrize("more", ["", ", 2"], ids=["applied", "landed"])
@pytest.mark.parametrize(("imports", "base", "files"), [pytest.param(*row[1:], id=row[0]) for row in FOUND])
def test_hook_of_a_base_in_another_file_is_a_conflict(imports, base, files, more):
    judgement = judged(imports, base, files, more)
    assert (judgement.state.value, judgement.reason) == ("conflict", "method-in-base"), judgement
    assert "prepare_graph" in judgement.detail
    assert BASE in judgement.detail
    assert not judgement.contents
    assert BASE in dict(judgement.looked_up)


HARMLESS = [
    ("raises", hook("raise NotImplementedError")),
    ("documented", hook('"""Prepare."""')),
    ("other-parameter", hook().replace("batch", "size")),
    ("other-name", hook().replace("prepare_graph", "ready")),
    ("overridden", hook().replace("prepare_graph", "prepare")),
]


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in HARMLESS])
def test_base_without_such_a_hook_is_no_conflict(text):
    judgement = judged(PLAIN, "Base", {BASE: text})
    assert (judgement.state.value, judgement.notes) == ("applied", ()), judgement


UNKNOWN = [
    ("import torch", "torch.nn.Module"),
    ("from elsewhere import Base", "Base"),
    ("from sglang.srt.base import make", "make()"),
]


@pytest.mark.parametrize(("imports", "base"), UNKNOWN)
def test_base_that_the_tree_does_not_have_is_said_not_to_be_looked_at(imports, base):
    judgement = judged(imports, base, {BASE: "def make():\n    return object\n"})
    assert judgement.state.value == "applied"
    assert [note for note in judgement.notes if "not looked at" in note and base in note]


@pytest.mark.parametrize(
    ("imports", "base"), [("from abc import ABC", "ABC"), ("import abc", "abc.ABC"), ("", "object")]
)
def test_base_of_the_standard_library_needs_no_note(imports, base):
    assert judged(imports, base, {}).notes == ()
