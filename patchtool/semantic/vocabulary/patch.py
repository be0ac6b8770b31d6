"""The public API for authors: a patch is rules, each with a scope, an edit, the defect it fixes and its goals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from patchtool.semantic.vocabulary.constraints import Constraint, Fixed, FreeOf, Holds, Keywords, OneOf, Root
from patchtool.semantic.vocabulary.definitions import Definition
from patchtool.semantic.vocabulary.edits import Edit, MethodEdit
from patchtool.semantic.vocabulary.facts import AnyFact, Assignable, Called, Every, Varies
from patchtool.semantic.vocabulary.goals import Goal
from patchtool.semantic.vocabulary.guards import AnyBranch, Branch, Guard, Guarded, Unconditional
from patchtool.semantic.vocabulary.headers import ArgumentEdit, DecoratorEdit, ParameterEdit
from patchtool.semantic.vocabulary.implied import Implied
from patchtool.semantic.vocabulary.imports import ImportEdit
from patchtool.semantic.vocabulary.methods import Method
from patchtool.semantic.vocabulary.negatives import Defect, Negative, Never, Only, SameRows, Unmentioned, Unread
from patchtool.semantic.vocabulary.removals import DefinitionRemoval, Removal
from patchtool.semantic.vocabulary.renames import Rename

if TYPE_CHECKING:
    import libcst
    import libcst.codemod

    Change = Callable[[libcst.Module], libcst.Module] | type[libcst.CSTTransformer] | type[libcst.codemod.Codemod]


class Parameter(NamedTuple):
    """A parameter, known by alternative names.

    Args:
        spellings: The names; a function with two of them is ambiguous.
        typed: The annotation by which it is found where it has none of the names.
    """

    spellings: tuple[str, ...]
    typed: str = ""


class Methods(NamedTuple):
    """Apply a rule to each method of the scope's class whose name and parameters match.

    Args:
        names: A shell pattern for the method's name.
        having: A parameter that the method must have.
        otherwise: Parameters of methods that the rule skips; a method with neither is a conflict.
        hole: The hole for the method's name in the rule's templates.
        role: The hole for the parameter.
        expected: Methods that the class must define itself. Others that it inherits, also from another file of the
            tree, are a conflict unless they only raise; a base class that the tree does not have is named in a note.
    """

    names: str
    having: Parameter
    otherwise: tuple[str, ...] = ()
    hole: str = "METHOD_"
    role: str = "PARAMETER_"
    expected: tuple[str, ...] = ()


@dataclass(frozen=True)
class Transform:
    """An edit written as the author's own LibCST code, judged and verified like a template.

    Args:
        change: A function that maps a module to the new one, a ``CSTTransformer`` class, or a ``Codemod`` class such as
            ``ContextAwareTransformer`` or ``VisitorBasedCodemodCommand``; its context has the file's path in the git
            layout. It must only change the rule's scope.
        anchor: A template of the code that it changes, for the number of sites and the nearest code.
    """

    change: Change
    anchor: str
    code: ClassVar[str] = ""
    replaces: ClassVar[bool] = True


SelfDescribed = (
    Definition | ImportEdit | ParameterEdit | ArgumentEdit | DecoratorEdit | Removal | DefinitionRemoval | Rename
)
"""Edits that bring their own goals."""
AnyEdit = Edit | MethodEdit | SelfDescribed
AnyGoal = Goal | Method | Implied


def _no_edit() -> AnyEdit:
    raise TypeError("a rule needs an edit")


@dataclass(frozen=True)
class Rule:
    """One change in one scope.

    Args:
        name: For reports.
        scope: Qualified symbol, ``Class.method``; empty for the module.
        edit: What to write where.
        goals: What must be there afterwards; when all of it is there beforehand, the rule has landed. Where there are
            none, those that the edit brings.
        target: File in the git layout; optional for a patch with one target.
        roles: Parameters by hole.
        given: Code that stays as it is and binds holes; it must match exactly once.
        defect: What shows that the fix is needed; required for an insertion.
        never: What must not be there afterwards.
        extends: The base class whose behaviour the rule is about.
        methods: Apply the rule to each of these methods of the scope.
        sites: The expected number of sites, in each scope.
        places: Further places, ``path:Class.method``, where releases have the scope; the first that a tree has is used
            where the target does not define it. Their files are among the patch's targets.
    """

    name: str
    scope: str = ""
    edit: AnyEdit | Transform = field(default_factory=_no_edit)
    goals: tuple[AnyGoal, ...] = ()
    target: str = ""
    roles: Mapping[str, Parameter] = field(default_factory=dict)
    given: tuple[Goal, ...] = ()
    defect: Defect | None = None
    never: tuple[Negative, ...] = ()
    extends: str = ""
    methods: Methods | None = None
    sites: int = 1
    places: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Take the goals from the edit where the author states none."""
        edit = self.edit
        if not self.goals and isinstance(edit, SelfDescribed):
            object.__setattr__(self, "goals", (Implied(edit),))
        elif not self.goals and isinstance(edit, Edit) and edit.how == "wrap":
            named = f"{edit.anchor.strip().splitlines()[0]} is guarded"
            object.__setattr__(self, "goals", (Goal(named, (edit.code,), edit.where, edit.within, as_written=True),))

    @property
    def replaces(self) -> bool:
        """Whether the rule removes its anchor, so that the anchor is the defect."""
        return self.edit.replaces

    @property
    def supports(self) -> bool:
        """Whether the rule only serves others: that upstream has an import says nothing about the fix."""
        return isinstance(self.edit, ImportEdit)


