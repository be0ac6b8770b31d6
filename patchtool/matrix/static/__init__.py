"""What can be told of a patched tree without running any of it."""

from patchtool.matrix.static.checks import STATIC_TESTS, run_static

__all__ = ["STATIC_TESTS", "run_static"]
