"""Checks of a patched tree that parse it and run none of it.

In: a cell of the static tier, and its tree: the pristine folder and the changed files.
Out: a result that is passed, or failed with every problem as ``path:line: …``.
Invariants: only changed files, and calls of functions that they changed, are reported; what the release itself already
has is no finding; nothing of upstream is imported.
"""

from patchtool.matrix.static.checks import STATIC_TESTS, run_static

__all__ = ["STATIC_TESTS", "run_static"]
