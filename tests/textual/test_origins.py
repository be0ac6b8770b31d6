"""A name that the patch imports from one module, and upstream from another that gives the same object."""

import pytest

from patchtool.domain.patch import Judgement, PatchInfo
from patchtool.domain.state import State
from patchtool.domain.text_patch import FileChange, TextChange, known_source
from patchtool.textual.kind import TextKind
from tests.semantic.trees import MemoryTree

CODE = "\n\ndef f(a):\n    return a\n"
BASE = f"import os\n{CODE}"
PATCHED = f"import os\nfrom pkg.old import helper\n{CODE.replace('return a', 'return helper(a, 3)')}"
TARGET = PATCHED.replace("pkg.old", "pkg.new")
NEW = "def helper(a, n):\n    return a * n\n"
PASSED_ON = "import sys\nfrom pkg.new import helper\n\n\ndef g():\n    return helper(1, 2)\n"


def judged(target: str = TARGET, root: str = "", **modules: str) -> Judgement:
    tree = {f"{root}pkg/use.py": target, f"{root}pkg/__init__.py": "", f"{root}pkg/new.py": NEW}
    tree |= {f"{root}pkg/{name}.py": text for name, text in modules.items()}
    change = FileChange(f"{root}pkg/use.py", BASE.encode(), PATCHED.encode())
    text = known_source("", TextChange((change,)))
    info = PatchInfo("x", "x", "", "A <a@b.c>", (), source_file="x.patch", text=text)
    return TextKind().judge(info, MemoryTree({path: text.encode() for path, text in tree.items()}), None)


SAME = {
    "imported": PASSED_ON,
    "relatively": PASSED_ON.replace("pkg.new", ".new"),
    "among others": PASSED_ON.replace("import helper", "import (\n    other,\n    helper,\n)"),
    "in other lines": PASSED_ON.replace("import sys\n", "import sys\n\nX = 1\n"),
}


@pytest.mark.parametrize("root", ["", "src/", "python/lib/"])
@pytest.mark.parametrize("old", SAME.values(), ids=SAME)
def test_it_landed_where_the_one_module_only_imports_it_from_the_other(old: str, root: str) -> None:
    judgement = judged(root=root, old=old)
    assert judgement.state is State.LANDED, judgement.detail
    assert judgement.searched_tree, "what is kept under the bytes of these files depends on others, too"


def test_it_is_followed_over_several_modules_and_other_names() -> None:
    old = "from pkg.middle import inner as helper\n"
    assert judged(old=old, middle="from .new import helper as inner\n").state is State.LANDED


def test_code_is_carried_without_the_import_where_the_name_is_there() -> None:
    target = TARGET.replace("return helper(a, 3)", "return a").replace("def f", "X = helper(1, 2)\n\n\ndef f")
    judgement = judged(target, old=PASSED_ON)
    assert judgement.state is State.DRIFTED, judgement.detail
    assert judgement.contents == {"pkg/use.py": target.replace("return a\n", "return helper(a, 3)\n").encode()}


DOUBTS = {
    "it defines it itself": "def helper(a, n):\n    return a * n\n",
    "it overwrites it": PASSED_ON + "\n\nhelper = wrap(helper)\n",
    "it takes it out again": PASSED_ON + "\n\ndel helper\n",
    "it imports another name as it": PASSED_ON.replace("import helper", "import other as helper"),
    "it imports it from elsewhere": PASSED_ON.replace("pkg.new", "pkg.third"),
    "on a condition": "if X:\n    from pkg.new import helper\nelse:\n    from pkg.third import helper\n",
    "on one condition": "if X:\n    from pkg.new import helper\n",
    "a function may change it": PASSED_ON + "\n\ndef h():\n    global helper\n    helper = None\n",
    "names of anything": PASSED_ON + "\nfrom pkg.third import *\n",
    "a loop binds it": PASSED_ON + "\n\nfor helper in ():\n    pass\n",
    "it is no Python": PASSED_ON + "def (:\n",
    "a circle": "from pkg.old import helper\n",
}


@pytest.mark.parametrize("old", DOUBTS.values(), ids=DOUBTS)
def test_otherwise_it_is_a_conflict(old: str) -> None:
    judgement = judged(old=old, third="def helper(a, n):\n    return a\n")
    assert judgement.state is State.CONFLICT, judgement.detail


def test_it_is_a_conflict_where_the_module_is_gone_or_there_twice() -> None:
    assert judged().state is State.CONFLICT
    assert judged(old=PASSED_ON, **{"old/__init__": PASSED_ON}).state is State.CONFLICT


def test_no_other_word_of_what_landed_has_landed() -> None:
    for word in ("helper(a, 3)", "a, 3", "3"):
        target = TARGET.replace("helper(a, 3)", "helper(a, 3)".replace(word, "other"))
        assert judged(target, old=PASSED_ON).state is not State.LANDED, word
    assert judged(TARGET.replace("import helper", "import other as helper"), old=PASSED_ON).state is not State.LANDED
