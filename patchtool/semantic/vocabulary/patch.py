"""How an author states a patch: rules with a scope, an edit, the defect it cures and the goals it reaches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from patchtool.semantic.vocabulary.edits import AnyEdit, Edit, MethodEdit
from patchtool.semantic.vocabulary.goals import Constraint, FreeOf, Goal, Holds
from patchtool.semantic.vocabulary.guards import AnyBranch, Branch, Directly, Guard, Guarded
from patchtool.semantic.vocabulary.methods import AnyGoal, Method
from patchtool.semantic.vocabulary.negatives import Defect, Negative, Never, Only, Unmentioned, Unread

if TYPE_CHECKING:
    import libcst


class Parameter(NamedTuple):
    """A role played by a parameter, found by the spellings it is known under.

    Args:
        spellings: Names, any one of them; a function that has two of them is not understood.
        typed: Name of the type that marks it where no spelling fits.
    """

    spellings: tuple[str, ...]
    typed: str = ""


class Methods(NamedTuple):
    """Apply a rule to each method of the scope's class whose name and parameters fit.

    Args:
        names: A shell pattern for the method's name.
        having: A parameter that it must have.
        otherwise: Parameters that mark a method which the rule leaves alone; one that has neither is not understood.
        hole: The hole that stands for the method's name in the rule's templates.
        role: The hole that stands for the parameter.
    """

    names: str
    having: Parameter
    otherwise: tuple[str, ...] = ()
    hole: str = "METHOD_"
    role: str = "PARAMETER_"


class Fact(NamedTuple):
    """Code elsewhere in the tree that the new code relies on.

    Args:
        path: File in the git layout.
        scope: Qualified symbol in it; empty for anywhere in the file.
        pattern: A template that must be there at least once.
        why: What would go wrong without it.
    """

    path: str
    scope: str
    pattern: str
    why: str


class Transform(NamedTuple):
    """An edit written as a plain LibCST function, under the same judgement as a template.

    Args:
        change: Takes the module and gives the new one; it may change the rule's scope and nothing else.
        anchor: A template of the code that it changes, for site counts and candidates.
    """

    change: Callable[[libcst.Module], libcst.Module]
    anchor: str


@dataclass(frozen=True)
class Rule:
    """One change in one scope.

    Args:
        name: For reports.
        scope: Qualified symbol, ``Class.method``.
        edit: What to write where.
        goals: What must be there afterwards; all of them there beforehand means landed.
        target: File in the git layout; may be left out where the patch has one target.
        roles: Holes that stand for parameters.
        given: Code that is there before and after, as it is spelled, and binds holes; each exactly once.
        defect: What shows that the fix is needed; an insertion must state one.
        never: What must not be there afterwards.
        extends: The base class whose behaviour the rule is about.
        methods: Apply the rule to each of these methods of the scope.
        sites: How many sites there must be, in each scope.
    """

    name: str
    scope: str
    edit: AnyEdit | Transform
    goals: tuple[AnyGoal, ...]
    target: str = ""
    roles: Mapping[str, Parameter] = field(default_factory=dict)
    given: tuple[Goal, ...] = ()
    defect: Defect | None = None
    never: tuple[Negative, ...] = ()
    extends: str = ""
    methods: Methods | None = None
    sites: int = 1

    @property
    def replaces(self) -> bool:
        """Whether the rule's anchor is code that goes, and so the defect itself."""
        return isinstance(self.edit, Transform) or (isinstance(self.edit, Edit) and self.edit.how == "replace")


class SemanticPatch:
    """A patch; subclass it once in ``codemod.py``.

    A patch of one rule states the rule's fields as class attributes; one of several lists them in ``rules``.
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
    facts: tuple[Fact, ...] = ()
    names: Mapping[str, str] = {}
    """Names that the patch introduces, by hole; where upstream has the code under another name, that one counts."""
    independent: bool = False
    """Whether each rule is worth having without the others; then a patch can be partial."""

    @classmethod
    def all_rules(cls) -> tuple[Rule, ...]:
        """The rules, be they listed or stated as class attributes."""
        if cls.rules:
            return cls.rules
        if cls.edit is None:
            return ()
        return (
            Rule(
                name=cls.__name__,
                scope=cls.scope,
                edit=cls.edit,
                goals=cls.goals,
                roles=cls.roles,
                given=cls.given,
                defect=cls.defect,
                never=cls.never,
                extends=cls.extends,
            ),
        )


def param(*spellings: str, typed: str = "") -> Parameter:
    """A parameter known under any of these names, or else by its type."""
    return Parameter(spellings, typed)


def replace(before: str, after: str, *, within: Guard | None = None, **where: Constraint) -> Edit:
    """Replace statements; the template of the code before is the defect."""
    return Edit(before, after, "replace", where, within or Directly())


def insert_before(anchor: str, code: str, *, within: Guard | None = None, **where: Constraint) -> Edit:
    """Insert statements before an anchor, outside of the conditions it stands under."""
    return Edit(anchor, code, "before", where, within or Directly())


def insert_after(anchor: str, code: str, *, within: Guard | None = None, **where: Constraint) -> Edit:
    """Insert statements after an anchor, outside of the conditions it stands under."""
    return Edit(anchor, code, "after", where, within or Directly())


def add_method(code: str, *, behind: str) -> MethodEdit:
    """Add a method to a class, behind one that is there."""
    return MethodEdit(behind, code)


def transform(change: Callable[[libcst.Module], libcst.Module], *, anchor: str) -> Transform:
    """Edit with a plain LibCST function; see Transform."""
    return Transform(change, anchor)


def goal(
    name: str,
    *patterns: str,
    within: Guard | None = None,
    times: int = 1,
    ahead_of: str | None = None,
    behind: str | None = None,
    **where: Constraint,
) -> Goal:
    """Code that must be there, found by what it means; see Goal."""
    return Goal(name, patterns, where, within or AnyBranch(), times, ahead_of, behind)


def given(name: str, pattern: str, *, within: Guard | None = None, **where: Constraint) -> Goal:
    """Code that is there before and after, found as it is spelled, so that its holes can be written elsewhere.

    It is found under any condition; an edit is refused unless it stands as ``within`` says.
    """
    return Goal(name, (pattern,), where, within or AnyBranch(), spelled=True)


def method(name: str, code: str) -> Method:
    """A method that a class must define; see Method."""
    return Method(name, code)


def never(name: str, pattern: str) -> Never:
    """Code that must not be there; see Never."""
    return Never(name, pattern)


def only(name: str, mention: str, *uses: str) -> Only:
    """Every mention must be a known use; see Only."""
    return Only(name, mention, uses)


def unread(*holes: str) -> Unread:
    """Parameters that nobody uses; see Unread."""
    return Unread(holes)


def unmentioned(*names: str) -> Unmentioned:
    """Names that the scope does not speak of; see Unmentioned."""
    return Unmentioned(names)


def free_of(hole: str) -> FreeOf:
    """A demand: what the hole means has nothing of what another hole means."""
    return FreeOf(hole)


def holds(pattern: str) -> Holds:
    """A demand: the hole's code has a part that this template fits."""
    return Holds(pattern)


def branch(condition: str) -> Branch:
    """Consent: exactly the branch of this condition."""
    return Branch(condition)


def guarded(*conditions: str, present: tuple[str, ...] = (), always: bool = False) -> Guarded:
    """Consent: under any of these conditions, or one that asks whether these holes are there, or none; see Guarded."""
    return Guarded(conditions, present, always)


def any_branch() -> AnyBranch:
    """Consent: under any condition."""
    return AnyBranch()
