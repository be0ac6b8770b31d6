"""Errors cross from a worker process to the one that waits for it."""

from __future__ import annotations

import pickle

import pytest

from patchtool.adapters.process import ProcessFailed
from patchtool.domain.errors import EnvironmentFault, PatchtoolError

ERRORS = [EnvironmentFault("a", hint="b", cause="c"), ProcessFailed(["git", "x"], -9, b"d"), PatchtoolError("e")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_error_keeps_its_words_and_its_exit_code(error: PatchtoolError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (vars(copy), str(copy), copy.exit_code) == (vars(error), str(error), error.exit_code)
