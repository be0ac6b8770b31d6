"""The corpus uses the engine's fixtures."""

from tests.semantic.conftest import judge_release

__all__ = ["judge_release"]
