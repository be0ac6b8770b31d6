"""`...` in templates that also have expressions with a body of their own."""

import pytest

from patchtool.semantic import replace


@pytest.mark.parametrize("expression", ["lambda: {row: 0 for row in rows}", "one if rows else other", "lambda: (0,)"])
@pytest.mark.parametrize("text", ["f('...')", "# ...\nf()", "if rows:\n    ..."])
def test_lambda_and_conditional_expression_hold_no_statements(expression: str, text: str) -> None:
    edit = replace(f"x = {expression}\n{text}", f"y = {expression}\n{text}")
    assert edit.code.startswith("y = ")
