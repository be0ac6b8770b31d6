"""Changes of real Python code, drawn by a seed: what a patch, or upstream, does to a file."""

import ast
import io
import random
import textwrap
import tokenize
from pathlib import Path

FILES = [
    Path(textwrap.__file__).parent / name for name in ("bisect.py", "cmd.py", "fnmatch.py", "shlex.py", "textwrap.py")
]
_WORDS = ("value", "total", "found", "state", "queue", "limit", "result", "offset")
_Simple = (ast.Assign, ast.Expr, ast.Return, ast.AugAssign, ast.Raise, ast.Assert)


def functions(source: str) -> list[ast.FunctionDef]:
    return [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef) and len(n.body) > 1]


def statements(function: ast.FunctionDef, lines: list[str]) -> list[ast.stmt]:
    """The simple statements of a function that have their lines for themselves."""
    found = []
    for node in ast.walk(function):
        if isinstance(node, _Simple) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            alone = not lines[node.lineno - 1][: node.col_offset].strip()
            if alone and not lines[(node.end_lineno or 0) - 1][node.end_col_offset :].strip():
                found.append(node)
    return sorted(found, key=lambda n: n.lineno)


def edited(source: str, rng: random.Random, apart_from: str = "") -> tuple[str, str]:
    """Insert statements before another one of a function.

    Returns:
        The source, and the name of the function.
    """
    lines = source.split("\n")
    pool = [f for f in functions(source) if statements(f, lines) and f.name != apart_from]
    chosen = rng.choice(pool)
    for node in reversed(rng.sample(statements(chosen, lines), k=1)):
        indent = " " * node.col_offset
        word, other = rng.sample(_WORDS, 2)
        number = rng.randrange(1000, 9999)
        new = [
            f"{indent}{word}_{number} = self_{other}(len({word!r}), {number})",
            f"{indent}log_{number}({word}_{number})",
        ]
        if rng.random() < 0.3:
            new = [
                f"{indent}if check_{number}({word!r}):",
                f"{indent}    note_{number} = {other!r}",
                f"{indent}    log(note_{number})",
            ]
        lines[node.lineno - 1 : node.lineno - 1] = new
    return "\n".join(lines), chosen.name


def with_variable_renamed(source: str, function: str, rng: random.Random) -> str | None:
    """Give one local variable of a function another name everywhere; None if it has none that is safe to."""
    node = next(f for f in functions(source) if f.name == function)
    arguments = {a.arg for n in ast.walk(node) if isinstance(n, ast.arguments) for a in (*n.args, *n.kwonlyargs)}
    counts: dict[str, int] = {}
    stored: set[str] = set()
    for name in (n for n in ast.walk(node) if isinstance(n, ast.Name)):
        counts[name.id] = counts.get(name.id, 0) + 1
        if isinstance(name.ctx, ast.Store):
            stored.add(name.id)
    choices = sorted(n for n in stored - arguments if counts[n] > 1)
    if not choices:
        return None
    old = rng.choice(choices)
    lines = source.split("\n")
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == old]
    for name in sorted(names, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        line = lines[name.lineno - 1].encode()
        lines[name.lineno - 1] = (line[: name.col_offset] + b"renamed_variable" + line[name.end_col_offset :]).decode()
    return "\n".join(lines)


def annotated(source: str, functions_of: str, rng: random.Random) -> str:
    """Annotate the parameters and the result of a function, and its plain assignments to names."""
    lines = source.split("\n")
    node = next(f for f in functions(source) if f.name == functions_of)
    plain = [n.targets[0] for n in ast.walk(node) if isinstance(n, ast.Assign) and len(n.targets) == 1]
    names: list[ast.arg | ast.expr] = [n for n in plain if isinstance(n, ast.Name)]
    names += [a for a in node.args.args if a.arg != "self"]
    spots = {(n.end_lineno or 0, n.end_col_offset or 0) for n in names}
    for row, column in sorted(spots, reverse=True):
        line = lines[row - 1].encode()
        kind = rng.choice((b"int", b"str | None", b"list[Any]"))
        lines[row - 1] = (line[:column] + b": " + kind + line[column:]).decode()
    return "\n".join(lines)


def with_one_token_changed(source: str, lines: range, rng: random.Random) -> str | None:
    """Change one name, number, string or operator in some lines to another; None if there is none."""
    found = [
        t
        for t in tokenize.generate_tokens(io.StringIO(source).readline)
        if t.start[0] in lines
        and t.type in (tokenize.NAME, tokenize.NUMBER, tokenize.STRING)
        and t.string not in ("if", "self")
    ]
    if not found:
        return None
    token = rng.choice(found)
    new = {tokenize.NAME: "other_name", tokenize.NUMBER: "77", tokenize.STRING: "'other'"}[token.type]
    text = source.split("\n")
    line = text[token.start[0] - 1]
    text[token.start[0] - 1] = line[: token.start[1]] + new + line[token.end[1] :]
    changed = "\n".join(text)
    try:
        return changed if ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source)) else None
    except SyntaxError:
        return None


def changed_lines(old: str, new: str) -> range:
    """The lines of the new text between its common start and its common end with the old one."""
    a, b = old.split("\n"), new.split("\n")
    start = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    end = next((i for i, (x, y) in enumerate(zip(reversed(a), reversed(b))) if x != y), 0)
    return range(start + 1, len(b) - end + 1)
