"""The pre-commit hooks and ``make lint`` run the same commands."""

import re
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def test_hooks_run_the_commands_of_make_lint() -> None:
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe[1].splitlines()]
    hooks = re.findall(r"^ +entry: (.*)$", (PROJECT / ".pre-commit-config.yaml").read_text(), re.MULTILINE)
    assert hooks == commands
