"""Dates that exports have: of a patch, of the whole export, and as texts."""

from __future__ import annotations

import os
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from patchtool.domain.errors import InputError

if TYPE_CHECKING:
    from patchtool.domain.patch import PatchInfo

DATE_VARIABLE = "SOURCE_DATE_EPOCH"
_LAST_DATE = 253402300799
"""The end of the year 9999."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DEFAULT_DATE = 946684800
"""2000-01-01, the date of the releases in the store; of a patch without ``last-update``."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def last_update(info: PatchInfo) -> int:
    """When a patch was last updated, else written, seconds since 1970 UTC.

    Raises:
        InputError: Its metadata has something else than a date.
    """
    if not info.last_update:
        return int(author_date(info.date).partition(" ")[0] or DEFAULT_DATE)
    try:  # later versions of Python read other forms too
        day = datetime.fromisoformat(info.last_update) if _DAY.fullmatch(info.last_update) else None
    except ValueError:
        day = None
    if day is None:
        raise InputError(
            f"patches/{info.name}/patch.toml: last-update {info.last_update!r} is not a date",
            hint='last-update = "2026-11-30"',
        )
    return int(day.replace(tzinfo=timezone.utc).timestamp())


def author_date(text: str) -> str:
    """A date of ``patch.toml`` as git has it, ``<seconds> <zone>``; empty for none."""
    if not text:
        return ""
    moment = datetime.fromisoformat(text)
    return f"{int(moment.timestamp())} {moment:%z}"


def source_date_epoch() -> int | None:
    """The date that the environment prescribes for everything that is written.

    Raises:
        InputError: The variable is no number of seconds.

    Source: https://reproducible-builds.org/specs/source-date-epoch/
    """
    text = os.environ.get(DATE_VARIABLE, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text[:20]) <= _LAST_DATE):
        raise InputError(f"{DATE_VARIABLE} is {text!r}, not a number of seconds", hint=f"unset {DATE_VARIABLE}")
    return int(text)


def mail_time(seconds: int) -> str:
    """A date and time as in mails, UTC; the names of days and months do not depend on the locale.

    Source: RFC 5322, section 3.3. `email.utils` has it too, and takes longer to load than the export of patches.
    """
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[moment.weekday()]
    return f"{day}, {moment.day:02} {_MONTHS[moment.month - 1]} {moment:%Y %H:%M:%S} +0000"


def iso_time(seconds: int) -> str:
    """A date and time, ISO 8601, UTC."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
