"""Where this user's store is, and what is kept beside it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "PATCHTOOL_STORE"


def default_path() -> Path:
    """The user's store: ``$PATCHTOOL_STORE``, else a folder in the user's cache folder."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform.startswith("linux"):  # as platformdirs does, whose import takes too long for every run
        cache = os.environ.get("XDG_CACHE_HOME", "")
        return Path(cache if cache.startswith("/") else "~/.cache").expanduser() / "patchtool" / "upstream.git"
    from platformdirs import user_cache_path

    return user_cache_path("patchtool") / "upstream.git"
