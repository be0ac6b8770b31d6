"""``explain --why-not``: the first part of a template that differs from the nearest code, or what else does."""

import textwrap

import pytest

from patchtool.domain.mismatch import Mismatch
from patchtool.domain.patch import PatchInfo
from patchtool.semantic.compare import mismatches
from patchtool.semantic.judge import judge_files
from patchtool.semantic.load import load_draft
from patchtool.semantic.vocabulary.patch import SemanticPatch

SOURCE = """\
from helpers import limit as most, log


class Store:
    def fill(self, rows, slots):
        self.check(rows)
        copy_rows(self.table, rows, slots)
        "ä"; zero_rows(self.table, value=0)
        return len(rows)

    def fill_some(self, rows, slots, mask):
        if mask is not None:
            copy_rows(self.table, rows, slots)

    def fill_each(self, rows, slots):
        for row, slot in zip(rows, slots):
            copy_rows(self.table, row, slot)


def retry(fn, most):
    log = print

    def wrapper(*args, **kwargs):
        log(fn, most)
        return fn(*args, **kwargs)

    return wrapper
"""


class Memory:
    """A tree of one file."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def blob_ids(self, paths: object) -> dict[str, str]:
        return {}

    def read(self, path: str) -> bytes | None:
        return self.data if path == "store.py" else None

    def containing(self, word: str) -> list[str]:
        return []


INFO = PatchInfo("example", "", "", "", ("store.py",))


def loaded(scope: str, rule: str) -> type[SemanticPatch]:
    imports = "from patchtool.semantic import *\nfrom patchtool.semantic import SemanticPatch\n"
    body = textwrap.indent(f"scope = {scope!r}\n{rule}", "    ")
    return load_draft(f"{imports}class P(SemanticPatch):\n{body}")


def first(scope: str, rule: str, source: str = SOURCE) -> Mismatch:
    return mismatches(INFO, loaded(scope, rule), Memory(source.encode()), None)[0]


def replaced(anchor: str, **more: str) -> str:
    options = "".join(f", {name}={value}" for name, value in more.items())
    return f"edit = replace({anchor!r}, 'done()'{options})\ngoals = (goal('it is done', 'done()'),)"


@pytest.mark.parametrize(
    ("anchor", "place", "expected", "found"),
    [
        ("copy_rows(TABLE_, rows, slotz)", (7, 37), "slotz", "slots"),
        ("copy_rows(self.tables, *REST_)", (7, 19), "tables", "table"),
        ("copy_rows(TABLE_, ROWS_)", (7, 37), "", "slots"),
        ("copy_rows(TABLE_, ROWS_, SLOTS_, MORE_)", (7, 9), "MORE_", ""),
        ("copy_rows(TABLE_, ROWS_, SLOTS_, dense=True)", (7, 9), "dense=True", ""),
        ("zero_rows(TABLE_, value=1)", (8, 42), "1", "0"),
        ("zero_rows(TABLE_)", (8, 36), "", "value=0"),
        ("zero_rows(TABLE_, 0)", (8, 14), "0", ""),
        ("self.check(ROWS_)\nreturn ROWS_", (7, 9), "return ROWS_", "copy_rows(self.table, rows, slots)"),
        ("self.check(ROWS_)\n...\nreturn len(slots)", (9, 20), "slots", "rows"),
        ("return len(ROWS_)\nlog(ROWS_)", (9, 9), "log(ROWS_)", ""),
        ("copy_rows(TABLE_, ROWS_, ROWS_)", (7, 37), "rows", "slots"),
    ],
)
def test_first_part_that_differs_is_named(anchor: str, place: tuple[int, int], expected: str, found: str) -> None:
    told = first("Store.fill", replaced(anchor))
    assert ((told.line, told.column), told.expected, told.found) == (place, expected, found)
    assert (told.what, told.symbol, told.path) == ("site", "Store.fill", "store.py")
    assert 0.35 < told.similarity < 1


@pytest.mark.parametrize(
    ("scope", "rule", "line", "reason"),
    [
        (
            "Store.fill_some",
            replaced("return len(R_)"),
            9,
            "matches in Store.fill, and the scope of P is Store.fill_some",
        ),
        ("Store.fill_some", replaced("copy_rows(T_, R_, S_)"), 0, "under if 'mask is not None' on line 12"),
        ("Store.fill", replaced("len(R_)"), 9, "only a part of a statement: the template must be all of it"),
        (
            "Store.fill",
            replaced("copy_rows(T_, R_, S_)", R_="holds('A_[B_]')"),
            7,
            "R_ is rows on line 7, which it must",
        ),
        (
            "Store.fill",
            f"roles = {{'R_': param('slots')}}\n{replaced('copy_rows(T_, R_, S_)')}",
            7,
            "R_ stands for slots",
        ),
        ("Store.fill_each", replaced("for A_, B_ in zip(*X_):\n    copy_rows(T_, B_, A_)"), 17, "B_ stands for slot"),
        (
            "Store.fill_each",
            replaced("for A_, B_ in zip(*X_):\n    copy_rows(T_, A_, B_)\n    a()"),
            17,
            "block ends before it",
        ),
        ("Store.gone", replaced("self.check(ROWS_)"), 6, "there is no Store.gone"),
        ("retry", replaced("return fn(*args, **kwargs)"), 25, "matches in retry.wrapper, and the scope of P is retry"),
        ("retry.wrapper", replaced("return fn(ONE_)"), 25, "only `*HOLE_` stands for starred arguments"),
        ("retry.wrapper", replaced("log(fn, limit)"), 24, "log is a local variable here"),
    ],
)
def test_reason_is_told_where_the_text_is_not_what_differs(scope: str, rule: str, line: int, reason: str) -> None:
    told = first(scope, rule)
    assert reason in told.reason
    assert told.line == line


@pytest.mark.parametrize(
    "anchor",
    [
        "return fn(*args, **kwargs)",
        "return fn(*ARGS_, **KWARGS_)",
        "return FN_(*ARGS_, **KWARGS_)",
        "return fn(*args, **KWARGS_)",
        "return fn(*REST_)",
    ],
)
def test_starred_arguments_and_closure_variables_are_matched(anchor: str) -> None:
    patch = loaded(
        "retry.wrapper", f"edit = replace({anchor!r}, 'return None')\ngoals = (goal('none', 'return None'),)"
    )
    judgement = judge_files(INFO, patch, {"store.py": SOURCE.encode()})
    assert judgement.state.value == "applied", judgement.detail
    assert mismatches(INFO, patch, Memory(SOURCE.encode()), None) == []


def test_starred_arguments_are_not_one_argument() -> None:
    patch = loaded("retry.wrapper", replaced("return fn(ARGS_, **KWARGS_)"))
    assert judge_files(INFO, patch, {"store.py": SOURCE.encode()}).reason == "anchor-missing"


def test_closure_variable_is_not_the_import_that_it_hides() -> None:
    source = SOURCE.replace("def retry(fn, most):", "def retry(fn, other):")
    rule = "edit = replace('log(fn, limit)', 'log(fn, None)')\ngoals = (goal('none', 'log(fn, None)'),)"
    hidden = source.replace("    log = print\n", "")
    for text, expected in ((hidden, "applied"), (SOURCE.replace("    log = print\n", ""), "conflict")):
        judgement = judge_files(INFO, loaded("retry.wrapper", rule), {"store.py": text.encode()})
        assert judgement.state.value == expected, judgement.detail


def test_goals_and_givens_are_compared_too() -> None:
    rule = (
        "given = (given('the check', 'self.check(ROWS_, strict=True)'),)\n"
        "edit = replace('return len(ROWS_)', 'return 1')\n"
        "goals = (goal('rows are copied twice', 'copy_rows(self.table, rows, slots, rows)'),)"
    )
    found = {told.what: told for told in mismatches(INFO, loaded("Store.fill", rule), Memory(SOURCE.encode()), None)}
    given = found["given: the check"]
    assert (given.line, given.column, given.expected) == (6, 9, "strict=True")
    rule = replaced("absent()").replace("'done()')", "'copy_rows(self.table, rows, slots, rows)')")
    _, goal = mismatches(INFO, loaded("Store.fill", rule), Memory(SOURCE.encode()), None)
    assert (goal.what, goal.line, goal.column, goal.expected) == ("goal: it is done", 7, 9, "rows")


def test_every_rule_is_compared() -> None:
    rules = "".join(
        f"Rule({name!r}, scope='Store.fill', edit=replace({anchor!r}, 'x()'), goals=(goal({name!r}, 'x()'),)),"
        for name, anchor in (
            ("one", "self.check(slots)"),
            ("two", "copy_rows(T_, R_, S_)"),
            ("three", "return len(slots)"),
        )
    )
    found = mismatches(INFO, loaded("", f"rules = ({rules})"), Memory(SOURCE.encode()), None)
    assert [(told.rule, told.line, told.column) for told in found if told.what == "site"] == [
        ("one", 6, 20),
        ("three", 9, 20),
    ]
