"""The verbs as Typer commands, a module per kind of use: options in, one command called, its report shown."""

from __future__ import annotations

from patchtool.cli.verbs import authors, builders, moves, proofs, trees

COMMANDS = [
    command for module in (trees, moves, proofs, builders, authors) for command in module.verbs.registered_commands
]
"""In the order of the help."""
