"""What a document was made from, with what, and when: the head of a page, and ``made`` in its JSON."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import patchtool
from patchtool.workflow.dates import iso_time, source_date_epoch

if TYPE_CHECKING:
    from patchtool.domain.document_parts import Made
    from patchtool.workflow.session import Session


def made(session: Session) -> Made:
    """Describe the pin, this version of the tool and today, or the day that ``SOURCE_DATE_EPOCH`` prescribes.

    Args:
        session: The run.

    Raises:
        InputError: ``SOURCE_DATE_EPOCH`` is no number of seconds, or there is no pin.
    """
    pin, when = session.project.pin, source_date_epoch()
    return {
        "pin": f"{pin.project} {pin.release}",
        "digests": [f"sha256:{value}" for value in pin.hashes],
        "commit": pin.release.commit or None,
        "tool": f"patchtool {patchtool.__version__}",
        "date": iso_time(int(time.time()) if when is None else when)[:10],
    }
