"""The public functions for edits that bring their own goals: a rule with one of them need not state any."""

from __future__ import annotations

import re
import textwrap

from patchtool.semantic.vocabulary.changes import (
    AddArgument,
    AddDecorator,
    AddParameter,
    RemoveArgument,
    RemoveParameter,
)
from patchtool.semantic.vocabulary.constraints import Constraint
from patchtool.semantic.vocabulary.definitions import Definition
from patchtool.semantic.vocabulary.edits import Edit
from patchtool.semantic.vocabulary.guards import Anywhere, Guard, Unconditional
from patchtool.semantic.vocabulary.headers import ArgumentEdit, DecoratorEdit, ParameterEdit
from patchtool.semantic.vocabulary.imports import ImportEdit
from patchtool.semantic.vocabulary.removals import DefinitionRemoval, Removal
from patchtool.semantic.vocabulary.renames import Rename

_DOTS = re.compile(r"^(?P<indent>[ \t]*)\.\.\.[ \t]*$", re.MULTILINE)


def add_import(code: str, *, behind: str = "", before: str = "") -> ImportEdit:
    """Add an import to the module; without a place, to an import from the same module, or behind the last import.

    Args:
        code: One ``import`` or ``from`` statement.
        behind: A statement of the module, or a name that it binds.
        before: The same.
    """
    return ImportEdit(code, behind=behind, before=before)


def remove_import(code: str) -> ImportEdit:
    """Remove an import, or some of its names, from the module; refused while anything still reads a name."""
    return ImportEdit(code, adds=False)


def add_function(code: str, *, behind: str = "", before: str = "") -> Definition:
    """Add functions to a module, or methods to a class; without a place, at its end.

    Args:
        code: One ``def``, or several, such as overloads; decorated, async and nested ones too.
        behind: A name that the scope binds.
        before: The same.
    """
    return Definition(code, behind, before)


def add_class(code: str, *, behind: str = "", before: str = "") -> Definition:
    """Add classes to a module or class; without a place, at its end; see add_function."""
    return Definition(code, behind, before)


def add_field(code: str, *, behind: str = "", before: str = "") -> Definition:
    """Add fields to a class, or constants to a module; without a place, behind the last one; see add_function."""
    return Definition(code, behind, before)


def add_parameter(code: str, *, behind: str = "") -> ParameterEdit:
    """Add a parameter to the scope.

    Args:
        code: As in a ``def``: ``most: int = 0``; ``*, most=0`` for one that is passed by keyword only.
        behind: The parameter before it; without one it is the last of its kind.
    """
    return ParameterEdit(AddParameter(code, behind))


def remove_parameter(name: str) -> ParameterEdit:
    """Remove a parameter from the scope; refused while anything in it still reads it."""
    return ParameterEdit(RemoveParameter(name))


def add_argument(call: str, code: str, *, behind: str = "") -> ArgumentEdit:
    """Add an argument to a call, wherever in the scope it is.

    Args:
        call: A template of the call; ``*REST_`` stands for arguments that do not matter.
        code: As in a call: ``most=most``.
        behind: The keyword before it; without one it is the last of its kind.
    """
    return ArgumentEdit(call, AddArgument(code, behind))


def remove_argument(call: str, name: str | int) -> ArgumentEdit:
    """Remove an argument from a call: a keyword, or a zero-based position as a number."""
    return ArgumentEdit(call, RemoveArgument(name))


def add_decorator(code: str) -> DecoratorEdit:
    """Add a decorator to the scope, outermost; ``code`` is what follows the ``@``."""
    return DecoratorEdit(AddDecorator(code))


def remove(anchor: str, *, within: Guard | None = None, **where: Constraint) -> Removal:
    """Remove statements; see replace."""
    return Removal(anchor, where, within or Unconditional())


def remove_definition(name: str) -> DefinitionRemoval:
    """Remove a function, method, class or field from the scope, by its name."""
    return DefinitionRemoval(name)


def rename(old: str, new: str, *, elsewhere: str = "") -> Rename:
    """Rename what the scope binds, and every reader of it in the file.

    Of a module that is a global name, also one that it imports; of a class a method or a field, with its subclasses in
    the file and the keywords of its constructor; of a function a parameter, with the keywords of its calls, or a local
    variable. Refused where the new name is taken, or where code here or in another file may mean the old one; other
    rules of the patch can change that code.

    Args:
        old: The name.
        new: The new one.
        elsewhere: Why code that may mean the old name is right as it is; it is then listed as a note.
    """
    return Rename(old, new, elsewhere)


def anywhere() -> Anywhere:
    """Accept any place, also in loops, ``try`` and ``with``; see Anywhere."""
    return Anywhere()


def wrap(anchor: str, around: str, *, within: Guard | None = None, **where: Constraint) -> Edit:
    """Put statements under a compound statement: ``if``, ``with``, ``try`` or another.

    Args:
        anchor: A template of the statements.
        around: A template of the compound statement with ``...`` where they go; or only its header, ``if READY_:``.
        within: Which conditions may enclose the statements.
        where: Constraints on the anchor's holes.
    """
    text = textwrap.dedent(around).strip("\n")
    text = f"{text}\n    ..." if text.rstrip().endswith(":") else text
    inner = textwrap.dedent(anchor).strip("\n")
    code = _DOTS.sub(lambda found: textwrap.indent(inner, found["indent"]), text, count=1)
    return Edit(anchor, code, "wrap", where, within or Unconditional())