class SemanticPatch:
    """A patch; subclass it once in ``codemod.py``.

    A patch with one rule states the rule's fields as class attributes; one with several lists them in ``rules``.
    """

    scope: str = ""
    edit: AnyEdit | Transform | None = None
    goals: tuple[AnyGoal, ...] = ()
    roles: Mapping[str, Parameter] = {}
    given: tuple[Goal, ...] = ()
    defect: Defect | None = None
    never: tuple[Negative, ...] = ()
    extends: str = ""
    rules: tuple[Rule, ...] = ()
    facts: tuple[AnyFact, ...] = ()
    reached_by: tuple[AnyFact, ...] = ()
    """What leads to the fault; where it is there and none of these is, the patch is absent."""
    names: Mapping[str, str] = {}
    """Names that the patch introduces, by hole; where upstream has the code under another name, that one is used."""
    kinds: Mapping[str, str] = {}
    """What kind of function a scope is, where that cannot be recorded: ``{"Rows.size": "function, property"}``."""
    spellings: Mapping[str, str] = {}
    """What means the same in this patch, beside what always does: a spelling, and the one that the templates use."""
    signatures: tuple[str, ...] = ()
    """Functions of other files with their parameters, ``f(first, second)``, so that calls by keyword are understood."""
    independent: bool = False
    """Whether each rule is useful without the others; then the patch can be partial."""

    @classmethod
    def all_rules(cls) -> tuple[Rule, ...]:
        """Return the rules, whether listed or stated as class attributes."""
        if cls.rules:
            return cls.rules
        if cls.edit is None:
            return ()
        fields = ("scope", "goals", "roles", "given", "defect", "never", "extends")
        return (Rule(cls.__name__, edit=cls.edit, **{name: getattr(cls, name) for name in fields}),)


def param(*spellings: str, typed: str = "") -> Parameter:
    """Return a parameter known by any of these names, or else by its type; see Parameter."""
    return Parameter(spellings, typed)


def replace(before: str, after: str, *, within: Guard | None = None, **where: Constraint) -> Edit:
    """Replace statements; the statements to be replaced are the defect."""
    return Edit(before, after, "replace", where, within or Unconditional())


def insert_before(anchor: str, code: str, *, within: Guard | None = None, **where: Constraint) -> Edit:
    """Insert statements before an anchor, outside of its enclosing conditions."""
    return Edit(anchor, code, "before", where, within or Unconditional())


def insert_after(anchor: str, code: str, *, within: Guard | None = None, **where: Constraint) -> Edit:
    """Insert statements after an anchor, outside of its enclosing conditions."""
    return Edit(anchor, code, "after", where, within or Unconditional())


