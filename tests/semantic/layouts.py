"""The same source written otherwise: line endings, indentation, comments, and what black makes of it."""

import ast
import inspect
import re

import black

from tests.semantic.mutate import Change, span, statements


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def lone_cr(text: str) -> str:
    return text.replace("\n", "\r")


def tabs(text: str) -> str:
    """Leading blanks as tabs, also inside of texts, which only matters to docstrings."""
    return re.sub(r"(?m)^(?:    )+", lambda found: "\t" * (len(found[0]) // 4), text)


def two_blanks(text: str) -> str:
    return re.sub(r"(?m)^(?:    )+", lambda found: "  " * (len(found[0]) // 4), text)


def form_feeds(text: str) -> str:
    return re.sub(r"(?m)^class ", "\f\nclass ", text)


def blank_lines(text: str) -> str:
    return re.sub(r"(?m)^( +)(?=(?:if|for|return|self)\b)", r"\n\n\1", text)


def no_final_newline(text: str) -> str:
    return text.rstrip("\n")


def comments(text: str) -> str:
    """A comment on a line of its own before every statement, and one behind every line that ends a statement."""
    found = list(statements(ast.parse(text)))
    first = {span(s)[0]: s.col_offset for s in found}
    simple = {s.end_lineno for s in found if not hasattr(s, "body")}
    lines = []
    for number, line in enumerate(text.split("\n")):
        if number in first:
            lines.append(" " * first[number] + "# note")
        lines.append(line + "  # seen" if number + 1 in simple and "#" not in line and line.strip() else line)
    return "\n".join(lines)


def blackened(length: int, *, strings: bool) -> Change:
    mode = black.Mode(line_length=length, string_normalization=strings, magic_trailing_comma=length < 100)
    return lambda text: black.format_str(text, mode=mode)


def normal(data: bytes) -> str:
    """A source apart from its layout: syntax without positions, docstrings without indentation."""
    tree = ast.parse(data)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                value.value = inspect.cleandoc(value.value)
    return ast.dump(tree)
