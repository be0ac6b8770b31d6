"""A collection that a patch adds, and that upstream has with names of its own at the end."""

import io
import tokenize

import pytest

from patchtool.domain.text_patch import CarryOutcome, FileChange
from patchtool.textual.carry import carry_file

BASE = "class Q(Node):\n    AND = 'AND'\n    OR = 'OR'\n    default = AND\n\n    def f(self, a):\n        return a\n"
PATCHED = BASE.replace("    default = AND\n", "    default = AND\n    allowed = (None, AND, OR)\n")
TARGET = PATCHED.replace("    default", "    XOR = 'XOR'\n    default").replace("AND, OR)", "AND, OR, XOR)")


def outcome(target: str, patched: str = PATCHED) -> CarryOutcome:
    return carry_file(FileChange("m.py", BASE.encode(), patched.encode()), target.encode()).outcome


@pytest.mark.parametrize("brackets", ["()", "[]", "{}"])
def test_it_landed_where_what_is_more_did_not_exist(brackets: str) -> None:
    patched, target = (
        text.replace("(None", f"{brackets[0]}None").replace("OR)", f"OR{brackets[1]}") for text in (PATCHED, TARGET)
    )
    assert outcome(target, patched) is CarryOutcome.LANDED


DOUBTS = {
    "a name that the patch could have had": TARGET.replace("OR, XOR)", "OR, default)"),
    "one that is bound nowhere": TARGET.replace("    XOR = 'XOR'\n", ""),
    "one that is bound below": TARGET.replace("    XOR = 'XOR'\n", "").replace("\n\n", "\n    XOR = 'XOR'\n\n", 1),
    "one that is bound twice": TARGET.replace("    XOR = 'XOR'\n", "    XOR = 'X'\n    XOR = 'Y'\n"),
    "a value": TARGET.replace("OR, XOR)", "OR, 'XOR')"),
    "not at the end": TARGET.replace("AND, OR, XOR)", "AND, XOR, OR)"),
    "one of the patch's is missing": TARGET.replace("AND, OR, XOR)", "AND, XOR)"),
    "another kind of collection": TARGET.replace("(None, AND, OR, XOR)", "[None, AND, OR, XOR]"),
    "in another order": TARGET.replace("AND, OR, XOR)", "OR, AND, XOR)"),
    "twice": TARGET.replace("OR, XOR)", "OR, XOR, XOR)"),
    "with a type, which may make it a field": TARGET.replace("allowed =", "allowed: tuple ="),
    "overwritten": TARGET.replace("OR, XOR)\n", "OR, XOR)\n    allowed = ()\n"),
    "in another class": TARGET.replace("    allowed = (None, AND, OR, XOR)\n", "")
    + "\n\nclass P(Node):\n    XOR = 1\n    allowed = (None, AND, OR, XOR)\n",
}


@pytest.mark.parametrize("target", DOUBTS.values(), ids=DOUBTS)
def test_otherwise_it_did_not(target: str) -> None:
    assert target != TARGET
    assert outcome(target) is not CarryOutcome.LANDED


def test_no_change_of_a_single_word_of_what_landed_has_landed() -> None:
    at = TARGET.index("allowed")
    line = TARGET[at : TARGET.index("\n", at)]
    words = [t for t in tokenize.generate_tokens(io.StringIO(line + "\n").readline) if t.type == tokenize.NAME]
    assert [t.string for t in words] == ["allowed", "None", "AND", "OR", "XOR"]
    for word in words:
        start, end = at + word.start[1], at + word.end[1]
        assert outcome(f"{TARGET[:start]}other{TARGET[end:]}") is not CarryOutcome.LANDED, word.string


def test_a_collection_of_one_name_tells_nothing() -> None:
    patched = PATCHED.replace("(None, AND, OR)", "(AND,)")
    assert outcome(TARGET.replace("(None, AND, OR, XOR)", "(AND, XOR)"), patched) is not CarryOutcome.LANDED
