"""The author that the user's git would write into a commit."""

from __future__ import annotations

import os
import re

from patchtool.adapters.git.plumbing import UNKNOWN
from patchtool.adapters.process import run

_AUTHOR = re.compile(r"([^<>\n]+ <[^<>\s]*>) \d+ [+-]\d{4}")


def user_as_author() -> str:
    """Ask git who the user is; ``unknown <>`` where it has no answer."""
    told = run(["git", "var", "GIT_AUTHOR_IDENT"], env=dict(os.environ), answers=UNKNOWN)
    found = _AUTHOR.match(told.stdout.decode("utf-8", "replace")) if told.code == 0 else None
    return found[1] if found else "unknown <>"
