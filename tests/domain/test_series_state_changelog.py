"""The series file, exit codes of states, and changelog entries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchtool.domain.changelog import add_entry
from patchtool.domain.errors import ExitCode, InputError
from patchtool.domain.series import parse_series
from patchtool.domain.state import State


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("one\none\n", "series:2: 'one' is listed twice, first on line 1", id="twice"),
        pytest.param("# head\n../evil\n", "series:2: '../evil' is not a patch name", id="path"),
        pytest.param("One\n", "series:1: 'One' is not a patch name", id="capital"),
        pytest.param("one -p1\n", "series:1: 'one -p1' is not a patch name", id="quilt-option"),
    ],
)
def test_malformed_series_is_rejected_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_series(text, "series")
    assert caught.value.message == message


def test_comments_and_blank_lines_are_ignored() -> None:
    entries = parse_series("# why\n\none # because\n  two\n", "series")
    assert [(e.name, e.line) for e in entries] == [("one", 3), ("two", 4)]


@given(st.lists(st.sampled_from(State), max_size=6), st.sampled_from(State))
def test_a_worse_outcome_never_improves_the_exit_code(states: list[State], more: State) -> None:
    before = max((s.exit_code for s in states), default=ExitCode.OK)
    assert max(s.exit_code for s in [*states, more]) >= before


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("", "# Changelog\n\n## [Unreleased]\n\n### Changed\n\n- E\n", id="empty"),
        pytest.param(
            "# C\n\n## [Unreleased]\n\n### Changed\n\n- old\n\n## [1]\n",
            "# C\n\n## [Unreleased]\n\n### Changed\n\n- old\n- E\n\n## [1]\n",
            id="behind-others",
        ),
        pytest.param(
            "# C\n\n## [Unreleased]\n\n### Added\n\n- a\n",
            "# C\n\n## [Unreleased]\n\n### Changed\n\n- E\n\n### Added\n\n- a\n",
            id="other-headings",
        ),
        pytest.param(
            "# C\n\n## [1.0]\n\n- x\n",
            "# C\n\n## [Unreleased]\n\n### Changed\n\n- E\n\n## [1.0]\n\n- x\n",
            id="none-yet",
        ),
        pytest.param(
            "# C\r\n\r\n## [Unreleased]\r\n", "# C\r\n\r\n## [Unreleased]\r\n\r\n### Changed\r\n\r\n- E\r\n", id="crlf"
        ),
    ],
)
def test_entry_is_added_under_unreleased_changed(text: str, wanted: str) -> None:
    assert add_entry(text, "E") == wanted


@given(st.lists(st.text("abc -#[]", max_size=12), max_size=8))
def test_adding_an_entry_keeps_every_line(lines: list[str]) -> None:
    text = "\n".join(lines)
    kept = iter(add_entry(text, "the entry").splitlines())
    for line in text.rstrip("\n").splitlines():
        assert any(line == after for after in kept), line
