"""Dates as texts: those of the standard library, whatever the locale."""

from datetime import datetime, timezone
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchtool.domain.errors import InputError
from patchtool.domain.patch import PatchInfo
from patchtool.workflow.dates import iso_time, last_update, mail_time

SECONDS = st.integers(min_value=0, max_value=253402300799)


@given(SECONDS)
def test_times_are_those_of_the_standard_library(seconds: int) -> None:
    assert mail_time(seconds) == formatdate(seconds).replace("-0000", "+0000")
    assert (
        datetime.strptime(iso_time(seconds), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp() == seconds
    )


@given(SECONDS.map(lambda seconds: iso_time(seconds)[:10]))
def test_last_update_is_the_start_of_its_day(day: str) -> None:
    assert iso_time(last_update(_patch(day))) == f"{day}T00:00:00Z"


@pytest.mark.parametrize("text", ["today", "2026-13-01", "2026-1-1", "20261129", "2026-W48-7", "2026-11-29T00:00"])
def test_other_texts_are_no_dates(text: str) -> None:
    with pytest.raises(InputError, match="is not a date"):
        last_update(_patch(text))


def _patch(day: str) -> PatchInfo:
    return PatchInfo("p", "t", "r", "A <a@example.org>", (), last_update=day)
