"""The public API for patch authors.

A patch is a goal, not a diff: where (a scope), what is there (a template of the code before), what must be there
(goals), and what shows that it is needed (a defect). Importing this package loads neither LibCST nor anything heavy.
"""

from patchtool.semantic.vocabulary.patch import (
    Fact,
    Methods,
    Rule,
    SemanticPatch,
    add_method,
    any_branch,
    branch,
    free_of,
    given,
    goal,
    guarded,
    holds,
    insert_after,
    insert_before,
    method,
    never,
    only,
    param,
    replace,
    transform,
    unmentioned,
    unread,
)

__all__ = [
    "Fact",
    "Methods",
    "Rule",
    "SemanticPatch",
    "add_method",
    "any_branch",
    "branch",
    "free_of",
    "given",
    "goal",
    "guarded",
    "holds",
    "insert_after",
    "insert_before",
    "method",
    "never",
    "only",
    "param",
    "replace",
    "transform",
    "unmentioned",
    "unread",
]
