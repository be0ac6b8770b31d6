"""The small upstream of the verbs' tests."""

from tests.commands.conftest import upstream

__all__ = ["upstream"]
