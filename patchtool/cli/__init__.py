"""The face: verbs of a few lines each, and the one place where errors become words and exit codes."""

from patchtool.cli.main import main, run

__all__ = ["main", "run"]
