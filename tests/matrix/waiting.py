"""Waiting for what must happen. The limit only ends a test that would hang; no test passes or fails by its speed."""

import os
import threading
import time
from collections.abc import Callable

LIMIT = 600.0
"""Seconds; far longer than anything here takes on a busy machine."""


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, f"not within {LIMIT:g} s"
        time.sleep(0.05)


def wait_for(function: Callable[[], object]) -> None:
    """Call a function that must return by itself."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join(LIMIT)
    assert not thread.is_alive(), f"{function} did not return"


def group_is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False
