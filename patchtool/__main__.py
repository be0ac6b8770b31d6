"""``python -m patchtool``."""

from patchtool.cli import run

run()
