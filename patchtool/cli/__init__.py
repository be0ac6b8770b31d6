"""The command line: one function per verb, formats of reports, and the one place that turns errors into exit codes."""

from patchtool.cli.main import main, run

__all__ = ["main", "run"]
