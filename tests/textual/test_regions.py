"""Where in a Python file a person has to merge a patch: the statements in doubt, and nothing around them."""

import pytest

from patchtool.domain.text_patch import Region
from patchtool.textual.python import conflict_regions

BASE = """\
import os


class A(Base):
    def f(self, rows):
        total = len(rows)
        self.table[0:total] = rows
        return total

    def g(self):
        return os.name


def h(a):
    x = one(a, 1)
    return x
"""
PATCHED = BASE.replace("len(rows)", "len(rows) + 1").replace("one(a, 1)", "one(a, 2)")
TARGET = BASE.replace("len(rows)", "len(rows) + spare")
REGION = Region(
    b"        total = len(rows) + spare\n", b"        total = len(rows)\n", b"        total = len(rows) + 1\n"
)


def regions(base: str, patched: str, target: str) -> tuple[str, list[Region]]:
    """The file with what could be carried, and what could not."""
    found = conflict_regions(base.encode(), patched.encode(), target.encode())
    text = b"".join(part.target if isinstance(part, Region) else part for part in found).decode()
    return text, [part for part in found if isinstance(part, Region)]


def reformatted(text: str) -> str:
    """Every line in another form: two columns for a level, and no empty lines."""
    lines = [line for line in text.split("\n") if line.strip()]
    return "".join(f"{line.replace('    ', '  ')}  # {number}\n" for number, line in enumerate(lines))


def moved(text: str) -> str:
    """The class behind the function."""
    at, to = text.index("class A"), text.index("def h")
    return text[:at] + text[to:] + "\n\n" + text[at:to].rstrip() + "\n"


def test_only_the_statement_that_both_change_is_a_region() -> None:
    assert regions(BASE, PATCHED, TARGET) == (TARGET.replace("one(a, 1)", "one(a, 2)"), [REGION])


def test_it_is_found_where_upstream_moved_the_class() -> None:
    assert regions(BASE, PATCHED, moved(TARGET)) == (moved(TARGET).replace("one(a, 1)", "one(a, 2)"), [REGION])


def test_it_is_found_where_upstream_gave_the_file_another_layout() -> None:
    text, found = regions(BASE, PATCHED, reformatted(TARGET))
    assert text == reformatted(TARGET).replace("one(a, 1)", "one(a, 2)")
    assert found == [REGION._replace(target=b"    total = len(rows) + spare  # 3\n")]


def test_what_upstream_took_out_is_a_region_without_lines_of_its_own() -> None:
    text, found = regions(
        BASE, PATCHED, TARGET.replace("        total = len(rows) + spare\n", "").replace("total", "n")
    )
    assert "one(a, 2)" in text
    assert [(each.target, b"len(rows)" in each.base, b"len(rows) + 1" in each.patched) for each in found] == [
        (b"", True, True)
    ]


@pytest.mark.parametrize(
    ("base", "patched", "target"),
    [
        (BASE, PATCHED, BASE),
        (BASE[:-1], PATCHED[:-1], TARGET[:-1]),
        (BASE.replace("\n", "\r\n"), PATCHED.replace("\n", "\r\n"), TARGET.replace("\n", "\r\n")),
        (BASE, PATCHED, TARGET + "def (:\n"),
        (BASE, BASE.replace("import os", "import os\nfrom a import b"), BASE.replace("import os", "import os, b")),
    ],
    ids=["no conflict", "no newline at the end", "carriage returns", "no Python", "imports"],
)
def test_otherwise_the_lines_have_to_tell(base: str, patched: str, target: str) -> None:
    assert regions(base, patched, target) == ("", [])