def add_method(code: str, *, behind: str) -> MethodEdit:
    """Add a method to a class, behind an existing one."""
    return MethodEdit(behind, code)


def transform(change: Change, *, anchor: str) -> Transform:
    """Edit with a LibCST function, transformer class or codemod class; see Transform."""
    return Transform(change, anchor)


def goal(
    name: str,
    *patterns: str,
    within: Guard | None = None,
    times: int = 1,
    ahead_of: str | None = None,
    behind: str | None = None,
    as_written: bool = False,
    **where: Constraint,
) -> Goal:
    """State code that must be there, found by value or as it is written; see Goal."""
    return Goal(name, patterns, where, within or AnyBranch(), times, ahead_of, behind, as_written)


def given(name: str, pattern: str, *, within: Guard | None = None, **where: Constraint) -> Goal:
    """State code that is there before and after the edit, found as it is written, so that its holes can be inserted.

    It is found under any condition; the edit is refused where ``within`` rejects the conditions.
    """
    return Goal(name, (pattern,), where, within or AnyBranch(), as_written=True)


def method(name: str, code: str) -> Method:
    """State a method that a class must define; see Method."""
    return Method(name, code)


def never(name: str, pattern: str) -> Never:
    """State code that must not be there; see Never."""
    return Never(name, pattern)


def only(name: str, mention: str, *uses: str) -> Only:
    """State the only uses that code may have; see Only."""
    return Only(name, mention, uses)


def same_rows(*holes: str) -> SameRows:
    """State tensors that are paired entry by entry; see SameRows."""
    return SameRows(holes)


def unread(*holes: str) -> Unread:
    """State the defect that parameters are unused; see Unread."""
    return Unread(holes)


def unmentioned(*names: str) -> Unmentioned:
    """State the defect that the scope does not mention names; see Unmentioned."""
    return Unmentioned(names)


def free_of(hole: str) -> FreeOf:
    """Constrain a hole: its value has no part of another hole; see FreeOf."""
    return FreeOf(hole)


def holds(pattern: str) -> Holds:
    """Constrain a hole: its code has a part that this template matches; see Holds."""
    return Holds(pattern)


def one_of(*patterns: str) -> OneOf:
    """Constrain a hole: its value is what one of these templates matches; see OneOf."""
    return OneOf(patterns)


def keywords(**allowed: tuple[str, ...]) -> Keywords:
    """Constrain a hole for keyword arguments: only these, with these values; see Keywords."""
    return Keywords(allowed)


def of_parameter() -> Root:
    """Constrain a hole: its value is a parameter, or made of one; see Root."""
    return Root(parameter=True)


def of_self() -> Root:
    """Constrain a hole: its value is an attribute of ``self``, or made of one; see Root."""
    return Root(parameter=False)


def fixed() -> Fixed:
    """Constrain a hole for arguments: they do not depend on the call's data; see Fixed."""
    return Fixed()


def branch(condition: str, *, apart: tuple[str, ...] = (), present: tuple[str, ...] = ()) -> Branch:
    """Accept exactly the branch of this condition; see Branch."""
    return Branch(condition, apart, present)


def guarded(*conditions: str, present: tuple[str, ...] = (), always: bool = False) -> Guarded:
    """Accept any of these conditions, tests for the presence of these holes, or no condition; see Guarded."""
    return Guarded(conditions, present, always)


def any_branch() -> AnyBranch:
    """Accept any condition; see AnyBranch."""
    return AnyBranch()


def called(path: str, symbol: str, why: str) -> Called:
    """State the fact that a class calls its own method ``Class.method``; see Called."""
    return Called(path, symbol, why)


def assignable(path: str, symbol: str, why: str) -> Assignable:
    """State the fact that other code may assign to the field ``Class.field``; see Assignable."""
    return Assignable(path, symbol, why)


def every(path: str, scope: str, *mentions: str, forms: tuple[str, ...], why: str) -> Every:
    """State the fact that code of a class always has one of some forms; see Every."""
    return Every(path, scope, mentions, forms, why)


def varies() -> Varies:
    """Constrain a hole: its value is not constant; see Varies."""
    return Varies()
