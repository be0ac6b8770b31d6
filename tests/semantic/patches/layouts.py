"""Other layouts of a source: line endings, indentation, comments, and black's formatting."""

import ast
import inspect
import re

import black

from tests.semantic.patches.mutate import Change, span, statements


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def lone_cr(text: str) -> str:
    return text.replace("\n", "\r")


def tabs(text: str) -> str:
    """Indent by tabs, inside strings too, which only matters to docstrings."""
    return re.sub(r"(?m)^(?:    )+", lambda match: "\t" * (len(match[0]) // 4), text)


def two_blanks(text: str) -> str:
    return re.sub(r"(?m)^(?:    )+", lambda match: "  " * (len(match[0]) // 4), text)


def form_feeds(text: str) -> str:
    return re.sub(r"(?m)^class ", "\f\nclass ", text)


def blank_lines(text: str) -> str:
    return re.sub(r"(?m)^( +)(?=(?:if|for|return|self)\b)", r"\n\n\1", text)


def no_final_newline(text: str) -> str:
    return text.rstrip("\n")


def comments(text: str) -> str:
    """Add a comment line before every statement, and a comment at the end of every simple statement."""
    parsed = list(statements(ast.parse(text)))
    first = {span(s)[0]: s.col_offset for s in parsed}
    simple = {s.end_lineno for s in parsed if not hasattr(s, "body")}
    lines = []
    for number, line in enumerate(text.split("\n")):
        if number in first:
            lines.append(" " * first[number] + "# note")
        lines.append(line + "  # seen" if number + 1 in simple and "#" not in line and line.strip() else line)
    return "\n".join(lines)


def blackened(length: int, *, strings: bool) -> Change:
    mode = black.Mode(line_length=length, string_normalization=strings, magic_trailing_comma=length < 100)
    return lambda text: black.format_str(text, mode=mode)


def normal(source: str | bytes) -> str:
    """A source without its layout: syntax without positions, docstrings without indentation."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                value.value = inspect.cleandoc(value.value)
    return ast.dump(tree)
