"""How the defect of a patch looks in other code, as its author states it in ``siblings.toml``.

The search decides nothing, so this is no part of the codemod: an edit of it costs no proof.
"""

from __future__ import annotations

from pathlib import Path

from patchtool.domain.toml import RuleError, Table, read_toml
from patchtool.semantic.matching.template import Template, TemplateError, identifiers_in, is_hole, template

FILE = "siblings.toml"
_COMMON = frozenset({"self", "cls"})


class Sibling(Table, frozen=True):
    """Code that looks like the defect wherever a release has it; for people to judge, never to edit by.

    Args:
        name: What makes it look like the defect, a clause.
        patterns: Templates of its forms; each needs a name that is no hole, by which its files are found.
        scopes: Shell patterns of qualified names: only these functions count, and those of the same file that they
            call; all code where empty.
        files: Shell patterns of paths; all of the package where empty.
        unless: Templates; code in a function that has one of them does not count.
    """

    name: str
    patterns: tuple[str, ...]
    scopes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the templates.

        Raises:
            RuleError: One is not valid, or could be in any file.
        """
        if not self.patterns:
            raise RuleError("patterns", "there is no template", 'patterns = ["SLOTS_.item()"]')
        for key, texts in (("patterns", self.patterns), ("unless", self.unless)):
            for text in texts:
                try:
                    words = words_of(template(text))
                except TemplateError as error:
                    raise RuleError(key, str(error)) from None
                if key == "patterns" and not words:
                    rule = f"no name in {text!r} tells which files to search"
                    raise RuleError(key, rule, "name a method, a function or a variable that the code has")


class _Siblings(Table, frozen=True):
    siblings: tuple[Sibling, ...]


def read_siblings(folder: Path) -> tuple[Sibling, ...]:
    """Read what a patch states; nothing where it has no such file.

    Args:
        folder: ``patches/<name>``.

    Raises:
        InputError: The file is not valid; names the line and the key.
    """
    path = folder / FILE
    return read_toml(path.read_bytes(), str(path), _Siblings).siblings if path.is_file() else ()


def words_of(pattern: Template) -> set[str]:
    """The names in a template that code which it matches must have."""
    names = {name for statement in pattern.body for name in identifiers_in(statement)}
    return {name for name in names if not is_hole(name)} - _COMMON
