"""The public API for patch authors.

A patch states where it applies (a scope), the code before (a template), what must be there afterwards (goals), and what
shows that it is needed (a defect). Importing this package does not load LibCST.
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
    same_rows,
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
    "same_rows",
    "transform",
    "unmentioned",
    "unread",
]
